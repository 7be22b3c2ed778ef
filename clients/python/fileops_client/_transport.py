"""The streams of a connection and the program at their other end: a process, a shared daemon, or this process."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol


class Transport(Protocol):
    """A started server: a child process, a connection to the shared daemon, or a part of this process."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def pid(self) -> int:
        """The serving process, which may be this one."""
        ...

    @property
    def stderr_tail(self) -> str:
        """The last lines that it wrote to stderr; "" if they are not ours to read."""
        ...

    async def wait(self, timeout_s: float) -> int | None:
        """Wait for its exit status. Return None if there is none within `timeout_s`."""
        ...

    async def end(self, grace_s: float) -> int | None:
        """End it, first by closing its input. Return its exit status; None if it has none."""
        ...

    def kill(self) -> None:
        """End it without waiting."""
        ...


Launch = Callable[[], Awaitable[Transport]]  # raises ServerMissing
