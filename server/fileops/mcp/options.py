"""The options of `fileops-server mcp`: those of every client, and those about MCP alone."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fileops.mcp.elicitation import APPROVAL_TIMEOUT_S
from fileops.model.settings import Settings
from fileops.service.hub.approvals import UNDECIDED_MODE, Approve

# Defaults that differ from those of Settings.
DEFAULTS: Mapping[str, Any] = {"suggestions": "details", "diagnostics": "details", "correction": True}


class McpOptions(Struct, frozen=True, kw_only=True):
    """The options on the command line.

    roots: absolute. further_tools: names of tools beside Read, Edit and MultiEdit. max_read_bytes: None for the host's
    default. answers: the texts of results, see core/presentation/lean.py; "full" means the specified ones. show_diff:
    whether results also show the changed lines to a person: always, never, or with full answers ("auto").
    repeated_reads: whether one sentence answers a read of what the session still has. read_reminder: whether reads end
    with the specified reminder. chosen: the options of every client.
    """

    roots: Sequence[str] = ()
    session: str | None = None
    approve: Approve = "person"
    protected: Literal["ask", "allow"] = "ask"
    further_tools: Sequence[str] = ()
    notices: Literal["on", "off"] = "on"
    answers: Literal["lean", "full"] = "lean"
    show_diff: Literal["auto", "on", "off"] = "auto"
    max_read_bytes: int | None = None
    repeated_reads: Literal["full", "short"] = "full"
    read_reminder: Literal["on", "off"] = "on"
    chosen: Settings = Settings(**DEFAULTS)

    @property
    def settings(self) -> Settings:
        chosen = self.chosen
        if self.read_reminder == "off":
            chosen = replace(chosen, texts=replace(chosen.texts, read_reminder=""))
        return replace(chosen, approval_mode=UNDECIDED_MODE[self.approve], approval_timeout_s=APPROVAL_TIMEOUT_S)

    @property
    def is_lean(self) -> bool:
        return self.answers == "lean"

    @property
    def shows_diff(self) -> bool:
        return not self.is_lean if self.show_diff == "auto" else self.show_diff == "on"

    @property
    def allows_unasked(self) -> bool:
        """Whether an edit of a protected file is applied if the client cannot ask a person."""
        return self.protected == "allow" and self.approve != "ask"


def mcp_options(given: Mapping[str, object]) -> McpOptions:
    """Decode the options as the command line sends them, in one object. Raises: msgspec.ValidationError."""
    own = {name: value for name, value in given.items() if name in McpOptions.__struct_fields__}
    chosen = {name: value for name, value in given.items() if name not in own and name in Settings.__struct_fields__}
    return msgspec.convert({**own, "chosen": {**DEFAULTS, **chosen}}, McpOptions)
