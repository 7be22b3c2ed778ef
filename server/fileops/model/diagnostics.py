"""What edits did to the problems of files, as language servers and editors report them; as frozen values."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fileops.model.edits import Splice

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")  # LSP's 1 to 4, the worst first
ChangeKind = Literal["create", "modify", "delete"]  # of a file on the disk
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
    """A problem as it is sent."""

    file_path: str
    """Of an edited file as the session gave it, else canonical."""
    start_line: int
    """1-based, as a read numbers lines."""
    start_column: int
    """1-based, in characters."""
    end_line: int
    """1-based."""
    end_column: int
    """1-based, in characters, after the last one."""
    severity: Severity
    """How bad it is."""
    code: str | None
    """The kind of problem, as the source names it."""
    source: str
    """The program that found it."""
    message: str
    """Its text, at most 2,000 characters."""


class LanguageServerSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language server that the user lets the daemon start."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    """What answers call it; unique."""
    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    """The program, an absolute path or a name that is looked up outside of the project, and its arguments."""
    globs: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Of the files that it checks."""
    language_id: str = ""
    """LSP's, of these files; "" goes by the extension of each file."""
    settings: dict[str, Any] | None = None
    """What it is told when it asks for its configuration."""
    initialization_options: Any = None
    """Sent with `initialize`."""
    settle_s: Annotated[float, Meta(ge=0, le=10)] = 0.3
    """Seconds for which a server that publishes must have been quiet."""


class DiagnosticsReport(Struct, frozen=True, kw_only=True):
    """What one or several edits of a session did to the problems of their files. Sent as it is."""

    state: DiagnosticsState
    """`settled`: compared. `pending`: a later result has it. `unavailable`: it will not be known."""
    sources: tuple[str, ...] = ()
    """The editor, or the language servers, that are asked."""
    edit_ids: tuple[str, ...] = ()
    """Of the edits, in their order."""
    file_paths: tuple[str, ...] = ()
    """The edited files, as the session gave them."""
    reason: str | UnsetType = UNSET
    """Of `unavailable`: a clause."""
    introduced: tuple[ReportedProblem, ...] | UnsetType = UNSET
    """Of `settled`: the first 50, the worst first."""
    resolved: tuple[ReportedProblem, ...] | UnsetType = UNSET
    """Of `settled`: the first 50; places are of the text before the edit."""
    n_introduced: int | UnsetType = UNSET
    """Of `settled`: all."""
    n_resolved: int | UnsetType = UNSET
    """Of `settled`: all."""


class FileChange(Struct, frozen=True, kw_only=True):
    """What a commit did to one file. before, after: None where no file is. new_path: of a rename.

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
        """Where the file is after the commit, or was before it was removed."""
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
    """As in the settings."""
    root: str
    """The folder that it serves."""
    state: Literal["starting", "running", "ended"]
    """`ended`: it is started anew when it is needed."""
    pid: int | None
    """Its process."""
    n_ends: int
    """How often it ended by itself within the last 10 minutes."""
    start_s: float | None
    """How long it took to start."""
    memory_bytes: int | None
    """Its resident memory, where the system says it."""
