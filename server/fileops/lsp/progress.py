"""Reports `$/progress` of a slow request, under the request's own token or one that the server creates.

For slow reads, writes and commands a client with `window.workDoneProgress` is sent a new token, except while a person
is being asked: then nobody waits for the server. What was shown before says so then.

While a client does not read, a token's reports are joined and cut to their end, so pending output stays limited.
"""

import asyncio
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager

from lsprotocol import types

from fileops.lsp.client import Client, ClientGone, ClientRefused

QUICK_S = 1.0  # docs/PROTOCOL.md: work of more than a second reports
LAG_S = 0.1  # between two checks whether the client has caught up
MAX_REPORT_CHARS = 32 * 1024  # of joined reports
CREATE_S = 10.0  # a client that does not answer gets no progress
WAITING = "waiting for a person"
TITLES = {
    "fileops/read": "Reading a file",
    "fileops/recordRead": "Reading a file",
    "fileops/edit": "Editing a file",
    "fileops/multiEdit": "Editing a file",
    "fileops/undo": "Undoing edits",
    types.WORKSPACE_EXECUTE_COMMAND: "Undoing edits",
    "fileops/bash": "Running a command",
}  # requests for which the server creates a token

Token = str | int


class ProgressTokens:
    """Maps tokens to running requests, so that the editor's cancel button finds them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: dict[Token, asyncio.Task[object]] = {}

    @contextmanager
    def report(
        self, token: Token | None, method: str, is_waiting: Callable[[], bool] = lambda: False
    ) -> Generator[Callable[[str], None] | None]:
        """Report the progress of the body.

        Yields a function that sends a message under the request's token, or None without a token. Args: is_waiting:
        whether it waits for an answer of a person, whichever client asks them.
        """
        if token is None and not self._creates_token(method):
            yield None
            return
        task = asyncio.current_task()
        if task is None:
            yield None
            return
        used_token = token if token is not None else f"fileops-{uuid.uuid4().hex}"
        report = _Report(self._client, used_token, TITLES.get(method, method), task, is_waiting, is_own=token is None)
        self._tasks[used_token] = task
        try:
            yield None if token is None else report.say
        finally:
            self._tasks.pop(used_token, None)
            report.end()

    def cancel(self, token: Token) -> None:
        if (task := self._tasks.get(token)) is not None:
            task.cancel()

    def _creates_token(self, method: str) -> bool:
        return method in TITLES and self._client.capability("window.workDoneProgress") is True


class _Report:
    """Sends `begin` after QUICK_S, then reports, then `end`."""

    def __init__(
        self,
        client: Client,
        token: Token,
        title: str,
        task: "asyncio.Task[object]",
        is_waiting: Callable[[], bool],
        *,
        is_own: bool,
    ) -> None:
        self._client = client
        self._token = token
        self._title = title
        self._task = task
        self._is_waiting = is_waiting
        self._is_own = is_own
        self._has_begun = False
        self._was_asking = False
        self._says_waiting = False
        self._creating: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(QUICK_S, self._due)
        self._unsent = ""  # while the client lags
        self._n_dropped = 0
        self._lag_timer: asyncio.TimerHandle | None = None

    def say(self, message: str) -> None:
        """Send a message now, however short the work has been; if the client lags, send it later and cut it."""
        self._begin()
        self._unsent += message
        self._n_dropped += max(0, len(self._unsent) - MAX_REPORT_CHARS)
        self._unsent = self._unsent[-MAX_REPORT_CHARS:]
        if self._lag_timer is None:
            self._send_unsent()

    def end(self) -> None:
        self._timer.cancel()
        if self._creating is not None:
            self._creating.cancel()
        if self._lag_timer is not None:
            self._lag_timer.cancel()
        if self._unsent:
            self._report()
        if self._has_begun:
            self._notify(types.WorkDoneProgressEnd())

    def _send_unsent(self) -> None:
        self._lag_timer = None
        if self._client.lags:
            self._lag_timer = asyncio.get_running_loop().call_later(LAG_S, self._send_unsent)
        else:
            self._report()

    def _report(self) -> None:
        note = f"... ({self._n_dropped} characters are left out here)\n" if self._n_dropped else ""
        self._notify(types.WorkDoneProgressReport(message=note + self._unsent))
        self._unsent = ""
        self._n_dropped = 0

    def _due(self) -> None:
        if not self._is_own:
            self._begin()
            return
        is_asking = self._client.is_asking(self._task) or self._is_waiting()
        if self._has_begun and is_asking != self._says_waiting:
            self._says_waiting = is_asking
            self._notify(types.WorkDoneProgressReport(message=WAITING if is_asking else ""))
        elif self._creating is None and not is_asking and not self._was_asking:
            # Work after a question must take some time before it is reported: it may end in the next question.
            self._creating = asyncio.get_running_loop().create_task(self._create())
        self._was_asking = is_asking
        self._timer = asyncio.get_running_loop().call_later(QUICK_S, self._due)

    async def _create(self) -> None:
        try:
            params = types.WorkDoneProgressCreateParams(token=self._token)
            await self._client.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, timeout_s=CREATE_S)
        except (TimeoutError, ClientGone, ClientRefused):
            return
        self._begin()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._notify(types.WorkDoneProgressBegin(title=self._title, cancellable=True))

    def _notify(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        self._client.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))
