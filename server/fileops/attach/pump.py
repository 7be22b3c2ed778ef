"""Moves bytes between a client on stdin and stdout and the shared daemon, in one thread that never waits for one side.

A side is read only once the other has taken everything, so a pump holds about one chunk in each direction, and a side
that does not read makes the other wait.
"""

import os
import select
import signal
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Protocol

from fileops.attach.starter import END_OF_INPUT, DaemonLost

STDIN, STDOUT = 0, 1
CHUNK_BYTES = 1 << 16
END_S = 15.0  # after the end of input or a signal; the daemon may need up to 12 s
SILENT_S = 1.0  # after the end of input; then the pump asks whether the daemon answers anything at all
LAST_MS = 1000  # for the daemon to take more of what a client wrote before its end
MAX_LAST_CHUNKS = 64  # of a client that never stops writing
BROKEN = 1  # exit status: the client no longer reads
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Outlet:
    """A descriptor to write to, and the bytes that it has not taken yet."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._pending = bytearray()
        mode = os.fstat(fd).st_mode
        self._socket = socket.socket(fileno=os.dup(fd)) if stat.S_ISSOCK(mode) else None
        # A ready pipe takes PIPE_BUF bytes without waiting. O_NONBLOCK would change the host's end as well.
        self._max_bytes = select.PIPE_BUF if stat.S_ISFIFO(mode) else CHUNK_BYTES

    @property
    def n_pending_bytes(self) -> int:
        return len(self._pending)

    def put(self, data: bytes) -> None:
        self._pending += data

    def write(self) -> None:
        """Write some of what is pending. Call it when the descriptor is ready. Raises: OSError."""
        try:
            if self._socket is not None:
                n_bytes = self._socket.send(self._pending[:CHUNK_BYTES], socket.MSG_DONTWAIT)
            else:
                n_bytes = os.write(self.fd, self._pending[: self._max_bytes])
        except BlockingIOError:
            return
        del self._pending[:n_bytes]

    def drop(self) -> None:
        self._pending.clear()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class Traffic(Protocol):
    """What happens to the bytes on their way. Everything is written to the pump's outlets."""

    def from_client(self, pump: "Pump", chunk: bytes) -> None: ...

    def from_daemon(self, pump: "Pump", chunk: bytes) -> None: ...

    def daemon_lost(self, pump: "Pump") -> None:
        """Continue with another connection. Raises: DaemonLost, if there is none."""
        ...


class Bytes:
    """Forwards bytes unchanged; a lost daemon is the end."""

    def from_client(self, pump: "Pump", chunk: bytes) -> None:
        pump.to_daemon.put(chunk)

    def from_daemon(self, pump: "Pump", chunk: bytes) -> None:
        pump.to_client.put(chunk)

    def daemon_lost(self, pump: "Pump") -> None:
        raise DaemonLost


