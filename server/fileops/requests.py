"""What a caller asks and what he is told, as values. The wire shapes of both are in `wire/`."""

from typing import Literal

from msgspec import Struct

from fileops.core.window import Window
from fileops.errors import FileOpsError, NoMatch
from fileops.events import DidEdit
from fileops.model import DEFAULT_SESSION, AppliedEdit, Change, CommitReport, Edit, Source, TextFormat

DEFAULT_COMMAND_TIMEOUT_S = 120.0

Tool = Literal["read", "edit", "multi_edit"]


class ReadRequest(Struct, frozen=True, kw_only=True):
    """offset: 1-based first line; limit: lines, at least 1; None where the caller gave none."""

    file_path: str
    offset: int | None = None
    limit: int | None = None
    session_id: str = DEFAULT_SESSION


class EditRequest(Struct, frozen=True, kw_only=True):
    """One `edit` (exactly one of `edits`) or one `multi_edit`.

    no_matches: of the edits that are proposed, why the caller's own words failed.
    """

    file_path: str
    edits: tuple[Edit, ...]
    tool: Literal["edit", "multi_edit"] = "edit"
    dry_run: bool = False
    session_id: str = DEFAULT_SESSION
    no_matches: tuple[NoMatch, ...] = ()


class CommandRequest(Struct, frozen=True, kw_only=True):
    """cwd: absolute, None for the first workspace folder. description: what it is for, in the agent's own words."""

    command: str
    timeout_s: float
    cwd: str | None = None
    description: str | None = None
    session_id: str = DEFAULT_SESSION


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """exit_code: 128 + number after a signal; None where the command did not run to its end."""

    output: str
    error: FileOpsError | None
    exit_code: int | None
    cwd: str
    duration_s: float
    n_output_bytes: int
    is_clipped: bool


class Picture(Struct, frozen=True, kw_only=True):
    """An image as it is shown to a model. Sides in pixels.

    mime_type, data (base64), width, height: of what is shown. file_type, file_width, file_height, n_frames: of what
    stands in the file, before it was turned and scaled.
    """

    mime_type: str
    data: str
    width: int
    height: int
    file_type: str
    file_width: int
    file_height: int
    n_frames: int


class HistoryRequest(Struct, frozen=True, kw_only=True):
    """None: not asked for. limit: the newest that many."""

    file_path: str | None = None
    session_id: str | None = None
    limit: int | None = None


class UndoRequest(Struct, frozen=True, kw_only=True):
    """Takes back the edit `edit_id`, or all that stand of session `session_id` (of one file, if `file_path`).

    by_session: who does it, and sees the outcome; None for a person. asks_no_more: a person has said so meanwhile.
    is_approved: a person has asked for it or confirmed it, so that nobody is asked.
    """

    edit_id: str | None = None
    session_id: str | None = None
    file_path: str | None = None
    by_session: str | None = None
    dry_run: bool = False
    asks_no_more: bool = False
    is_approved: bool = False


class FileUndo(Struct, frozen=True, kw_only=True):
    """What an undo did, or would do, to one file. edit_ids: what it took back. edit_id: of the undo itself."""

    file_path: str
    edit_ids: tuple[str, ...]
    change: Change
    outcome: Literal["modified", "removed", "created"]
    applied_to: Source
    edit_id: str | None = None
    commit: CommitReport | None = None
    modified_by_user: bool = False


class AgentPlace(Struct, frozen=True, kw_only=True):
    """Lines of an open or closed file that an edit touched, as an editor counts them: 0-based, both included."""

    edit: AppliedEdit
    first_line: int
    last_line: int


class UndoOutcome(Struct, frozen=True, kw_only=True):
    """files: in the order of the newest edit taken back in each; of a failure, those that stay undone all the same.

    file_path: the one that failed. note: of a failure among several files, what became of the others.
    """

    output: str
    files: tuple[FileUndo, ...] = ()
    error: FileOpsError | None = None
    file_path: str | None = None
    note: str = ""
    dry_run: bool = False


class ReadOutcome(Struct, frozen=True, kw_only=True):
    """output: the text for the model. The other fields are None where the read failed (`error` says why).

    An image has a `picture` and neither window nor format.

    mtime_ns is None for a buffer without a file. An offset behind the last line is no failure: the file counts as
    read, and the window says `past_end`.
    """

    output: str
    error: FileOpsError | None = None
    window: Window | None = None
    picture: Picture | None = None
    format: TextFormat | None = None
    size_bytes: int | None = None
    mtime_ns: int | None = None
    source: Source | None = None
    document_version: int | None = None


class EditOutcome(Struct, frozen=True, kw_only=True):
    """What an edit did, or would do (`dry_run`), or why it did nothing (`error`).

    edits: as asked for, or as the client's model put them. n_replaced: places, per edit, as matches and match_lines
    are. commit: None unless something was committed. edit_id: names the applied edit in the history. did_edit: what
    is to be told of it, once the caller has his answer.
    """

    output: str
    error: FileOpsError | None = None
    change: Change | None = None
    edits: tuple[Edit, ...] = ()
    is_multi: bool = False
    created: bool = False
    applied_to: Source | None = None
    n_replaced: tuple[int, ...] = ()
    matches: tuple[str, ...] = ()
    match_lines: tuple[tuple[int, ...], ...] = ()
    modified_by_user: bool = False
    edit_id: str | None = None
    did_edit: DidEdit | None = None
    commit: CommitReport | None = None
    dry_run: bool = False
