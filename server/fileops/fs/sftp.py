"""A host reached over SSH, as a Backend: SFTP through sshfs and asyncssh.

Writes go to a temporary file beside the old one, are synced there and renamed over it, so that at every moment,
whatever becomes of the connection, the old file or the new one stands. A lost connection is made anew at the next
use; what only reads is then tried once more by itself, what writes is not.
"""

import asyncio
import errno
import importlib
import logging
import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from fileops.errors import ConnectionFailed
from fileops.fs.anywhere import label_of
from fileops.fs.backends import Entry
from fileops.model import CommitReport

if TYPE_CHECKING:
    from asyncssh import SFTPAttrs, SFTPClient, SFTPClientFile

T = TypeVar("T")

CONNECT_S = 15
KEEPALIVE_S = 10  # asyncssh gives up after three unanswered
CALL_S = 60.0  # for an answer of a server that is there but does nothing
SLOWEST_BYTES_PER_S = 32_000
TEMP_PREFIX, TEMP_SUFFIX = ".fileops-", ".tmp"


class SftpBackend:
    """url: sftp://[user@]host[:port]/folder. options: of `asyncssh.connect`. Host keys are checked by default."""

    def __init__(self, url: str, options: Mapping[str, object]) -> None:
        self._url, self._options = url, dict(options)
        self._guard = threading.Lock()
        self._connected: Any = None  # an sshfs.SSHFileSystem
        self._leftovers: list[str] = []  # temporary files of writes whose connection was lost
        self.was_reached = False

    @property
    def label(self) -> str:
        return label_of(self._url)

    def ssh_command(self) -> list[str]:
        """Of the system's own ssh, which asks nobody: keys and agents work, passwords do not."""
        options = self._options
        url = urlsplit(self._url)
        command = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ServerAliveInterval={KEEPALIVE_S}"]
        if (port := options.get("port") or url.port) is not None:
            command += ["-p", str(port)]
        if (user := options.get("username") or url.username) is not None:
            command += ["-l", str(user)]
        keys = options.get("client_keys")
        for key in cast("list[object]", keys) if isinstance(keys, list) else [keys] if isinstance(keys, str) else []:
            command += ["-i", str(key), "-o", "IdentitiesOnly=yes"]
        if isinstance(known_hosts := options.get("known_hosts"), str):
            command += ["-o", f"UserKnownHostsFile={known_hosts}"]
        return [*command, "--", str(options.get("host") or url.hostname)]

    # --- looking and reading ----------------------------------------------------------------------------------

    def look(self, paths: Sequence[str]) -> list[Entry | None]:
        async def look(sftp: "SFTPClient") -> list[Entry | None]:
            return list(await asyncio.gather(*(_look(sftp, path) for path in paths)))

        return self._run(look, is_harmless=True)

    def link_target(self, path: str) -> str:
        async def read(sftp: "SFTPClient") -> str:
            return os.fsdecode(await sftp.readlink(os.fsencode(path)))

        return self._run(read, is_harmless=True)

    def open(self, path: str) -> "SftpReader":
        async def begin(sftp: "SFTPClient") -> "tuple[SFTPClientFile, Entry]":
            file = await sftp.open(os.fsencode(path), "rb")
            return file, _entry(await file.stat())

        self.look([path])  # so that the connection is one that lives
        connection = self._connect()
        file, entry = self.run_on(connection, begin)
        return SftpReader(self, connection, file, entry)

    def read(self, path: str) -> bytes:
        async def read(sftp: "SFTPClient") -> bytes:
            async with sftp.open(os.fsencode(path), "rb") as file:
                return cast("bytes", await file.read())

        return self._run(read, is_harmless=True, n_bytes=1 << 24)

    # --- writing ----------------------------------------------------------------------------------------------

    def stage(self, path: str, data: bytes, like: Entry | None) -> "_Upload":
        folder = path.rpartition("/")[0]
        upload = _Upload(self, path, f"{folder}/{TEMP_PREFIX}{secrets.token_hex(8)}{TEMP_SUFFIX}", data, like)
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
            self._run(make)
        except OSError:
            if self.look([path])[0] is not None:  # SFTP has one word for all failures
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            raise

    def remove_folder(self, path: str) -> None:
        async def remove(sftp: "SFTPClient") -> None:
            await sftp.rmdir(os.fsencode(path))

        self._run(remove)

    def remove(self, path: str) -> None:
        async def remove(sftp: "SFTPClient") -> None:
            await sftp.remove(os.fsencode(path))

        self._run(remove)

    def sweep_up(self, temp: str) -> None:
        """Remove a temporary file now, or after the next connection was made."""
        if self._connected is not None:
            try:
                return self.remove(temp)
            except FileNotFoundError:
                return None
            except (OSError, ConnectionFailed):
                pass
        self._leftovers.append(temp)
        return None

    def is_on(self, connection: Any) -> bool:
        """Whether this still is the connection in use."""
        return self._connected is connection

    # --- the connection ---------------------------------------------------------------------------------------

    def run(self, work: "Callable[[SFTPClient], Awaitable[T]]", n_bytes: int = 0) -> T:
        """Once, on the connection there is or a new one. Raises: OSError, ConnectionFailed."""
        return self._run(work, n_bytes=n_bytes)

    def _run(self, work: "Callable[[SFTPClient], Awaitable[T]]", *, is_harmless: bool = False, n_bytes: int = 0) -> T:
        if is_harmless and self._connected is not None:
            with suppress(ConnectionFailed):  # it may have died while nobody looked
                return self._run_once(work, n_bytes)
        return self._run_once(work, n_bytes)

    def _run_once(self, work: "Callable[[SFTPClient], Awaitable[T]]", n_bytes: int) -> T:
        return self.run_on(self._connect(), work, n_bytes)

    def run_on(self, connection: Any, work: "Callable[[SFTPClient], Awaitable[T]]", n_bytes: int = 0) -> T:
        """Raises: OSError, ConnectionFailed."""
        try:
            return _wait_for(connection, work, CALL_S + n_bytes / SLOWEST_BYTES_PER_S)
        except Exception as error:
            number = _errno_of(error)
            if number is not None:
                raise OSError(number, _words_of(error, number)) from error
            self._drop(connection)
            raise ConnectionFailed(where=self.label, reason=_reason_of(error)) from error

    def _connect(self) -> Any:
        with self._guard:
            if self._connected is None:
                self._connected = self._opened()
                self.was_reached = True
                leftovers, self._leftovers = self._leftovers, []
            else:
                leftovers = []
            connection = self._connected
        for temp in leftovers:
            self.sweep_up(temp)
        return connection

    def _opened(self) -> Any:
        sshfs: Any = importlib.import_module("sshfs")
        logging.getLogger("asyncssh").setLevel(logging.WARNING)  # it logs what is sent
        options: dict[str, Any] = {
            "known_hosts": (),  # those of the user; sshfs by itself would check none
            "connect_timeout": CONNECT_S, "login_timeout": CONNECT_S, "keepalive_interval": KEEPALIVE_S,
            "keepalive_count_max": 3,
        }  # fmt: skip
        options |= sshfs.SSHFileSystem._get_kwargs_from_urls(self._url)
        options |= self._options | {"skip_instance_cache": True}
        try:
            return sshfs.SSHFileSystem(**options)
        except Exception as error:  # foreign code, and a network: whatever it raises, there is no connection
            raise ConnectionFailed(where=self.label, reason=_reason_of(error)) from error

    def _drop(self, connection: Any) -> None:
        with self._guard:
            if self._connected is connection:
                self._connected = None
        with suppress(RuntimeError):  # the loop is closed
            connection.loop.call_soon_threadsafe(connection.client.abort)