class Pump:
    """Moves bytes, in `run`, until a side has ended."""

    def __init__(self, connection: socket.socket, traffic: Traffic, is_responsive: Callable[[], bool]) -> None:
        """Args: is_responsive: returns whether the daemon still answers other connections; may block for seconds."""
        self._traffic = traffic
        self._is_responsive = is_responsive
        self.to_client = Outlet(STDOUT)
        self.connect(connection)
        self._has_input = True
        self._waking, self._wakeup = os.pipe()
        self._signal: int | None = None
        self._deadline: float | None = None  # None while the client may write

    def connect(self, connection: socket.socket) -> None:
        """Serve this connection from now on. What the last one has not taken is dropped."""
        self._connection = connection
        self.to_daemon = Outlet(connection.fileno())
        self._is_told_of_end = False

    def run(self) -> int:
        """Return the exit status: 0 after the end of stdin, 128 + number after a signal, which counts as such an end.

        The daemon's last answers are delivered first, for END_S after its last sign of life; a daemon that hangs is not
        waited for, and the status is then BROKEN. Raises: DaemonLost.
        """
        for fd in (self._waking, self._wakeup):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, self._note_signal)
        while (status := self._turn()) is None:
            pass
        return status

    def _note_signal(self, number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # the next one ends the process
        self._signal = number
        self._deadline = time.monotonic() + END_S

    def _turn(self) -> int | None:
        """Move what can be moved now. Return the exit status at the end."""
        if self._signal is not None:
            self._read_last()
        if not self._has_input and not self.to_daemon.n_pending_bytes and not self._is_told_of_end:
            self._is_told_of_end = True
            with suppress(OSError):  # it is gone; its last answers are still to be read
                self._connection.shutdown(socket.SHUT_WR)
        ready = self._wait()
        if self._deadline is not None:
            if time.monotonic() > self._deadline:
                return self._end_status
            if not ready and not self._is_responsive():
                return self._end_status or BROKEN
        if self._waking in ready:
            os.read(self._waking, CHUNK_BYTES)
        if STDOUT in ready and not self._write_client(ready[STDOUT]):
            self._read_last()
            self._send_last()
            return BROKEN
        if STDIN in ready and self._has_input:
            self._note_end_of_input(ready[STDIN])
            if not self.to_daemon.n_pending_bytes:
                self._read_client()
        if self._connection.fileno() in ready:
            return self._serve_daemon(ready[self._connection.fileno()])
        return None

    def _wait(self) -> dict[int, int]:
        """Wait until something can be moved; return the events of each descriptor."""
        poll = select.poll()
        poll.register(self._waking, select.POLLIN)
        poll.register(STDOUT, select.POLLOUT if self.to_client.n_pending_bytes else 0)
        if self._has_input and not self.to_daemon.n_pending_bytes:
            poll.register(STDIN, select.POLLIN)
        elif self._has_input and self._deadline is None:  # a daemon that hangs takes nothing, and the client may leave
            poll.register(STDIN, END_OF_INPUT)
        wanted = 0 if self.to_client.n_pending_bytes else select.POLLIN
        if wanted := wanted | (select.POLLOUT if self.to_daemon.n_pending_bytes else 0):
            poll.register(self._connection, wanted)
        if self._deadline is None:
            return dict(poll.poll())
        ready = dict(poll.poll(min(SILENT_S, max(0.0, self._deadline - time.monotonic())) * 1000))
        if ready and self._signal is None:  # data that still moves is not cut off
            self._deadline = time.monotonic() + END_S
        return ready

    def _note_end_of_input(self, events: int) -> None:
        if self._deadline is None and events & (END_OF_INPUT | select.POLLHUP | select.POLLERR):
            self._deadline = time.monotonic() + END_S

    def _write_client(self, events: int) -> bool:
        """Return whether the client has a reader."""
        if events & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            return False
        try:
            self.to_client.write()
        except OSError:
            return False
        return True

    def _read_client(self) -> None:
        try:
            chunk = os.read(STDIN, CHUNK_BYTES)
        except BlockingIOError:  # another process made the shared pipe non-blocking
            return
        except OSError:  # a terminal that is gone
            chunk = b""
        if chunk:
            self._traffic.from_client(self, chunk)
        else:
            self._has_input = False
            self._note_end_of_input(select.POLLHUP)

    def _read_last(self) -> None:
        """Read what the client wrote before its end, and nothing after it."""
        poll = select.poll()
        poll.register(STDIN, select.POLLIN)
        for _ in range(MAX_LAST_CHUNKS):
            if not self._has_input or not poll.poll(0):
                break
            self._read_client()
        self._has_input = False

    def _send_last(self) -> None:
        poll = select.poll()
        poll.register(self._connection, select.POLLOUT)
        with suppress(OSError):  # the daemon is gone as well
            while self.to_daemon.n_pending_bytes and poll.poll(LAST_MS):
                self.to_daemon.write()

    def _serve_daemon(self, events: int) -> int | None:
        if events & select.POLLOUT:
            try:
                self.to_daemon.write()
            except OSError:  # it is gone; its last answers are still to be read
                self.to_daemon.drop()
        if not events & (select.POLLIN | select.POLLHUP | select.POLLERR) or self.to_client.n_pending_bytes:
            return None
        try:
            chunk = self._connection.recv(CHUNK_BYTES)
        except OSError:
            chunk = b""
        if chunk:
            self._traffic.from_daemon(self, chunk)
            return None
        if not self._has_input:
            return self._end_status
        self._traffic.daemon_lost(self)
        return None

    @property
    def _end_status(self) -> int:
        return 0 if self._signal is None else 128 + self._signal
