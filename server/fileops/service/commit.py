"""Commits a plan: writes the file, updates the trackers, adds the history entry and makes the event.

Shared by edits and undos. Runs in a worker thread.
"""

import os
from collections.abc import Callable

from msgspec import Struct

from fileops.concurrency.cancellation import CancelToken, CommitGuard
from fileops.core import text
from fileops.model.edits import Plan
from fileops.model.events import DidEdit
from fileops.model.files import Committed
from fileops.model.record import By, BySession, RecordedEdit
from fileops.model.sessions import SessionName
from fileops.ports import Clock, CommitHooks, EditJournal, EditRecorder, FileSystem


class CommittedEdit(Struct, frozen=True, kw_only=True):
    """A commit that was made, and the event that the caller publishes."""

    committed: Committed
    did_edit: DidEdit


class RecordMarks(Struct, frozen=True, kw_only=True):
    """What the record of a commit says beside its session. by: a person. undone, rewind_id: see RecordedEdit."""

    by: By | None = None
    undone: tuple[str, ...] = ()
    rewind_id: str | None = None


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
        marks: RecordMarks | None = None,
    ) -> CommittedEdit:
        """Write the plan and record it as an edit of the session.

        `on_committed` updates the trackers; it is called inside the file's lock, right after the commit.
        Raises: Stale, PathMoved, Cancelled and the failures of writing.
        """
        edit_id = os.urandom(16).hex()
        path, recorder, marks = plan.snapshot.path, self.recorder, marks or RecordMarks()
        if recorder is not None:
            recorder.begin_commit(path)
        try:
            committed = self.write(plan, CommitGuard(token, on_committed), removes=removes)
        except BaseException:
            if recorder is not None:
                recorder.end_commit(path, None)
            raise
        timestamp = self.clock.time_ns() / 1e9
        if recorder is not None:
            recorded = RecordedEdit(
                edit_id=edit_id, by=marks.by or BySession(session_id=session_id, label=self.label_of(session_id)),
                before=plan.snapshot, after=committed.snapshot, time=timestamp, undoes=undoes, undone=marks.undone,
                rewind_id=marks.rewind_id,
            )  # fmt: skip
            recorder.end_commit(path, None if committed.report.method == "none" else recorded)
        self.journal.append(
            edit_id=edit_id,
            session_id=session_id,
            given_path=file_path,
            plan=plan,
            committed=committed,
            timestamp=timestamp,
            undoes=undoes,
        )
        did_edit = DidEdit(
            file_path=file_path,
            session_id=session_id,
            timestamp=timestamp,
            content_length=text.count_characters(committed.snapshot.data, plan.format),
            edit_id=edit_id,
        )
        return CommittedEdit(committed=committed, did_edit=did_edit)

    def write(self, plan: Plan, hooks: CommitHooks, *, removes: bool = False) -> Committed:
        """Write the plan, or remove its file, without a record. Raises what `commit` raises."""
        if removes:
            return self.fs.remove(plan.snapshot, hooks)
        return self.fs.replace(plan.snapshot, plan.splices, hooks)
