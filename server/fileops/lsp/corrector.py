"""The Corrector that asks the client's own model, by `fileops/correctEdit`. A malformed answer counts as none."""

import logging
from typing import cast

from msgspec.structs import replace

from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.approval import CorrectedStrings, CorrectionRequest
from fileops.service.hub.names import SessionNames
from fileops.wire.types import JsonObject

CORRECT_EDIT = "fileops/correctEdit"

log = logging.getLogger(__name__)


class LspCorrector:
    """See ports.Corrector."""

    def __init__(self, client: Client, names: SessionNames, *, timeout_s: float) -> None:
        self._client = client
        self._names = names
        self._timeout_s = timeout_s

    @property
    def can_ask(self) -> bool:
        return self._client.capability("experimental.fileops.correct_edit") is True

    async def correct(self, request: CorrectionRequest) -> CorrectedStrings | None:
        shown = replace(request, session_id=self._names.local(request.session_id))
        try:
            answer = await self._client.ask(CORRECT_EDIT, shown, timeout_s=self._timeout_s)
        except (TimeoutError, ClientGone):
            return None
        except ClientRefused as refusal:
            log.info("the client answered a request for a correction with error %s", refusal.code)
            return None
        return correction_of(answer)


def correction_of(answer: object) -> CorrectedStrings | None:
    """Decode a proposal of two strings, the first not empty. Any other answer is None."""
    if not isinstance(answer, dict):
        return None
    proposal = cast("JsonObject", answer)
    old, new = proposal.get("old_string"), proposal.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    return CorrectedStrings(old_string=old, new_string=new)
