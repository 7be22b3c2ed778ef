"""FrameWriter: writes frames without blocking the event loop.

A frame is written directly if the descriptor takes it without waiting, otherwise by a thread that waits for the client.
"""

import os
import select
import socket
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from fileops.rpc.framing import lsp_frame

UNREAD_S = 10.0  # without any byte taken; a client that is only slow takes some
_MAX_HELD_BYTES = 1 << 15  # half of what a pipe takes
_MAX_JOINED_BYTES = 1 << 20  # written by one call, if many small frames wait


class FrameWriter:
    """Writes frames. `write` never blocks; `n_pending_bytes` is how far the client lags."""

    def __init__(
        self,
        fd: int,
        *,
        on_broken: Callable[[], None],
        on_drained: Callable[[], None],
        frame: Callable[[bytes], bytes] = lsp_frame,
        max_unread_bytes: int | None = None,
        on_unread: Callable[[], None] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what is called, in the writer's thread, when the client is gone and when nothing is pending any more.

        Args: on_unread: called once, by `write`, if more than `max_unread_bytes` are pending and the client has taken
        nothing for UNREAD_S. Those and all later bytes are dropped.
        """
        self._max_unread_bytes = max_unread_bytes
        self._on_unread = on_unread
        self._monotonic = monotonic
        self._taken_at = monotonic()
        self._unblocked = _unblock(fd)
        try:
            self._fd = os.dup(fd)  # the thread's own: the caller may close `fd` while the thread still writes
        except OSError:
            if self._unblocked is not None:
                self._unblocked.close()
            raise
        self._frame = frame
        self._on_broken = on_broken
        self._on_drained = on_drained
        self._frames: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._writing = False
        self.n_pending_bytes = 0
        self._held: list[bytes] | None = None  # written inside `batch`
        self._n_held_bytes = 0
        self._thread = threading.Thread(target=self._run, name="fileops-writer", daemon=True)
        self._thread.start()

    def write(self, body: bytes) -> bool:
        """Return whether the frame was accepted; False after `close`, and if the client is gone or was disconnected."""
        frame = self._frame(body)
        if self._held is None:
            return self._put(frame)
        if self._closing:
            return False
        self._held.append(frame)
        self._n_held_bytes += len(frame)
        return self._n_held_bytes <= _MAX_HELD_BYTES or self._put_held()

    def batch(self) -> "_WriteBatch":
        """Join what is written inside; it is written at the end, or when it exceeds a limit."""
        return _WriteBatch(self)

    def hold(self) -> bool:
        """Start to join what is written, until `put_all`. Return False if that has already begun."""
        if self._held is not None:
            return False
        self._held = []
        return True

    def put_all(self) -> None:
        """Write what was joined, and stop joining."""
        self._put_held()
        self._held = None

    def _put_held(self) -> bool:
        if not self._held:
            return True
        joined = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held = []
        self._n_held_bytes = 0
        return self._put(joined)

    def _put(self, frame: bytes) -> bool:
        with self._changed:
            if self._closing:
                return False
            if not self._frames and not self._writing:
                frame = frame[self._write_directly(frame) :]
                self._taken_at = self._monotonic()
                if not frame:
                    return True
            self._frames.append(frame)
            self.n_pending_bytes += len(frame)
            if is_unread := self._is_unread():
                self._frames.clear()
                self._closing = True
            self._changed.notify()
        if is_unread:
            self._on_unread()
        return not is_unread

    def _is_unread(self) -> bool:
        return (
            self._max_unread_bytes is not None
            and self.n_pending_bytes > self._max_unread_bytes
            and self._monotonic() - self._taken_at > UNREAD_S
        )

    def close(self, timeout_s: float) -> bool:
        """Write what is pending until the timeout. Return whether the client took everything."""
        with self._changed:
            self._closing = True
            self._changed.notify()
            if self._unblocked is not None:
                self._unblocked.close()
                self._unblocked = None
        self._thread.join(timeout_s)
        return not self._thread.is_alive() and not self._frames

    def _write_directly(self, frame: bytes) -> int:
        """Write what fits without waiting, and return its size. Waking the thread costs more than most answers."""
        if self._unblocked is None:
            return 0
        try:
            return self._unblocked.send(frame)
        except OSError:  # full or broken: the thread handles both
            return 0

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
        finally:
            os.close(self._fd)

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._frames:
                if self._closing:
                    return None
                self._changed.wait()
            self._writing = True
            joined = [self._frames.popleft()]
            n_bytes = len(joined[0])
            while self._frames and n_bytes + len(self._frames[0]) <= _MAX_JOINED_BYTES:
                joined.append(self._frames.popleft())
                n_bytes += len(joined[-1])
            return b"".join(joined)

    def _write_all(self, frame: bytes) -> None:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
                self._taken_at = self._monotonic()
            except BlockingIOError:  # another process made the shared pipe non-blocking
                select.select([], [self._fd], [])


class _WriteBatch:
    """See FrameWriter.batch. A class, because it is faster than a generator, and each notification takes one."""

    __slots__ = ("_is_outermost", "_writer")

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._is_outermost = False

    def __enter__(self) -> None:
        self._is_outermost = self._writer.hold()

    def __exit__(self, *fault: object) -> None:
        if self._is_outermost:
            self._writer.put_all()


# --- writing without waiting --------------------------------------------------------------------------------------


class _Pipe:
    """The pipe of `fd`, opened again, since other processes share the flags of `fd`."""

    def __init__(self, fd: int) -> None:
        """Raises: OSError, without proc(5)."""
        self._fd = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def send(self, frame: bytes) -> int:
        return os.write(self._fd, frame)

    def close(self) -> None:
        os.close(self._fd)


class _Socket:
    def __init__(self, fd: int) -> None:
        self._peer = socket.socket(fileno=os.dup(fd))

    def send(self, frame: bytes) -> int:
        return self._peer.send(frame, socket.MSG_DONTWAIT)

    def close(self) -> None:
        self._peer.close()


def _unblock(fd: int) -> _Pipe | _Socket | None:
    """Return a way to write without waiting; None if there is none."""
    kind = stat.S_IFMT(os.fstat(fd).st_mode)
    if kind == stat.S_IFSOCK:
        return _Socket(fd)
    if kind == stat.S_IFIFO:
        with suppress(OSError):
            return _Pipe(fd)
    return None
