"""Asking the editor to fetch the code lenses anew once an edit or an undo has changed them.

A lens names an edit. Without being asked an editor looks again only when the text changes, and that may be before the
edit stands in the history, or never, where the document is not open.
"""

import asyncio
import logging

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.events import DidEdit, Event

log = logging.getLogger(__name__)

ANSWER_S = 10.0  # the answer says nothing of use; one that is longer in coming is not waited for


class LensRefresh:
    """Belongs to the event loop. Asks once at a time; what happens meanwhile is one more question afterwards."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking: asyncio.Task[None] | None = None
        self._is_due = False

    def heard(self, event: Event) -> None:
        if not isinstance(event, DidEdit) or self._client.capability("workspace.codeLens.refreshSupport") is not True:
            return
        self._is_due = True
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def _ask(self) -> None:
        while self._is_due:
            self._is_due = False
            try:
                await self._client.ask(methods.WORKSPACE_CODE_LENS_REFRESH, None, timeout_s=ANSWER_S)
            except (TimeoutError, ClientGone):
                return
            except ClientRefused as refusal:
                log.info("the editor does not refresh its code lenses: error %s", refusal.code)
