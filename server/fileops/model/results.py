"""What a caller asks and what he is told, as values. The wire shapes of both are in `wire/`."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Change, Edit
from fileops.model.errors import FileOpsError
from fileops.model.events import DidEdit
from fileops.model.files import CommitReport, NewlineStyle, Source, TextFormat
from fileops.model.history import AppliedEdit


class Window(Struct, frozen=True, kw_only=True):
    """text: the numbered lines, with the notice of hidden ones, without a final newline; "" where there are none.

    end_line: the last shown; total_lines: None where the end was not seen; next_offset: the first line not shown,
    None at the end of the file. n_chars: as the limit counts them, over the whole selection. newline: of the
    selected lines. past_end: the offset lies behind the last line (then total_lines is known).
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


class ForeignChange(Struct, frozen=True, kw_only=True):
    """How a file that a session has read differs now from what it read.

    path: canonical; file_path: as the session gave it. changed_by: "external", "buffer" or the id of the session that
    wrote. digest: of the present content, None if the file is gone. diff: unified, None where it would be too long, or
    what was read is not known any more.
    """

    path: str
    file_path: str
    changed_by: str
    digest: bytes | None
    diff: str | None


class CommandResult(Struct, frozen=True, kw_only=True):
    """exit_code: 128 + number after a signal; None where the command did not run to its end."""

    output: str
    error: FileOpsError | None
    exit_code: int | None
    cwd: str
    duration_s: float
    n_output_bytes: int
    is_clipped: bool


class ImageContent(Struct, frozen=True, kw_only=True):
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


class UndoneFile(Struct, frozen=True, kw_only=True):
    """What an undo did, or would do, to one file. edit_ids: what it took back. edit_id: of the undo itself."""

    file_path: str
    edit_ids: tuple[str, ...]
    change: Change
    outcome: Literal["modified", "removed", "created"]
    applied_to: Source
    edit_id: str | None = None
    commit: CommitReport | None = None
    modified_by_user: bool = False


class AgentEditRange(Struct, frozen=True, kw_only=True):
    """Lines of an open or closed file that an edit touched, as an editor counts them: 0-based, both included."""

    edit: AppliedEdit
    first_line: int
    last_line: int


class UndoResult(Struct, frozen=True, kw_only=True):
    """files: in the order of the newest edit taken back in each; of a failure, those that stay undone all the same.

    file_path: the one that failed. note: of a failure among several files, what became of the others.
    """

    output: str
    files: tuple[UndoneFile, ...] = ()
    error: FileOpsError | None = None
    file_path: str | None = None
    note: str = ""
    dry_run: bool = False


class ReadResult(Struct, frozen=True, kw_only=True):
    """output: the text for the model. The other fields are None where the read failed (`error` says why).

    An image has a `picture` and neither window nor format.

    mtime_ns is None for a buffer without a file. An offset behind the last line is no failure: the file counts as
    read, and the window says `past_end`.
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


class EditResult(Struct, frozen=True, kw_only=True):
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
