"""Everything of a file but its bytes: onto the file that takes its place, or say what cannot be carried over."""

import errno
import os
import stat

_NO_ATTRIBUTES_HERE = {errno.EOPNOTSUPP, errno.ENOSYS}
_GONE = {errno.ENODATA, getattr(errno, "ENOATTR", errno.ENODATA)}


def carry_over(source: os.stat_result, source_fd: int, fd: int) -> str | None:
    """Give `fd` the owner, attributes (ACLs among them) and mode of the source; None, or what was refused.

    The order matters: chown clears setuid bits and capabilities, an ACL rewrites the group bits.
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
    mode = stat.S_IMODE(source.st_mode)
    try:
        os.fchmod(fd, mode)
    except OSError:
        return "mode cannot be kept"
    # The kernel drops setgid in silence when the caller is not in the group.
    return None if stat.S_IMODE(os.fstat(fd).st_mode) == mode else "mode cannot be kept"


def _carry_attributes(source_fd: int, fd: int) -> str | None:
    """The name of an attribute that could not be carried over. Those that the new file inherited go."""
    if not hasattr(os, "listxattr"):
        return None
    wanted, present = _names(source_fd), _names(fd)
    for name in wanted:
        try:
            value = os.getxattr(source_fd, name)
            if name in present and os.getxattr(fd, name) == value:
                continue  # a label that the folder's policy gave already
            os.setxattr(fd, name, value)
        except OSError as error:
            if error.errno not in _GONE:
                return name
    for name in present:
        if name not in wanted:
            try:
                os.removexattr(fd, name)
            except OSError as error:
                if error.errno not in _GONE:
                    return name
    return None


def _names(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES_HERE:
            return []
        raise
