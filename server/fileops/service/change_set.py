"""Writes several planned files: all of them, or none.

Several files are rehearsed first, each up to the last moment before its commit, so that most refusals happen before
anything is written. If a commit fails nevertheless, the files already written are rolled back; the failure names the
files that could not be.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import Attempts, CancelToken
from fileops.core.diff.contents import splices_between
from fileops.core.diff.unified import change_of, unified_diff
from fileops.core.merge.undo import Undone
from fileops.core.text import detect_format
from fileops.history.journal import History
from fileops.model.changes import Permissions
from fileops.model.edits import Plan, Splice
from fileops.model.errors import FileOpsError, UndoConflict
from fileops.model.files import Committed, Snapshot
from fileops.model.history import AppliedEdit
from fileops.model.record import ByPerson
from fileops.model.results import UndoneFile
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.model.settings import Limits
from fileops.ports import EventSink
from fileops.service.commit import CommittedEdit, Committer, RecordMarks, SetChange
from fileops.tracking.freshness import Freshness

T = TypeVar("T")


class FileChange(Struct, frozen=True, kw_only=True):
    """The plan of one file.

    is_decided: a user has approved it, or left it out (is_left_out). modified_by_user: its splices are the user's.
    new_path: canonical, if the file gets its old path back. permissions: those that it gets back, None if they stay.
    entry_ids: the entries of the record that it undoes, of a rewind.
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

    @property
    def has_effect(self) -> bool:
        is_text = bool(self.plan.splices) or self.plan.creates
        return is_text or self.removes or self.new_path is not None or self.permissions is not None


@dataclass(eq=False, kw_only=True)
class UndoFailed(Exception):
    """One of `n_files` files failed. left: files that remain undone because they could not be rolled back."""

    error: FileOpsError
    file_path: str
    n_files: int
    left: tuple[UndoneFile, ...] = ()


class _Written(Struct, frozen=True, kw_only=True):
    """A change that was committed, and its result. edit: None if there was nothing to write."""

    change: FileChange
    result: UndoneFile
    edit: CommittedEdit | None


