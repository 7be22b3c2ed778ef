"""The changes that an undo or a rewind makes in one file: plan, commit and result."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.diff.unified import change_of, format_unified_diff
from fileops.core.merge.undo import Undone
from fileops.core.notebook.cell_changes import changes_of_contents
from fileops.core.notebook.cells import is_notebook_path
from fileops.core.text import detect_format
from fileops.model.changes import Permissions
from fileops.model.commits import Commit
from fileops.model.edits import Plan, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Committed, Snapshot
from fileops.model.notebooks import CellChange
from fileops.model.record import ByPerson
from fileops.model.results import UndoFileOutcome
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.model.settings import Limits
from fileops.service.commit import PlannedCommit
from fileops.tracking.freshness import Freshness


class Restoration(Struct, frozen=True, kw_only=True):
    """The plan for one file.

    is_decided: a user has approved it, or has left it out (is_left_out). modified_by_user: its splices are the user's.
    new_path: canonical, if the file gets its old path back. permissions: those that it gets back; None if they do not
    change. entry_ids, for a rewind: the record's entries that it undoes. restored_ids, for a rewind: entries that are
    in force again because a part of their undo is undone.
    """

    file_path: str
    undone: Undone
    plan: Plan
    removes: bool
    is_decided: bool = False
    is_left_out: bool = False
    modified_by_user: bool = False
    new_path: str | None = None
    permissions: Permissions | None = None
    entry_ids: tuple[str, ...] = ()
    restored_ids: tuple[str, ...] = ()

    @property
    def needs_set(self) -> bool:
        return self.new_path is not None

    @property
    def has_effect(self) -> bool:
        is_text = bool(self.plan.splices) or self.plan.creates
        return is_text or self.removes or self.new_path is not None or self.permissions is not None


class Undoer(Struct, frozen=True, kw_only=True):
    """The author of an undo, for trackers and record: a session (`by_session`) or a person. rewind_id: for a rewind."""

    freshness: Freshness
    by_session: SessionName | None
    person: ByPerson
    rewind_id: str | None = None

    def commit_of(self, file: Restoration) -> PlannedCommit:
        return PlannedCommit(
            plan=file.plan,
            given_path=file.file_path if file.new_path is None else file.new_path,
            new_path=file.new_path,
            removes=file.removes,
            permissions=file.permissions,
            by=self.person if self.by_session is None else None,
            undoes=() if file.modified_by_user else file.undone.edit_ids,
            undone=file.entry_ids,
            restored=file.restored_ids,
            rewind_id=self.rewind_id,
        )

    def tracker_update_of(self, file: Restoration) -> Callable[[Committed], None]:
        """Return a function that updates the trackers of all sessions. Call it while the file is locked."""
        has_seen, old_path = self._has_seen(file), file.plan.snapshot.path

        def note(committed: Committed) -> None:
            if file.new_path is not None:
                self.freshness.hint(old_path)
                if has_seen and self.by_session is not None:
                    self.freshness.note_rename(self.by_session, file.new_path, old_path, committed)
                return
            if has_seen:
                self.freshness.note_write(
                    self.by_session or NO_SESSION, file.file_path, committed, before=file.plan.snapshot.data
                )
                return
            if committed.snapshot.source == "disk":
                self.freshness.note_blind_write(self.by_session or NO_SESSION, committed)
            self.freshness.hint(committed.snapshot.path)

        return note

    def _has_seen(self, file: Restoration) -> bool:
        """Return whether the undoing session has seen the current content, and so knows the result."""
        if self.by_session is None or not file.plan.snapshot.exists:
            return False
        try:
            self.freshness.require_fresh(self.by_session, file.plan.snapshot, dry_run=True)
            return not self.freshness.has_unshown(self.by_session, file.plan.snapshot.path)
        except FileOpsError:
            return False


def to_outcome(file: Restoration, commit: Commit | None) -> UndoFileOutcome:
    """Return the result for a file. Args: commit: None if there was nothing to write."""
    if commit is None:
        return to_result(file)
    return replace(to_result(file), edit_id=commit.edit_id, commit=commit.report, applied_to=commit.after.source)


def plan_restoration(
    snapshot: Snapshot, undone: Undone, *, file_path: str, limits: Limits, with_snippet: bool = True
) -> Restoration:
    """Plan the change from a file's current content to what the undo makes of it."""
    removes = snapshot.exists and undone.content is None
    creates = not snapshot.exists and undone.content is not None
    if removes:
        splices: tuple[Splice, ...] = (Splice(0, len(snapshot.data), b""),) if snapshot.data else ()
    elif creates:
        splices = (Splice(0, 0, undone.content or b""),)
    else:
        splices = undone.splices
    change = change_of(
        snapshot.data,
        detect_format(snapshot.data),
        splices,
        file_path=file_path,
        operation="create" if creates else "modify",
        limits=limits,
        with_snippet=with_snippet,
    )
    if removes:
        change = replace(change, unified=format_unified_diff(change.hunks, file_path=file_path, removes=True))
    plan = Plan(
        snapshot=snapshot,
        splices=splices,
        edits=(),
        n_replacements=(len(splices),),
        matches=(),
        match_lines=(),
        format=detect_format((undone.content or b"") if creates else snapshot.data),
        creates=creates,
        change=change,
        cells=_changes_of_cells(snapshot, splices),
    )
    return Restoration(file_path=file_path, undone=undone, plan=plan, removes=removes)


def _changes_of_cells(snapshot: Snapshot, splices: Sequence[Splice]) -> tuple[CellChange, ...]:
    if not is_notebook_path(snapshot.path):
        return ()
    return changes_of_contents(snapshot.path, snapshot.data, splicing.apply(snapshot.data, splices))


def to_result(file: Restoration) -> UndoFileOutcome:
    """Return the result of the plan, before any of it is written."""
    return UndoFileOutcome(
        file_path=file.file_path,
        edit_ids=file.undone.edit_ids,
        change=file.plan.shown,
        outcome="removed" if file.removes else "created" if file.plan.creates else "modified",
        applied_to=file.plan.snapshot.source,
        new_path=file.new_path,
        modified_by_user=file.modified_by_user,
    )
