"""System calls of Linux and macOS that Python lacks, through ctypes. Return values say if a call is available."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from typing import Any, Literal

_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_CACHED = 0x20  # since Linux 5.12
_NO_LINKS = _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
_SYS_OPENAT2 = 437  # the same on every architecture
_AT_FDCWD = -100
# renameat2(2) of Linux, and renameatx_np(2) of macOS (<sys/stdio.h>), which take the same arguments.
_RENAME_CALL = "renameatx_np" if sys.platform == "darwin" else "renameat2"
_RENAME_NOREPLACE = 4 if sys.platform == "darwin" else 1
_RENAME_EXCHANGE = 2

# linux/magic.h: filesystems that generate files while they are read, so sizes are meaningless.
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


# linux/magic.h: local filesystems, whose calls do not wait for data that is in memory.
_MEMORY_FILESYSTEMS = frozenset({
    0x01021994,  # tmpfs
    0x858458F6,  # ramfs
})  # fmt: skip
_DISK_FILESYSTEMS = frozenset({
    0xEF53,  # ext2, ext3, ext4
    0x58465342,  # xfs
    0x9123683E,  # btrfs
    0xF2F52010,  # f2fs
    0xCA451A4E,  # bcachefs
    0x2FC12FC1,  # zfs
    0x794C7630,  # overlayfs
})  # fmt: skip


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)
_rename_call: Callable[..., int] | None = getattr(_libc, _RENAME_CALL, None)  # not in every C library
_hows: dict[tuple[int, int], Any] = {}  # flags and resolve -> reference to a filled _OpenHow


_syscall: Any = None
if sys.platform == "linux":
    _syscall = _libc.syscall
    _syscall.restype = ctypes.c_long
    _syscall.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.POINTER(_OpenHow),
        ctypes.c_size_t,
    )
_HOW_BYTES = ctypes.sizeof(_OpenHow)


def open_without_links(path: bytes, flags: int) -> int:
    """Open `path` without following any symlink. Raises: OSError (ELOOP if there is one)."""
    return _openat2(path, flags, _NO_LINKS)


def try_open_cached(path: bytes, flags: int) -> int:
    """As `open_without_links`, with all components in the kernel's memory. Raises: OSError (EAGAIN if they are not)."""
    return _openat2(path, flags, _NO_LINKS | _RESOLVE_CACHED)


def _openat2(path: bytes, flags: int, resolve: int) -> int:
    how = _hows.get((flags, resolve))
    if how is None:  # read-only once filled, so threads share it
        how = _hows[flags, resolve] = ctypes.byref(_OpenHow(flags, 0, resolve))
    assert _syscall is not None
    while True:
        fd = _syscall(_SYS_OPENAT2, _AT_FDCWD, path, how, _HOW_BYTES)
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))


def has_open_without_links() -> bool:
    """Return whether openat2 works. Old kernels lack it, and some sandboxes forbid it."""
    return _can_open(_NO_LINKS)


def has_open_cached() -> bool:
    return _can_open(_NO_LINKS | _RESOLVE_CACHED)


def _can_open(resolve: int) -> bool:
    if _syscall is None:
        return False
    try:
        os.close(_openat2(b"/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, resolve))
    except OSError:
        return False
    return True


def rename_exclusive(source: str, target: str, dir_fd: int, target_dir_fd: int | None = None) -> bool:
    """Rename unless the target exists. False if that is not supported. Raises: OSError, FileExistsError.

    target_dir_fd: the folder of the target, if it is not that of the source.
    """
    return _rename(source, target, dir_fd, _RENAME_NOREPLACE, dir_fd if target_dir_fd is None else target_dir_fd)


def exchange(last_moved_to: str, name: str, dir_fd: int) -> bool:
    """Exchange the files of two names atomically. inotify reports a move onto `last_moved_to` last.

    Returns False if that is not supported. Raises: OSError.
    """
    return _rename(last_moved_to, name, dir_fd, _RENAME_EXCHANGE, dir_fd)


def _rename(source: str, target: str, dir_fd: int, flags: int, target_dir_fd: int) -> bool:
    if _rename_call is None:
        return False
    done = _rename_call(dir_fd, os.fsencode(source), target_dir_fd, os.fsencode(target), flags)
    if done == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}:
        return False
    raise OSError(number, os.strerror(number))


def is_kernel_stream(fd: int) -> bool:
    """Return whether the open file belongs to a filesystem like proc or sysfs."""
    return _magic_of(fd) in _KERNEL_FILESYSTEMS


def kind_of_filesystem(fd: int) -> Literal["memory", "disk", "other"]:
    """Return the kind of an open file's filesystem; "other" is network, user space, kernel, or unknown."""
    magic = _magic_of(fd)
    if magic in _MEMORY_FILESYSTEMS:
        return "memory"
    return "disk" if magic in _DISK_FILESYSTEMS else "other"


def _magic_of(fd: int) -> int | None:
    if sys.platform != "linux":
        return None
    answer = (ctypes.c_long * 32)()  # struct statfs; the first word is the magic
    if _libc.fstatfs(fd, answer) != 0:
        return None
    return answer[0] & 0xFFFFFFFF
