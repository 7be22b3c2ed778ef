"""Own edits as the record stores them: as rows, and as entries if no recorder observed them.

A row may come from a daemon of another version, or from another program. It is accepted only if every field has a value
that an edit can have.
"""

import math
import uuid

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.history import AppliedEdit, EditKind
from fileops.model.notebooks import CellEditKind, CellPlace, CellType
from fileops.model.record import By, ByPerson, BySession, ContentKind, Contents, Entry, FileVersion, KeptEdit
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.record.content import is_secret, kind_of_content
from fileops.record.store import RecordStore

Recorded = tuple[Entry, Contents]
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


def pack(edit: AppliedEdit) -> KeptEdit:
    """Return the row of an edit."""
    body = msgspec.msgpack.encode(_record_of(edit))
    return KeptEdit(edit_id=edit.edit_id, time=edit.timestamp, path=edit.path, body=body)


def unpack(body: bytes) -> AppliedEdit:
    """Return the edit of a row. Raises: msgspec.DecodeError, ValueError."""
    return _edit_of(_DECODER.decode(body))


def _record_of(edit: AppliedEdit) -> _Record:
    return _Record(
        edit_id=edit.edit_id,
        session_id=SessionName(_without_surrogates(edit.session_id)),
        file_path=edit.file_path.encode("utf-8", "surrogatepass"),
        path=edit.path.encode("utf-8", "surrogatepass"),
        timestamp=edit.timestamp,
        kind=edit.kind,
        reverse=[(splice.start, splice.end, splice.new) for splice in edit.reverse],
        before=edit.before,
        after=edit.after,
        summary=_without_surrogates(edit.summary),
        diff=edit.diff.encode("utf-8", "surrogatepass"),
        n_added=edit.n_added,
        n_removed=edit.n_removed,
        undoes=list(edit.undoes),
        n_foreign_hunks=edit.n_foreign_hunks,
        changed_by=None if edit.changed_by is None else _without_surrogates(edit.changed_by),
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


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, which msgpack strings cannot hold."""
    return text.encode("utf-8", "replace").decode()


def to_entries(edit: AppliedEdit, after: bytes | None) -> list[Recorded]:
    """Return the entries of an edit: one, or two for a rename. Args: after: the content after it, if it is known."""
    if after is not None and content_digest(after) != edit.after:
        after = None
    before = _content_before(edit, after)
    kind = _kind(edit, before, after)
    if kind != "kept":
        before = after = None
    old, new = _version(edit.before, before), _version(edit.after, after)
    entry = Entry(
        entry_id=_new_id(),
        time=edit.timestamp,
        path=edit.path,
        kind=edit.kind,
        by=_author(edit),
        before=old,
        after=new,
        content=kind,
        added=edit.n_added,
        removed=edit.n_removed,
        edit_id=edit.edit_id,
        set_id=edit.set_id,
        evidence="commit",
        kept=edit.session_id == NO_SESSION,
    )
    if edit.renamed_from is None:
        return [(entry, Contents(before, after))]
    departure = replace(entry, entry_id=_new_id(), path=edit.renamed_from, kind="delete", after=None)
    arrival = replace(entry, kind="create", before=None)
    if not edit.is_undo:  # see Commit.by_path
        departure, arrival = replace(departure, moved_to=edit.path), replace(arrival, moved_from=edit.renamed_from)
    return [(departure, Contents(before, None)), (arrival, Contents(None, after))]


def link_undos(store: RecordStore, edit: AppliedEdit) -> None:
    """Link the entries of an edit with the entries that it undid, in both directions."""
    undone = [entry.entry_id for edit_id in edit.undoes for entry in store.entries_of_edit(edit_id)]
    for entry in store.entries_of_edit(edit.edit_id) if undone else ():
        store.replace(replace(entry, undoes=tuple(undone)))
        store.undo(undone, entry.entry_id)


def _content_before(edit: AppliedEdit, after: bytes | None) -> bytes | None:
    """Return the content before an edit; None if there was no file, or its content is not known."""
    source = b"" if edit.kind == "delete" else after
    if edit.kind == "create" or source is None:
        return None
    if edit.reverse and edit.reverse[-1].end > len(source):
        return None
    before = splicing.apply(source, edit.reverse)
    return before if content_digest(before) == edit.before else None


def _kind(edit: AppliedEdit, before: bytes | None, after: bytes | None) -> ContentKind:
    if any(is_secret(path, "") for path in (edit.path, edit.renamed_from) if path is not None):
        return "protected"
    for digest, content in ((edit.before, before), (edit.after, after)):
        if digest is not None and content is None:
            return "gone"
    for content in (before, after):
        if content is not None and (kind := kind_of_content(content)) != "kept":
            return kind
    return "kept"


def _version(digest: bytes | None, content: bytes | None) -> FileVersion | None:
    return None if digest is None else FileVersion(None if content is None else digest)


def _author(edit: AppliedEdit) -> By:
    if edit.session_id == NO_SESSION:
        return ByPerson(session_id="", label="a person")
    return BySession(session_id=edit.session_id, label=edit.session_id)


def _new_id() -> str:
    return f"e-{uuid.uuid4().hex[:12]}"
