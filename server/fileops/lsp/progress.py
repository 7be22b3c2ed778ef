"""`$/progress` for a request that takes long: under the token that it brought, or under one of ours.

A client that can show progress of the daemon's own making (`window.workDoneProgress`) is given a token for slow reads,
writes and commands; but not while the person himself is asked something: then nobody waits for us.

Reports are for a client that reads. While it lags, those of one token become one, cut to its end: what is pending does
not grow with what a command prints.
"""

import asyncio
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused

QUICK_S = 1.0  # docs/PROTOCOL.md: work expected to take over a second reports
LAG_S = 0.1  # between two looks whether the client has caught up, while there is something to report
MAX_REPORT_CHARS = 32 * 1024  # of reports that became one
CREATE_S = 10.0  # a client that does not answer gets no progress
TITLES = {
    "fileops/read": "Reading a file",
    "fileops/recordRead": "Reading a file",
    "fileops/edit": "Editing a file",
    "fileops/multiEdit": "Editing a file",
    "fileops/undo": "Undoing edits",
    "fileops/bash": "Running a command",
}  # of what reports under a token of ours

Token = str | int


class ProgressTokens:
    """Which running request each token belongs to, so that the editor's cancel button finds it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: dict[Token, asyncio.Task[object]] = {}

    @contextmanager
    def reporting(self, token: Token | None, method: str) -> Generator[Callable[[str], None] | None]:
        """Around the work. token: what the request brought.

        What it gives passes a message on under the request's own token; None where it brought none.
        """
        task = asyncio.current_task()
        if task is None or (token is None and not self._makes_own(method)):
            yield None
            return
        shown = token if token is not None else f"fileops-{uuid.uuid4().hex}"
        report = _Report(self._client, shown, TITLES.get(method, method), task, is_own=token is None)
        self._tasks[shown] = task
        try:
            yield None if token is None else report.say
        finally:
            self._tasks.pop(shown, None)
            report.end()

    def cancel(self, token: Token) -> None:
        if (task := self._tasks.get(token)) is not None:
            task.cancel()

    def _makes_own(self, method: str) -> bool:
        return method in TITLES and self._client.capability("window.workDoneProgress") is True


class _Report:
    """`begin` once the work has taken QUICK_S, and then an `end`."""

    def __init__(self, client: Client, token: Token, title: str, task: "asyncio.Task[object]", *, is_own: bool) -> None:
        self._client, self._token, self._title, self._task, self._is_own = client, token, title, task, is_own
        self._has_begun = False
        self._creating: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(QUICK_S, self._due)
        self._unsaid = ""  # while the client lags
        self._n_dropped = 0
        self._lag_timer: asyncio.TimerHandle | None = None

    def say(self, message: str) -> None:
        """At once, however short the work was so far; a client that lags is told later, or only the end of it."""
        self._begin()
        self._unsaid += message
        self._n_dropped += max(0, len(self._unsaid) - MAX_REPORT_CHARS)
        self._unsaid = self._unsaid[-MAX_REPORT_CHARS:]
        if self._lag_timer is None:
            self._say_unsaid()

    def end(self) -> None:
        self._timer.cancel()
        if self._creating is not None:
            self._creating.cancel()
        if self._lag_timer is not None:
            self._lag_timer.cancel()
        if self._unsaid:
            self._report()
        if self._has_begun:
            self._tell({"kind": "end"})

    def _say_unsaid(self) -> None:
        self._lag_timer = None
        if self._client.lags:
            self._lag_timer = asyncio.get_running_loop().call_later(LAG_S, self._say_unsaid)
        else:
            self._report()

    def _report(self) -> None:
        note = f"... ({self._n_dropped} characters are left out here)\n" if self._n_dropped else ""
        self._tell({"kind": "report", "message": note + self._unsaid})
        self._unsaid, self._n_dropped = "", 0

    def _due(self) -> None:
        if not self._is_own:
            self._begin()
        elif self._client.is_asking(self._task):
            self._timer = asyncio.get_running_loop().call_later(QUICK_S, self._due)
        else:
            self._creating = asyncio.get_running_loop().create_task(self._create())

    async def _create(self) -> None:
        try:
            await self._client.ask(methods.WINDOW_WORK_DONE_PROGRESS_CREATE, {"token": self._token}, timeout_s=CREATE_S)
        except (TimeoutError, ClientGone, ClientRefused):
            return
        self._begin()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._tell({"kind": "begin", "title": self._title, "cancellable": True})

    def _tell(self, value: dict[str, object]) -> None:
        self._client.notify(methods.PROGRESS, {"token": self._token, "value": value})
