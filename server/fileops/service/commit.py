"""Commits a plan: writes the file, updates the trackers, adds the history entry and makes the event.

Shared by edits and undos. Runs in a worker thread.
"""

import random
from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.concurrency.cancellation import CancelToken, CommitGuard, SetCommitGuard
from fileops.core import text
from fileops.model.changes import Permissions, PlannedFile
from fileops.model.edits import Plan
from fileops.model.errors import SetUnsupported
from fileops.model.events import DidEdit
from fileops.model.files import Committed, Snapshot
from fileops.model.record import By, BySession, RecordedEdit
from fileops.model.sessions import SessionName
from fileops.ports import Clock, CommitHooks, EditJournal, EditRecorder, FileSystem

_random = random.Random()  # seeded by the kernel once, and not asked for each edit


class CommittedEdit(Struct, frozen=True, kw_only=True):
    """A commit that was made, and the event that the caller publishes."""

    committed: Committed
    did_edit: DidEdit


def new_set_id() -> str:
    return _new_edit_id()


def _new_edit_id() -> str:
    """Return an id that no other edit has. It may be guessed: an edit is protected by the session that made it."""
    return f"{_random.getrandbits(128):032x}"


class RecordMarks(Struct, frozen=True, kw_only=True):
    """What the record of a commit says beside its session. by: a person. The others: see RecordedEdit."""

    by: By | None = None
    undone: tuple[str, ...] = ()
    rewind_id: str | None = None
    is_kept: bool = False


