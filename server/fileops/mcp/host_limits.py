"""How much of a read each host passes to its model: what a host cuts off must not count as read."""

import logging
from typing import cast

from fileops.mcp.host_sessions import CODEX_METADATA
from fileops.mcp.protocol import JsonObject

log = logging.getLogger(__name__)

MAX_READ_BYTES = 40_000  # of the complete text; hosts cut somewhere above it
HOSTS_WITHOUT_LIMIT = {"claude-code"}  # the tool's `_meta` raises its limit
MODELS_OF_CODEX = ("gpt-", "codex-")  # prefixes that Codex knows; it cuts other models' reads at 10,000 bytes


class HostLimits:
    """The limits of one connection's host. given: the user's own limit in bytes, which applies to any host."""

    def __init__(self, given: int | None) -> None:
        self._given = given
        self._has_warned = False

    def max_read_bytes(self, host: str) -> int | None:
        """The longest read in bytes; None: unlimited."""
        if self._given is not None:
            return self._given
        return None if host in HOSTS_WITHOUT_LIMIT else MAX_READ_BYTES

    def check_model(self, meta: JsonObject) -> None:
        """Warn once if Codex runs a model that it does not know. meta: of a call."""
        metadata = meta.get(CODEX_METADATA)
        model = cast("JsonObject", metadata).get("model") if isinstance(metadata, dict) else None
        if self._has_warned or self._given is not None or not isinstance(model, str):
            return
        if not model.startswith(MODELS_OF_CODEX):
            self._has_warned = True
            log.warning(
                "Codex may not know the model %.60r, and then cuts results at 10,000 bytes, which still counts "
                "as read: start the server with --max-read-bytes 10000, or set tool_output_token_limit in Codex",
                model,
            )
