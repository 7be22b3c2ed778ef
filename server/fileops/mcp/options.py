"""The options of `fileops-server mcp`."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from fileops.mcp.elicitation import APPROVAL_TIMEOUT_S
from fileops.model.diagnostics import LanguageServerSetting, Severity
from fileops.model.record import RecordMode
from fileops.model.settings import EncodingRule, FreshnessRule, Settings
from fileops.service.hub.approvals import UNDECIDED_MODE, Approve


class McpOptions(Struct, frozen=True, kw_only=True):
    """What the command line says.

    roots: absolute. further_tools: names of tools beside Read, Edit and MultiEdit. max_read_bytes: None for the host's
    default.
    """

    roots: Sequence[str] = ()
    session: str | None = None
    approve: Approve = "person"
    protected: Literal["ask", "allow"] = "ask"
    freshness: FreshnessRule = "mtime"
    confine: Literal["edits", "all"] = "edits"
    further_tools: Sequence[str] = ()
    notices: Literal["on", "off"] = "on"
    hints: Literal["on", "off"] = "on"
    show_diff: Literal["on", "off"] = "on"
    max_read_bytes: int | None = None
    encodings: Sequence[EncodingRule] = ()
    record: RecordMode | None = None
    record_titles: Literal["on", "off"] = "on"
    unreadable: Sequence[str] = ()
    diagnostics: Literal["on", "off"] = "on"
    diagnostics_wait_s: float = 2.0
    diagnostics_severity: Severity = "warning"
    language_servers: Sequence[LanguageServerSetting] = ()
    format: Literal["off", "changed"] = "off"

    @property
    def settings(self) -> Settings:
        return Settings(
            freshness=self.freshness,
            confine=self.confine,
            approval_mode=UNDECIDED_MODE[self.approve],
            approval_timeout_s=APPROVAL_TIMEOUT_S,
            encodings=self.encodings,
            unreadable=self.unreadable,
            hints="details" if self.hints == "on" else "off",
            shows_lines=self.hints == "on",
            diagnostics="details" if self.diagnostics == "on" else "off",
            diagnostics_wait_s=self.diagnostics_wait_s,
            diagnostics_severity=self.diagnostics_severity,
            language_servers=self.language_servers,
            format=self.format,
        )

    @property
    def allows_unasked(self) -> bool:
        """Whether an edit of a protected file is applied if the client cannot ask a person."""
        return self.protected == "allow" and self.approve != "ask"
