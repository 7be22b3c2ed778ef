"""LSP base-protocol frames on two file descriptors: bytes in, bytes out, and nothing about what is in them.

`FrameReader` is fed by a read function and never by a socket or loop, so that tests and fuzzers can drive it.
After a bad frame it goes on at the next header it can recognise. `FrameWriter` owns the only thread that writes,
so the event loop never waits for a slow client.
"""

import fcntl
import os
import re
import select
import socket
import stat
import termios
import threading
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

MAX_BODY_BYTES = 64 << 20
MAX_SKIPPED_BODY_BYTES = 1 << 30  # a longer announced body is not waited for: the length itself is taken for broken
MAX_HEADER_BYTES = 8 << 10
MAX_GARBAGE_BYTES = MAX_BODY_BYTES  # between two frames; behind that nobody is speaking LSP
MAX_LENGTH_DIGITS = 18
_CHUNK_BYTES = 1 << 16
_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]*[ \t]*:")
# Anchored at the line's end only: after a body that was announced too short, its rest stands before the next header.
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(.*)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BadFrame:
    """A frame that could not be taken, while the stream goes on."""

    reason: str


class StreamBroken(Exception):
    """The stream cannot be followed any further. args[0]: why."""


class FrameReader:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        """read: up to so many bytes, b"" at the end; blocks until there is something."""
        self._read = read
        self._buffer = bytearray()
        self._ended = False
        self._n_garbage_bytes = 0
        self._announced: int | BadFrame | None = None

    def next_frame(self) -> bytes | BadFrame | None:
        """The next body, None at a clean end of the stream. Raises: StreamBroken."""
        length = self._announced if self._announced is not None else self._next_header()
        self._announced = None
        if self._n_garbage_bytes:
            return self._garbage_before(length)
        if length is None or isinstance(length, BadFrame):
            return length
        if length <= MAX_BODY_BYTES:
            return self._take(length)
        if length > MAX_SKIPPED_BODY_BYTES:
            raise StreamBroken(f"a message of {length} bytes was announced; the limit is {MAX_BODY_BYTES}")
        self._skip(length)
        return BadFrame(f"a message of {length} bytes is over the limit of {MAX_BODY_BYTES}")

    def _garbage_before(self, length: int | BadFrame | None) -> BadFrame:
        if length is None:
            raise StreamBroken(f"the stream ended behind {self._n_garbage_bytes} bytes that were no frame")
        reason = f"{self._n_garbage_bytes} bytes that were no frame"
        self._announced, self._n_garbage_bytes = length, 0
        return BadFrame(reason)

    def _next_header(self) -> int | BadFrame | None:
        """The body length that the next header block announces; None at the end."""
        values: list[bytes] = []
        n_block_bytes = 0
        while (line := self._line()) is not None:
            text = line.strip()
            n_block_bytes += len(text)
            if found := _LENGTH.search(text):
                values.append(found[1].rstrip())
                self._garbage(found.start())
            elif not text and values:
                return _length_of(values)
            elif not text:
                self._garbage(n_block_bytes)  # a block without a length: its body, if any, is garbage too
                n_block_bytes = 0
            elif not _HEADER.match(text):
                self._garbage(len(text))
                n_block_bytes -= len(text)
        if values:
            raise StreamBroken("the stream ended inside a frame's header")
        self._garbage(n_block_bytes)
        return None

    def _garbage(self, n_bytes: int) -> None:
        self._n_garbage_bytes += n_bytes
        if self._n_garbage_bytes > MAX_GARBAGE_BYTES:
            raise StreamBroken(f"no frame began within {MAX_GARBAGE_BYTES} bytes")

    def _line(self) -> bytes | None:
        """One line with its newline; of an over-long one only the end, where a header may hide. None at the end."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            if len(self._buffer) > MAX_HEADER_BYTES:
                n_dropped = len(self._buffer) - MAX_HEADER_BYTES // 2
                self._garbage(n_dropped)
                del self._buffer[:n_dropped]
            searched = len(self._buffer)
            if not self._fill():
                rest = bytes(self._buffer)
                self._buffer.clear()
                return rest or None
        return self._cut(end + 1)

    def _take(self, n_bytes: int) -> bytes:
        while len(self._buffer) < n_bytes:
            if not self._fill(n_bytes - len(self._buffer)):
                raise StreamBroken(f"the stream ended inside a body: {len(self._buffer)} of {n_bytes} bytes")
        return self._cut(n_bytes)

    def _skip(self, n_bytes: int) -> None:
        while n_bytes > len(self._buffer):
            n_bytes -= len(self._buffer)
            self._buffer.clear()
            if not self._fill():
                raise StreamBroken("the stream ended inside a body that was too long")
        del self._buffer[:n_bytes]

    def _cut(self, n_bytes: int) -> bytes:
        with memoryview(self._buffer) as view:
            piece = bytes(view[:n_bytes])
        del self._buffer[:n_bytes]
        return piece

    def _fill(self, n_wanted_bytes: int = 0) -> bool:
        chunk = b"" if self._ended else self._read(min(max(n_wanted_bytes, _CHUNK_BYTES), 1 << 20))
        self._buffer += chunk
        self._ended = not chunk
        return bool(chunk)


def _length_of(values: list[bytes]) -> int | BadFrame:
    if len(set(values)) > 1:
        return BadFrame("Content-Length was given twice, with different values")
    if not values[0].isdigit():
        return BadFrame(f"Content-Length is not a number: {values[0][:40]!r}")
    if len(values[0]) > MAX_LENGTH_DIGITS:
        raise StreamBroken(f"Content-Length has {len(values[0])} digits")
    return int(values[0])


class FrameWriter:
    """Frames out, through one thread. `write` never blocks; `n_pending_bytes` tells how far the client lags."""

    def __init__(self, fd: int, *, on_broken: Callable[[], None], on_drained: Callable[[], None]) -> None:
        """Both callbacks run in the writer's thread. on_drained: whenever nothing is pending any more."""
        self._fd = fd
        self._on_broken = on_broken
        self._on_drained = on_drained
        self._frames: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._writing = False
        self._take_at_once = _taker(fd)
        self.n_pending_bytes = 0
        self._thread = threading.Thread(target=self._run, name="fileops-writer", daemon=True)
        self._thread.start()

    def write(self, body: bytes) -> None:
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        with self._changed:
            if self._closing:
                return
            if not self._frames and not self._writing:
                frame = frame[self._take_at_once(frame) :]
                if not frame:
                    return
            self._frames.append(frame)
            self.n_pending_bytes += len(frame)
            self._changed.notify()

    def close(self, timeout_s: float) -> bool:
        """Write what is pending, as far as the client takes it in time; True if it took all."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive() and not self._frames

    def _run(self) -> None:
        try:
            while (frame := self._next()) is not None:
                self._write_all(frame)
                with self._changed:
                    self._writing = False
                    self.n_pending_bytes -= len(frame)
                    drained = self.n_pending_bytes == 0
                if drained:
                    self._on_drained()
        except OSError:
            with self._changed:
                self._closing = True
            self._on_broken()

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._frames:
                if self._closing:
                    return None
                self._changed.wait()
            self._writing = True
            return self._frames.popleft()

    def _write_all(self, frame: bytes) -> None:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:  # the other side made the shared pipe non-blocking
                select.select([], [self._fd], [])


# --- writing without waiting --------------------------------------------------------------------------------------


def _taker(fd: int) -> Callable[[bytes], int]:
    """How to hand bytes over without ever blocking: bytes taken, 0 where that cannot be promised.

    A thread that has to be woken costs more than most answers do.
    """
    kind = stat.S_IFMT(os.fstat(fd).st_mode)
    if kind == stat.S_IFSOCK:
        return _socket_taker(fd)
    if kind == stat.S_IFIFO and hasattr(fcntl, "F_GETPIPE_SZ"):
        return lambda frame: _write_into_empty_pipe(fd, frame)
    return lambda frame: 0


def _socket_taker(fd: int) -> Callable[[bytes], int]:
    peer = socket.socket(fileno=os.dup(fd))

    def take(frame: bytes) -> int:
        try:
            return peer.send(frame, socket.MSG_DONTWAIT)
        except OSError:  # full, or broken: the thread waits for the one and meets the other
            return 0

    return take


def _write_into_empty_pipe(fd: int, frame: bytes) -> int:
    """An empty pipe takes all that fits into it; how much more a part-filled one takes cannot be told (pipe(7))."""
    n_unread = array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, n_unread)
        if n_unread[0] or len(frame) > fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ):
            return 0
        return os.write(fd, frame)
    except OSError:
        return 0
