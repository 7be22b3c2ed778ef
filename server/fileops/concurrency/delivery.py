"""The delivery of an answer, and what depends on it.

A read counts, and a base moves, only by an answer that was sent. A `Delivery` makes that so by construction: the
connection opens one for each request, before the handler's first step, and settles it once, when it has handed the
answer over for sending or has found that it cannot. All that an answer would make count is registered here, at any
depth of the handler, and is applied by nothing else. Everything belongs to the event loop.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType

Effect = Callable[[], None]


def nothing() -> None: ...


class Delivery:
    """The delivery of one answer. As a context manager: the one that `when_delivered` finds inside.

    An error that is sent in place of the result does not deliver it. is_settled: the answer was sent or dropped.
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
        if self.is_settled:  # it is not in the answer
            on_dropped()
        else:
            self._effects.append((on_sent, on_dropped))

    def settle(self, *, is_sent: bool) -> None:
        """Apply the effects in the order of their registration. The first call counts."""
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

    async def settled(self) -> None:
        """Wait until the answer was sent or dropped, and its effects were applied."""
        if not self.is_settled:
            if self._changed is None:
                self._changed = asyncio.Event()
            await self._changed.wait()


_present: ContextVar[Delivery | None] = ContextVar("delivery", default=None)


def present_delivery() -> Delivery | None:
    """Return the delivery of the request that the present task works for; None outside of a request."""
    return _present.get()


def when_delivered(on_sent: Effect, on_dropped: Effect = nothing) -> None:
    """Have one of the two called, when the answer to the present request was sent or dropped.

    Outside of a request, where the caller has the result already, `on_sent` is called at once.
    """
    delivery = _present.get()
    if delivery is None:
        on_sent()
    else:
        delivery.add(on_sent, on_dropped)
