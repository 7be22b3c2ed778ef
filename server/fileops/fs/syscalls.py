"""Linux calls that Python does not offer, through ctypes. Each says by its value where it is not to be had."""

import ctypes
import errno
import os
import sys

_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_SYS_OPENAT2 = 437  # the same on every architecture: it is younger than the common table
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2

# linux/magic.h: filesystems whose files are made while they are read, so that their sizes say nothing
_KERNEL_FILESYSTEMS = frozenset({
    0x9FA0,  # proc
    0x62656572,  # sysfs
    0x64626720,  # debugfs
    0x74726163,  # tracefs
    0x27E0EB,  # cgroup
    0x63677270,  # cgroup2
    0x73636673,  # securityfs
    0x62656570,  # configfs
    0xF97CFF8C,  # selinuxfs
    0xCAFE4A11,  # bpf
    0xDE5E81E4,  # efivarfs
    0x6165676C,  # pstore
})  # fmt: skip


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)
_hows: dict[int, _OpenHow] = {}


_syscall = _libc.syscall if sys.platform == "linux" else None
if _syscall is not None:
    _syscall.restype = ctypes.c_long
    _syscall.argtypes = (
        ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_OpenHow), ctypes.c_size_t,
    )  # fmt: skip
_HOW_BYTES = ctypes.sizeof(_OpenHow)


def open_without_links(path: bytes, flags: int) -> int:
    """A descriptor of `path` with no symlink followed anywhere. Raises OSError; ELOOP where there is one."""
    how = _hows.get(flags)
    if how is None:  # filled once per set of flags and only read afterwards, so threads share it
        how = _hows[flags] = _OpenHow(flags, 0, _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS)
    assert _syscall is not None
    while True:
        fd = _syscall(_SYS_OPENAT2, _AT_FDCWD, path, ctypes.byref(how), _HOW_BYTES)
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))


def has_open_without_links() -> bool:
    """Old kernels do not know the call, and some sandboxes forbid it."""
    if _syscall is None:
        return False
    try:
        os.close(open_without_links(b"/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def rename_exclusive(source: str, target: str, dir_fd: int) -> bool:
    """False where the kernel or the filesystem cannot do it. Raises OSError; FileExistsError where one stands."""
    return _rename(source, target, dir_fd, _RENAME_NOREPLACE)


def exchange(one: str, other: str, dir_fd: int) -> bool:
    """Two names change their files in one step; inotify's last word is of a move onto `one`.

    False where that cannot be done. Raises OSError.
    """
    return _rename(one, other, dir_fd, _RENAME_EXCHANGE)


def _rename(source: str, target: str, dir_fd: int, flags: int) -> bool:
    renameat2 = getattr(_libc, "renameat2", None)
    if renameat2 is None:
        return False
    done = renameat2(dir_fd, os.fsencode(source), dir_fd, os.fsencode(target), flags)
    if done == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
        return False
    raise OSError(number, os.strerror(number))


def is_kernel_stream(fd: int) -> bool:
    """Whether the open file belongs to a filesystem like proc or sysfs."""
    if sys.platform != "linux":
        return False
    answer = (ctypes.c_long * 32)()  # struct statfs: 120 bytes; its first word is the magic number
    if _libc.fstatfs(fd, answer) != 0:
        return False
    return (answer[0] & 0xFFFFFFFF) in _KERNEL_FILESYSTEMS
