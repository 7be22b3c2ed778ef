"""Results of requests, as frozen values. `wire/` has their wire shapes, except for those that are sent as they are."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Change, Edit, Rebased
from fileops.model.errors import FileOpsError, NotebookInvalid
from fileops.model.events import DidEdit
from fileops.model.files import CommitReport, NewlineStyle, ReadProof, Snapshot, Source, StaleReason, Stamp, TextFormat
from fileops.model.history import AppliedEdit
from fileops.model.notebooks import CellsPage, Compared
from fileops.model.suggestions import RefusedPlace, Suggestions, SyntaxReport


class Window(Struct, frozen=True, kw_only=True):
    """The lines of a file that a read returns.

    text: the numbered lines and the notice of hidden ones, without a final newline; "" if there are none.
    end_line: the last line shown. total_lines: None if the end of the file was not reached. next_offset: the first line
    not shown, None at the end of the file. n_chars: of the whole selection, as the limit counts them. newline: of the
    selected lines. past_end: the offset is after the last line (then total_lines is known). is_whole: the window shows
    the whole file, nothing hidden or cut. Of a raw read, `text` is the text of the lines as it is in the file.
    """

    text: str
    start_line: int
    end_line: int
    total_lines: int | None
    next_offset: int | None
    n_lines_hidden: int
    n_chars: int
    newline: NewlineStyle | None
    format: TextFormat
    past_end: bool
    at_end: bool
    is_whole: bool = False


class ForeignChange(Struct, frozen=True, kw_only=True):
    """How a file that a session has read differs now from what it read.

    path: canonical; file_path: as the session gave it. changed_by: see Rebased. digest: of the present content, None if
    the file is gone. diff: unified, None where it would be too long, or what was read is not known any more. base:
    digest of what was read. snapshot: the present content, if it was read. compared: of a notebook that was read by
    cells, how these differ, to be shown instead of the diff.
    """

    path: str
    file_path: str
    changed_by: str
    digest: bytes | None
    diff: str | None
    base: bytes | None = None
    snapshot: Snapshot | None = None
    compared: Compared = ()

    @property
    def stamp(self) -> Stamp | None:
        return None if self.snapshot is None else self.snapshot.stamp


class ChangeNotice(Struct, frozen=True, kw_only=True):
    """A change by others in the form in which it is reported to a session.

    diff: the first lines of the hunks of a unified diff, or (by_cells) of the changed cells of a notebook; None if
    there are none to show. n_more: lines left out.
    """

    file_path: str
    changed_by: str
    kind: Literal["modified", "unsaved", "edited", "gone"]
    diff: str | None = None
    n_more: int = 0
    by_cells: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it shows the whole change, and so counts as a read. What a session knows of cells is from reads."""
        return self.diff is not None and not self.n_more and not self.by_cells


class Notices(Struct, frozen=True, kw_only=True):
    """What is reported to a session with one result. about: the call's file, if it concerns that."""

    about: ChangeNotice | None = None
    others: tuple[ChangeNotice, ...] = ()


class CommandResult(Struct, frozen=True, kw_only=True):
    """The result of a command. `exit_code` is 128 + n after signal n, None if the command did not finish."""

    output: str
    error: FileOpsError | None
    exit_code: int | None
    cwd: str
    duration_s: float
    n_output_bytes: int
    is_clipped: bool


class ImageContent(Struct, frozen=True, kw_only=True):
    """An image as it is shown to a model. Sides are in pixels.

    mime_type, data (base64), width, height: of the image shown. file_type, file_width, file_height, n_frames: of the
    image in the file, before it was rotated and scaled.
    """

    mime_type: str
    data: str
    width: int
    height: int
    file_type: str
    file_width: int
    file_height: int
    n_frames: int


class UndoFileOutcome(Struct, frozen=True, kw_only=True):
    """What an undo did, or would do, to one file. `edit_ids` are the undone edits, `edit_id` is the undo itself.

    new_path: canonical, if the file gets its old path back.
    """

    file_path: str
    edit_ids: tuple[str, ...]
    change: Change
    outcome: Literal["modified", "removed", "created"]
    applied_to: Source
    new_path: str | None = None
    edit_id: str | None = None
    commit: CommitReport | None = None
    modified_by_user: bool = False


class AgentEditRange(Struct, frozen=True, kw_only=True):
    """The lines of a file that an edit touched: 0-based as in an editor, both ends included."""

    edit: AppliedEdit
    first_line: int
    last_line: int


