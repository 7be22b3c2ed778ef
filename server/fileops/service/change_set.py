"""The writing half of an undo: all of its files, or none.

Several files are rehearsed first, each up to the last moment before its commit, so that what will be refused is
refused before anything is written. Where one fails all the same, those already written are put back; what cannot be
put back is named.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken, CommitGuard, retry_while_stale
from fileops.core import text
from fileops.core.merge.undo import Undone
from fileops.history.journal import History
from fileops.model.edits import Plan
from fileops.model.errors import FileOpsError, UndoConflict
from fileops.model.events import DidEdit
from fileops.model.files import Committed
from fileops.model.history import AppliedEdit
from fileops.model.results import UndoneFile
from fileops.ports import Clock, CommitHooks, Events, FileSystem
from fileops.tracking.freshness import Freshness

T = TypeVar("T")


class FileChange(Struct, frozen=True, kw_only=True):
    """What an undo comes to in one file. is_decided: a person has approved it. plan: its splices may be his."""

    file_path: str
    undone: Undone
    plan: Plan
    removes: bool
    is_decided: bool = False
    modified_by_user: bool = False

    @property
    def has_effect(self) -> bool:
        return bool(self.plan.splices) or self.plan.creates or self.removes


@dataclass(eq=False, kw_only=True)
class UndoFailed(Exception):
    """One of `n_files` files failed. left: those that stay undone all the same, for they could not be put back."""

    error: FileOpsError
    file_path: str
    n_files: int
    left: tuple[UndoneFile, ...] = ()


class ChangeSetCommitter(Struct, frozen=True, kw_only=True):
    """by_session: who undoes, None for a person. plan: what taking back edits of one file comes to now."""

    fs: FileSystem
    freshness: Freshness
    events: Events
    clock: Clock
    history: History
    by_session: str | None
    plan: Callable[[Sequence[AppliedEdit]], FileChange]

    def write(self, files: Sequence[FileChange], token: CancelToken) -> tuple[UndoneFile, ...]:
        """In the order of `files`. Raises: UndoFailed, Cancelled."""
        plans, done, at = list(files), dict[int, UndoneFile](), 0
        try:
            for at in range(len(files)) if len(files) > 1 else ():
                plans[at] = self._attempted(plans[at], token, partial(self._rehearsed, token))
            for at in sorted(range(len(files)), key=lambda index: _turn_of(plans[index])):
                done[at] = self._attempted(plans[at], token, partial(self._committed, token))
                if done[at].edit_id is not None:
                    token = CancelToken()  # from the first commit on the rest follows: a cancel came too late
        except FileOpsError as error:
            left = self._put_back(tuple(done.values()))
            raise UndoFailed(error=error, file_path=files[at].file_path, n_files=len(files), left=left) from error
        return tuple(done[index] for index in range(len(files)))

    def _put_back(self, done: Sequence[UndoneFile]) -> tuple[UndoneFile, ...]:
        """Those that could not be."""
        left: list[UndoneFile] = []
        for undo in reversed(done):
            edit = self.history.edit(undo.edit_id) if undo.edit_id is not None else None
            try:
                if edit is not None:
                    token = CancelToken()
                    self._attempted(self.plan([edit]), token, partial(self._committed, token))
                elif undo.edit_id is not None:
                    left.append(undo)
            except FileOpsError:
                left.append(undo)
        return tuple(left)

    # --- one file ----------------------------------------------------------------------------------------------

    def _attempted(self, file: FileChange, token: CancelToken, step: Callable[[FileChange], T]) -> T:
        """Again from the look where the file moved.

        Raises: Cancelled, UndoConflict and the failures of looking and writing.
        """
        plans = self._plans(file)
        return retry_while_stale(token, lambda: step(next(plans)))

    def _plans(self, file: FileChange) -> Iterator[FileChange]:
        """As planned, then planned anew each time. What a person decided upon is not exchanged behind his back.

        Raises: UndoConflict and the failures of looking.
        """
        while True:
            yield file
            edits = [self.history.edit(edit_id) for edit_id in file.undone.edit_ids]
            again = self.plan([edit for edit in edits if edit is not None])
            if file.is_decided and (file.modified_by_user or again.plan.change.hunks != file.plan.change.hunks):
                raise UndoConflict(reason="the file was changed while a person was asked")
            file = replace(again, is_decided=file.is_decided)

    def _rehearsed(self, token: CancelToken, file: FileChange) -> FileChange:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        try:
            if file.has_effect:
                self._put(file, _DryCommitHooks(token))
        except _DryRunDone:
            pass
        return file

    def _put(self, file: FileChange, hooks: CommitHooks) -> Committed:
        if file.removes:
            return self.fs.remove(file.plan.snapshot, hooks)
        return self.fs.replace(file.plan.snapshot, file.plan.splices, hooks)

    def _committed(self, token: CancelToken, file: FileChange) -> UndoneFile:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        plan, edit_id = file.plan, uuid.uuid4().hex
        if not file.has_effect:
            return told(file)
        knows = self._knows(file)

        def note(committed: Committed) -> None:
            if knows:
                self.freshness.note_write(self.by_session or "", file.file_path, committed)
                return
            if self.by_session is not None and committed.snapshot.source == "disk":
                self.freshness.note_blind_write(self.by_session, committed)
            self.freshness.hint(committed.snapshot.path)

        committed = self._put(file, CommitGuard(token, note))
        timestamp = self.clock.time_ns() / 1e9
        self.history.note(
            edit_id=edit_id, session_id=self.by_session or "", given_path=file.file_path, before=plan.snapshot,
            committed=committed, splices=plan.splices, change=plan.change, timestamp=timestamp,
            undoes=() if file.modified_by_user else file.undone.edit_ids,
        )  # fmt: skip
        self.events.publish(
            DidEdit(
                file_path=file.file_path,
                session_id=self.by_session or "",
                timestamp=timestamp,
                content_length=text.count_characters(committed.snapshot.data, plan.format),
                edit_id=edit_id,
            )
        )
        return replace(told(file), edit_id=edit_id, commit=committed.report, applied_to=committed.snapshot.source)

    def _knows(self, file: FileChange) -> bool:
        """Whether the session that undoes has seen what stands; then it knows the outcome too."""
        if self.by_session is None or not file.plan.snapshot.exists:
            return False
        try:
            self.freshness.require_fresh(self.by_session, file.plan.snapshot, dry_run=True)
        except FileOpsError:
            return False
        return True


def told(file: FileChange) -> UndoneFile:
    """What is said of a plan, before anything of it is written."""
    return UndoneFile(
        file_path=file.file_path,
        edit_ids=file.undone.edit_ids,
        change=file.plan.change,
        outcome="removed" if file.removes else "created" if file.plan.creates else "modified",
        applied_to=file.plan.snapshot.source,
        modified_by_user=file.modified_by_user,
    )


def _turn_of(file: FileChange) -> int:
    """First what an editor may refuse, last what is put back least faithfully."""
    return 0 if file.plan.snapshot.source == "buffer" else 2 if file.removes else 1


class _DryCommitHooks(Struct, frozen=True):
    """CommitHooks that give up at the last moment."""

    token: CancelToken

    def prepare(self) -> None:
        self.token.prepare()

    def before(self) -> None:
        self.token.check()
        raise _DryRunDone

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        """It does not come to a commit."""

    def after(self, committed: Committed) -> None:
        """Nothing was to be written anyway."""


class _DryRunDone(Exception):
    """All went well up to here."""
