"""Copies a file's metadata to the file that replaces it, and reports metadata that cannot be kept."""

import fcntl
import os
import struct

from fileops.platform import attributes

# ioctl_iflags(2), ioctl_fsgetxattr(2): linux/fs.h, in the encoding shared by x86, Arm, RISC-V and s390. On other
# architectures the calls fail as unknown, and nothing is copied.
_LONG = struct.calcsize("l") << 16
_GET_FLAGS, _SET_FLAGS = 0x80006601 | _LONG, 0x40006602 | _LONG
_FLAGS = struct.Struct("l")
_GET_XATTR, _SET_XATTR = 0x801C581F, 0x401C5820
_XATTR = struct.Struct("=5I8x")  # struct fsxattr: flags, extent size, extents, project id, copy-on-write extent size
_PROJECT = 3
MODE_REFUSED = "mode cannot be kept"
# chattr(1): s u c S d A m j t C x. Not i and a, which prevent writing, nor flags of folders and of the kernel.
_CARRIED_FLAGS = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x400 | 0x4000 | 0x8000 | 0x800000 | 0x2000000


def copy_metadata(source: os.stat_result, source_fd: int, fd: int, mode: int) -> str | None:
    """Copy owner and extended attributes (ACLs included) of the source to `fd`, and set the mode.

    Return a refusal, or None. The caller has to compare the mode afterwards: the kernel silently clears setgid if it is
    not in the group. The order matters: chown clears setuid bits and capabilities, and an ACL changes the group bits.
    """
    made = os.fstat(fd)
    if (made.st_uid, made.st_gid) != (source.st_uid, source.st_gid):
        try:
            os.fchown(fd, source.st_uid, source.st_gid)
        except OSError:
            return "owner cannot be kept"
    refused = _carry_attributes(source_fd, fd)
    if refused is not None:
        return f"attribute {refused} cannot be kept"
    try:
        attributes.copy_acl(source_fd, fd)
    except OSError as error:
        if error.errno not in attributes.HAS_NONE:
            return "ACL cannot be kept"
    try:
        os.fchmod(fd, mode)
    except OSError:
        return MODE_REFUSED
    return None


def carry_flags(source_fd: int, fd: int) -> str | None:
    """Copy inode flags and project of the source to the empty file `fd`. Return a refusal, or None.

    Call it before anything is written: some flags (no copy on write) can be set only on an empty file.
    """
    wanted, present = _flags(source_fd), _flags(fd)
    if wanted is not None and present is not None and (wanted ^ present) & _CARRIED_FLAGS:
        changed = present & ~_CARRIED_FLAGS | wanted & _CARRIED_FLAGS
        try:
            fcntl.ioctl(fd, _SET_FLAGS, _FLAGS.pack(changed))
        except OSError:
            return "inode flags cannot be kept"
        if _flags(fd) != changed:
            return "inode flags cannot be kept"
    source, made = _xattr(source_fd), _xattr(fd)
    if source is not None and made is not None and source[_PROJECT] != made[_PROJECT]:
        try:
            fcntl.ioctl(fd, _SET_XATTR, _XATTR.pack(*made[:_PROJECT], source[_PROJECT], *made[_PROJECT + 1 :]))
        except OSError:
            return "project cannot be kept"
    return None


def _flags(fd: int) -> int | None:
    """Return the inode flags; None if the filesystem has none."""
    try:
        return int(_FLAGS.unpack(fcntl.ioctl(fd, _GET_FLAGS, bytes(_FLAGS.size)))[0])
    except OSError:
        return None


def _xattr(fd: int) -> tuple[int, ...] | None:
    """Return struct fsxattr; None if the filesystem has none."""
    try:
        return _XATTR.unpack(fcntl.ioctl(fd, _GET_XATTR, bytes(_XATTR.size)))
    except OSError:
        return None


def _carry_attributes(source_fd: int, fd: int) -> str | None:
    """Copy the attributes and remove inherited ones. Return the name of one that could not be copied, or None."""
    wanted, present = _names(source_fd), _names(fd)
    for name in wanted:
        try:
            value = attributes.get(source_fd, name)
            if name in present and attributes.get(fd, name) == value:
                continue  # a label from the folder's policy
            attributes.put(fd, name, value)
        except OSError as error:
            if error.errno not in attributes.IS_GONE:
                return name
    for name in present:
        if name not in wanted:
            try:
                attributes.remove(fd, name)
            except OSError as error:
                if error.errno not in attributes.IS_GONE:
                    return name
    return None


def _names(fd: int) -> list[str]:
    try:
        return attributes.list_names(fd)
    except OSError as error:
        if error.errno in attributes.HAS_NONE:
            return []
        raise