class ChangeSetCommitter(Struct, frozen=True, kw_only=True):
    """Writes changes for a session (`by_session`, None for a user).

    replan: plans a change again, over the present content of its file. revert: plans the undo of a commit, merged with
    the present content. person, rewind_id: for the record: the user, and the rewind that the changes are.
    """

    committer: Committer
    freshness: Freshness
    events: EventSink
    history: History
    limits: Limits
    by_session: SessionName | None
    replan: Callable[[FileChange], FileChange]
    revert: Callable[[AppliedEdit], FileChange]
    person: ByPerson = ByPerson(session_id=NO_SESSION, label="a person")
    rewind_id: str | None = None

    def write(self, files: Sequence[FileChange], token: CancelToken) -> tuple[UndoneFile, ...]:
        """Write all files; the results have the order of `files`. Raises: UndoFailed, Cancelled."""
        plans, done, at = list(files), dict[int, _Written](), 0
        try:
            for at in range(len(files)) if len(files) > 1 else ():
                plans[at] = self._retried(self._plans(plans[at]), token, partial(self._rehearse, token))
            for at in sorted(range(len(files)), key=lambda index: _commit_rank(plans[index])):
                done[at] = self._retried(self._plans(plans[at]), token, partial(self._commit, token))
                if done[at].edit is not None:
                    token = CancelToken()  # after the first commit a cancel is too late for the rest
        except FileOpsError as error:
            left = self._roll_back(tuple(done.values()))
            raise UndoFailed(error=error, file_path=files[at].file_path, n_files=len(files), left=left) from error
        return tuple(done[index].result for index in range(len(files)))

    def write_set(self, files: Sequence[FileChange], token: CancelToken) -> tuple[UndoneFile, ...]:
        """As `write`, by one commit for all files, which a crash does not leave half made."""
        plans, attempts, current = [self._plans(file) for file in files], Attempts(token), list(files)
        try:
            while True:
                with attempts.next():
                    for at, plan in enumerate(plans):
                        current[at] = next(plan)
                    return self._commit_set(current, token)
        except FileOpsError as error:
            raise UndoFailed(error=error, file_path=files[0].file_path, n_files=len(files)) from error

    def _commit_set(self, files: Sequence[FileChange], token: CancelToken) -> tuple[UndoneFile, ...]:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        wanted = [file for file in files if file.has_effect]
        if not wanted:
            return tuple(map(to_result, files))
        notes = [self._noting(file) for file in wanted]

        def note(committed: tuple[Committed, ...]) -> None:
            for noting, outcome in zip(notes, committed, strict=True):
                noting(outcome)

        changes = [
            SetChange(
                plan=file.plan,
                given_path=file.file_path if file.new_path is None else file.new_path,
                new_path=file.new_path,
                removes=file.removes,
                permissions=file.permissions,
                undoes=() if file.modified_by_user else file.undone.edit_ids,
                marks=self._marks(file),
            )
            for file in wanted
        ]
        _, edits = self.committer.commit_set(
            changes, token, session_id=self.by_session or NO_SESSION, on_committed=note
        )
        by_path = {file.plan.snapshot.path: edit for file, edit in zip(wanted, edits, strict=True)}
        for edit in edits:
            self.events.publish(edit.did_edit)
        return tuple(_undone(file, by_path.get(file.plan.snapshot.path)) for file in files)

    def _roll_back(self, done: Sequence[_Written]) -> tuple[UndoneFile, ...]:
        """Undo the commits. Returns those that could not be undone."""
        left: list[UndoneFile] = []
        for written in reversed(done):
            token = CancelToken()
            try:
                if written.edit is not None:
                    self._retried(self._reverts(written.change, written.edit), token, partial(self._commit, token))
            except FileOpsError:
                left.append(written.result)
        return tuple(left)

    def _reverts(self, change: FileChange, edit: CommittedEdit) -> Iterator[FileChange]:
        """Plans that take a commit back: exactly while the content is what it left, and else merged.

        A merge is no way to restore: it is made with what is read at the path, which after an undo in a document may be
        the file on the disk, and what the undo changed may not be found there.

        Raises: UndoConflict and the failures of reading.
        """
        before, after = change.plan.snapshot, edit.committed.snapshot
        content = before.data if before.exists else None
        splices: tuple[Splice, ...] = ()
        if before.exists and after.exists:
            splices = splices_between(after.data, before.data, detect_format(after.data))
        edit_ids = (edit.did_edit.edit_id,)
        exactly = Undone(content=content, splices=splices, edit_ids=edit_ids)
        exact_change = planned_change(after, exactly, file_path=change.file_path, limits=self.limits)
        if before.stamp is not None and (change.removes or change.permissions is not None):
            exact_change = replace(exact_change, permissions=Permissions(before.stamp.mode & 0o7777))
        yield exact_change
        while True:
            applied = self.history.edit(edit.did_edit.edit_id)
            if applied is None:
                raise UndoConflict(reason="unknown_edit", explanation="the history has no such edit")
            yield self.revert(applied)

    # --- one file ----------------------------------------------------------------------------------------------

    def _retried(self, plans: Iterator[FileChange], token: CancelToken, step: Callable[[FileChange], T]) -> T:
        """The result of the step with the first plan, or with the next one after the file has changed.

        Raises: Cancelled, UndoConflict and the failures of reading and writing.
        """
        attempts = Attempts(token)
        while True:
            with attempts.next():
                return step(next(plans))

    def _plans(self, file: FileChange) -> Iterator[FileChange]:
        """The plan as it is, then new ones. What a user has decided on is not replaced by something else.

        Raises: UndoConflict and the failures of reading.
        """
        while True:
            yield file
            replanned = self.replan(file)
            if file.is_decided and (file.modified_by_user or replanned.plan.change.hunks != file.plan.change.hunks):
                raise UndoConflict(explanation="the file was changed in between")
            file = replace(replanned, is_decided=file.is_decided)

    def _rehearse(self, token: CancelToken, file: FileChange) -> FileChange:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        try:
            if file.has_effect:
                hooks = _DryCommitHooks(token)
                self.committer.write(file.plan, hooks, removes=file.removes, permissions=file.permissions)
        except _DryRunDone:
            pass
        return file

    def _commit(self, token: CancelToken, file: FileChange) -> _Written:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        if not file.has_effect:
            return _Written(change=file, result=to_result(file), edit=None)
        edit = self.committer.commit(
            file.plan,
            token,
            file_path=file.file_path,
            session_id=self.by_session or NO_SESSION,
            on_committed=self._noting(file),
            removes=file.removes,
            undoes=() if file.modified_by_user else file.undone.edit_ids,
            marks=self._marks(file),
            permissions=file.permissions,
        )
        self.events.publish(edit.did_edit)
        return _Written(change=file, result=_undone(file, edit), edit=edit)

    def _marks(self, file: FileChange) -> RecordMarks:
        return RecordMarks(
            by=self.person if self.by_session is None else None, undone=file.entry_ids, rewind_id=self.rewind_id
        )

    def _noting(self, file: FileChange) -> Callable[[Committed], None]:
        """What records the commit for all sessions. Call it inside the file's lock."""
        has_seen, old_path = self._has_seen(file), file.plan.snapshot.path

        def note(committed: Committed) -> None:
            if file.new_path is not None:
                self.freshness.hint(old_path)
                if has_seen and self.by_session is not None:
                    self.freshness.note_rename(self.by_session, file.new_path, old_path, committed)
                return
            if has_seen:
                self.freshness.note_write(self.by_session or NO_SESSION, file.file_path, committed)
                return
            if committed.snapshot.source == "disk":
                self.freshness.note_blind_write(self.by_session or NO_SESSION, committed)
            self.freshness.hint(committed.snapshot.path)

        return note

    def _has_seen(self, file: FileChange) -> bool:
        """Whether the session that undoes has seen the present content; then it knows the result too."""
        if self.by_session is None or not file.plan.snapshot.exists:
            return False
        try:
            self.freshness.require_fresh(self.by_session, file.plan.snapshot, dry_run=True)
            return not self.freshness.has_unshown(self.by_session, file.plan.snapshot.path)
        except FileOpsError:
            return False


