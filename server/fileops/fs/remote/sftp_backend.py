"""Backend for a host that is reached over SSH.

New content is written to a temp file beside the old file, synced there and renamed over it. So the path always has
either the old file or the new one, even if the connection is lost (see ssh_connection.py).
"""

import asyncio
import errno
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from fileops.fs.remote.backend import MAX_REMOVALS, Entry, InPlace
from fileops.fs.remote.sftp_attributes import entry_of, stat_entry
from fileops.fs.remote.sftp_upload import SftpUpload
from fileops.fs.remote.ssh_channels import SshChannels
from fileops.fs.remote.ssh_connection import SshConnection
from fileops.model.errors import ConnectionFailed

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SFTPClientFile

TEMP_PREFIX, TEMP_SUFFIX = ".fileops-", ".tmp"


class SftpBackend:
    """A host by its URL, sftp://[user@]host[:port]/folder. `options` are asyncssh's. Host keys are checked."""

    def __init__(self, url: str, options: Mapping[str, object]) -> None:
        self._ssh = SshConnection(url, options, on_made=self._sweep_leftovers)
        self._leftovers: list[str] = []  # temporary files of writes whose connection was lost

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

    def stat_many(self, paths: Sequence[str]) -> list[Entry | None]:
        async def stat_all(sftp: "SFTPClient") -> list[Entry | None]:
            return list(await asyncio.gather(*(stat_entry(sftp, path) for path in paths)))

        return self._ssh.run(stat_all, is_idempotent=True)

    def link_target(self, path: str) -> str:
        async def read(sftp: "SFTPClient") -> str:
            return os.fsdecode(await sftp.readlink(os.fsencode(path)))

        return self._ssh.run(read, is_idempotent=True)

    def open(self, path: str) -> "SftpReader":
        async def begin(sftp: "SFTPClient") -> "tuple[SFTPClientFile, Entry]":
            file = await sftp.open(os.fsencode(path), "rb")
            return file, entry_of(await file.stat())

        self.stat_many([path])  # replaces a lost connection
        connection = self._ssh.current()
        file, entry = self._ssh.run_on(connection, begin)
        return SftpReader(self._ssh, connection, file, entry)

    def read(self, path: str) -> tuple[bytes, Entry]:
        async def read(sftp: "SFTPClient") -> tuple[bytes, Entry]:
            async with sftp.open(os.fsencode(path), "rb") as file:
                opened = entry_of(await file.stat())
                return cast("bytes", await file.read()), opened

        return self._ssh.run(read, is_idempotent=True, n_bytes=1 << 24)

    # --- writing ----------------------------------------------------------------------------------------------

    def stage(self, path: str, data: bytes, like: Entry | None, require_in_place: InPlace) -> "SftpUpload":
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
        """Remove a temp file now, or after the next connection was made.

        was_made: it was certainly made. If it is then missing, its folder was moved and may return.
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
        self._leftovers.append(temp)
        return None

    def _sweep_leftovers(self) -> None:
        leftovers, self._leftovers = self._leftovers, []
        for temp in leftovers:
            self.remove_temp(temp)


class SftpReader:
    """See backend.Reader. It is bound to the connection on which it was opened."""

    def __init__(self, ssh: SshConnection, connection: SshChannels, file: "SFTPClientFile", entry: Entry) -> None:
        self._ssh, self._connection, self._file = ssh, connection, file
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
