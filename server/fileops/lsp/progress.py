"""`$/progress` for a request that brought a workDoneToken, if and only if it takes long."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from fileops.lsp.client import Client

QUICK_S = 1.0  # docs/PROTOCOL.md: work expected to take over a second reports


class ProgressTokens:
    """Which running request each token belongs to, so that the editor's cancel button finds it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: dict[str | int, asyncio.Task[object]] = {}

    @contextmanager
    def reporting(self, token: str | int, title: str) -> Generator[None]:
        """Around the work: `begin` once it has taken QUICK_S, and then an `end` on every way out."""
        begun = False

        def begin() -> None:
            nonlocal begun
            begun = True
            self._report(token, {"kind": "begin", "title": title, "cancellable": True})

        task = asyncio.current_task()
        if task is not None:
            self._tasks[token] = task
        timer = asyncio.get_running_loop().call_later(QUICK_S, begin)
        try:
            yield
        finally:
            timer.cancel()
            self._tasks.pop(token, None)
            if begun:
                self._report(token, {"kind": "end"})

    def cancel(self, token: str | int) -> None:
        if (task := self._tasks.get(token)) is not None:
            task.cancel()

    def _report(self, token: str | int, value: dict[str, object]) -> None:
        self._client.notify("$/progress", {"token": token, "value": value})