def _undone(file: FileChange, edit: CommittedEdit | None) -> UndoneFile:
    if edit is None:
        return to_result(file)
    snapshot, report = edit.committed.snapshot, edit.committed.report
    return replace(to_result(file), edit_id=edit.did_edit.edit_id, commit=report, applied_to=snapshot.source)


def planned_change(snapshot: Snapshot, undone: Undone, *, file_path: str, limits: Limits) -> FileChange:
    """Plan the change of a file from its present content to what an undo makes of it."""
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
    )
    if removes:
        change = replace(change, unified=unified_diff(change.hunks, file_path=file_path, removes=True))
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
    )
    return FileChange(file_path=file_path, undone=undone, plan=plan, removes=removes)


def to_result(file: FileChange) -> UndoneFile:
    """The result of the plan before anything of it is written."""
    return UndoneFile(
        file_path=file.file_path,
        edit_ids=file.undone.edit_ids,
        change=file.plan.change,
        outcome="removed" if file.removes else "created" if file.plan.creates else "modified",
        applied_to=file.plan.snapshot.source,
        new_path=file.new_path,
        modified_by_user=file.modified_by_user,
    )


def _commit_rank(file: FileChange) -> int:
    """First what an editor may refuse, last the removals, which a roll-back restores least faithfully."""
    return 0 if file.plan.snapshot.source == "buffer" else 2 if file.removes else 1


class _DryCommitHooks(Struct, frozen=True):
    """CommitHooks that stop at the last moment before the commit."""

    token: CancelToken

    def prepare(self) -> None:
        self.token.prepare()

    def before(self) -> None:
        self.token.check()
        raise _DryRunDone

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        """Nothing to withdraw: no commit follows."""

    def after(self, committed: Committed) -> None:
        """Reached only if there was nothing to write."""


class _DryRunDone(Exception):
    """The rehearsal has reached the commit."""
