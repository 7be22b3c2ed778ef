"""Reports that a call is still running, for clients that passed a progressToken."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from fileops.mcp.protocol import PROGRESS

FIRST_S = 1.0  # quicker calls need no report
EACH_S = 5.0


class Progress:
    """The reports of one call. `wait_for_person` changes their message and sends it at once."""

    def __init__(self, notify: Callable[[str, object], None], token: str | int) -> None:
        self._notify = notify
        self._token = token
        self._n_reports = 0
        self._message = "Working"

    def wait_for_person(self, where: str = "") -> None:
        """Take where the person is asked, if not by the client: an editor's name."""
        self._message = f"Waiting for your decision in {where}" if where else "Waiting for your decision"
        self._report()

    async def run(self, *, first_s: float = FIRST_S, each_s: float = EACH_S) -> None:
        await asyncio.sleep(first_s)
        while True:
            self._report()
            await asyncio.sleep(each_s)

    def _report(self) -> None:
        self._n_reports += 1
        params = {"progressToken": self._token, "progress": self._n_reports, "message": self._message}
        self._notify(PROGRESS, params)


@asynccontextmanager
async def report(notify: Callable[[str, object], None], token: object) -> AsyncGenerator[Progress | None]:
    """Report while the body runs; None without a token."""
    if not isinstance(token, str | int) or isinstance(token, bool):
        yield None
        return
    progress = Progress(notify, token)
    reports = asyncio.get_running_loop().create_task(progress.run())
    try:
        yield progress
    finally:
        reports.cancel()
