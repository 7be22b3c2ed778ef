"""MessageReader: reads frames on the event loop and passes them on, one per turn of the loop, through a bounded queue.

One per turn, so that a handler has taken its first step before the next message is handled; after a message that was
answered synchronously the next one follows in the same turn. While the queue is full nothing is read, so a client that
sends too fast has to wait.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from fileops.rpc.framing import BadFrame, FrameParser, StreamBroken

log = logging.getLogger(__name__)

MAX_MESSAGES = 256
MAX_IN_A_TURN = 16  # then timers, signals and threads get a turn
MAX_BYTES = 64 << 20  # one message may be that large, and then waits alone

Frame = bytes | BadFrame | StreamBroken | None  # None: a clean end


class Parser(Protocol):
    """How messages are framed."""

    @property
    def n_wanted_bytes(self) -> int:
        """Return how many bytes are read next."""
        ...

    def feed(self, chunk: bytes) -> Iterator[bytes | BadFrame]:
        """Return the frames that this chunk completes; b"" means that the stream has ended. Raises: StreamBroken."""
        ...


class MessageReader:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        take: Callable[[Frame], Coroutine[Any, Any, None] | None],
        is_settled: Callable[[], bool],
        batch: Callable[[], AbstractContextManager[None]],
        parser: Parser | None = None,
    ) -> None:
        """Create a reader; `open` starts it.

        Args: take: handles one frame, the last of which is the end; a coroutine that it returns is awaited before the
        next one. is_settled: returns whether everything caused by the last frame is done. batch: entered around several
        frames, whose answers may be sent in one write. parser: LSP's frames by default.
        """
        self._loop = loop
        self._fd = fd
        self._take = take
        self._is_settled = is_settled
        self._batch = batch
        self._parser: Parser = parser or FrameParser()
        self._waiting: deque[Frame] = deque()
        self._n_bytes = 0
        self._is_pumping = False
        self._is_reading = False
        self._has_ended = False
        self._is_closed = False
        self._pause: asyncio.Task[None] | None = None
        self._wanted = threading.Semaphore(0)  # chunks that the thread, if there is one, may read
        self._has_thread = False

    def open(self) -> None:
        try:
            self._loop.add_reader(self._fd, self._read)
        except PermissionError:  # a regular file, which no selector takes: read it in a thread
            self._has_thread = True
            threading.Thread(target=self._read_in_thread, name="fileops-reader", daemon=True).start()
            self._wanted.release()
        self._is_reading = True

    def close(self) -> None:
        """Stop reading and handling."""
        self._is_closed = True
        self._stop_reading()
        if self._pause is not None:
            self._pause.cancel()

    # --- reading -----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, self._parser.n_wanted_bytes)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as fault:
            self._put_end(StreamBroken(str(fault)))
        else:
            self._parse(chunk)

    def _read_in_thread(self) -> None:
        while True:
            self._wanted.acquire()
            with suppress(RuntimeError):  # the loop is closed: the connection has ended
                try:
                    chunk = os.read(self._fd, self._parser.n_wanted_bytes)
                except OSError as fault:
                    self._loop.call_soon_threadsafe(self._put_end, StreamBroken(str(fault)))
                    return
                self._loop.call_soon_threadsafe(self._parse, chunk)
                if not chunk:
                    return

    def _parse(self, chunk: bytes) -> None:
        if self._is_closed:
            return
        try:
            for frame in self._parser.feed(chunk):
                self._waiting.append(frame)
                self._n_bytes += len(frame) if isinstance(frame, bytes) else 0
        except StreamBroken as broken:
            self._put_end(broken)
            return
        if not chunk:
            self._put_end(None)
            return
        if len(self._waiting) >= MAX_MESSAGES or self._n_bytes >= MAX_BYTES:
            self._stop_reading()
        elif self._has_thread:
            self._wanted.release()
        self._begin()

    def _put_end(self, end: StreamBroken | None) -> None:
        self._has_ended = True
        self._stop_reading()
        self._waiting.append(end)
        self._begin()

    def _stop_reading(self) -> None:
        if self._is_reading and not self._has_thread:
            self._loop.remove_reader(self._fd)
        self._is_reading = False

    def _resume_reading(self) -> None:
        if self._is_reading or self._has_ended or self._is_closed:
            return
        self._is_reading = True
        if self._has_thread:
            self._wanted.release()
        else:
            self._loop.add_reader(self._fd, self._read)

    # --- handling ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._is_pumping:
            self._pump()

    def _pump(self) -> None:
        """Handle some frames in this turn of the loop, and the rest in later ones."""
        if len(self._waiting) > 1:
            with self._batch():
                self._take_some()
        else:
            self._take_some()

    def _take_some(self) -> None:
        for _ in range(MAX_IN_A_TURN):
            self._is_pumping = bool(self._waiting) and not self._is_closed
            if not self._is_pumping:
                self._resume_reading()
                return
            frame = self._waiting.popleft()
            self._n_bytes -= len(frame) if isinstance(frame, bytes) else 0
            pause = self._take(frame)
            if pause is not None:
                self._pause = self._loop.create_task(pause)
                self._pause.add_done_callback(self._on_paused)
                return
            if not self._is_settled():
                break
        self._loop.call_soon(self._pump)

    def _on_paused(self, pause: "asyncio.Task[None]") -> None:
        self._pause = None
        if not pause.cancelled() and (fault := pause.exception()) is not None:
            log.error("a message could not be handled", exc_info=fault)
        self._pump()
