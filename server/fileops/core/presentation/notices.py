"""Sentences for a model about what others changed in files that it has read, with a diff of limited length."""

from fileops.core.presentation.diffs import first_lines, hunks_of
from fileops.core.presentation.notebook_texts import compared_cells_text
from fileops.core.presentation.phrases import format_count
from fileops.model.events import DidRecover
from fileops.model.results import ChangeNotice, ForeignChange

MAX_DIFF_LINES = 40
MAX_DIFF_CHARS = 3000

A_PROGRAM = "another program or a command of yours"  # which of both is not known yet
_MEANT = "This is usually intended: take the file as it is now, and do not revert it unless you are asked to."


def recovered_text(event: DidRecover) -> str:
    """Return a sentence for the user about a change set that was undone after a crash."""
    return " ".join(filter(None, (_settled_text(event), _left_text(event), _waiting_text(event))))


def _settled_text(event: DidRecover) -> str:
    if not event.files:
        return "A daemon ended while it changed several files together."
    return f"A daemon ended while it changed {format_count(len(event.files), 'file')} together; they are as before."


def _left_text(event: DidRecover) -> str | None:
    left = [file for file in event.files if file.outcome == "left"]
    if not left:
        return None
    named = ", ".join(
        file.file_path if file.kept_as is None else f"{file.file_path} (its old content: {file.kept_as})"
        for file in left
    )
    return f"Other programs have written these since, so they were left: {named}."


def _waiting_text(event: DidRecover) -> str | None:
    if not event.waits_for:
        return None
    folders = ", ".join(event.waits_for)
    files = "More files" if event.files else "The files"
    return f"{files} are in folders that cannot be used now, and are put back when they can: {folders}."


def notice_of(change: ForeignChange) -> ChangeNotice:
    """Return the notice of a change."""
    path, changed_by = change.file_path, change.changed_by
    if change.digest is None:
        return ChangeNotice(file_path=path, changed_by=changed_by, kind="gone")
    by_cells = bool(change.compared)
    shown = compared_cells_text(change.compared, path) if by_cells else hunks_of(change.diff or "")
    diff, n_more = first_lines(shown, max_lines=MAX_DIFF_LINES, max_chars=MAX_DIFF_CHARS)
    kind = "modified" if changed_by == "external" else "unsaved" if changed_by == "buffer" else "edited"
    return ChangeNotice(
        file_path=path,
        changed_by=changed_by,
        kind=kind,
        diff=diff if shown else None,
        n_more=n_more,
        by_cells=by_cells,
    )


def notice_text(notice: ChangeNotice) -> str:
    """Return the text about a changed file."""
    path = notice.file_path
    match notice.kind:
        case "gone":
            return f"{path} is gone since you last read it."
        case "modified":
            what = f"{path} changed on disk since you last read it (by {A_PROGRAM})."
        case "unsaved":
            what = f"{path} has unsaved changes in the editor since you last read it."
        case "edited":
            what = f"{path} was edited by another agent ({notice.changed_by}) since you last read it."
    return f"{what} {_MEANT} {_format_diff('What changed:', notice)}"


SAME_CALL = "This is all that changed, and it counts as read: you can send the same call again if it is still right."


def rebased_text(notice: ChangeNotice) -> str:
    """Return the text about a changed file to which its edit was applied."""
    return (
        f"Other lines of {notice.file_path} changed since you last read it; your edit was applied to the file as it is "
        f"now. {_format_diff('What else changed:', notice)}"
    )


def _format_diff(heading: str, notice: ChangeNotice) -> str:
    diff, n_more = notice.diff, notice.n_more
    if diff is None:
        return "Read the file."
    more = f"… and {format_count(n_more, 'more line')}; Read the file." if n_more else ""
    return "\n".join(filter(None, (heading, diff, more)))
