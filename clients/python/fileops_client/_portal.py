"""The thread below the synchronous client: it runs an event loop, to which other threads hand their calls."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from fileops_client import _connection, subscriptions
from fileops_client.errors import ConnectionLost

T = TypeVar("T")

CLOSED = "the client was closed"


class Portal:
    """Runs one event loop in its own thread, until `close`. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._lock = threading.Lock()  # guards `_closed`: nothing is handed over after the end
        self._closed = False
        # A daemon thread: a client that was never closed must not keep its program from ending.
        self._thread = threading.Thread(target=self._serve, name="fileops-client", daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the loop and wait for its result. If the wait is interrupted (KeyboardInterrupt), cancel it.

        Raises: what `work` raises, ConnectionLost (closed), RuntimeError (called by a callback, in the loop's thread).
        """
        try:
            self._require_another_thread()
            with self._lock:
                if self._closed:
                    raise ConnectionLost(CLOSED)
                future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except BaseException:
            work.close()
            raise
        try:
            return future.result()
        except CancelledError:  # by the end of the loop
            raise ConnectionLost(CLOSED) from None
        except BaseException:
            future.cancel()  # without effect if `work` itself has raised
            raise

    def run(self, function: Callable[[], T]) -> T:
        """Call a function that does not wait, in the loop's thread. May be called from there, and after the end."""

        async def run() -> T:
            return function()

        if self._closed or threading.current_thread() is self._thread:
            return function()
        return self.call(run())

    def register(self, register: Callable[[], Callable[[], None]]) -> Callable[[], None]:
        """Register a listener, and return the function that removes it, for any thread."""
        stop = self.run(register)
        return lambda: self.run(stop)

    def close(self) -> None:
        """Cancel what still runs, end the loop, and join the thread."""
        self._require_another_thread()
        with self._lock:
            if not self._closed:
                self._closed = True
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _require_another_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "a callback cannot wait for a call of its client, which waits for the callback. "
                "Make the call in another thread."
            )

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        await self._stop.wait()


class PendingCall:
    """A request without a response yet, made by `begin`. `result()` waits; `cancel()` asks the server to cancel it.

    After `cancel()` it still gets a response: ResponseError −32800, or the true result if it was too late.
    """

    def __init__(self, portal: Portal, call: "_connection.PendingCall") -> None:
        self.id = call.id
        self.method = call.method
        self._portal = portal
        self._call = call

    def cancel(self) -> None:
        """Ask the server to cancel the request, unless it was answered."""
        self._portal.run(self._call.cancel)

    def done(self) -> bool:
        """Whether the request was answered, or the connection was lost."""
        return self._call.done()

    def result(self, *, timeout_s: float | None = None) -> Any:
        """Wait for the response. A timeout or a KeyboardInterrupt ends only the wait, not the request.

        Raises: ResponseError, ConnectionLost, TimeoutError.
        """

        async def wait() -> Any:
            async with asyncio.timeout(timeout_s):
                return await self._call

        return self._portal.call(wait())


class Subscription(Iterator[Any]):
    """Collects events from its creation on. Iterate over it, which waits for each, or take them with `next`.

    Iteration ends when the subscription or the client is closed; a daemon that dies raises ConnectionLost.
    """

    def __init__(self, portal: Portal, subscription: subscriptions.Subscription) -> None:
        self._portal = portal
        self._subscription = subscription

    def next(self, *, timeout_s: float | None = None, where: Callable[[Any], bool] | None = None) -> Any:
        """Return the next event, or the next for which `where` is true (earlier ones are dropped).

        Raises: TimeoutError, ConnectionLost, StopIteration (closed).
        """
        try:
            if self._portal.is_closed:  # nothing more arrives
                return self._subscription.take(where=where)
            return self._portal.call(self._subscription.next(timeout_s=timeout_s, where=where))
        except StopAsyncIteration:
            raise StopIteration from None

    def arrived(self) -> list[Any]:
        """Return all events that have arrived, without waiting."""
        return self._portal.run(self._subscription.arrived)

    def close(self) -> None:
        """Stop collecting events, and end an iteration."""
        self._portal.run(self._subscription.close)

    def __next__(self) -> Any:
        return self.next()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def wrap_callbacks(setup: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a client, with plain callbacks wrapped as coroutine functions.

    Raises: TypeError, for a callback that cannot be called.
    """
    callbacks = {name: setup[name] for name in _CALLBACKS if setup.get(name) is not None}
    handlers = cast("dict[str, Any] | None", setup.get("handlers"))
    changed = _coroutine_functions(callbacks)
    if handlers:
        changed["handlers"] = _coroutine_functions(handlers)
    return {**setup, **changed}


_CALLBACKS = ("confirm_edit", "correct_edit", "confirm_command")


def _coroutine_functions(callbacks: dict[str, Any]) -> dict[str, Any]:
    for name, callback in callbacks.items():
        if not callable(callback):
            raise TypeError(f"{name} must be a function, not {type(callback).__name__}")
    return {name: _coroutine_function(callback) for name, callback in callbacks.items()}


def _coroutine_function(callback: Callable[[Any], Any]) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    async def call(params: Any) -> Any:
        answer = callback(params)
        return await answer if inspect.isawaitable(answer) else answer

    return call
