"""An edit of the history as entries of the record, for edits that no recorder observed."""

import uuid

from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.model.digest import content_digest
from fileops.model.history import AppliedEdit
from fileops.model.record import By, ByPerson, BySession, ContentKind, Contents, Entry, FileVersion
from fileops.model.sessions import NO_SESSION
from fileops.record.content import is_secret, kind_of_content
from fileops.record.store import RecordStore

Recorded = tuple[Entry, Contents]


def recorded(edit: AppliedEdit, after: bytes | None) -> list[Recorded]:
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
    left = replace(entry, entry_id=_new_id(), path=edit.renamed_from, kind="delete", after=None)
    arrived = replace(entry, kind="create", before=None)
    if not edit.is_undo:  # see Commit.by_path
        left, arrived = replace(left, moved_to=edit.path), replace(arrived, moved_from=edit.renamed_from)
    return [(left, Contents(before, None)), (arrived, Contents(None, after))]


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