class SftpReader:
    """See backends.Reader. It lives and dies with the connection on which it was opened."""

    def __init__(self, backend: SftpBackend, connection: Any, file: "SFTPClientFile", entry: Entry) -> None:
        self._backend, self._connection, self._file = backend, connection, file
        self.entry = entry
        self._at = 0

    def read(self, max_bytes: int) -> bytes:
        async def read(_sftp: "SFTPClient") -> bytes:
            return cast("bytes", await self._file.read(max_bytes, self._at))

        chunk = self._backend.run_on(self._connection, read, max_bytes)
        self._at += len(chunk)
        return chunk

    def seek(self, offset_bytes: int) -> None:
        self._at = offset_bytes

    def close(self) -> None:
        async def close(_sftp: "SFTPClient") -> None:
            await self._file.close()

        if self._backend.is_on(self._connection):
            self._backend.run_on(self._connection, close)


class _Upload:
    """See backends.Staged."""

    def __init__(self, backend: SftpBackend, path: str, temp: str, data: bytes, like: Entry | None) -> None:
        self._backend, self._path, self._temp, self._data, self._like = backend, path, temp, data, like
        self._is_published = False
        self._is_synced = False
        self._reason: str | None = None

    def send(self) -> None:
        self._backend.run(self._send, len(self._data))

    async def _send(self, sftp: "SFTPClient") -> None:
        from asyncssh import SFTPAttrs
        from asyncssh.constants import FXF_CREAT, FXF_EXCL, FXF_WRITE

        if self._like is not None:
            async with sftp.open(os.fsencode(self._path), FXF_WRITE):  # a swap would ask for no permission on the file
                pass
        attrs = SFTPAttrs(permissions=0o666 if self._like is None else 0o600)
        flags = FXF_WRITE | FXF_CREAT | FXF_EXCL
        async with sftp.open(os.fsencode(self._temp), flags, attrs, encoding=None) as file:
            await file.write(self._data)
            if self._like is not None:
                await self._make_alike(file, self._like)
            self._is_synced = await _synced(file)

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
            method = self._backend.run(self._create if self._like is None else self._swap, len(self._data))
        except ConnectionFailed as error:
            raise ConnectionFailed(where=error.where, reason=error.reason, is_unsure=True) from error
        except OSError as error:
            if self._like is None and self._backend.look([self._path])[0] is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
            raise
        self._is_published = True
        return CommitReport(
            method="create" if self._like is None else "remote",
            durability="file_synced" if self._is_synced else "not_synced",
            reason=self._reason or method,
        )

    async def _create(self, sftp: "SFTPClient") -> str | None:
        """SFTP's plain rename puts nothing over a file that is there: OpenSSH links and unlinks."""
        await sftp.rename(os.fsencode(self._temp), os.fsencode(self._path))
        return None

    async def _swap(self, sftp: "SFTPClient") -> str | None:
        from asyncssh import SFTPOpUnsupported
        from asyncssh.constants import FXF_TRUNC, FXF_WRITE

        try:
            await sftp.posix_rename(os.fsencode(self._temp), os.fsencode(self._path))
            return None
        except SFTPOpUnsupported:
            pass
        async with sftp.open(os.fsencode(self._path), FXF_WRITE | FXF_TRUNC, encoding=None) as file:
            await file.write(self._data)
            self._is_synced = await _synced(file)
        await sftp.remove(os.fsencode(self._temp))
        return "written in place: this server cannot rename over a file"

    def discard(self) -> None:
        if not self._is_published:
            self._backend.sweep_up(self._temp)

    def __enter__(self) -> "_Upload":
        return self

    def __exit__(self, *exc: object) -> None:
        self.discard()


