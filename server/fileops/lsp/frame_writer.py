"""Frames out: at once where the descriptor takes them whole, else through the only thread that waits for the client.

The event loop never does.
"""

import fcntl
import os
import select
import socket
import stat
import termios
import threading
from array import array
from collections import deque
from collections.abc import Callable


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
