"""Corrector that asks the client's own model, by `fileops/correctEdit`. A malformed answer is no proposal."""

import logging

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.approval import Correction, CorrectionRequest

log = logging.getLogger(__name__)


class LspCorrector:
    """See ports.Corrector."""

    def __init__(self, client: Client, *, timeout_s: float) -> None:
        self._client, self._timeout_s = client, timeout_s

    @property
    def can_ask(self) -> bool:
        return self._client.capability("experimental.fileops.correct_edit") is True

    async def correct(self, request: CorrectionRequest) -> Correction | None:
        from fileops.wire.correction import correction_of

        try:
            answer = await self._client.ask(methods.CORRECT_EDIT, request, timeout_s=self._timeout_s)
        except (TimeoutError, ClientGone):
            return None
        except ClientRefused as refusal:
            log.info("the client answered a request for a correction with error %s", refusal.code)
            return None
        return correction_of(answer)
