"""One undo in a worker thread: read, plan, and, unless a user has to approve it, commit.

An undo is an edit like any other: it is confined, approved, written by compare-and-swap, published and recorded, so
that it can be undone itself. `change_set.py` writes it, after all of its files are planned and approved.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import text
from fileops.core.decision import apply_decision, decision_about, reason_of
from fileops.core.merge.undo import undo_edits
from fileops.core.presentation import outputs
from fileops.core.presentation.failures import failure_text
from fileops.history.journal import History
from fileops.model.approval import ApprovalRequest, Decision, FileDecision, Modify, SomeFiles
from fileops.model.changes import Permissions, is_executable
from fileops.model.errors import BinaryFile, FileOpsError, Rejected, UndoConflict
from fileops.model.files import Snapshot
from fileops.model.history import AppliedEdit
from fileops.model.internal_errors import PathMoved
from fileops.model.record import ByPerson
from fileops.model.requests import UndoRequest
from fileops.model.results import UndoneFile, UndoResult
from fileops.model.sessions import NO_SESSION
from fileops.model.settings import Settings
from fileops.ports import EventSink, FileSystem
from fileops.service.change_set import ChangeSetCommitter, FileChange, UndoFailed, planned_change, to_result
from fileops.service.commit import Committer
from fileops.service.policy import Policy, question_about, question_about_set
from fileops.tracking.freshness import Freshness


class PendingUndo(Struct, frozen=True, kw_only=True):
    """Plans of all files, and the question about those that wait for a decision: the first one, or all of a set.

    waiting: their places in `files`. reasons: why the user did not approve all of those before, as far as they said it.
    """

    files: tuple[FileChange, ...]
    waiting: tuple[int, ...]
    question: ApprovalRequest
    reasons: tuple[str, ...] = ()


UndoStep = UndoResult | PendingUndo


class UndoOperation(Struct, frozen=True, kw_only=True):
    """See the module.

    may_undo: whether this client may undo an edit by its id. is_of_session: whether an edit is of the present session
    of its name, and not of one of an earlier daemon. person: the client's user, for the record.
    """

    fs: FileSystem
    freshness: Freshness
    events: EventSink
    committer: Committer
    settings: Settings
    history: History
    may_undo: Callable[[AppliedEdit], bool]
    is_of_session: Callable[[AppliedEdit], bool]
    person: ByPerson

    def start(self, request: UndoRequest, policy: Policy, token: CancelToken) -> UndoStep:
        """Raises: Cancelled."""

        def work() -> UndoStep:
            groups = self._groups(request)
            plans = tuple(self._planned(edits, policy, n_files=len(groups)) for edits in groups)
            return self._advance(request, plans, policy, token)

        return self._guarded(request, work)

    def resume(
        self, request: UndoRequest, policy: Policy, token: CancelToken, pending: PendingUndo, decision: Decision
    ) -> UndoStep:
        """Continue with the decision about the files that waited. Raises: Cancelled."""

        def work() -> UndoStep:
            if request.set_id is None:
                (at,) = pending.waiting
                decisions = {at: decision}
            else:
                decisions = self._decisions(pending, decision)
            files = list(pending.files)
            for at, decided in decisions.items():
                files[at] = self._decided(pending.files[at], decided, n_files=len(pending.files))
            reasons = (*pending.reasons, *filter(None, [reason_of(decision)]))
            return self._advance(request, tuple(files), policy, token, reasons)

        return self._guarded(request, work)

    def _decisions(self, pending: PendingUndo, decision: Decision) -> dict[int, Decision | None]:
        """What was decided about each file of a set that waited; None: it is left out. Raises: UndoFailed."""
        if not isinstance(decision, SomeFiles):
            return dict.fromkeys(pending.waiting, decision)
        by_path = {decided.file_path: decided for decided in decision.files}
        decisions: dict[int, Decision | None] = {}
        for at in pending.waiting:
            file = pending.files[at]
            decided = by_path.get(file.file_path, FileDecision(file_path=file.file_path))
            is_left_out = decided.is_left_out
            decisions[at] = None if is_left_out else decision_about(decided, file.plan, removes=file.removes)
        return decisions

    def _decided(self, asked: FileChange, decision: Decision | None, *, n_files: int) -> FileChange:
        """Raises: UndoFailed."""
        if decision is None:
            return replace(asked, is_decided=True, is_left_out=True)
        # A text of the user's is written, also to a file that the undo would remove.
        may_change = isinstance(decision, Modify) or (
            not asked.removes and (bool(asked.plan.splices) or asked.plan.creates)
        )
        try:
            plan = apply_decision(
                asked.plan,
                decision,
                file_path=asked.file_path,
                limits=self.settings.limits,
                removes=not may_change,
            )
        except FileOpsError as error:
            raise UndoFailed(error=error, file_path=asked.file_path, n_files=n_files) from error
        is_other = plan is not asked.plan
        removes = asked.removes and not is_other
        return replace(asked, is_decided=True, modified_by_user=is_other, removes=removes, plan=plan)

    def _guarded(self, request: UndoRequest, work: Callable[[], UndoStep]) -> UndoStep:
        try:
            return work()
        except UndoFailed as failure:
            path, left = failure.file_path, [file.file_path for file in failure.left]
            note = outputs.undo_failure_note(path, left) if failure.n_files > 1 else ""
            output = failure_text(failure.error, "edit", path)
            return UndoResult(
                output=f"{output}\n{note}" if note else output,
                error=failure.error,
                file_path=path,
                files=failure.left,
                note=note,
                dry_run=request.dry_run,
            )
        except FileOpsError as error:
            output = failure_text(error, "edit", request.file_path or "")
            return UndoResult(output=output, error=error, dry_run=request.dry_run)

    # --- which edits -------------------------------------------------------------------------------------------

    def _groups(self, request: UndoRequest) -> list[list[AppliedEdit]]:
        """The edits to undo, newest first, by file. Raises: UndoConflict."""
        if request.edit_id is not None:
            edit = self.history.edit(request.edit_id)
            if edit is None or not self.may_undo(edit):
                raise UndoConflict(reason="unknown_edit", explanation="the history has no such edit")
            if edit.undone_by is not None:
                raise UndoConflict(reason="already_undone", explanation="it was undone before")
            return [[edit]]
        if request.set_id is not None:
            return [[edit] for edit in self._edits_of_set(request.set_id)]
        path = self.fs.resolve(request.file_path) if request.file_path is not None else None
        groups: dict[str, list[AppliedEdit]] = {}
        for edit in self.history.edits(path=path, session_id=request.session_id):
            is_undoable = edit.undone_by is None and not edit.undoes
            if is_undoable and self.is_of_session(edit):
                groups.setdefault(edit.path, []).append(edit)
        if not groups:
            raise UndoConflict(reason="nothing_to_undo", explanation="the history has no edit of this session to undo")
        return list(groups.values())

    def _edits_of_set(self, set_id: str) -> list[AppliedEdit]:
        """Those of a change set that are in force. Raises: UndoConflict."""
        edits = [edit for edit in self.history.edits(set_id=set_id) if self.may_undo(edit)]
        if not edits:
            raise UndoConflict(reason="unknown_edit", explanation="the history has no such change set")
        in_force = [edit for edit in edits if edit.undone_by is None]
        if not in_force:
            raise UndoConflict(reason="already_undone", explanation="it was undone before")
        return in_force

    # --- read and plan -----------------------------------------------------------------------------------------

    def _planned(self, edits: Sequence[AppliedEdit], policy: Policy, *, n_files: int) -> FileChange:
        """Raises: UndoFailed."""
        try:
            return self.plan_of(edits, policy)
        except FileOpsError as error:
            raise UndoFailed(error=error, file_path=edits[0].file_path, n_files=n_files) from error

    def plan_of(self, edits: Sequence[AppliedEdit], policy: Policy) -> FileChange:
        """The undo of edits of one file, newest first. Raises: UndoConflict and the failures of reading."""
        given, path = edits[0].file_path, edits[0].path
        if policy.roots is not None:
            policy.roots.require_inside(path, given)
        try:
            snapshot = self.fs.read(path)
        except PathMoved:
            raise UndoConflict(explanation="the path leads elsewhere now") from None
        if snapshot.exists and text.is_binary(snapshot.data, text.detect_format(snapshot.data)):
            raise BinaryFile
        present = snapshot.data if snapshot.exists else None
        undone = undo_edits(edits, present, self.history.contents(path).after, self.history.edits(path=path))
        change = planned_change(snapshot, undone, file_path=given, limits=self.settings.limits)
        newest = edits[0]
        old_path = newest.renamed_from
        plan = change.plan
        if old_path is not None:
            if policy.roots is not None:
                policy.roots.require_inside(old_path, old_path)
            if self.fs.read(old_path).exists:
                raise UndoConflict(explanation=f"another file exists at {old_path} now")
            plan = replace(plan, change=replace(plan.change, operation="rename"))
        permissions = None if undone.content is None else _permissions_to_restore(edits, snapshot)
        if permissions is not None:
            plan = replace(plan, change=outputs.with_permissions(plan.change, permissions))
        return replace(change, plan=plan, new_path=old_path, permissions=permissions)

    def replanned(self, file: FileChange, policy: Policy) -> FileChange:
        """Plan the undo of the same edits again. Raises: UndoConflict and the failures of reading."""
        edits = [self.history.edit(edit_id) for edit_id in file.undone.edit_ids]
        return self.plan_of([edit for edit in edits if edit is not None], policy)

    # --- decide and write --------------------------------------------------------------------------------------

    def _advance(
        self,
        request: UndoRequest,
        files: tuple[FileChange, ...],
        policy: Policy,
        token: CancelToken,
        reasons: tuple[str, ...] = (),
    ) -> UndoStep:
        """Return the next question, or write all files if there is none left. Raises: UndoFailed."""
        undecided = tuple(
            index
            for index, file in enumerate(files)
            if file.has_effect and not (file.is_decided or request.is_approved) and _needs_decision(file, policy)
        )
        if request.dry_run:
            return _result(request, [to_result(file) for file in files], needs_approval=bool(undecided))
        if undecided:
            waiting, question = undecided[:1], _question(request, files[undecided[0]], policy, token)
            if request.set_id is not None:  # asked about as a whole
                waiting = tuple(at for at, file in enumerate(files) if file.has_effect and not file.is_decided)
                question = _set_question(request, [files[at] for at in waiting], policy, token)
            return PendingUndo(files=files, waiting=waiting, question=question, reasons=reasons)
        dropped = [file.file_path for file in files if file.is_left_out]
        files = tuple(file for file in files if not file.is_left_out)
        if not files:
            raise UndoFailed(error=Rejected(), file_path=dropped[0], n_files=1)
        writer = ChangeSetCommitter(
            committer=self.committer,
            freshness=self.freshness,
            events=self.events,
            history=self.history,
            limits=self.settings.limits,
            by_session=request.by_session,
            replan=lambda file: self.replanned(file, policy),
            revert=lambda edit: self.plan_of([edit], policy),
            person=self.person,
        )
        is_set = request.set_id is not None or any(file.new_path is not None for file in files)
        done = writer.write_set(files, token) if is_set else writer.write(files, token)
        return _result(request, done, dropped=dropped, reasons=reasons)


def _permissions_to_restore(edits: Sequence[AppliedEdit], snapshot: Snapshot) -> Permissions | None:
    """The permission bits that the oldest of the edits found, if they changed them; None to leave them alone.

    edits: newest first. Others may have changed the executable bit since: then it is as it was, and stays.
    """
    mode = next((edit.mode for edit in reversed(edits) if edit.mode is not None), None)
    if mode is None or (snapshot.stamp is not None and is_executable(mode) == is_executable(snapshot.stamp.mode)):
        return None
    return Permissions(mode)


def _question(request: UndoRequest, file: FileChange, policy: Policy, token: CancelToken) -> ApprovalRequest:
    return question_about(
        file.plan,
        file.undone.content or b"",
        outputs.undo_question_texts(file.file_path, file.plan.change, len(file.undone.edit_ids)),
        file_path=file.file_path,
        session_id=request.by_session or request.session_id or NO_SESSION,
        policy=policy,
        check=token.check,
    )


def _set_question(
    request: UndoRequest, files: Sequence[FileChange], policy: Policy, token: CancelToken
) -> ApprovalRequest:
    """One question about all files of a set."""
    questions: list[ApprovalRequest] = []
    for file in files:
        question = _question(request, file, policy, token)
        if file.removes:
            question = replace(question, change=replace(question.change, operation="delete"))
        is_protected = any(policy.is_protected(snapshot) for snapshot in _concerned(file))
        questions.append(
            replace(question, new_path=file.new_path, new_canonical_path=file.new_path, is_protected=is_protected)
        )
    return question_about_set(questions, outputs.set_question_texts(questions, "", verb="Undo"))


def _needs_decision(file: FileChange, policy: Policy) -> bool:
    """Raises: NotPermitted."""
    needs = [policy.needs_decision(snapshot) for snapshot in _concerned(file)]  # each may raise
    return any(needs)


def _concerned(file: FileChange) -> tuple[Snapshot, ...]:
    """What a policy has to look at: a file gets an old name back, which may be protected."""
    snapshot = file.plan.snapshot
    if file.new_path is None:
        return (snapshot,)
    return (snapshot, Snapshot(path=file.new_path, stamp=snapshot.stamp, data=b"", taken_ns=snapshot.taken_ns))


def _result(
    request: UndoRequest,
    files: Sequence[UndoneFile],
    *,
    dropped: Sequence[str] = (),
    reasons: Sequence[str] = (),
    needs_approval: bool | None = None,
) -> UndoResult:
    if request.set_id is not None and len(files) + len(dropped) > 1:
        output = outputs.undone_set_text(files, dropped)
    else:
        texts: list[str] = []
        for file in files:
            output = outputs.undone_text(
                file.file_path, file.change, len(file.edit_ids), file.outcome, is_dry=request.dry_run
            )
            texts.append(outputs.with_user_change(output, file.change.unified) if file.modified_by_user else output)
        output = "\n".join([*texts, *map(outputs.left_out_text, dropped)])
    if dropped or any(file.modified_by_user for file in files):
        output = outputs.with_reason(output, " ".join(dict.fromkeys(reasons)))
    if request.dry_run:
        output = outputs.with_dry_run(output)
    return UndoResult(output=output, files=tuple(files), dry_run=request.dry_run, needs_approval=needs_approval)
