"""Backend for a host that is reached over SSH: files through SFTP, on the connection of `ssh.py`.

New content is written to a temp file beside the old file, synced there and renamed over it. So the path always has
either the old file or the new one, even if the connection is lost.
"""

import asyncio
import errno
import os
import secrets
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Literal, cast

from fileops.fs.remote.backend import MAX_REMOVALS, InPlace, RemoteEntry
from fileops.fs.remote.ssh import SshChannels, SshConnection
from fileops.model.errors import ConnectionFailed
from fileops.model.files import CommitReport

if TYPE_CHECKING:
    from asyncssh import SFTPAttrs, SFTPClient, SFTPClientFile

TEMP_PREFIX = ".fileops-"
TEMP_SUFFIX = ".tmp"


class SftpBackend:
    """A host by its URL, sftp://[user@]host[:port]/folder. `options` are asyncssh's. Host keys are checked."""

    def __init__(self, url: str, options: Mapping[str, object]) -> None:
        self._ssh = SshConnection(url, options, on_made=self._sweep_leftovers)
        self._guard = threading.Lock()
        self._leftovers: list[str] = []  # guarded by _guard; temp files of writes whose connection was lost

    has_links = True

    @property
    def label(self) -> str:
        return self._ssh.label

    @property
    def was_reached(self) -> bool:
        return self._ssh.was_made

    def ssh_command(self) -> list[str]:
        return self._ssh.command()

    # --- stat and reading -------------------------------------------------------------------------------------

    def stat_many(self, paths: Sequence[str]) -> list[RemoteEntry | None]:
        async def stat_all(sftp: "SFTPClient") -> list[RemoteEntry | None]:
            return list(await asyncio.gather(*(_stat_entry(sftp, path) for path in paths)))

        return self._ssh.run(stat_all, is_idempotent=True)

    def link_target(self, path: str) -> str:
        async def read(sftp: "SFTPClient") -> str:
            return os.fsdecode(await sftp.readlink(os.fsencode(path)))

        return self._ssh.run(read, is_idempotent=True)

    def open(self, path: str) -> "SftpReader":
        async def begin(sftp: "SFTPClient") -> "tuple[SFTPClientFile, RemoteEntry]":
            file = await sftp.open(os.fsencode(path), "rb")
            return file, _entry_of(await file.stat())

        self.stat_many([path])  # replaces a lost connection
        connection = self._ssh.current()
        file, entry = self._ssh.run_on(connection, begin)
        return SftpReader(self._ssh, connection, file, entry)

    def read(self, path: str) -> tuple[bytes, RemoteEntry]:
        async def read(sftp: "SFTPClient") -> tuple[bytes, RemoteEntry]:
            async with sftp.open(os.fsencode(path), "rb") as file:
                opened = _entry_of(await file.stat())
                return cast("bytes", await file.read()), opened

        return self._ssh.run(read, is_idempotent=True, n_bytes=1 << 24)

    # --- writing ----------------------------------------------------------------------------------------------

    def stage(self, path: str, data: bytes, like: RemoteEntry | None, require_in_place: InPlace) -> "SftpUpload":
        temp = f"{path.rpartition('/')[0]}/{TEMP_PREFIX}{secrets.token_hex(8)}{TEMP_SUFFIX}"
        upload = SftpUpload(self, self._ssh, path, temp, data, like, require_in_place)
        try:
            upload.send()
        except BaseException:
            upload.discard()
            raise
        return upload

    def make_folder(self, path: str) -> None:
        async def make(sftp: "SFTPClient") -> None:
            await sftp.mkdir(os.fsencode(path))

        try:
            self._ssh.run(make)
        except OSError:
            if self.stat_many([path])[0] is not None:  # SFTP has one code for all failures
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            raise

    def remove_folder(self, path: str) -> None:
        async def remove(sftp: "SFTPClient") -> None:
            await sftp.rmdir(os.fsencode(path))

        self._ssh.run(remove)

    def remove(self, path: str) -> None:
        async def remove(sftp: "SFTPClient") -> None:
            await sftp.remove(os.fsencode(path))

        self._ssh.run(remove)

    def remove_temp(self, temp: str, *, was_made: bool = False) -> None:
        """Remove a temp file now, or after the next connection.

        was_made: it certainly exists. If it is then missing, its folder was moved and may return.
        """
        for _ in range(MAX_REMOVALS if was_made else 1):
            if not self._ssh.is_open:
                break
            try:
                return self.remove(temp)
            except FileNotFoundError:
                if not was_made:
                    return None
            except (OSError, ConnectionFailed):
                break
        with self._guard:
            self._leftovers.append(temp)
        return None

    def _sweep_leftovers(self) -> None:
        with self._guard:
            leftovers, self._leftovers = self._leftovers, []
        for temp in leftovers:
            self.remove_temp(temp)


