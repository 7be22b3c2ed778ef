"""New content of a file on its way to a host: a temp file beside it, synced, and renamed over it."""

import errno
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from stat import S_IMODE
from typing import TYPE_CHECKING, Protocol

from fileops.fs.remote.backend import Entry, InPlace
from fileops.fs.remote.sftp_attributes import entry_of, try_sync
from fileops.fs.remote.ssh_channels import SshChannels
from fileops.fs.remote.ssh_connection import SshConnection
from fileops.model.errors import ConnectionFailed
from fileops.model.files import CommitReport

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SFTPClientFile


class Host(Protocol):
    """What an upload needs of its backend."""

    def stat_many(self, paths: Sequence[str]) -> list[Entry | None]: ...

    def remove_temp(self, temp: str, *, was_made: bool = False) -> None: ...


class SftpUpload:
    """See backend.Staged."""

    def __init__(
        self,
        host: Host,
        ssh: SshConnection,
        path: str,
        temp: str,
        data: bytes,
        like: Entry | None,
        require_in_place: InPlace,
    ) -> None:
        self._host, self._ssh = host, ssh
        self._path, self._temp, self._data, self._like = path, temp, data, like
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
        with self._closed_if_refused(connection, file):
            self._require_in_place(self._temp, entry)
            self._ssh.run_on(connection, lambda _sftp: self._fill(file), len(self._data))

    async def _make(self, sftp: "SFTPClient") -> "tuple[SFTPClientFile, Entry]":
        from asyncssh import SFTPAttrs
        from asyncssh.constants import FXF_CREAT, FXF_EXCL, FXF_WRITE

        if self._like is not None:
            async with sftp.open(os.fsencode(self._path), FXF_WRITE):  # a rename needs no permission on it
                pass
        attrs = SFTPAttrs(permissions=0o666 if self._like is None else 0o600)
        flags = FXF_WRITE | FXF_CREAT | FXF_EXCL
        file = await sftp.open(os.fsencode(self._temp), flags, attrs, encoding=None)
        return file, entry_of(await file.stat())

    async def _fill(self, file: "SFTPClientFile") -> None:
        await file.write(self._data)
        if self._like is not None:
            await self._make_alike(file, self._like)
        self._is_synced = await try_sync(file)
        await file.close()

    @contextmanager
    def _closed_if_refused(self, connection: SshChannels, file: "SFTPClientFile") -> Generator[None]:
        async def close(_sftp: "SFTPClient") -> None:
            await file.close()

        try:
            yield
        except BaseException:
            if self._ssh.is_current(connection):
                with suppress(OSError, ConnectionFailed):  # the first failure is raised
                    self._ssh.run_on(connection, close)
            raise

    async def _make_alike(self, file: "SFTPClientFile", like: Entry) -> None:
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
            if self._like is None and self._host.stat_many([self._path])[0] is not None:
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
        async def begin(sftp: "SFTPClient") -> "tuple[SFTPClientFile, Entry]":
            from asyncssh.constants import FXF_WRITE

            file = await sftp.open(os.fsencode(self._path), FXF_WRITE, encoding=None)
            return file, entry_of(await file.stat())

        async def overwrite(file: "SFTPClientFile") -> None:
            await file.write(self._data)
            await file.truncate(len(self._data))
            self._is_synced = await try_sync(file)
            await file.close()

        connection = self._ssh.current()
        file, entry = self._ssh.run_on(connection, begin)
        with self._closed_if_refused(connection, file):
            self._require_in_place(self._path, entry)
            self._ssh.run_on(connection, lambda _sftp: overwrite(file), len(self._data))
        self._reason = "written in place: this server cannot rename over a file"
        self._host.remove_temp(self._temp, was_made=True)

    def discard(self) -> None:
        if not self._is_published:
            self._host.remove_temp(self._temp, was_made=self._is_made)

    def __enter__(self) -> "SftpUpload":
        return self

    def __exit__(self, *exc: object) -> None:
        self.discard()