def _wait_for(connection: Any, work: "Callable[[SFTPClient], Awaitable[T]]", timeout_s: float) -> T:
    """In the calling thread; the work is done on fsspec's loop."""

    async def on_channel() -> T:
        async with connection._pool.get() as sftp:
            return await work(sftp)

    sync: Any = importlib.import_module("fsspec.asyn").sync
    return sync(connection.loop, on_channel, timeout=timeout_s)


async def _look(sftp: "SFTPClient", path: str) -> Entry | None:
    from asyncssh import SFTPNoSuchFile, SFTPNoSuchPath

    try:
        return _entry(await sftp.lstat(os.fsencode(path)))
    except (SFTPNoSuchFile, SFTPNoSuchPath):
        return None


async def _synced(file: "SFTPClientFile") -> bool:
    from asyncssh import SFTPConnectionLost, SFTPError

    try:
        await file.fsync()
    except SFTPConnectionLost:
        raise
    except SFTPError:  # an extension that not every server has
        return False
    return True


def _entry(attrs: "SFTPAttrs") -> Entry:
    mode = attrs.permissions or 0
    kind = "file" if S_ISREG(mode) else "folder" if S_ISDIR(mode) else "link" if S_ISLNK(mode) else "other"
    return Entry(
        kind=kind, size_bytes=attrs.size or 0, mtime_ns=int(attrs.mtime or 0) * 1_000_000_000 + (attrs.mtime_ns or 0),
        mode=mode, uid=attrs.uid or 0, gid=attrs.gid or 0,
    )  # fmt: skip


def _errno_of(error: Exception) -> int | None:
    """Of a failure that the server told of; None where the connection itself is gone or useless."""
    import asyncssh

    if isinstance(error, (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection)):
        return None
    if isinstance(error, (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath)):
        return errno.ENOENT
    if isinstance(error, (asyncssh.SFTPPermissionDenied, asyncssh.SFTPWriteProtect)):
        return errno.EACCES
    if isinstance(error, asyncssh.SFTPFileAlreadyExists):
        return errno.EEXIST
    if isinstance(error, (asyncssh.SFTPNoSpaceOnFilesystem, asyncssh.SFTPQuotaExceeded)):
        return errno.ENOSPC
    return errno.EIO if isinstance(error, asyncssh.SFTPError) else None


def _words_of(error: Exception, number: int) -> str:
    return os.strerror(number) if number != errno.EIO else f"the server refused: {error}"


def _reason_of(error: Exception) -> str:
    """In words that hold no secret: never the text of a foreign exception, which may quote what was sent."""
    import asyncssh

    if isinstance(error, (asyncssh.PermissionDenied, PermissionError)):
        return "the server did not let us in"
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return "the server's host key is not known"
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "it does not answer"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno) if error.errno > 0 else "its name is not known"
    if isinstance(error, (asyncssh.Error, ConnectionError, BrokenPipeError)):
        return "the connection was lost"
    return f"{type(error).__name__} in its client"
