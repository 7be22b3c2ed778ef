"""The record of an applied edit."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Splice

EditKind = Literal["modify", "create", "delete"]


class AppliedEdit(Struct, frozen=True, kw_only=True):
    """One applied edit, as the history keeps it.

    file_path: as the session gave it; path: canonical. timestamp: seconds since the epoch. reverse: splices over the
    content after the edit (after a deletion: over b""). before, after: digests, None if no file existed. undoes: the
    edits that this one undid. undone_by: the edit that undid this one.
    """

    edit_id: str
    session_id: str
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
