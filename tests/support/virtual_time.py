"""An event loop whose clock jumps to the next timer as soon as nothing else is to be done: minutes cost nothing."""

import asyncio
import selectors


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`time()` begins at 0 and advances only when the loop would wait. Without timers it waits for descriptors.

    Without those as well, nothing can happen any more, because no thread may use the loop: AssertionError.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._now

    def jump(self, by_s: float) -> None:
        self._now += by_s


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            assert len(self.get_map()) > 1, "nothing is left that could happen"  # one is the loop's own
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self._loop.jump(timeout)
        return ready