class UndoResult(Struct, frozen=True, kw_only=True):
    """The result of an undo.

    files: in the order of the newest undone edit in each; after a failure, those that nevertheless remain undone.
    file_path: the file that failed. note: after a failure among several files, the state of the others.
    needs_approval: as EditResult.
    """

    output: str
    files: tuple[UndoFileOutcome, ...] = ()
    error: FileOpsError | None = None
    file_path: str | None = None
    note: str = ""
    dry_run: bool = False
    needs_approval: bool | None = None


class ReadResult(Struct, frozen=True, kw_only=True):
    """The result of a read. `output` is the text for the model.

    If the read failed, `error` says why and the other fields are None. An image has a `picture`, and neither window nor
    format. mtime_ns is None for a buffer without a file. An offset after the last line is not a failure: the file
    counts as read, and the window says `past_end`. encoding: the one that the client has named for the file.
    is_raw: `output` is empty, and the window has the text. read_proof: what counts once the result was sent.
    """

    output: str
    error: FileOpsError | None = None
    window: Window | None = None
    picture: ImageContent | None = None
    format: TextFormat | None = None
    size_bytes: int | None = None
    mtime_ns: int | None = None
    source: Source | None = None
    document_version: int | None = None
    encoding: str | None = None
    is_raw: bool = False
    read_proof: ReadProof | None = None
    page: CellsPage | None = None
    pictures: tuple[ImageContent, ...] = ()
    not_cells: NotebookInvalid | None = None

    @property
    def shown_path(self) -> str | None:
        """The canonical path of the file that the read shows."""
        return None if self.read_proof is None else self.read_proof.path


class EditTexts(Struct, frozen=True, kw_only=True):
    """The whole text of a file before an edit and after it. A text over 1 MB is None."""

    original: str | None
    proposed: str | None


class EditResult(Struct, frozen=True, kw_only=True):
    """What an edit did, or would do (`dry_run`), or why it did nothing (`error`).

    edits: as requested, or as the client's model corrected them. n_replaced: places, one number per edit; matches and
    match_lines are per edit too. commit: None unless something was committed. edit_id: of the applied edit in the
    history. did_edit: the event to publish once the caller has the response. rebased: if others had changed the file
    since it was read. texts: None unless requested. needs_approval: whether a user would be asked; None unless it was a
    dry run. shown_path: the canonical path of the file, if it was written. suggestions: what is added to a
    failure; read_proof: what counts as read once the result was sent. refused: what a read of the file should cover.
    syntax: the errors of a file that parsed before.
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
    rebased: Rebased | None = None
    texts: EditTexts | None = None
    needs_approval: bool | None = None
    processed_by: tuple[str, ...] = ()
    not_formatted: str | None = None
    shown_path: str | None = None
    suggestions: Suggestions | None = None
    read_proof: ReadProof | None = None
    refused: RefusedPlace | None = None
    syntax: SyntaxReport | None = None


# --- reports of a session's files; these are sent as they are ----------------------------------------------------


class TrackedFile(Struct, frozen=True, kw_only=True):
    """A file that a session has read."""

    file_path: str
    """Path as the session gave it."""
    state: Literal["fresh", "stale"]
    """Whether it is still what the session read."""
    reason: str | None
    """Why it is stale; null while it is fresh."""
    read_at: float
    """When it was read, in seconds since the epoch."""
    mtime: float | None
    """Modification time, in seconds since the epoch."""
    size_bytes: int | None
    """Size in bytes, as it was read."""


class Conflict(Struct, frozen=True, kw_only=True):
    """A file that has changed since the session read it. `last_*` are from the session's read."""

    file_path: str
    """Path as the session gave it."""
    reason: StaleReason
    """What happened to the file."""
    source: str
    """The author: `external`, `buffer` or `session:ID`."""
    last_read: float
    """When the session last read it, in seconds since the epoch."""
    last_modified: float
    """The modification time that the session read, in seconds since the epoch."""
    current_modified: float | None
    """The current modification time, in seconds since the epoch; null if the file is gone."""
    size_diff: int | None
    """The change in size, in bytes; null if the file is gone."""


class SessionFile(Struct, frozen=True, kw_only=True, gc=False):
    """What a session has done to one file."""

    file_path: str
    """Path as the session gave it."""
    state: Literal["fresh", "stale", "untracked"]
    """The state; `untracked` if the session has not read the file."""
    reason: str | None
    """Why it is stale; null while it is fresh."""
    n_reads: int
    """How many reads."""
    n_edits: int
    """How many applied edits."""
    n_conflicts: int
    """How many edits were refused because the file had changed."""
    read_at: float | None
    """The last read, in seconds since the epoch; null if never."""
    edited_at: float | None
    """The last edit, in seconds since the epoch; null if never."""
    conflicted_at: float | None
    """The last refused edit, in seconds since the epoch; null if never."""
