"""Changes of several files, and undos: plan, ask, commit all together, and plan again if a file has changed.

A `Planner` knows what a request wants. This module has the order of the steps, and the rules that hold for all of them.
Nothing is locked while a person is asked. A commit applies to the content on which it was planned. Either all files are
written or none. A request can be cancelled until its commit begins. A dry run ends before anyone is asked. Runs in
worker threads.

Change sets, undos and rewinds are carried out here, single edits in `edit.py` (docs/internals/adr/0032-one-engine.md).
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from fileops.concurrency.cancellation import Attempts, CancelToken
from fileops.model.approval import ApprovalRequest, Decision
from fileops.model.commits import Commit
from fileops.model.edits import Plan
from fileops.model.errors import FileOpsError, Rejected, SetConflict
from fileops.model.files import Committed
from fileops.model.sessions import SessionName
from fileops.ports import EventSink
from fileops.service.commit import Committer, PlannedCommit, did_edit, new_set_id
from fileops.service.policy import Policy


class FileWork(Protocol):
    """The plan of one file."""

    @property
    def plan(self) -> Plan: ...

    @property
    def file_path(self) -> str: ...

    @property
    def has_effect(self) -> bool: ...

    @property
    def is_left_out(self) -> bool:
        """Return whether a person has left it out."""
        ...

    @property
    def needs_set(self) -> bool:
        """Return whether a single file's commit cannot make this change."""
        ...


F = TypeVar("F", bound=FileWork)
K = TypeVar("K")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Work(Struct, Generic[F, K], frozen=True, kw_only=True):
    """What should be changed. known: what else the planner knows. reasons: those of people who left something out.

    is_decided: nothing more is asked about it. is_old: a person has decided since the files were read, so they are read
    again before they are written.
    """

    files: tuple[F, ...]
    known: K
    reasons: tuple[str, ...] = ()
    is_decided: bool = False
    is_old: bool = False


class Pending(Struct, Generic[F, K], frozen=True, kw_only=True):
    """Work that waits for a decision about some of its files (`waiting`: their indexes)."""

    work: Work[F, K]
    waiting: tuple[int, ...]
    question: ApprovalRequest


class Made(Struct, Generic[F], frozen=True, kw_only=True):
    """What became of a file. commit: None if there was nothing to write."""

    file: F
    commit: Commit | None


@dataclass(eq=False, kw_only=True)
class NotDone(Exception):
    """Nothing was written, except `left`.

    work: what was planned, if anything. file_path: the file that failed, one of `n_files`, if a single file did.
    problems: what the planner knows about several failures.
    """

    error: FileOpsError
    work: object = None
    file_path: str | None = None
    n_files: int = 1
    problems: tuple[object, ...] = ()
    left: tuple[str, ...] = ()


class Planner(Protocol[F, K, R_co]):
    """What differs between a change set, an undo and a rewind. Every method may raise NotDone and FileOpsErrors."""

    @property
    def is_dry_run(self) -> bool: ...

    def hold(self) -> AbstractContextManager[object]:
        """Return what to hold from the plan to the end of the commit, but not while a person is asked."""
        ...

    def plan(self, policy: Policy, token: CancelToken) -> Work[F, K]: ...

    def find_waiting(self, work: Work[F, K], policy: Policy) -> tuple[int, ...]:
        """Return the indexes of the files that the next question is about; none if nothing has to be asked."""
        ...

    def question(
        self, work: Work[F, K], waiting: Sequence[int], policy: Policy, token: CancelToken
    ) -> ApprovalRequest: ...

    def decide(self, pending: Pending[F, K], decision: Decision, policy: Policy, token: CancelToken) -> Work[F, K]:
        """Return the work as a person has decided it."""
        ...

    def again(self, work: Work[F, K], policy: Policy, token: CancelToken) -> Work[F, K] | Pending[F, K]:
        """Return the work on the current files, or another question. A person's decision is not replaced."""
        ...

    def commit_of(self, file: F) -> PlannedCommit: ...

    def tracker_update_of(self, file: F) -> Callable[[Committed], None]:
        """Return a function that updates the trackers. It is called while the files are locked."""
        ...

    def result(self, work: Work[F, K], made: Sequence[Made[F]], *, needs_approval: bool | None = None) -> R_co:
        """Return the answer. Args: made: empty for a dry run."""
        ...

    def answer_failure(self, failure: NotDone) -> R_co: ...


