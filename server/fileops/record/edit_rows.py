"""Applied edits as rows of the record.

A row may come from a daemon of another version, or from another program. It is accepted only if every field has a value
that an edit can have.
"""

import math

import msgspec
from msgspec import Struct

from fileops.model.edits import Splice
from fileops.model.history import AppliedEdit, EditKind
from fileops.model.notebooks import CellEditKind, CellPlace, CellType
from fileops.model.record import KeptEdit
from fileops.model.sessions import SessionName

_DIGEST_BYTES = 16
_KINDS: dict[str, EditKind] = {"create": "create", "modify": "modify", "delete": "delete"}


class _Record(Struct, frozen=True, array_like=True):
    """The fields of AppliedEdit. New fields are added only at the end."""

    edit_id: str
    session_id: SessionName
    file_path: bytes
    path: bytes
    timestamp: float
    kind: str
    reverse: list[tuple[int, int, bytes]]
    before: bytes | None
    after: bytes | None
    summary: str
    diff: bytes
    n_added: int
    n_removed: int
    undoes: list[str]
    n_foreign_hunks: int = 0
    changed_by: str | None = None
    set_id: str | None = None
    renamed_from: bytes | None = None
    mode: int | None = None
    is_undo: bool = False
    cells: list[tuple[CellEditKind, str, int, CellType]] = []


_DECODER = msgspec.msgpack.Decoder(_Record)


def packed_edit(edit: AppliedEdit) -> KeptEdit:
    """Return the row of an edit."""
    body = msgspec.msgpack.encode(_record_of(edit))
    return KeptEdit(edit_id=edit.edit_id, time=edit.timestamp, path=edit.path, body=body)


def unpacked_edit(body: bytes) -> AppliedEdit:
    """Return the edit of a row. Raises: msgspec.DecodeError, ValueError."""
    return _edit_of(_DECODER.decode(body))


def _record_of(edit: AppliedEdit) -> _Record:
    return _Record(
        edit_id=edit.edit_id,
        session_id=SessionName(_kept(edit.session_id)),
        file_path=edit.file_path.encode("utf-8", "surrogatepass"),
        path=edit.path.encode("utf-8", "surrogatepass"),
        timestamp=edit.timestamp,
        kind=edit.kind,
        reverse=[(splice.start, splice.end, splice.new) for splice in edit.reverse],
        before=edit.before,
        after=edit.after,
        summary=_kept(edit.summary),
        diff=edit.diff.encode("utf-8", "surrogatepass"),
        n_added=edit.n_added,
        n_removed=edit.n_removed,
        undoes=list(edit.undoes),
        n_foreign_hunks=edit.n_foreign_hunks,
        changed_by=None if edit.changed_by is None else _kept(edit.changed_by),
        set_id=edit.set_id,
        renamed_from=None if edit.renamed_from is None else edit.renamed_from.encode("utf-8", "surrogatepass"),
        mode=edit.mode,
        is_undo=edit.is_undo,
        cells=[(cell.kind, cell.cell_id, cell.index, cell.cell_type) for cell in edit.cells],
    )


def _edit_of(record: _Record) -> AppliedEdit:
    """Raises: ValueError."""
    kind = _KINDS.get(record.kind)
    if kind is None or not math.isfinite(record.timestamp):
        raise ValueError("no such kind of edit, or no such time")
    if any(digest is not None and len(digest) != _DIGEST_BYTES for digest in (record.before, record.after)):
        raise ValueError("no digest")
    if (kind == "create") != (record.before is None) or (kind == "delete") != (record.after is None):
        raise ValueError("a kind of edit that does not leave such a file")
    reached = 0
    for start, end, _ in record.reverse:
        if not reached <= start <= end:
            raise ValueError("splices out of order")
        reached = end
    return AppliedEdit(
        edit_id=record.edit_id,
        session_id=SessionName(record.session_id),
        file_path=record.file_path.decode("utf-8", "surrogatepass"),
        path=record.path.decode("utf-8", "surrogatepass"),
        timestamp=record.timestamp,
        kind=kind,
        reverse=tuple(Splice(start, end, new) for start, end, new in record.reverse),
        before=record.before,
        after=record.after,
        summary=record.summary,
        diff=record.diff.decode("utf-8", "surrogatepass"),
        n_added=record.n_added,
        n_removed=record.n_removed,
        undoes=tuple(record.undoes),
        n_foreign_hunks=record.n_foreign_hunks,
        changed_by=record.changed_by,
        set_id=record.set_id,
        renamed_from=None if record.renamed_from is None else record.renamed_from.decode("utf-8", "surrogatepass"),
        mode=record.mode,
        is_undo=record.is_undo,
        cells=tuple(
            CellPlace(kind=kind, cell_id=cell_id, index=index, cell_type=cell_type)
            for kind, cell_id, index, cell_type in record.cells
        ),
    )


def _kept(text: str) -> str:
    """Replace lone surrogates, which msgpack strings cannot hold."""
    return text.encode("utf-8", "replace").decode()
