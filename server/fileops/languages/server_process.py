"""The process of a language server, with its pipes.

asyncio's own `Process` leaves its pipes to the garbage collector if the event loop ends soon after the process, or if a
child of it keeps their other ends open. Belongs to the event loop that started it.

A daemon that is killed (SIGKILL) ends nothing itself, and a busy server does not notice the end of its input. So a
shell waits in the server's process group for the end of its own input, which only the daemon holds open, and ends the
group. As long as it is a member, the system gives the group's number to no other.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

log = logging.getLogger(__name__)

_SHELL = "/bin/sh"
_END_WITH_INPUT = "read _; kill -9 0"  # 0: its own process group
EXIT_S = 1.0  # of a killed process: only the kernel can delay it


class ServerProcess(asyncio.SubprocessProtocol):
    """A process in a group of its own. output: what it writes to stdout; what it writes to stderr is logged."""

    def __init__(self) -> None:
        self.output = asyncio.StreamReader()
        self._transport: asyncio.SubprocessTransport | None = None
        self._open_pipes = {0, 1, 2}
        self._has_exited = asyncio.Event()
        self._has_no_pipes = asyncio.Event()
        self._watcher: ServerProcess | None = None  # the shell; see the module

    @classmethod
    async def start(cls, program: str, arguments: Sequence[str]) -> "ServerProcess":
        """Raises: OSError."""
        return await cls._in_group(0, program, arguments)

    async def end_with_daemon(self) -> None:
        """Make the process end however the daemon ends; see the module."""
        with suppress(OSError):  # it has ended already, and its group with it; or there can be no more processes
            self._watcher = await self._in_group(self.pid, _SHELL, ("-c", _END_WITH_INPUT))
        if self._has_exited.is_set():  # meanwhile, so `close` may have been called already
            await self._close_watcher()

    @classmethod
    async def _in_group(cls, group: int, program: str, arguments: Sequence[str]) -> "ServerProcess":
        """Args: group: a process group, 0 for a new one. Raises: OSError."""
        loop = asyncio.get_running_loop()
        _, process = await loop.subprocess_exec(cls, program, *arguments, cwd="/", process_group=group)
        return process

    @property
    def pid(self) -> int:
        """The process, and its process group."""
        return self._start().get_pid()

    @property
    def input(self) -> asyncio.WriteTransport:
        """Its stdin. What is written is sent as soon as the process reads."""
        return cast("asyncio.WriteTransport", self._start().get_pipe_transport(0))

    async def wait(self) -> int:
        """Wait until the process has exited, and return its status. Its children may still run."""
        await self._has_exited.wait()
        return cast("int", self._start().get_returncode())

    def kill(self) -> None:
        """End the process group, from any thread."""
        with suppress(ProcessLookupError, PermissionError):  # PermissionError: macOS, of a zombie
            os.killpg(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Close the pipes of a process that was killed or has exited. Harmless if they are closed."""
        with suppress(TimeoutError):  # a transport that is closed earlier reaps what asyncio's watcher waits for
            async with asyncio.timeout(EXIT_S):
                await self._has_exited.wait()
        if not self.input.is_closing():
            self.input.abort()  # close() would wait for a reader of what is still unread
        self._start().close()
        await self._has_no_pipes.wait()
        await self._close_watcher()

    async def _close_watcher(self) -> None:
        if self._watcher is not None:
            with suppress(ProcessLookupError):
                self._watcher._start().kill()  # noqa: SLF001 - it may have joined the group after the others were killed
            await self._watcher.close()

    def _start(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None
        return self._transport

    # --- asyncio's callbacks -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        output = self._transport.get_pipe_transport(1)
        assert output is not None
        self.output.set_transport(output)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.output.feed_data(data)
        else:
            log.debug("stderr of a language server: %r", data[:500])

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.output.feed_eof()
        self._open_pipes.discard(fd)
        if not self._open_pipes:
            self._has_no_pipes.set()

    def process_exited(self) -> None:
        self._has_exited.set()