class CarryOut(Struct, Generic[F, K, R], frozen=True, kw_only=True):
    """Carries out what a planner plans, see the module. session_id: of the commits.

    events: receives what was written; None: the caller publishes it. is_change_set: even a set of one file has an id,
    and files that cannot be changed together are refused.
    """

    planner: Planner[F, K, R]
    committer: Committer
    session_id: SessionName
    events: EventSink | None = None
    is_change_set: bool = False

    def start(self, policy: Policy, token: CancelToken) -> R | Pending[F, K]:
        """Raises: Cancelled."""
        return self._answer(lambda: self.planner.plan(policy, token), policy, token)

    def resume(
        self, policy: Policy, token: CancelToken, pending: Pending[F, K], decision: Decision
    ) -> R | Pending[F, K]:
        """Continue with the decision. Raises: Cancelled."""
        return self._answer(lambda: self.planner.decide(pending, decision, policy, token), policy, token)

    def _answer(self, first: Callable[[], Work[F, K]], policy: Policy, token: CancelToken) -> R | Pending[F, K]:
        try:
            with self.planner.hold():
                return self._attempt(first, policy, token)
        except NotDone as failure:
            return self.planner.answer_failure(failure)
        except FileOpsError as error:
            return self.planner.answer_failure(NotDone(error=error))

    def _attempt(self, first: Callable[[], Work[F, K]], policy: Policy, token: CancelToken) -> R | Pending[F, K]:
        """Raises: NotDone, FileOpsError, Cancelled."""
        attempts, work, is_behind = Attempts(token), None, False
        while True:
            with attempts.next():
                if work is None:
                    work = first()
                    is_behind = work.is_old
                if is_behind:
                    outcome = self.planner.again(work, policy, token)
                    if isinstance(outcome, Pending):
                        return outcome
                    work = outcome
                is_behind = True  # in case this attempt fails because a file changed
                return self._ask_or_make(work, policy, token)

    def _ask_or_make(self, work: Work[F, K], policy: Policy, token: CancelToken) -> R | Pending[F, K]:
        """Raises: NotDone, Stale, PathMoved, Cancelled."""
        waiting = self.planner.find_waiting(work, policy)
        if self.planner.is_dry_run:
            return self.planner.result(work, (), needs_approval=bool(waiting))
        if waiting:
            return Pending(work=work, waiting=waiting, question=self.planner.question(work, waiting, policy, token))
        return self.planner.result(work, self._make(work, token))

    def _make(self, work: Work[F, K], token: CancelToken) -> tuple[Made[F], ...]:
        """Raises: NotDone, Stale, PathMoved, Cancelled."""
        files = [file for file in work.files if not file.is_left_out]
        if work.files and not files:
            raise NotDone(error=Rejected(), work=work, file_path=work.files[0].file_path)
        wanted = {file.plan.snapshot.path: file for file in files if file.has_effect}
        try:
            commits = dict(zip(wanted, self._commit(list(wanted.values()), token), strict=True))
        except FileOpsError as error:
            failed = wanted.get(error.failed_path or "", next(iter(wanted.values())))
            left = error.files if isinstance(error, SetConflict) else ()
            raise NotDone(
                error=error,
                work=work,
                file_path=failed.file_path,
                n_files=len(work.files),
                left=tuple(wanted[path].file_path for path in left if path in wanted),
            ) from error
        for file in files:
            commit = commits.get(file.plan.snapshot.path)
            planned = self.planner.commit_of(file) if commit is None else None
            # Unsaved text may never be saved, and then the edit is in force again. It was in the file all the time.
            if planned is not None and (planned.undoes or planned.undone) and not planned.plan.snapshot.is_unsaved:
                self.committer.note_unchanged(planned, session_id=self.session_id)
            if commit is not None and self.events is not None:
                self.events.publish(did_edit(commit))
        return tuple(Made(file=file, commit=commits.get(file.plan.snapshot.path)) for file in files)

    def _commit(self, files: Sequence[F], token: CancelToken) -> tuple[Commit, ...]:
        """Raises: FileOpsErrors, Stale, PathMoved, Cancelled."""
        planned, notes = (
            [self.planner.commit_of(file) for file in files],
            [self.planner.tracker_update_of(file) for file in files],
        )
        if not planned:
            return ()
        if len(files) == 1 and not files[0].needs_set:
            set_id = new_set_id() if self.is_change_set else None
            return (
                self.committer.commit(
                    planned[0], token, session_id=self.session_id, on_committed=notes[0], set_id=set_id
                ),
            )

        def note_all(committed: tuple[Committed, ...]) -> None:
            for note, outcome in zip(notes, committed, strict=True):
                note(outcome)

        return self.committer.commit_set(
            planned, token, session_id=self.session_id, on_committed=note_all, is_strict=self.is_change_set
        )
