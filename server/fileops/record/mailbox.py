"""Messages to a thread, which any thread may send, and what else wakes it: events of files.

Messages wait in the order in which they were sent. A pipe wakes the thread for a message, and another one for events,
so that the thread can let a burst of events pass while no message waits.
"""

import asyncio
import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable

_WAKE_BYTES = 1 << 16  # the capacity of a pipe


class Mailbox:
    """See the module. Any thread may send; the other methods belong to the thread that reads, unless they say more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: deque[Callable[[], None]] = deque()
        self._is_closed = False  # guarded by _lock: no more messages are accepted
        self._has_ended = False  # guarded by _lock: the numbers of the pipes may be anybody's
        self._reader: threading.Thread | None = None
        self._wake_fd, self._waker_fd = os.pipe()  # not inherited by child processes
        self._event_fd, self._eventer_fd = os.pipe()
        for fd in (self._wake_fd, self._waker_fd, self._event_fd, self._eventer_fd):
            os.set_blocking(fd, False)

    # --- any thread --------------------------------------------------------------------------------------------

    def send(self, message: Callable[[], None], *, is_urgent: bool = True) -> bool:
        """Queue a message. False if the thread has ended or is about to."""
        if threading.current_thread() is self._reader:  # the thread handles it before it ends
            self._messages.append(message)
            return True
        with self._lock:
            if self._is_closed:
                return False
            self._messages.append(message)
            if is_urgent:
                with contextlib.suppress(BlockingIOError):  # the pipe is full: the thread is awake
                    os.write(self._waker_fd, b"\0")
        return True

    def send_and_block(self, message: Callable[[], None], within_s: float) -> None:
        """Send a message, and wait for a limited time until it has been handled, even if that failed."""
        done = threading.Event()

        def run() -> None:
            try:
                message()
            finally:
                done.set()

        if self.send(run):
            done.wait(within_s)

    async def send_and_wait(self, message: Callable[[], None]) -> None:
        """Send a message, and wait until it has been handled, even if that failed."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def run() -> None:
            try:
                message()
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(finish)

        if self.send(run):
            await done

    def wake_for_events(self) -> None:
        """Wake the thread, because there are events to read. The watch of a folder that hangs outlives the thread."""
        with self._lock, contextlib.suppress(BlockingIOError):  # the pipe is full: the thread is awake
            if not self._has_ended:
                os.write(self._eventer_fd, b"\0")

    def close(self) -> None:
        """Accept no more messages, except those that the thread sends to itself."""
        with self._lock:
            self._is_closed = True

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    # --- the thread that reads ---------------------------------------------------------------------------------

    def read_in(self, thread: threading.Thread) -> None:
        """Note which thread reads. Called before it starts."""
        self._reader = thread

    @property
    def has_messages(self) -> bool:
        return bool(self._messages)

    def take(self) -> Callable[[], None]:
        """Take the oldest message. There must be one."""
        return self._messages.popleft()

    def wait(self, timeout_ms: float) -> bool:
        """Wait for a message or for events. Returns whether it was only for events."""
        poll = select.poll()
        for fd in (self._wake_fd, self._event_fd):
            poll.register(fd, select.POLLIN)
        ready = poll.poll(timeout_ms)
        return bool(ready) and not any(fd == self._wake_fd for fd, _ in ready)

    def has_message_within(self, timeout_ms: float) -> bool:
        """Wait for an urgent message only. Returns whether one has come."""
        poll = select.poll()
        poll.register(self._wake_fd, select.POLLIN)
        return bool(poll.poll(timeout_ms))

    def reset(self) -> None:
        """Forget what has woken the thread. Called before it takes the messages and reads the events."""
        for fd in (self._wake_fd, self._event_fd):
            with contextlib.suppress(BlockingIOError):
                os.read(fd, _WAKE_BYTES)

    def end(self) -> None:
        """Close the pipes. Called once the mailbox is closed."""
        with self._lock:
            self._has_ended = True
            for fd in (self._wake_fd, self._waker_fd, self._event_fd, self._eventer_fd):
                os.close(fd)