class SftpReader:
    """See backend.Reader. It is bound to the connection on which it was opened."""

    def __init__(self, ssh: SshConnection, connection: SshChannels, file: "SFTPClientFile", entry: RemoteEntry) -> None:
        self._ssh = ssh
        self._connection = connection
        self._file = file
        self.entry = entry
        self._at = 0

    def read(self, max_bytes: int) -> bytes:
        async def read(_sftp: "SFTPClient") -> bytes:
            return cast("bytes", await self._file.read(max_bytes, self._at))

        chunk = self._ssh.run_on(self._connection, read, max_bytes)
        self._at += len(chunk)
        return chunk

    def seek(self, offset_bytes: int) -> None:
        self._at = offset_bytes

    def close(self) -> None:
        async def close(_sftp: "SFTPClient") -> None:
            await self._file.close()

        if self._ssh.is_current(self._connection):
            self._ssh.run_on(self._connection, close)


class SftpUpload:
    """See backend.Staged: a temp file beside the file, synced, and renamed over it."""

    def __init__(
        self,
        backend: SftpBackend,
        ssh: SshConnection,
        path: str,
        temp: str,
        data: bytes,
        like: RemoteEntry | None,
        require_in_place: InPlace,
    ) -> None:
        self._backend = backend
        self._ssh = ssh
        self._path = path
        self._temp = temp
        self._data = data
        self._like = like
        self._require_in_place = require_in_place
        self._is_made = False
        self._is_published = False
        self._is_synced = False
        self._cannot_rename_over = False
        self._reason: str | None = None

    def send(self) -> None:
        connection = self._ssh.current()
        file, entry = self._ssh.run_on(connection, self._make)
        self._is_made = True
        with self._close_if_refused(connection, file):
            self._require_in_place(self._temp, entry)
            self._ssh.run_on(connection, lambda _sftp: self._fill(file), len(self._data))

    async def _make(self, sftp: "SFTPClient") -> "tuple[SFTPClientFile, RemoteEntry]":
        from asyncssh import SFTPAttrs
        from asyncssh.constants import FXF_CREAT, FXF_EXCL, FXF_WRITE

        if self._like is not None:
            async with sftp.open(os.fsencode(self._path), FXF_WRITE):  # a rename needs no permission on it
                pass
        attrs = SFTPAttrs(permissions=0o666 if self._like is None else 0o600)
        flags = FXF_WRITE | FXF_CREAT | FXF_EXCL
        file = await sftp.open(os.fsencode(self._temp), flags, attrs, encoding=None)
        return file, _entry_of(await file.stat())

    async def _fill(self, file: "SFTPClientFile") -> None:
        await file.write(self._data)
        if self._like is not None:
            await self._make_alike(file, self._like)
        self._is_synced = await _try_sync(file)
        await file.close()

    @contextmanager
    def _close_if_refused(self, connection: SshChannels, file: "SFTPClientFile") -> Generator[None]:
        async def close(_sftp: "SFTPClient") -> None:
            await file.close()

        try:
            yield
        except BaseException:
            if self._ssh.is_current(connection):
                with suppress(OSError, ConnectionFailed):  # the first failure is raised
                    self._ssh.run_on(connection, close)
            raise

    async def _make_alike(self, file: "SFTPClientFile", like: RemoteEntry) -> None:
        from asyncssh import SFTPError

        own = await file.stat()
        if (own.uid, own.gid) != (like.uid, like.gid):
            try:
                await file.chown(like.uid, like.gid)
            except SFTPError:
                self._reason = "the owner of the file could not be kept"
        await file.chmod(S_IMODE(like.mode))

    def publish(self) -> CommitReport:
        try:
            self._ssh.run(self._create if self._like is None else self._rename_over)
            if self._cannot_rename_over:
                self._write_in_place()
        except ConnectionFailed as error:
            raise ConnectionFailed(where=error.where, reason=error.reason, is_unsure=True) from error
        except OSError as error:
            if self._like is None and self._backend.stat_many([self._path])[0] is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
            raise
        self._is_published = True
        return CommitReport(
            method="create" if self._like is None else "remote",
            durability="file_synced" if self._is_synced else "not_synced",
            reason=self._reason,
        )

    async def _create(self, sftp: "SFTPClient") -> None:
        """Rename exclusively: SFTP's plain rename replaces no file, because OpenSSH links and unlinks."""
        await sftp.rename(os.fsencode(self._temp), os.fsencode(self._path))

    async def _rename_over(self, sftp: "SFTPClient") -> None:
        from asyncssh import SFTPOpUnsupported

        try:
            await sftp.posix_rename(os.fsencode(self._temp), os.fsencode(self._path))
        except SFTPOpUnsupported:
            self._cannot_rename_over = True

    def _write_in_place(self) -> None:
        async def begin(sftp: "SFTPClient") -> "tuple[SFTPClientFile, RemoteEntry]":
            from asyncssh.constants import FXF_WRITE

            file = await sftp.open(os.fsencode(self._path), FXF_WRITE, encoding=None)
            return file, _entry_of(await file.stat())

        async def overwrite(file: "SFTPClientFile") -> None:
            await file.write(self._data)
            await file.truncate(len(self._data))
            self._is_synced = await _try_sync(file)
            await file.close()

        connection = self._ssh.current()
        file, entry = self._ssh.run_on(connection, begin)
        with self._close_if_refused(connection, file):
            self._require_in_place(self._path, entry)
            self._ssh.run_on(connection, lambda _sftp: overwrite(file), len(self._data))
        self._reason = "written in place: this server cannot rename over a file"
        self._backend.remove_temp(self._temp, was_made=True)

    def discard(self) -> None:
        if not self._is_published:
            self._backend.remove_temp(self._temp, was_made=self._is_made)

    def __enter__(self) -> "SftpUpload":
        return self

    def __exit__(self, *exc: object) -> None:
        self.discard()


