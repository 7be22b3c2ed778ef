"""Asking the client's own model for a correction: `fileops/correctEdit`. What is no proposal counts as none."""

import logging

from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.approval import Correction, CorrectionRequest

log = logging.getLogger(__name__)

CORRECT_EDIT = "fileops/correctEdit"


class LspCorrector:
    """A Corrector."""

    def __init__(self, client: Client, *, timeout_s: float) -> None:
        self._client, self._timeout_s = client, timeout_s

    @property
    def can_ask(self) -> bool:
        return self._client.capability("experimental.fileops.correct_edit") is True

    async def correct(self, question: CorrectionRequest) -> Correction | None:
        from fileops.wire.correction import correct_edit_params, correction_of

        try:
            answer = await self._client.ask(CORRECT_EDIT, correct_edit_params(question), timeout_s=self._timeout_s)
        except (TimeoutError, ClientGone):
            return None
        except ClientRefused as refusal:
            log.info("a question for a correction was answered with error %s", refusal.code)
            return None
        return correction_of(answer)
