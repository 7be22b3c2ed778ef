"""What edits did to the problems of files, as language servers and editors report them; as frozen values."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fileops.model.edits import Splice

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")  # LSP's 1 to 4, worst first
ChangeKind = Literal["create", "modify", "delete"]  # of a file on disk
DiagnosticsState = Literal["settled", "pending", "unavailable"]

MAX_LISTED = 50  # of each list of a report
MAX_LANGUAGE_SERVERS = 8


class Problem(Struct, frozen=True, gc=False):
    """A diagnostic of LSP. start, end: offsets in characters of the text without its BOM. code: "" if it has none."""

    start: int
    end: int
    severity: Severity
    code: str
    source: str
    message: str


class ReportedProblem(Struct, frozen=True, kw_only=True):
    """A problem in the form in which it is sent."""

    file_path: str
    """Path of an edited file as the session gave it; otherwise the canonical path."""
    start_line: int
    """1-based first line, as a read numbers lines."""
    start_column: int
    """1-based first column, in characters."""
    end_line: int
    """1-based last line."""
    end_column: int
    """1-based column after the last one, in characters."""
    severity: Severity
    """The severity."""
    code: str | None
    """The kind of problem, as the source names it."""
    source: str
    """The program that found it."""
    message: str
    """The text, of at most 2,000 characters."""


class LanguageServerSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language server that the user lets the daemon start."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    """The name in answers; unique."""
    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    """The program (an absolute path, or a name that is looked up outside the project) and its arguments."""
    globs: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Globs of the files that it checks."""
    language_id: str = ""
    """LSP's language id of these files; "" means by each file's extension."""
    settings: dict[str, Any] | None = None
    """The configuration that it receives when it asks."""
    initialization_options: Any = None
    """Sent with `initialize`."""
    settle_s: Annotated[float, Meta(ge=0, le=10)] = 0.3
    """For how many seconds a server that publishes must have been quiet."""


class DiagnosticsReport(Struct, frozen=True, kw_only=True):
    """How one or more edits of a session changed their files' problems. Sent as it is."""

    state: DiagnosticsState
    """`settled`: compared. `pending`: a later result will have it. `unavailable`: it will not be known."""
    sources: tuple[str, ...] = ()
    """The editor or the language servers that were asked."""
    edit_ids: tuple[str, ...] = ()
    """Ids of the edits, in their order."""
    file_paths: tuple[str, ...] = ()
    """The edited files, as the session gave them."""
    reason: str | UnsetType = UNSET
    """For `unavailable`: the reason, as a clause."""
    introduced: tuple[ReportedProblem, ...] | UnsetType = UNSET
    """For `settled`: the first 50 introduced problems, worst first."""
    resolved: tuple[ReportedProblem, ...] | UnsetType = UNSET
    """For `settled`: the first 50 resolved problems; their places are in the text before the edit."""
    n_introduced: int | UnsetType = UNSET
    """For `settled`: how many problems were introduced."""
    n_resolved: int | UnsetType = UNSET
    """For `settled`: how many problems were resolved."""


class CommittedFile(Struct, frozen=True, kw_only=True):
    """What a commit did to one file. before, after: None without a file. new_path: for a rename.

    path, new_path: canonical. given_path: as the session gave it.
    """

    path: str
    given_path: str
    before: bytes | None
    after: bytes | None
    splices: tuple[Splice, ...]
    new_path: str | None = None

    @property
    def path_after(self) -> str:
        """The file's path after the commit, or before it was removed."""
        return self.new_path or self.path


class Formatted(Struct, frozen=True, kw_only=True):
    """What a language server replaces in a text to format some ranges of lines.

    made: for each range, in order; see core/formatting.py. None if not_formatted, a clause, says why.
    """

    made: tuple[tuple[tuple[int, int, str], ...], ...] | None = None
    server: str = ""
    not_formatted: str | None = None


class LanguageServerStatus(Struct, frozen=True, kw_only=True):
    """A language server that a daemon started."""

    name: str
    """The name, as in the settings."""
    root: str
    """The folder that it serves."""
    state: Literal["starting", "running", "ended"]
    """`ended`: it will be started again when needed."""
    pid: int | None
    """Its process id."""
    n_ends: int
    """How often it crashed within the last 10 minutes."""
    start_s: float | None
    """How many seconds it took to start."""
    memory_bytes: int | None
    """Its resident memory, if the system reports it."""
