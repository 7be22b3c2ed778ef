"""SSH to a host, through asyncssh: one connection, and a few SFTP channels on it that requests share.

The connection is made when it is first used, and again after a loss. After a loss, an operation that only reads is
retried once; one that writes is not. One event loop serves all hosts; any thread may use a connection.
"""

import asyncio
import errno
import logging
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

from fileops.fs.remote.paths import label_of
from fileops.model.errors import ConnectionFailed

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SSHClientConnection

T = TypeVar("T")

CONNECT_S = 15
KEEPALIVE_S = 10  # asyncssh gives up after three unanswered
CALL_S = 60.0  # for an answer, before the server counts as hanging
SLOWEST_BYTES_PER_S = 32_000
MAX_CHANNELS = 8  # OpenSSH allows ten sessions per connection, and commands need some


class SshConnection:
    """Connects by `url` and `options` (see SftpBackend). `on_made` is called when a new connection can be used."""

    def __init__(self, url: str, options: Mapping[str, object], on_made: Callable[[], None]) -> None:
        self._url = url
        self._options = dict(options)
        self._on_made = on_made
        self._guard = threading.Lock()
        self._connected: SshChannels | None = None
        self.was_made = False

    @property
    def label(self) -> str:
        return label_of(self._url)

    @property
    def is_open(self) -> bool:
        """Return whether there is a connection, as far as is known."""
        return self._connected is not None

    def is_current(self, connection: "SshChannels") -> bool:
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
        for key in _keys_of(options):
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

    def run_on(self, connection: "SshChannels", work: "Callable[[SFTPClient], Awaitable[T]]", n_bytes: int = 0) -> T:
        """Run `work` on this connection. Raises: OSError, ConnectionFailed."""
        try:
            return connection.run(work, CALL_S + n_bytes / SLOWEST_BYTES_PER_S)
        except Exception as error:
            number = _errno_of(error)
            if number is not None:
                raise OSError(number, _words_of(error, number)) from error
            self._drop(connection)
            raise ConnectionFailed(where=self.label, reason=_reason_of(error)) from error

    def current(self) -> "SshChannels":
        """Return the current connection or a new one, for `run_on`. Raises: ConnectionFailed."""
        with self._guard:
            if self._connected is not None:
                return self._connected
            connection = self._connected = self._open()
            self.was_made = True
        self._on_made()
        return connection

    def _open(self) -> "SshChannels":
        logging.getLogger("asyncssh").setLevel(logging.WARNING)  # below that it logs contents
        options: dict[str, Any] = {
            "connect_timeout": CONNECT_S,
            "login_timeout": CONNECT_S,
            "keepalive_interval": KEEPALIVE_S,
            "keepalive_count_max": 3,
            **_address(self._url),
            **self._options,
        }
        host = str(options.pop("host"))
        try:
            return SshChannels.connect(host, options)
        except Exception as error:  # foreign code of asyncssh and a network
            raise ConnectionFailed(where=self.label, reason=_reason_of(error)) from error

    def _drop(self, connection: "SshChannels") -> None:
        with self._guard:
            if self._connected is connection:
                self._connected = None
        connection.abort()


class SshChannels:
    """The SFTP channels of one connection. Created by `connect`.

    A channel serves its requests one after the other, so one that hangs on the host must not be the only one. All
    coroutines run on this module's loop; `run` waits for one in the calling thread.
    """

    def __init__(self, connection: "SSHClientConnection") -> None:
        self._connection = connection
        self._idle: list[SFTPClient] = []
        self._n_open = 0
        self._max_open = MAX_CHANNELS
        self._changed = asyncio.Condition()

    @classmethod
    def connect(cls, host: str, options: Mapping[str, Any]) -> "SshChannels":
        """Connect as asyncssh does. Raises: what asyncssh and the network raise."""

        async def connect() -> SshChannels:
            import asyncssh

            return cls(await asyncssh.connect(host, **options))

        return asyncio.run_coroutine_threadsafe(connect(), _loop()).result()

    def run(self, work: "Callable[[SFTPClient], Awaitable[T]]", timeout_s: float) -> T:
        """Raises: TimeoutError; what `work` raises."""

        async def on_channel() -> T:
            async with asyncio.timeout(timeout_s), self._channel() as sftp:
                return await work(sftp)

        return asyncio.run_coroutine_threadsafe(on_channel(), _loop()).result()

    def abort(self) -> None:
        """End the connection without notifying the host. Any thread may call this."""
        _loop().call_soon_threadsafe(self._connection.abort)

    @asynccontextmanager
    async def _channel(self) -> "AsyncGenerator[SFTPClient]":
        sftp = await self._acquire()
        try:
            yield sftp
        finally:
            async with self._changed:
                self._idle.append(sftp)
                self._changed.notify()

    async def _acquire(self) -> "SFTPClient":
        # A channel is counted before it is opened, so that no more than allowed are opened together. If the host
        # refuses one and there are others, their number is the new maximum, and this request waits until one of them
        # is idle. If there is no other, none would ever become idle: the refusal is raised, and another waiter tries.
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._idle or self._n_open < self._max_open)
                if self._idle:
                    return self._idle.pop()
                self._n_open += 1
            if (opened := await self._open()) is not None:
                return opened

    async def _open(self) -> "SFTPClient | None":
        """Return a new channel; None if the host allows no more, so that the existing ones must do."""
        import asyncssh

        try:
            return await self._connection.start_sftp_client()
        except BaseException as error:
            async with self._changed:
                self._n_open -= 1
                if not isinstance(error, asyncssh.ChannelOpenError) or self._n_open == 0:
                    self._changed.notify()
                    raise
                self._max_open = self._n_open
            return None


_starting = threading.Lock()
_started: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all SSH connections; its thread starts when it is first used."""
    with _starting:
        if not _started:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="fileops-ssh", daemon=True).start()
            _started.append(loop)
        return _started[0]


# --- options and failures -----------------------------------------------------------------------------------------


def _address(url: str) -> dict[str, object]:
    """Return what a URL says about host, port, username and password."""
    parts = urlsplit(url)
    found = {
        "host": parts.hostname,
        "port": parts.port,
        "username": parts.username and unquote(parts.username),
        "password": parts.password and unquote(parts.password),
    }
    return {name: value for name, value in found.items() if value is not None}


def _keys_of(options: Mapping[str, object]) -> list[object]:
    """Return the files of private keys that asyncssh's option names: one, or a list."""
    keys = options.get("client_keys")
    if isinstance(keys, list):
        return cast("list[object]", keys)
    return [keys] if isinstance(keys, str) else []


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
