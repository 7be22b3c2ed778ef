"""Listeners and subscriptions to notifications by name. Delivers on the event loop, in the order of arrival."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

import msgspec

from fileops_client.errors import ConnectionLost
from fileops_client.events import KNOWN_NAMES, Event, KnownEvent, event_of
from fileops_client.values import DidConflict, DidEdit, DidRead

log = logging.getLogger("fileops_client")

Listener = Callable[[Any], Awaitable[None] | None]
Where = Callable[[Any], bool] | None


DOCUMENTED_NAMES = {"file:read": DidRead.METHOD, "file:edited": DidEdit.METHOD, "file:conflict": DidConflict.METHOD}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """The argument of a listener under a documented name. `data` contains the params of the notification."""

    name: str
    data: dict[str, Any]


class Subscription:
    """Collects events from its creation on. Iterate over it, or take them one by one with `next`.

    Iteration ends when the subscription or the client is closed; a daemon that dies raises ConnectionLost.
    """

    def __init__(self, forget: Callable[["Subscription"], None]) -> None:
        self._forget = forget
        self._waiting: deque[Event] = deque()
        self._changed = asyncio.Event()
        self._ended = False
        self._lost: ConnectionLost | None = None

    async def next(self, *, timeout_s: float | None = None, where: Callable[[Any], bool] | None = None) -> Any:
        """Return the next event, or the next for which `where` is true (earlier ones are dropped).

        Raises: TimeoutError, ConnectionLost, StopAsyncIteration (closed).
        """
        async with asyncio.timeout(timeout_s):
            while (event := self.take(where=where)) is None:
                self._changed.clear()
                await self._changed.wait()
        return event

    def take(self, *, where: Callable[[Any], bool] | None = None) -> Any:
        """Return an event that has arrived, as `next`, without waiting; None if there is none.

        Raises: ConnectionLost, StopAsyncIteration (closed).
        """
        while self._waiting:
            event = self._waiting.popleft()
            if where is None or where(event):
                return event
        if self._lost is not None:
            raise self._lost
        if self._ended:
            raise StopAsyncIteration
        return None

    def arrived(self) -> list[Event]:
        """Return all events that have arrived, without waiting."""
        events = list(self._waiting)
        self._waiting.clear()
        return events

    def close(self) -> None:
        """Stop collecting events, and end an iteration."""
        self._forget(self)
        self.end(None)

    def deliver(self, event: Event) -> None:
        """Add an event. Called by the client."""
        self._waiting.append(event)
        self._changed.set()

    def end(self, lost: ConnectionLost | None) -> None:
        """End the iteration after the events that have arrived. Called by the client."""
        self._ended = True
        self._lost = lost
        self._changed.set()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await self.next()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EventHub:
    """Delivers events. Names are the protocol's methods; DOCUMENTED_NAMES are other names for them."""

    def __init__(
        self, spawn: Callable[[Coroutine[Any, Any, None]], None], announced: Callable[[], Collection[str]]
    ) -> None:
        """Args: announced: the notifications that the server says it sends; empty if it says nothing."""
        self._spawn = spawn
        self._announced = announced
        self._listeners: list[tuple[str, Listener]] = []
        self._subscriptions: list[tuple[frozenset[str], Where, Subscription]] = []
        self._end: tuple[ConnectionLost | None] | None = None
        self._documented: dict[tuple[str, Listener], list[Callable[[], None]]] = {}

    def on(self, name: str | KnownEvent, listener: Listener) -> Callable[[], None]:
        """Raises: ValueError (no event can have this name)."""
        entry = (self._method_of(name), listener)
        self._listeners.append(entry)

        def stop() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    def add_documented(self, name: str, callback: Listener) -> Callable[[], None]:
        """Raises: ValueError (no such name)."""
        if name not in DOCUMENTED_NAMES:
            raise ValueError(f"no event {name}; there are {', '.join(DOCUMENTED_NAMES)}")
        stop = self.on(name, lambda event: callback(EventContext(name=name, data=asdict(event))))
        self._documented.setdefault((name, callback), []).append(stop)
        return stop

    def remove_documented(self, name: str, callback: Listener) -> None:
        for stop in self._documented.pop((name, callback), ()):
            stop()

    def subscribe(self, names: tuple[str | KnownEvent, ...], where: Where = None) -> Subscription:
        """Subscribe to the named events, or to all if none is named. Raises: ValueError, as `on`.

        where: only to events for which it is true.
        """
        wanted = frozenset(map(self._method_of, names))
        subscription = Subscription(self._forget)
        if self._end is not None:
            subscription.end(self._end[0])
        else:
            self._subscriptions.append((wanted, where, subscription))
        return subscription

    def publish(self, method: str, params: Any) -> None:
        try:
            event = event_of(method, params)
        except msgspec.ValidationError as error:
            log.warning("%s is not as this client knows it: %s", method, error)
            return
        for wanted, where, subscription in tuple(self._subscriptions):
            if (not wanted or method in wanted) and (where is None or where(event)):
                subscription.deliver(event)
        for name, listener in tuple(self._listeners):
            if name == method:
                self._tell(listener, event)

    def end(self, lost: ConnectionLost | None) -> None:
        if self._end is not None:
            return
        self._end = (lost,)
        for _, _, subscription in tuple(self._subscriptions):
            subscription.end(lost)
        self._subscriptions.clear()

    def reopen(self) -> None:
        """Accept subscriptions again, after `end`. Listeners have stayed."""
        self._end = None

    def _forget(self, subscription: Subscription) -> None:
        self._subscriptions = [entry for entry in self._subscriptions if entry[2] is not subscription]

    def _tell(self, listener: Listener, event: Event) -> None:
        try:
            outcome = listener(event)
        except Exception:
            log.exception("a listener failed")
            return
        if inspect.isawaitable(outcome):
            self._spawn(self._finish(outcome))

    async def _finish(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            log.exception("a listener failed")

    def _method_of(self, name: str | KnownEvent) -> str:
        """Return the method of a name, or of the class of its value. Raises: ValueError.

        A name of this protocol that neither the server nor this client knows is a mistake, and would never be
        delivered. Other names may belong to a protocol that the program adds.
        """
        if not isinstance(name, str):
            return name.METHOD
        if name in DOCUMENTED_NAMES:
            return DOCUMENTED_NAMES[name]
        if "/" not in name:
            raise ValueError(f"no event {name}; names are methods of the protocol, like fileops/didEdit")
        announced = self._announced()
        if announced and name.startswith("fileops/") and name not in {*announced, *KNOWN_NAMES}:
            raise ValueError(f"no event {name}; there are {', '.join(sorted({*announced, *KNOWN_NAMES}))}")
        return name