# --- what SFTP reports about files, and what not every server can do ----------------------------------------------


async def _stat_entry(sftp: "SFTPClient", path: str) -> RemoteEntry | None:
    from asyncssh import SFTPNoSuchFile, SFTPNoSuchPath

    try:
        return _entry_of(await sftp.lstat(os.fsencode(path)))
    except (SFTPNoSuchFile, SFTPNoSuchPath):
        return None


async def _try_sync(file: "SFTPClientFile") -> bool:
    from asyncssh import SFTPConnectionLost, SFTPError

    try:
        await file.fsync()
    except SFTPConnectionLost:
        raise
    except SFTPError:  # not every server has this extension
        return False
    return True


def _entry_of(attrs: "SFTPAttrs") -> RemoteEntry:
    mode = attrs.permissions or 0
    return RemoteEntry(
        kind=_kind_of(mode),
        size_bytes=attrs.size or 0,
        mtime_ns=int(attrs.mtime or 0) * 1_000_000_000 + (attrs.mtime_ns or 0),
        mode=mode,
        uid=attrs.uid or 0,
        gid=attrs.gid or 0,
    )


def _kind_of(mode: int) -> Literal["file", "folder", "link", "other"]:
    if S_ISREG(mode):
        return "file"
    if S_ISDIR(mode):
        return "folder"
    return "link" if S_ISLNK(mode) else "other"