class SetChange(Struct, frozen=True, kw_only=True):
    """One file of a change set as it is committed. given_path: what the session calls it afterwards.

    new_path: canonical, of a rename. undoes: the edits that this one undoes. marks: for the record.
    """

    plan: Plan
    given_path: str
    new_path: str | None = None
    removes: bool = False
    undoes: tuple[str, ...] = ()
    permissions: Permissions | None = None
    marks: RecordMarks | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The canonical paths that it writes."""
        path = self.plan.snapshot.path
        return (path,) if self.new_path is None else (path, self.new_path)


def _missing(path: str) -> Snapshot:
    return Snapshot(path=path, stamp=None, data=b"", taken_ns=0)


class Committer(Struct, frozen=True, kw_only=True):
    """See the module. label_of: what the record calls a session, by its full name."""

    fs: FileSystem
    clock: Clock
    journal: EditJournal
    recorder: EditRecorder | None = None
    label_of: Callable[[SessionName], str] = str

    def commit(
        self,
        plan: Plan,
        token: CancelToken,
        *,
        file_path: str,
        session_id: SessionName,
        on_committed: Callable[[Committed], None],
        removes: bool = False,
        undoes: tuple[str, ...] = (),
        set_id: str | None = None,
        marks: RecordMarks | None = None,
        permissions: Permissions | None = None,
    ) -> CommittedEdit:
        """Write the plan and record it as an edit of the session. set_id: of the change set whose one change it is.

        `on_committed` updates the trackers; it is called inside the file's lock, right after the commit.
        Raises: Stale, PathMoved, Cancelled and the failures of writing.
        """
        edit_id = _new_edit_id()
        path, recorder, marks = plan.snapshot.path, self.recorder, marks or RecordMarks()
        if recorder is not None:
            recorder.begin_commit(path)
        try:
            hooks = CommitGuard(token, on_committed)
            committed = self.write(plan, hooks, removes=removes, permissions=permissions)
        except BaseException:
            if recorder is not None:
                recorder.end_commit(path, None)
            raise
        timestamp = self.clock.time_ns() / 1e9
        # Before the end of the commit, which wakes the recorder: it keeps the edit together with its entry.
        self.journal.append(
            edit_id=edit_id,
            session_id=session_id,
            given_path=file_path,
            plan=plan,
            committed=committed,
            timestamp=timestamp,
            undoes=undoes,
            set_id=set_id,
            changes_mode=permissions is not None,
        )
        if recorder is not None:
            recorded = RecordedEdit(
                edit_id=edit_id,
                by=marks.by or BySession(session_id=session_id, label=self.label_of(session_id)),
                before=plan.snapshot,
                after=committed.snapshot,
                time=timestamp,
                undoes=undoes,
                undone=marks.undone,
                rewind_id=marks.rewind_id,
                set_id=set_id,
                is_kept=marks.is_kept,
            )
            recorder.end_commit(path, None if committed.report.method == "none" else recorded)
        did_edit = DidEdit(
            file_path=file_path,
            session_id=session_id,
            timestamp=timestamp,
            content_length=text.count_characters(committed.snapshot.data, plan.format),
            edit_id=edit_id,
        )
        return CommittedEdit(committed=committed, did_edit=did_edit)

    def commit_set(
        self,
        changes: Sequence[SetChange],
        token: CancelToken,
        *,
        session_id: SessionName,
        on_committed: Callable[[tuple[Committed, ...]], None],
    ) -> tuple[str, tuple[CommittedEdit, ...]]:
        """Write the plans of several files together, and record them as one change set of the session.

        Returns its id. `on_committed` updates the trackers; it is called inside the locks of all files.
        Raises: what `commit` raises, SetUnsupported, and SetConflict, the one after which something is written.
        """
        set_id = new_set_id()
        files = [
            PlannedFile(
                snapshot=change.plan.snapshot,
                splices=() if change.removes else change.plan.splices,
                new_path=change.new_path,
                removes=change.removes,
                permissions=change.permissions,
            )
            for change in changes
        ]
        paths = [path for change in changes for path in change.paths]
        if self.recorder is not None:
            for path in paths:
                self.recorder.begin_commit(path)
        try:
            committed = self.fs.replace_set(set_id, files, SetCommitGuard(token, on_committed))
        except BaseException:
            if self.recorder is not None:
                for path in paths:
                    self.recorder.end_commit(path, None)
            raise
        timestamp = self.clock.time_ns() / 1e9
        edits = [
            self._recorded(change, outcome, session_id=session_id, set_id=set_id, timestamp=timestamp)
            for change, outcome in zip(changes, committed, strict=True)
        ]
        return set_id, tuple(edits)

    def _recorded(
        self, change: SetChange, committed: Committed, *, session_id: SessionName, set_id: str, timestamp: float
    ) -> CommittedEdit:
        edit_id = _new_edit_id()
        self.journal.append(
            edit_id=edit_id,
            session_id=session_id,
            given_path=change.given_path,
            plan=change.plan,
            committed=committed,
            timestamp=timestamp,
            undoes=change.undoes,
            set_id=set_id,
            changes_mode=change.permissions is not None,
        )
        if self.recorder is not None:
            # For the record a rename is a removal at the old path and a creation at the new one.
            marks, before, after = change.marks or RecordMarks(), change.plan.snapshot, committed.snapshot
            versions = [(before, after)]
            # The undo of a rename is none: the entries of the name that the file gets back are those of one file again.
            is_rename = change.new_path is not None and not (change.undoes or marks.undone)
            if change.new_path is not None:
                versions = [(before, _missing(before.path)), (_missing(change.new_path), after)]
            for old, new in versions:
                recorded = RecordedEdit(
                    edit_id=edit_id,
                    by=marks.by or BySession(session_id=session_id, label=self.label_of(session_id)),
                    before=old,
                    after=new,
                    time=timestamp,
                    undoes=change.undoes,
                    undone=marks.undone,
                    rewind_id=marks.rewind_id,
                    set_id=set_id,
                    is_kept=marks.is_kept,
                    moved_from=before.path if is_rename and new is after else None,
                    moved_to=change.new_path if is_rename and old is before else None,
                )
                self.recorder.end_commit(old.path, recorded)
        did_edit = DidEdit(
            file_path=change.given_path,
            session_id=session_id,
            timestamp=timestamp,
            content_length=text.count_characters(committed.snapshot.data, change.plan.format),
            edit_id=edit_id,
        )
        return CommittedEdit(committed=committed, did_edit=did_edit)

    def write(
        self, plan: Plan, hooks: CommitHooks, *, removes: bool = False, permissions: Permissions | None = None
    ) -> Committed:
        """Write the plan, or remove its file, without a record. Raises what `commit` raises, SetUnsupported."""
        if removes:
            return self.fs.remove(plan.snapshot, hooks)
        if permissions is not None:
            # Only the commit of a set changes the permission bits together with the content; this is a set of one file.
            file = PlannedFile(snapshot=plan.snapshot, splices=plan.splices, permissions=permissions)
            try:
                return self.fs.replace_set(new_set_id(), [file], _AsSetHooks(hooks))[0]
            except SetUnsupported:
                if not plan.creates:
                    raise
                # A filesystem without sets gives a file that is created again the permission bits of a new one.
        return self.fs.replace(plan.snapshot, plan.splices, hooks)


class _AsSetHooks:
    """SetHooks of a set of one file, which has the hooks of a single commit."""

    def __init__(self, hooks: CommitHooks) -> None:
        self._hooks = hooks
        self.prepare, self.before, self.on_cancel = hooks.prepare, hooks.before, hooks.on_cancel

    def after(self, committed: tuple[Committed, ...], /) -> None:
        (one,) = committed
        self._hooks.after(one)
