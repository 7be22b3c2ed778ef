"""A connection to a host over SSH, through asyncssh. It is made at the first use, and again after a loss.

After a loss, an operation that only reads is retried once; one that writes is not.
"""

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

from fileops.fs.remote.fsspec_backend import label_of
from fileops.fs.remote.ssh_channels import SshChannels
from fileops.model.errors import ConnectionFailed

if TYPE_CHECKING:
    from asyncssh import SFTPClient

T = TypeVar("T")

CONNECT_S = 15
KEEPALIVE_S = 10  # asyncssh gives up after three unanswered
CALL_S = 60.0  # for the answer of a server that hangs
SLOWEST_BYTES_PER_S = 32_000


class SshConnection:
    """Connects by `url` and `options` (see SftpBackend). `on_made` is called when a new connection can be used."""

    def __init__(self, url: str, options: Mapping[str, object], on_made: Callable[[], None]) -> None:
        self._url, self._options, self._on_made = url, dict(options), on_made
        self._guard = threading.Lock()
        self._connected: SshChannels | None = None
        self.was_made = False

    @property
    def label(self) -> str:
        return label_of(self._url)

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._connected is not None

    def is_current(self, connection: SshChannels) -> bool:
        return self._connected is connection

    def command(self) -> list[str]:
        """Return a command of the system's ssh without prompts: keys and agents work, passwords do not."""
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

    def run(self, work: "Callable[[SFTPClient], Awaitable[T]]", *, is_idempotent: bool = False, n_bytes: int = 0) -> T:
        """Run `work` on the current connection or a new one, and again if it is idempotent and the first was lost.

        n_bytes: to be transferred, for the timeout. Raises: OSError, ConnectionFailed.
        """
        if is_idempotent and self._connected is not None:
            with suppress(ConnectionFailed):  # it may have been lost unnoticed
                return self.run_on(self.current(), work, n_bytes)
        return self.run_on(self.current(), work, n_bytes)

    def run_on(self, connection: SshChannels, work: "Callable[[SFTPClient], Awaitable[T]]", n_bytes: int = 0) -> T:
        """Run `work` on this connection. Raises: OSError, ConnectionFailed."""
        try:
            return connection.run(work, CALL_S + n_bytes / SLOWEST_BYTES_PER_S)
        except Exception as error:
            number = _errno_of(error)
            if number is not None:
                raise OSError(number, _words_of(error, number)) from error
            self._drop(connection)
            raise ConnectionFailed(where=self.label, reason=_reason_of(error)) from error

    def current(self) -> SshChannels:
        """Return the current connection or a new one, for `run_on`. Raises: ConnectionFailed."""
        with self._guard:
            if self._connected is not None:
                return self._connected
            connection = self._connected = self._opened()
            self.was_made = True
        self._on_made()
        return connection

    def _opened(self) -> SshChannels:
        logging.getLogger("asyncssh").setLevel(logging.WARNING)  # below that it logs contents
        options: dict[str, Any] = {
            "connect_timeout": CONNECT_S, "login_timeout": CONNECT_S, "keepalive_interval": KEEPALIVE_S,
            "keepalive_count_max": 3, **_address(self._url), **self._options,
        }  # fmt: skip
        host = str(options.pop("host"))
        try:
            return SshChannels.connect(host, options)
        except Exception as error:  # foreign code of asyncssh and a network
            raise ConnectionFailed(where=self.label, reason=_reason_of(error)) from error

    def _drop(self, connection: SshChannels) -> None:
        with self._guard:
            if self._connected is connection:
                self._connected = None
        connection.abort()


def _address(url: str) -> dict[str, object]:
    """What a URL says of host, port, username and password."""
    parts = urlsplit(url)
    found = {
        "host": parts.hostname, "port": parts.port,
        "username": parts.username and unquote(parts.username), "password": parts.password and unquote(parts.password),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _errno_of(error: Exception) -> int | None:
    """Return the errno of a failure that the server reported, None if the connection is lost or unusable."""
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
    """Return a reason without secrets: never the text of a foreign exception, which may quote what was sent."""
    import asyncssh

    if isinstance(error, (asyncssh.PermissionDenied, PermissionError)):
        return "the server denied the login"
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return "the server's host key is not known"
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "it does not answer"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno) if error.errno > 0 else "its name is not known"
    if isinstance(error, (asyncssh.Error, ConnectionError, BrokenPipeError)):
        return "the connection was lost"
    return f"{type(error).__name__} in its client"
