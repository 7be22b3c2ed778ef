"""Commits a plan: writes the file, updates the trackers, adds the history entry and makes the event.

Shared by edits and undos. Runs in a worker thread.
"""

import os
from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.concurrency.cancellation import CancelToken, CommitGuard, SetCommitGuard
from fileops.core import text
from fileops.model.changes import PlannedFile
from fileops.model.edits import Plan
from fileops.model.events import DidEdit
from fileops.model.files import Committed
from fileops.model.sessions import SessionName
from fileops.ports import Clock, CommitHooks, EditJournal, FileSystem


class CommittedEdit(Struct, frozen=True, kw_only=True):
    """A commit that was made, and the event that the caller publishes."""

    committed: Committed
    did_edit: DidEdit


def new_set_id() -> str:
    return os.urandom(16).hex()


class SetChange(Struct, frozen=True, kw_only=True):
    """One file of a change set as it is committed. given_path: what the session calls it afterwards.

    new_path: canonical, of a rename. undoes: the edits that this one undoes. mode: see PlannedFile.
    """

    plan: Plan
    given_path: str
    new_path: str | None = None
    removes: bool = False
    undoes: tuple[str, ...] = ()
    mode: int | None = None


class Committer(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    clock: Clock
    journal: EditJournal

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
    ) -> CommittedEdit:
        """Write the plan and record it as an edit of the session. set_id: of the change set whose one change it is.

        `on_committed` updates the trackers; it is called inside the file's lock, right after the commit.
        Raises: Stale, PathMoved, Cancelled and the failures of writing.
        """
        edit_id = os.urandom(16).hex()
        committed = self.write(plan, CommitGuard(token, on_committed), removes=removes)
        timestamp = self.clock.time_ns() / 1e9
        self.journal.append(
            edit_id=edit_id,
            session_id=session_id,
            given_path=file_path,
            plan=plan,
            committed=committed,
            timestamp=timestamp,
            undoes=undoes,
            set_id=set_id,
        )
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
                mode=change.mode,
            )
            for change in changes
        ]
        committed = self.fs.replace_set(set_id, files, SetCommitGuard(token, on_committed))
        timestamp = self.clock.time_ns() / 1e9
        edits = [
            self._recorded(change, outcome, session_id=session_id, set_id=set_id, timestamp=timestamp)
            for change, outcome in zip(changes, committed, strict=True)
        ]
        return set_id, tuple(edits)

    def _recorded(
        self, change: SetChange, committed: Committed, *, session_id: SessionName, set_id: str, timestamp: float
    ) -> CommittedEdit:
        edit_id = os.urandom(16).hex()
        self.journal.append(
            edit_id=edit_id,
            session_id=session_id,
            given_path=change.given_path,
            plan=change.plan,
            committed=committed,
            timestamp=timestamp,
            undoes=change.undoes,
            set_id=set_id,
        )
        did_edit = DidEdit(
            file_path=change.given_path,
            session_id=session_id,
            timestamp=timestamp,
            content_length=text.count_characters(committed.snapshot.data, change.plan.format),
            edit_id=edit_id,
        )
        return CommittedEdit(committed=committed, did_edit=did_edit)

    def write(self, plan: Plan, hooks: CommitHooks, *, removes: bool = False) -> Committed:
        """Write the plan, or remove its file, without a record. Raises what `commit` raises."""
        if removes:
            return self.fs.remove(plan.snapshot, hooks)
        return self.fs.replace(plan.snapshot, plan.splices, hooks)
