"""A connection to a host over SSH, through sshfs and asyncssh: made at the first use, made anew when it was lost.

What only reads is then tried once more by itself, what writes is not.
"""

import asyncio
import errno
import importlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from fileops.fs.remote.fsspec_backend import label_of
from fileops.model.errors import ConnectionFailed

if TYPE_CHECKING:
    from asyncssh import SFTPClient

T = TypeVar("T")

CONNECT_S = 15
KEEPALIVE_S = 10  # asyncssh gives up after three unanswered
CALL_S = 60.0  # for an answer of a server that is there but does nothing
SLOWEST_BYTES_PER_S = 32_000


class SshConnection:
    """url, options: see sftp.SftpBackend. on_made: called after each new connection, when it can be used."""

    def __init__(self, url: str, options: Mapping[str, object], on_made: Callable[[], None]) -> None:
        self._url, self._options, self._on_made = url, dict(options), on_made
        self._guard = threading.Lock()
        self._connected: Any = None  # an sshfs.SSHFileSystem
        self.was_made = False

    @property
    def label(self) -> str:
        return label_of(self._url)

    @property
    def stands(self) -> bool:
        """Whether there is one, as far as is known."""
        return self._connected is not None

    def is_current(self, connection: Any) -> bool:
        return self._connected is connection

    def command(self) -> list[str]:
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

    def run(self, work: "Callable[[SFTPClient], Awaitable[T]]", *, is_harmless: bool = False, n_bytes: int = 0) -> T:
        """Once, on the connection there is or a new one; twice where it is harmless. n_bytes: to be transferred.

        Raises: OSError, ConnectionFailed.
        """
        if is_harmless and self._connected is not None:
            with suppress(ConnectionFailed):  # it may have died while nobody looked
                return self.run_on(self.current(), work, n_bytes)
        return self.run_on(self.current(), work, n_bytes)

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

    def current(self) -> Any:
        """The connection there is or a new one, for `run_on`. Raises: ConnectionFailed."""
        with self._guard:
            is_new = self._connected is None
            if is_new:
                self._connected = self._opened()
                self.was_made = True
            connection = self._connected
        if is_new:
            self._on_made()
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


def _wait_for(connection: Any, work: "Callable[[SFTPClient], Awaitable[T]]", timeout_s: float) -> T:
    """In the calling thread; the work is done on fsspec's loop."""

    async def on_channel() -> T:
        async with connection._pool.get() as sftp:
            return await work(sftp)

    sync: Any = importlib.import_module("fsspec.asyn").sync
    return sync(connection.loop, on_channel, timeout=timeout_s)


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
