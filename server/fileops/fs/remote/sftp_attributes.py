"""Entries of files as SFTP describes them, and what not every server can do."""

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING

from fileops.fs.remote.backend import Entry

if TYPE_CHECKING:
    from asyncssh import SFTPAttrs, SFTPClient, SFTPClientFile


async def stat_entry(sftp: "SFTPClient", path: str) -> Entry | None:
    from asyncssh import SFTPNoSuchFile, SFTPNoSuchPath

    try:
        return entry_of(await sftp.lstat(os.fsencode(path)))
    except (SFTPNoSuchFile, SFTPNoSuchPath):
        return None


async def try_sync(file: "SFTPClientFile") -> bool:
    from asyncssh import SFTPConnectionLost, SFTPError

    try:
        await file.fsync()
    except SFTPConnectionLost:
        raise
    except SFTPError:  # not every server has this extension
        return False
    return True


def entry_of(attrs: "SFTPAttrs") -> Entry:
    mode = attrs.permissions or 0
    kind = "file" if S_ISREG(mode) else "folder" if S_ISDIR(mode) else "link" if S_ISLNK(mode) else "other"
    return Entry(
        kind=kind, size_bytes=attrs.size or 0, mtime_ns=int(attrs.mtime or 0) * 1_000_000_000 + (attrs.mtime_ns or 0),
        mode=mode, uid=attrs.uid or 0, gid=attrs.gid or 0,
    )  # fmt: skip
