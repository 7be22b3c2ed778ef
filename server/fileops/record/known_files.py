"""What is known of a file without its content: how it is made from what was read, and how two are compared."""

import os
import stat

from fileops.model.files import Snapshot, Stamp
from fileops.model.record import Known
from fileops.record.content import ReadFile, is_secret, kind_of_content, to_stored_ns


def known_of(found: ReadFile, digest: bytes | None) -> Known:
    return Known(
        content=found.content,
        digest=digest,
        mtime_ns=found.mtime_ns,
        size_bytes=found.size_bytes,
        inode=found.inode,
        is_executable=bool(found.mode & 0o100),
        mode=found.mode,
        ctime_ns=found.ctime_ns,
    )


def known_of_snapshot(snapshot: Snapshot, root: str) -> Known | None:
    if not snapshot.exists:
        return None
    content = "protected" if is_secret(snapshot.path, root) else kind_of_content(snapshot.data)
    stamp = snapshot.stamp
    return Known(
        content=content,
        digest=snapshot.digest if content == "kept" else None,
        mtime_ns=0 if stamp is None else to_stored_ns(stamp.mtime_ns),
        ctime_ns=0 if stamp is None else to_stored_ns(stamp.ctime_ns),
        size_bytes=0 if stamp is None else stamp.size_bytes,
        inode=0 if stamp is None else stamp.ino,
        is_executable=stamp is not None and bool(stamp.mode & 0o100),
        mode=None if stamp is None else stamp.mode & 0o7777,
        is_unsaved=snapshot.source == "buffer",
    )


def stamp_of(found: ReadFile) -> Stamp:
    """Return what is known of the file's stamp; whatever compares it with another one then reads the file."""
    return Stamp(
        dev=0,
        ino=found.inode,
        size_bytes=found.size_bytes,
        mtime_ns=found.mtime_ns,
        ctime_ns=found.ctime_ns,
        mode=found.mode,
        uid=0,
        gid=0,
        n_links=1,
    )


def is_unchanged(before: Known, after: Known) -> bool:
    """Whether there is nothing to record. If the content is not kept, the stamp shows whether it changed."""
    if before.content != after.content or before.is_executable != after.is_executable:
        return False
    if before.content == "kept":
        return before.digest is not None and before.digest == after.digest
    if before.content == "link" and before.inode != after.inode:  # it was replaced, to lead elsewhere
        return False
    return (before.mtime_ns, before.size_bytes) == (after.mtime_ns, after.size_bytes)


def is_same(known: Known, status: os.stat_result) -> bool:
    return (known.mtime_ns, known.ctime_ns, known.size_bytes, known.inode, known.is_executable) == (
        to_stored_ns(status.st_mtime_ns),
        to_stored_ns(status.st_ctime_ns),
        status.st_size,
        status.st_ino,
        bool(status.st_mode & stat.S_IXUSR),
    )


def has_stamp(known: Known, found: ReadFile) -> bool:
    """Whether the file was not written since this was known of it."""
    return (known.mtime_ns, known.size_bytes) == (found.mtime_ns, found.size_bytes)


def is_result(known: Known | None, after: Known | None) -> bool:
    """Whether the known state of a file is the result of a commit: a start listed it before the commit was noted.

    The content before the commit was never listed then, so it says nothing about other programs' changes.
    """
    if known is None or after is None or not after.mtime_ns:
        return False
    return (known.mtime_ns, known.size_bytes, known.inode) == (after.mtime_ns, after.size_bytes, after.inode)


def inode_at(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except OSError:  # it is gone
        return None
