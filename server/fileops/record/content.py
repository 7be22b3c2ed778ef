"""Reads a file as the record may keep it: text of at most 2 MB that is not protected."""

import errno
import os
import re
import stat

from msgspec import Struct

from fileops.core import text
from fileops.core.approval import is_protected_in
from fileops.model.record import ContentKind
from fileops.ports import TextOf

MAX_BYTES = 2 << 20
# In addition to the protected paths: files whose names suggest secrets (R-RECP-2).
_SECRETS = re.compile(r"(?:.*\.(?:pem|key)|id_.*|\.netrc|\.npmrc|\.pypirc|credentials.*)", re.IGNORECASE | re.DOTALL)


# The errors of open(2) where there is no regular file. Any other error says nothing about the file.
_NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG})
_MAX_NS = (1 << 63) - 1  # the database's limit; some filesystems exceed it


class Unreadable(Exception):
    """A file or folder could not be read. It may exist, with any content."""


class ReadFile(Struct, frozen=True, kw_only=True):
    """A regular file as it was read. data: None unless its content is kept. Stamps are those of Known."""

    content: ContentKind
    data: bytes | None
    mtime_ns: int
    ctime_ns: int
    size_bytes: int
    inode: int
    mode: int
    n_links: int = 1


def is_secret(path: str, root: str) -> bool:
    """Whether the content must not be kept. Args: root: the recorded folder; "" for a file outside any."""
    folder, _, name = path.rpartition("/")
    below = folder[len(root) :] if path.startswith(root + "/") else folder
    return _SECRETS.fullmatch(name) is not None or is_protected_in(below, name)


def read_file(path: str, root: str, text_of: TextOf = lambda _path, data: data) -> ReadFile | None:
    """Read a file; None if it is neither a regular file nor a link. A final link is not followed. Raises: Unreadable.

    Args: text_of: returns the content to keep, for a file whose encoding a client has named.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP and (link := _link_at(path)) is not None:
            return link
        if error.errno in _NO_FILE:
            return None
        raise Unreadable(path) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        kind, data = _content_of(fd, path, root, status.st_size, text_of)
        status = os.fstat(fd)
    except OSError as error:
        raise Unreadable(path) from error
    finally:
        os.close(fd)
    return _read(kind, data, status)


def _link_at(path: str) -> ReadFile | None:
    try:
        status = os.lstat(path)
    except OSError:  # it is gone
        return None
    return _read("link", None, status) if stat.S_ISLNK(status.st_mode) else None


def _read(kind: ContentKind, data: bytes | None, status: os.stat_result) -> ReadFile:
    return ReadFile(
        content=kind,
        data=data,
        mtime_ns=to_stored_ns(status.st_mtime_ns),
        ctime_ns=to_stored_ns(status.st_ctime_ns),
        size_bytes=status.st_size,
        inode=status.st_ino,
        mode=stat.S_IMODE(status.st_mode),
        n_links=status.st_nlink,
    )


def list_folder(folder: str) -> "list[os.DirEntry[str]]":
    """Return the entries of a folder; none if it is gone. Raises: Unreadable."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name != ".git"]
    except OSError as error:
        if error.errno in _NO_FILE:
            return []
        raise Unreadable(folder) from error


def to_stored_ns(time_ns: int) -> int:
    """Return a file time as the record stores it."""
    return time_ns if -_MAX_NS <= time_ns <= _MAX_NS else _MAX_NS if time_ns > 0 else -_MAX_NS


def _content_of(fd: int, path: str, root: str, n_bytes: int, text_of: TextOf) -> tuple[ContentKind, bytes | None]:
    if is_secret(path, root):
        return "protected", None
    if n_bytes > MAX_BYTES:
        return "too_large", None
    data = b""
    while len(data) <= MAX_BYTES and (piece := os.read(fd, MAX_BYTES + 1 - len(data))):
        data += piece
    if len(data) > MAX_BYTES:
        return "too_large", None
    data = text_of(path, data)
    return kind_of_content(data), data if kind_of_content(data) == "kept" else None


def kind_of_content(data: bytes) -> ContentKind:
    if len(data) > MAX_BYTES:
        return "too_large"
    return "binary" if text.is_binary(data, text.detect_format(data)) else "kept"
