"""Extended attributes of open files: through Python's own calls on Linux, through the C library's on macOS.

Other systems have none here. Names are the system's: with the prefix `user.` on Linux, without one on macOS. On Linux,
an ACL is an attribute as well; on macOS, `copy_acl` copies it.
"""

import errno
import os
import sys

IS_GONE = {errno.ENODATA}  # no attribute of this name (any more)
if sys.platform == "darwin":
    IS_GONE.add(93)  # ENOATTR of <sys/errno.h>, which Python does not name
HAS_NONE = {errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}  # the filesystem has no attributes

if sys.platform == "linux":

    def list_names(fd: int) -> list[str]:
        """Raises: OSError."""
        return os.listxattr(fd)

    def get(fd: int, name: str) -> bytes:
        """Raises: OSError."""
        return os.getxattr(fd, name)

    def put(fd: int, name: str, value: bytes) -> None:
        """Raises: OSError."""
        os.setxattr(fd, name, value)

    def remove(fd: int, name: str) -> None:
        """Raises: OSError."""
        os.removexattr(fd, name)

    def copy_acl(source_fd: int, fd: int) -> None:
        """Do nothing: an ACL is an attribute."""

elif sys.platform == "darwin":
    import ctypes

    # getxattr(2) of macOS: the calls for descriptors also have a position (of a resource fork) and options.
    _libc = ctypes.CDLL(None, use_errno=True)
    for _call in (_libc.flistxattr, _libc.fgetxattr):
        _call.restype = ctypes.c_ssize_t
    _libc.flistxattr.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
    _libc.fgetxattr.argtypes = _libc.fsetxattr.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_uint32,
        ctypes.c_int,
    )
    _libc.fremovexattr.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int)
    _libc.fcopyfile.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)
    _COPYFILE_ACL = 1  # <copyfile.h>
    # The system sets these itself, and no program can set or remove them.
    _OF_THE_SYSTEM = frozenset({"com.apple.provenance", "com.apple.macl"})

    def list_names(fd: int) -> list[str]:
        """Raises: OSError."""
        n_bytes = _check(_libc.flistxattr(fd, None, 0, 0))
        buffer = ctypes.create_string_buffer(n_bytes)
        n_bytes = _check(_libc.flistxattr(fd, buffer, n_bytes, 0))
        names = (os.fsdecode(name) for name in buffer.raw[:n_bytes].split(b"\0") if name)
        return [name for name in names if name not in _OF_THE_SYSTEM]

    def get(fd: int, name: str) -> bytes:
        """Raises: OSError."""
        raw = os.fsencode(name)
        n_bytes = _check(_libc.fgetxattr(fd, raw, None, 0, 0, 0))
        buffer = ctypes.create_string_buffer(n_bytes)
        return buffer.raw[: _check(_libc.fgetxattr(fd, raw, buffer, n_bytes, 0, 0))]

    def put(fd: int, name: str, value: bytes) -> None:
        """Raises: OSError."""
        _check(_libc.fsetxattr(fd, os.fsencode(name), value, len(value), 0, 0))

    def remove(fd: int, name: str) -> None:
        """Raises: OSError."""
        _check(_libc.fremovexattr(fd, os.fsencode(name), 0))

    def copy_acl(source_fd: int, fd: int) -> None:
        """Give the file the ACL of the source, or none if that has none. Raises: OSError."""
        _check(_libc.fcopyfile(source_fd, fd, None, _COPYFILE_ACL))

    def _check(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

else:

    def list_names(fd: int) -> list[str]:
        """Return none: attributes are not copied on this system."""
        return []

    def get(fd: int, name: str) -> bytes:
        """Raises: OSError."""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    def put(fd: int, name: str, value: bytes) -> None:
        """Raises: OSError."""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    def remove(fd: int, name: str) -> None:
        """Raises: OSError."""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    def copy_acl(source_fd: int, fd: int) -> None:
        """Do nothing: ACLs are not copied on this system."""
