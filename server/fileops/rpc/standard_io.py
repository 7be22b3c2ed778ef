"""The process around one session on stdin and stdout: private descriptors, signals, and the exit.

stdout carries only messages: both standard descriptors are moved away, so that neither a print nor a child process can
write between them.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

log = logging.getLogger(__name__)

BROKEN = 1  # exit status if the client did not ask for the end


class Ended(Struct, frozen=True):
    """How a session ended. n_stuck: requests that could not be ended, because the disk does not answer."""

    status: int
    n_stuck: int = 0
    is_closed: bool = True  # whether the service's threads have ended


class ServedSession(Protocol):
    """One client, served from its first message to its last."""

    async def serve(self) -> Ended:
        """Serve until the client is done, is gone, or `end` is called."""
        ...

    def end(self, status: int, reason: str | None = None) -> None:
        """Start to end. Only the first call counts."""
        ...


def serve_standard_io(session: Callable[[int, int], ServedSession]) -> int:
    """Serve one client on stdin and stdout; return the exit status.

    Args: session: creates the session on the event loop, from the descriptors to read and to write.
    """
    for stream, name in ((sys.__stdin__, "stdin"), (sys.__stdout__, "stdout")):
        if stream is None:  # its number may belong to another file by now
            log.error("shutting down: %s was closed at the start", name)
            return BROKEN
    for_reading, for_writing = _take_standard_descriptors()
    return asyncio.run(_serve(session, for_reading, for_writing))


async def _serve(make_session: Callable[[int, int], ServedSession], for_reading: int, for_writing: int) -> int:
    session = make_session(for_reading, for_writing)
    signals = Signals(asyncio.get_running_loop(), lambda number: session.end(128 + number, f"signal {number}"))
    ended = await session.serve()
    signals.ignore()
    if ended.n_stuck or not ended.is_closed:
        log.error("the disk does not answer: %d requests are abandoned", ended.n_stuck)
        os._exit(ended.status)  # a thread stuck in the kernel would keep the process alive
    return ended.status


def _take_standard_descriptors() -> tuple[int, int]:
    try:
        os.fstat(2)
    except OSError:  # closed stderr: its number must not be given to something else
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    private = os.dup(0), os.dup(1)
    for fd in private:
        os.set_blocking(fd, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return private


class Signals:
    """Reports the signals that end the process, on the loop.

    The loop's own handlers would be removed when it is closed, and a signal in the last moments would then kill the
    process.
    """

    NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def __init__(self, loop: asyncio.AbstractEventLoop, on_signal: Callable[[int], None]) -> None:
        self._on_signal = on_signal
        self._fd, waking_fd = os.pipe()
        for fd in (self._fd, waking_fd):
            os.set_blocking(fd, False)
        loop.add_reader(self._fd, self._tell)
        signal.set_wakeup_fd(waking_fd, warn_on_full_buffer=False)
        for number in self.NUMBERS:
            signal.signal(number, lambda _number, _frame: None)  # the pipe reports the signal
            signal.siginterrupt(number, False)

    def ignore(self) -> None:
        """Ignore the signals from here on, to the end of the process."""
        for number in self.NUMBERS:
            signal.signal(number, signal.SIG_IGN)

    def _tell(self) -> None:
        for number in os.read(self._fd, 64):
            if number in self.NUMBERS:
                self._on_signal(number)
