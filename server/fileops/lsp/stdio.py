"""The process around the server: private descriptors, signals, the parent, and a clean end.

stdout carries frames and nothing else: both standard descriptors are moved away, so that neither a print nor a child
can write between them. What ends the process is decided here, and only here.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from fileops.lsp.parent import ParentWatch
from fileops.lsp.server import LspServer
from fileops.rpc.framing import BadFrame, StreamBroken
from fileops.rpc.reader import MessageReader
from fileops.rpc.writer import FrameWriter

log = logging.getLogger(__name__)

FINISH_S = 2.0  # for requests in flight when the client has only stopped sending
CANCEL_S = 5.0  # for cancelled ones: a commit that has begun is finished
CLOSE_S = 5.0  # for the service's threads
WRITE_S = 2.0  # for a client that still has to take its answers
MAX_PENDING_BYTES = 32 << 20  # of answers that the client has not read: then its requests wait too
# Requests in work, those waiting for the client's own answer apart: then the next ones wait. Far more than there are
# threads for them; each may come to an answer of its own size while the client does not read.
MAX_WORKING = 128
# Together with those that wait for an editor, a mapped host or a plugin, and those behind them: they must not keep the
# daemon from the next message, which may be the very answer or the cancel that they wait for.
MAX_WAITING = 1024

BROKEN = 1  # exit status of an end that nobody asked for


def serve_stdio(server: LspServer, *, watch_parent: bool = True) -> int:
    """Serve until the end; the exit status. watch_parent: False where the client lives on another machine."""
    for stream, name in ((sys.__stdin__, "stdin"), (sys.__stdout__, "stdout")):
        if stream is None:  # its number may be another file's by now
            log.error("ending: %s was closed at the start", name)
            return BROKEN
    for_reading, for_writing = _take_standard_descriptors()
    return asyncio.run(_Connection(server, for_reading, for_writing, watch_parent=watch_parent).serve())


def _take_standard_descriptors() -> tuple[int, int]:
    try:
        os.fstat(2)
    except OSError:  # closed stderr: its number must not be given to something else
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    ours = os.dup(0), os.dup(1)
    for fd in ours:
        os.set_blocking(fd, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return ours


class _Signals:
    """The signals that end the process, told on the loop.

    Not by the loop's own handlers: it takes them away when it is closed, and a signal in the last moments would kill
    the process instead of finding it about to end.
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
            signal.signal(number, lambda _number, _frame: None)  # what counts goes through the pipe
            signal.siginterrupt(number, False)

    def ignore(self) -> None:
        """From here on, to the end of the process."""
        for number in self.NUMBERS:
            signal.signal(number, signal.SIG_IGN)

    def _tell(self) -> None:
        for number in os.read(self._fd, 64):
            if number in self.NUMBERS:
                self._on_signal(number)


class _Connection:
    def __init__(self, server: LspServer, for_reading: int, for_writing: int, *, watch_parent: bool) -> None:
        self._server = server
        self._connection = server.connection
        self._for_reading = for_reading
        self._for_writing = for_writing
        self._watch_parent = watch_parent

    async def serve(self) -> int:
        loop = asyncio.get_running_loop()
        self._end: asyncio.Future[int] = loop.create_future()
        self._room = asyncio.Event()
        self._inbox = MessageReader(
            loop, self._for_reading, self._take, lambda: self._connection.is_settled, self._connection.together
        )
        parent = ParentWatch(loop, lambda: self._end_with(BROKEN, "the client's process is gone"))
        self._connection.on_exit = self._end_with
        self._connection.on_less_work = self._room.set
        self._server.on_parent = parent.watch if self._watch_parent else lambda _pid: None
        signals = _Signals(loop, lambda number: self._end_with(128 + number, f"signal {number}"))
        writer = FrameWriter(
            self._for_writing,
            on_broken=lambda: self._from_thread(self._end_with, BROKEN, "the client does not read any more"),
            on_drained=lambda: self._from_thread(self._room.set),
        )
        self._writer = writer
        self._loop = loop
        self._connection.sink = writer
        self._inbox.open()
        code = await self._end
        self._inbox.close()
        parent.close()
        await self._finish(code)
        signals.ignore()
        return code

    def _end_with(self, code: int, reason: str | None = None) -> None:
        """The first reason counts."""
        if not self._end.done():
            if reason is not None:
                log.error("ending: %s", reason)
            self._end.set_result(code)

    def _from_thread(self, callback: Any, *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            log.debug("the loop is closed already")

    # --- in ----------------------------------------------------------------------------------------------------

    def _take(self, frame: bytes | BadFrame | StreamBroken | None) -> Coroutine[Any, Any, None] | None:
        """One message. What is returned has to be awaited before the next one."""
        match frame:
            case bytes(body):
                if (pause := self._connection.feed(body)) is not None:
                    return pause
            case BadFrame(reason):
                log.warning("bad frame: %s", reason)
                self._connection.refuse_frame(reason)
            case StreamBroken() as broken:
                return self._run_dry(BROKEN, str(broken))
            case None:
                return self._run_dry(BROKEN, "stdin was closed")
        return None if self._has_room() else self._wait_for_room()

    def _has_room(self) -> bool:
        if self._writer.n_pending_bytes > MAX_PENDING_BYTES:
            return False
        n_working = self._connection.n_working
        return n_working <= MAX_WORKING or (
            n_working <= MAX_WAITING and n_working - self._server.n_elsewhere <= MAX_WORKING
        )

    async def _wait_for_room(self) -> None:
        """Backpressure: memory stays bounded when a client floods, or does not read.

        A request makes room when it is done, and also when it begins to wait for the client's own answer.
        """
        while not self._has_room():
            self._room.clear()
            if not self._has_room():
                await self._room.wait()

    async def _run_dry(self, code: int, reason: str) -> None:
        """No more input: what was asked is still answered, if that needs nothing of the client."""
        self._connection.questions.disconnect()
        if in_flight := self._connection.in_flight():
            await asyncio.wait(in_flight, timeout=FINISH_S)
        if self._connection.is_shut_down:
            self._end_with(0)
        else:
            self._end_with(code, reason)

    # --- the end -----------------------------------------------------------------------------------------------

    async def _finish(self, code: int) -> None:
        """Nothing half done is left: no temporary file, no lock, no answer or notification unsent."""
        self._connection.questions.disconnect()
        in_flight = self._connection.in_flight()
        for future in in_flight:
            future.cancel()
        stuck: set[Any] = set()
        if in_flight:
            _, stuck = await asyncio.wait(in_flight, timeout=CANCEL_S)
        closed = await self._close_service()
        self._server.flush()
        self._writer.close(WRITE_S)
        if stuck or not closed:
            log.error("leaving %d requests behind: the disk does not answer", len(stuck))
            os._exit(code)  # a thread stuck in the kernel would keep the process for ever

    async def _close_service(self) -> bool:
        """In a thread of its own: asyncio would wait for one of the executor without limit."""
        done = asyncio.Event()

        def close() -> None:
            try:
                self._server.close_service()
            finally:
                self._from_thread(done.set)

        threading.Thread(target=close, name="fileops-close", daemon=True).start()
        try:
            async with asyncio.timeout(CLOSE_S):
                await done.wait()
        except TimeoutError:
            return False
        return True
