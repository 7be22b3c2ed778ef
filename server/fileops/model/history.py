"""The record of an applied edit.

A separate module, because results and requests of undos contain it.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Splice
from fileops.model.notebooks import CellPlace
from fileops.model.sessions import SessionName

EditKind = Literal["modify", "create", "delete"]


class AppliedEdit(Struct, frozen=True, kw_only=True):
    """One applied edit, as the history keeps it.

    file_path: as the session gave it; path: canonical. timestamp: seconds since the epoch. reverse: splices over the
    content after the edit (after a deletion: over b""). before, after: digests, None if no file existed. undoes: the
    edits that this one undid; is_undo: also of one that undid other entries only. undone_by: the edit that undid this
    one, as the record has it; None in a row. n_foreign_hunks: changes of others since the
    session's read over which the edit was rebased; changed_by: who made them, None if there were none. set_id: of the
    change set that it is a part of. renamed_from: the canonical path that the file had before; `path` is the new one.
    mode: permission bits that a file had before it was deleted, or before the edit changed them. cells: of a notebook
    that was changed by cells.
    """

    edit_id: str
    session_id: SessionName
    file_path: str
    path: str
    timestamp: float
    kind: EditKind
    reverse: tuple[Splice, ...]
    before: bytes | None
    after: bytes | None
    summary: str
    diff: str
    n_added: int
    n_removed: int
    undoes: tuple[str, ...] = ()
    undone_by: str | None = None
    n_foreign_hunks: int = 0
    changed_by: str | None = None
    set_id: str | None = None
    renamed_from: str | None = None
    mode: int | None = None
    is_undo: bool = False
    cells: tuple[CellPlace, ...] = ()
