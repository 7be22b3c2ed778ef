"""Requests of a caller, as frozen values. `wire/` has their wire shapes."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Edit, PatchHunk
from fileops.model.errors import NoMatch
from fileops.model.notebooks import CellEdit, OutputsMode
from fileops.model.sessions import DEFAULT_SESSION, SessionName

DEFAULT_COMMAND_TIMEOUT_S = 120.0

EditTool = Literal["edit", "multi_edit", "write", "edit_notebook"]
Tool = Literal["read"] | EditTool


class ReadRequest(Struct, frozen=True, kw_only=True):
    """A read of a file. `offset` is the 1-based first line, `limit` a number of lines; None if not given.

    `max_output_bytes` bounds the finished text in UTF-8, for a caller that would not see the rest of a longer one.
    `raw` asks for the text of the lines as it is in the file, instead of the numbered output. `cell_id` asks for one
    cell of a notebook, and `outputs` says how much of its outputs.
    """

    file_path: str
    offset: int | None = None
    limit: int | None = None
    session_id: SessionName = DEFAULT_SESSION
    max_output_bytes: int | None = None
    raw: bool = False
    cell_id: str | None = None
    outputs: OutputsMode = "summary"


class EditRequest(Struct, frozen=True, kw_only=True):
    """One `edit` (with exactly one element in `edits`), one `multi_edit`, or one `write`.

    cells: of an edit of a notebook, instead of all else. hunks: of a patch, instead of the edits of a `multi_edit`.
    content: the whole new text, of a `write`; then `edits` is empty. include_texts: the result has the whole
    text before and after. no_matches: for the edits that a model has corrected, why the caller's own strings failed;
    given: the edits as the caller gave them.
    """

    file_path: str
    edits: tuple[Edit, ...] = ()
    hunks: tuple[PatchHunk, ...] = ()
    cells: tuple[CellEdit, ...] = ()
    tool: EditTool = "edit"
    content: str | None = None
    dry_run: bool = False
    include_texts: bool = False
    session_id: SessionName = DEFAULT_SESSION
    no_matches: tuple[NoMatch, ...] = ()
    given: tuple[Edit, ...] = ()

    @property
    def wants_new_file(self) -> bool:
        """Whether the edit creates a file and fails if there is one. A write creates only a missing file."""
        return self.content is None and not self.hunks and not self.cells and not self.edits[0].old_string


class CommandRequest(Struct, frozen=True, kw_only=True):
    """A shell command. `cwd` is absolute, None for the first workspace folder. `description` is the agent's purpose."""

    command: str
    timeout_s: float
    cwd: str | None = None
    description: str | None = None
    session_id: SessionName = DEFAULT_SESSION


class HistoryRequest(Struct, frozen=True, kw_only=True):
    """A query of the history. A filter that is None does not apply. `limit` keeps the newest entries."""

    file_path: str | None = None
    session_id: SessionName | None = None
    limit: int | None = None


class UndoRequest(Struct, frozen=True, kw_only=True):
    """Undo the edit `edit_id`, the change set `set_id`, or all edits of session `session_id` that are not undone.

    file_path: only those of one file, with `session_id`.
    by_session: the session that undoes and that then has seen the result; None for a user. approve_rest: a user has
    approved all further files. is_approved: a user has requested or confirmed the undo, so no approval is requested.
    """

    edit_id: str | None = None
    set_id: str | None = None
    session_id: SessionName | None = None
    file_path: str | None = None
    by_session: SessionName | None = None
    dry_run: bool = False
    approve_rest: bool = False
    is_approved: bool = False
