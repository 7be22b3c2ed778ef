"""Settings that a client gives at `initialize`."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from fileops.model.diagnostics import LanguageServerSetting, Severity

FreshnessRule = Literal["mtime", "content", "relevant"]
ApprovalMode = Literal["default", "auto_edit", "yolo"]
Ask = Literal["each_edit", "protected", "never"]  # the one that asks most comes first


class Limits(Struct, frozen=True, kw_only=True):
    max_lines: int = 2000
    max_line_chars: int = 2000
    max_file_kb: int = 256
    max_chars: int = 60000


class EncodingRule(Struct, frozen=True, kw_only=True):
    """Files whose path matches `glob` (see core/globs.py) are in this encoding, a codec of Python."""

    glob: str
    encoding: str


class Texts(Struct, frozen=True, kw_only=True):
    """Parts of the texts for the model, in place of the specified ones, which count where this has None.

    read_reminder: the block after the lines of a read, "" for none. read_advice: what to do about a file or a selection
    that is too large. notebook_advice: what to do about a notebook.
    """

    read_reminder: str | None = None
    read_advice: str | None = None
    notebook_advice: str | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """The `initializationOptions`, with the defaults of docs/PROTOCOL.md.

    shows_lines: whether the client has asked for hints. Only then is a refused edit answered with lines that count as
    read: a client that does not know of them would not hand them on.
    """

    freshness: FreshnessRule = "mtime"
    confine: Literal["edits", "all", "off"] = "edits"
    roots: Sequence[str] = ()
    approval_mode: ApprovalMode = "default"
    approval_timeout_s: float = 600.0
    ask: Ask | None = None
    review_grace_s: float = 30.0
    keep_committed: bool = True
    fill_empty_files: bool = False
    notebooks: Literal["refuse", "text"] = "refuse"
    images: Literal["attach", "refuse"] = "attach"
    correction: bool = False
    correction_timeout_s: float = 60.0
    processors: Sequence[str] = ()
    validators: Sequence[str] = ()
    encodings: Sequence[EncodingRule] = ()
    unreadable: Sequence[str] = ()
    notices: Literal["off", "details", "output"] = "off"
    hints: Literal["off", "details", "output"] = "details"
    shows_lines: bool = False
    diagnostics: Literal["off", "details", "output"] = "off"
    diagnostics_wait_s: float = 2.0
    diagnostics_severity: Severity = "warning"
    language_servers: Sequence[LanguageServerSetting] = ()
    format: Literal["off", "changed"] = "off"
    limits: Limits = Limits()
    texts: Texts = Texts()
