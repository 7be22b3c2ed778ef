"""Converts a commit to an edit of the history. Pure."""

from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.text import detect_format
from fileops.model.commits import Commit
from fileops.model.edits import Change, Splice
from fileops.model.files import Snapshot
from fileops.model.history import AppliedEdit, EditKind
from fileops.model.notebooks import place_of

MAX_SUMMARY_CHARS = 80


def applied_edit(commit: Commit) -> AppliedEdit:
    plan, undoes = commit.plan, commit.undoes
    before, after, change = commit.before, commit.after, plan.change
    kind: EditKind = "create" if not before.exists else "modify" if after.exists else "delete"
    has_mode = kind == "delete" or (kind == "modify" and commit.permissions is not None)
    return AppliedEdit(
        edit_id=commit.edit_id,
        session_id=commit.session_id,
        file_path=commit.given_path,
        path=after.path,
        timestamp=commit.time,
        kind=kind,
        reverse=_reverse(kind, before, after, plan.splices),
        before=before.digest if before.exists else None,
        after=after.digest if after.exists else None,
        summary=_summary(kind, change, undoes),
        diff=change.unified,
        n_added=change.n_added,
        n_removed=change.n_removed,
        undoes=undoes,
        is_undo=commit.is_undo,
        n_foreign_hunks=0 if plan.rebased is None else len(plan.rebased.ranges),
        changed_by=None if plan.rebased is None else plan.rebased.changed_by,
        set_id=commit.set_id,
        renamed_from=None if after.path == before.path else before.path,
        cells=tuple(map(place_of, plan.cells)),
        mode=before.stamp.mode & 0o7777 if has_mode and before.stamp is not None else None,
    )


def _reverse(kind: EditKind, before: Snapshot, after: Snapshot, splices: tuple[Splice, ...]) -> tuple[Splice, ...]:
    match kind:
        case "create":
            return ()
        case "delete":
            return (Splice(0, 0, before.data),)
        case "modify":
            if after.source == "buffer" and splicing.apply(before.data, splices) != after.data:
                return splices_between(after.data, before.data, detect_format(after.data))  # the editor's own line ends
            return splicing.invert(before.data, splices)


def _summary(kind: EditKind, change: Change, undoes: tuple[str, ...]) -> str:
    """Return one line for a list of edits."""
    if undoes:
        return f"undo of {len(undoes)} edit{'s' if len(undoes) > 1 else ''}"
    counts = f"+{change.n_added} -{change.n_removed}"
    if change.operation == "rename":
        return f"{counts} rename"
    if kind != "modify":
        return f"{counts} {kind}"
    lines = (line.text.strip() for hunk in change.hunks for line in hunk.lines if line.kind == "+")
    shown = next((line for line in lines if line), "")
    return f"{counts} line {change.first_changed_line}: {shown}"[:MAX_SUMMARY_CHARS].rstrip(": ")
