"""Commits plans: writes the files, updates the trackers, adds to the history and the record, creates the event.

Shared by edits, change sets, undos and rewinds. Runs in a worker thread.
"""

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from fileops.concurrency.cancellation import CancelToken, CommitGuard, SetCommitGuard
from fileops.core import splices as splicing
from fileops.core import text
from fileops.model.changes import FilePlan, Permissions
from fileops.model.commits import Commit, IntendedWrite
from fileops.model.digest import content_digest
from fileops.model.edits import Plan, Splice
from fileops.model.errors import SetUnsupported
from fileops.model.events import DidEdit
from fileops.model.files import CommitReport, Committed, Snapshot
from fileops.model.record import By, BySession
from fileops.model.sessions import SessionName
from fileops.platform import umask
from fileops.ports import Clock, CommitHooks, EditRecorder, FileSystem

_MAX_NOTED_BYTES = 2 << 20  # of a content whose digest is computed before the write; the record keeps nothing longer
_random = random.Random()  # seeded by the kernel once, not for each edit


def new_set_id() -> str:
    return _new_edit_id()


def _new_edit_id() -> str:
    """Return an id that no other edit has. It may be guessable, because edits are protected by their session."""
    return f"{_random.getrandbits(128):032x}"


class PlannedCommit(Struct, frozen=True, kw_only=True):
    """One file of a commit. given_path: the session's name for the file after the commit.

    new_path: canonical, for a rename. by: the author, if not the session. For the other fields see Commit.
    """

    plan: Plan
    given_path: str
    new_path: str | None = None
    removes: bool = False
    permissions: Permissions | None = None
    by: By | None = None
    undoes: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    rewind_id: str | None = None
    is_kept: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The canonical paths that are written."""
        path = self.plan.snapshot.path
        return (path,) if self.new_path is None else (path, self.new_path)

    @property
    def file(self) -> FilePlan:
        return FilePlan(
            snapshot=self.plan.snapshot,
            splices=() if self.removes else self.plan.splices,
            new_path=self.new_path,
            removes=self.removes,
            permissions=self.permissions,
        )


class Committer(Struct, frozen=True, kw_only=True):
    """Commits plans, see the module.

    keep: adds to the history. label_of: a session's label in the record, by its full name. diagnose: called with the
    commits of a request, to compare the problems before and after them. umask: that of the client whose commits these
    are; None: that of this process. note_change: called right after a commit, while the file is locked, with what was
    before, the splices and the digest after.
    """

    fs: FileSystem
    clock: Clock
    keep: Callable[[Commit], None]
    recorder: EditRecorder | None = None
    label_of: Callable[[SessionName], str] = str
    diagnose: Callable[[Sequence[Commit]], None] | None = None
    umask: int | None = None
    note_change: Callable[[Snapshot, tuple[Splice, ...], bytes], None] | None = None

    def commit(
        self,
        planned: PlannedCommit,
        token: CancelToken,
        *,
        session_id: SessionName,
        on_committed: Callable[[Committed], None],
        set_id: str | None = None,
    ) -> Commit:
        """Write one file, and record it as an edit of the session. set_id: of the change set whose only change it is.

        `on_committed` updates the trackers; it is called right after the commit, while the file is locked. Raises:
        Stale, PathMoved, Cancelled and the failures of writing.
        """

        def note(committed: Committed) -> None:
            self._note_change(planned, committed)
            on_committed(committed)

        with self._announce([planned], session_id), umask.of_client(self.umask):
            committed = self._write(planned, CommitGuard(token, note))
        commit = self._record(planned, committed, session_id=session_id, set_id=set_id, time=self._now())
        if self.diagnose is not None and not planned.plan.cells:  # no language server reads a notebook's JSON
            self.diagnose((commit,))
        return commit

    def commit_set(
        self,
        planned: Sequence[PlannedCommit],
        token: CancelToken,
        *,
        session_id: SessionName,
        on_committed: Callable[[tuple[Committed, ...]], None],
        is_strict: bool = True,
    ) -> tuple[Commit, ...]:
        """Write several files together, and record them as one change set of the session.

        Args: is_strict: see FileSystem.replace_set. `on_committed` updates the trackers; it is called while all files
        are locked. Raises: what `commit` raises, SetUnsupported, and SetConflict, the only failure after which
        something is written.
        """

        def note(committed: tuple[Committed, ...]) -> None:
            for each, outcome in zip(planned, committed, strict=True):
                self._note_change(each, outcome)
            on_committed(committed)

        set_id = new_set_id()
        with self._announce(planned, session_id), umask.of_client(self.umask):
            hooks = SetCommitGuard(token, note)
            committed = self.fs.replace_set(set_id, [each.file for each in planned], hooks, is_strict=is_strict)
        time = self._now()
        commits = tuple(
            self._record(each, outcome, session_id=session_id, set_id=set_id, time=time)
            for each, outcome in zip(planned, committed, strict=True)
        )
        if self.diagnose is not None:
            self.diagnose(tuple(commit for commit in commits if not commit.plan.cells))
        return commits

    def note_unchanged(self, planned: PlannedCommit, *, session_id: SessionName) -> None:
        """Record an undo of text that others had already restored. Nothing is written, the edit counts as undone."""
        report = CommitReport(method="none", durability="synced")
        with self._announce([planned], session_id):
            committed = Committed(snapshot=planned.plan.snapshot, report=report)
        self._record(planned, committed, session_id=session_id, set_id=None, time=self._now())

    # --- helpers -----------------------------------------------------------------------------------------------

    def _note_change(self, planned: PlannedCommit, committed: Committed) -> None:
        before, after = planned.plan.snapshot, committed.snapshot
        is_change = before.exists and not planned.removes and planned.new_path is None
        if self.note_change is not None and is_change:
            self.note_change(before, planned.plan.splices, after.digest)

    @contextmanager
    def _announce(self, planned: Sequence[PlannedCommit], session_id: SessionName) -> Generator[None]:
        """Tell the recorder that the files are being written and, if that fails, that they were not written."""
        if self.recorder is None:
            yield
            return
        for each in planned:
            intended = self._intend(each, session_id)
            for path in each.paths:
                self.recorder.begin_commit(path, intended)
        try:
            yield
        except BaseException:
            for path in (path for each in planned for path in each.paths):
                self.recorder.cancel_commit(path)
            raise

    def _intend(self, planned: PlannedCommit, session_id: SessionName) -> IntendedWrite | None:
        """Return what the commit writes, if it is a session's own text; None for undos, renames and removals."""
        plan, snapshot = planned.plan, planned.plan.snapshot
        is_own = planned.by is None and planned.rewind_id is None and not planned.undoes and not planned.undone
        if not is_own or planned.removes or planned.new_path is not None or len(snapshot.data) > _MAX_NOTED_BYTES:
            return None
        return IntendedWrite(
            path=snapshot.path,
            session_id=session_id,
            label=self.label_of(session_id),
            before=snapshot.digest if snapshot.exists else None,
            after=content_digest(splicing.apply(snapshot.data, plan.splices)),
            time=self._now(),
        )

    def _now(self) -> float:
        return self.clock.time_ns() / 1e9

    def _write(self, planned: PlannedCommit, hooks: CommitHooks) -> Committed:
        plan = planned.plan
        if planned.removes:
            return self.fs.remove(plan.snapshot, hooks)
        if planned.permissions is not None:
            # Only the commit of a set changes the permission bits together with the content, so this is a set of one
            # file.
            try:
                return self.fs.replace_set(new_set_id(), [planned.file], _AsSetHooks(hooks))[0]
            except SetUnsupported:
                if not plan.creates:
                    raise
                # A filesystem without sets gives a recreated file the permission bits of a new one.
        return self.fs.replace(plan.snapshot, plan.splices, hooks)

    def _record(
        self, planned: PlannedCommit, committed: Committed, *, session_id: SessionName, set_id: str | None, time: float
    ) -> Commit:
        commit = Commit(
            edit_id=_new_edit_id(),
            session_id=session_id,
            by=planned.by or BySession(session_id=session_id, label=self.label_of(session_id)),
            given_path=planned.given_path,
            plan=planned.plan,
            before=planned.plan.snapshot,
            after=committed.snapshot,
            report=committed.report,
            time=time,
            undoes=planned.undoes,
            undone=planned.undone,
            restored=planned.restored,
            rewind_id=planned.rewind_id,
            set_id=set_id,
            is_kept=planned.is_kept,
            permissions=planned.permissions,
        )
        self.keep(commit)  # before the commit ends and wakes the recorder, which keeps both together
        if self.recorder is not None:
            self.recorder.end_commit(commit)
        return commit


def did_edit(commit: Commit) -> DidEdit:
    """Return the event of a commit."""
    return DidEdit(
        file_path=commit.given_path,
        session_id=commit.session_id,
        timestamp=commit.time,
        content_length=text.count_characters(commit.after.data, commit.plan.format),
        edit_id=commit.edit_id,
    )


class _AsSetHooks:
    """SetHooks of a set of one file, with the hooks of a single commit."""

    def __init__(self, hooks: CommitHooks) -> None:
        self._hooks = hooks
        self.prepare, self.before, self.on_cancel = hooks.prepare, hooks.before, hooks.on_cancel

    def after(self, committed: tuple[Committed, ...], /) -> None:
        (one,) = committed
        self._hooks.after(one)
