"""SFTP over one SSH connection, from any thread: one event loop for all hosts, and a few channels that requests share.

A channel serves its requests one after the other, so one that hangs on the host must not be the only one.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SSHClientConnection

T = TypeVar("T")

MAX_CHANNELS = 8  # OpenSSH allows ten sessions a connection, and commands need some


class SshChannels:
    """Made by `connect`. All coroutines run on the loop of this module; `run` waits for one in the calling thread."""

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
        """End the connection without a word to the host. Any thread may call this."""
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
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._idle or self._n_open < self._max_open)
                if self._idle:
                    return self._idle.pop()
                self._n_open += 1
            if (opened := await self._opened()) is not None:
                return opened

    async def _opened(self) -> "SFTPClient | None":
        """A new channel; None if the host allows no further one, so that those there are must do."""
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
    """The loop of all SSH connections; its thread is started at the first use."""
    with _starting:
        if not _started:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="fileops-ssh", daemon=True).start()
            _started.append(loop)
        return _started[0]
