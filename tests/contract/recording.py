"""Commit hooks that write down what happened, and can do something in between."""

from collections.abc import Callable

from fileops.model.files import Committed


class RecordingHooks:
    def __init__(self, before: Callable[[], None] = lambda: None, after: Callable[[], None] = lambda: None) -> None:
        self.calls: list[str] = []
        self.committed: list[Committed] = []
        self.withdraw: Callable[[], None] = lambda: None
        self._before = before
        self._after = after

    def prepare(self) -> None:
        """How often depends on the filesystem."""

    def before(self) -> None:
        self.calls.append("before")
        self._before()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self.withdraw = withdraw

    def after(self, committed: Committed) -> None:
        self.calls.append("after")
        self.committed.append(committed)
        self._after()
