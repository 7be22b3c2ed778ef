"""The delivery of an answer, and the effects that depend on it.

A read counts, and a base moves, only through an answer that was sent. A `Delivery` guarantees that by construction: the
connection opens one for each request before the handler's first step, and settles it once, when it has handed the
answer over for sending or knows that it cannot. All effects of an answer are registered here, at any depth of the
handler, and nothing else applies them. Everything belongs to the event loop.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType

Effect = Callable[[], None]


def do_nothing() -> None: ...


class Delivery:
    """The delivery of one answer. Inside it as a context manager, `when_delivered` finds it.

    An error that is sent instead of the result does not deliver it. is_settled: the answer was sent or dropped.
    """

    __slots__ = ("_changed", "_effects", "_token", "is_settled")

    def __init__(self) -> None:
        self._effects: list[tuple[Effect, Effect]] = []
        self.is_settled = False
        self._changed: asyncio.Event | None = None
        self._token: Token[Delivery | None] | None = None

    def __enter__(self) -> "Delivery":
        self._token = _present.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            _present.reset(self._token)

    def add(self, on_sent: Effect, on_dropped: Effect) -> None:
        if self.is_settled:  # it cannot be in the answer
            on_dropped()
        else:
            self._effects.append((on_sent, on_dropped))

    def settle(self, *, is_sent: bool) -> None:
        """Apply the effects in the order of their registration. Only the first call counts."""
        if self.is_settled:
            return
        self.is_settled = True
        effects, self._effects = self._effects, []
        for on_sent, on_dropped in effects:
            if is_sent:
                on_sent()
            else:
                on_dropped()
        if self._changed is not None:
            self._changed.set()

    async def wait_until_settled(self) -> None:
        """Wait until the answer has been sent or dropped, and its effects have been applied."""
        if not self.is_settled:
            if self._changed is None:
                self._changed = asyncio.Event()
            await self._changed.wait()


_present: ContextVar[Delivery | None] = ContextVar("delivery", default=None)


def present_delivery() -> Delivery | None:
    """Return the delivery of the request for which the current task works; None outside a request."""
    return _present.get()


def when_delivered(on_sent: Effect, on_dropped: Effect = do_nothing) -> None:
    """Register what to call when the answer to the current request has been sent, or dropped.

    Outside a request, where the caller already has the result, `on_sent` is called at once.
    """
    delivery = _present.get()
    if delivery is None:
        on_sent()
    else:
        delivery.add(on_sent, on_dropped)
