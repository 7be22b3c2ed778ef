"""One undo in a worker thread: read, plan, and commit unless a user has to approve it.

An undo is an edit like any other. It is confined, approved, written by compare-and-swap, published and recorded, so it
can itself be undone. `carry_out.py` has the order of the steps.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import text
from fileops.core.decision import apply_decision, decision_about, reason_of
from fileops.core.diff.contents import splices_between
from fileops.core.merge.rewind import rewind_file
from fileops.core.merge.undo import Undone
from fileops.core.presentation import outputs
from fileops.core.presentation.failures import failure_text
from fileops.model.approval import ApprovalRequest, Decision, FileDecision, Modify, SomeFiles
from fileops.model.changes import Permissions, is_executable
from fileops.model.errors import BinaryFile, FileOpsError, UndoConflict
from fileops.model.files import Committed, Snapshot
from fileops.model.history import AppliedEdit
from fileops.model.internal_errors import PathMoved
from fileops.model.record import ByPerson
from fileops.model.requests import UndoRequest
from fileops.model.results import UndoFileOutcome, UndoResult
from fileops.model.sessions import NO_SESSION
from fileops.model.settings import Settings
from fileops.ports import EventSink, FileSystem
from fileops.record.history import History, Look
from fileops.service.carry_out import CarryOut, Made, NotDone, Pending, Work
from fileops.service.commit import Committer, PlannedCommit
from fileops.service.policy import Policy, question_about, question_about_set
from fileops.service.restoration import Restoration, Undoer, plan_restoration, to_outcome, to_result
from fileops.service.rewind.files import find_cancelled, find_undone, steps_with_renames, tool_edits_of
from fileops.service.rewind.lineage import Lineages, follows_all
from fileops.tracking.freshness import Freshness

UndoWork = Work[Restoration, None]
PendingUndo = Pending[Restoration, None]


class UndoOperation(Struct, frozen=True, kw_only=True):
    """Plans undos for one client.

    may_undo: whether this client may undo an edit by its id. is_of_session: whether an edit belongs to the present
    session of its name, not to one of an earlier daemon. person: the client's user, for the record.
    """

    fs: FileSystem
    freshness: Freshness
    events: EventSink
    committer: Committer
    settings: Settings
    history: History
    may_undo: Callable[[Look, AppliedEdit], bool]
    is_of_session: Callable[[Look, AppliedEdit], bool]
    person: ByPerson

    def of(self, request: UndoRequest) -> CarryOut[Restoration, None, UndoResult]:
        return CarryOut(
            planner=UndoPlanner(op=self, request=request),
            committer=self.committer,
            events=self.events,
            session_id=request.by_session or NO_SESSION,
        )


class UndoPlanner(Struct, frozen=True, kw_only=True):
    """See carry_out.Planner."""

    op: UndoOperation
    request: UndoRequest

    @property
    def is_dry_run(self) -> bool:
        return self.request.dry_run

    def hold(self) -> AbstractContextManager[object]:
        return nullcontext()

    def plan(self, policy: Policy, token: CancelToken) -> UndoWork:
        look = self.op.history.look()
        lineages = Lineages(look.store, follows_all)
        groups: dict[str, list[AppliedEdit]] = {}  # edits under all names of one file are grouped
        for edit in self._choose_edits(look):
            groups.setdefault(lineages.present_path_of_edit(edit), []).append(edit)
        files: list[Restoration] = []
        for path, edits in groups.items():
            token.check()
            try:
                files.append(self.plan_of(look, path, edits, policy))
            except FileOpsError as error:
                raise NotDone(error=error, file_path=edits[0].file_path, n_files=len(groups)) from error
        return Work(files=tuple(files), known=None)

    def find_waiting(self, work: UndoWork, policy: Policy) -> tuple[int, ...]:
        """Return the next file to ask about, or all files of a set."""
        undecided = tuple(
            at
            for at, file in enumerate(work.files)
            if file.has_effect and not (file.is_decided or self.request.is_approved) and _needs_decision(file, policy)
        )
        if not undecided or self.request.set_id is None:
            return undecided[:1]
        return tuple(at for at, file in enumerate(work.files) if file.has_effect and not file.is_decided)

    def question(self, work: UndoWork, waiting: Sequence[int], policy: Policy, token: CancelToken) -> ApprovalRequest:
        files = [work.files[at] for at in waiting]
        if self.request.set_id is None:
            return _question(self.request, files[0], policy, token)
        return _set_question(self.request, files, policy, token)

    def decide(self, pending: PendingUndo, decision: Decision, policy: Policy, token: CancelToken) -> UndoWork:
        files, n_files = list(pending.work.files), len(pending.work.files)
        for at, file_decision in self._decisions(pending, decision).items():
            files[at] = self._decide_file(files[at], file_decision, n_files=n_files)
        reasons = (*pending.work.reasons, *filter(None, [reason_of(decision)]))
        return replace(pending.work, files=tuple(files), reasons=reasons)

    def again(self, work: UndoWork, policy: Policy, token: CancelToken) -> UndoWork:
        files: list[Restoration] = []
        look = self.op.history.look()
        for file in work.files:
            known = look.edits_of(file.undone.edit_ids)
            edits = [known[edit_id] for edit_id in file.undone.edit_ids if edit_id in known]
            try:
                again = self.plan_of(look, file.plan.snapshot.path, edits, policy)
                if file.is_decided and (file.modified_by_user or again.plan.change.hunks != file.plan.change.hunks):
                    raise UndoConflict(explanation="the file was changed in between")
            except FileOpsError as error:
                raise NotDone(error=error, file_path=file.file_path, n_files=len(work.files)) from error
            files.append(replace(again, is_decided=file.is_decided, is_left_out=file.is_left_out))
        return replace(work, files=tuple(files))

    def commit_of(self, file: Restoration) -> PlannedCommit:
        return self._undoer.commit_of(file)

    def tracker_update_of(self, file: Restoration) -> Callable[[Committed], None]:
        return self._undoer.tracker_update_of(file)

    @property
    def _undoer(self) -> Undoer:
        return Undoer(freshness=self.op.freshness, by_session=self.request.by_session, person=self.op.person)

    def result(
        self, work: UndoWork, made: Sequence[Made[Restoration]], *, needs_approval: bool | None = None
    ) -> UndoResult:
        if self.request.dry_run:
            return _result(self.request, list(map(to_result, work.files)), needs_approval=needs_approval)
        dropped = [file.file_path for file in work.files if file.is_left_out]
        return _result(
            self.request, [to_outcome(each.file, each.commit) for each in made], dropped=dropped, reasons=work.reasons
        )

    def answer_failure(self, failure: NotDone) -> UndoResult:
        path, work = failure.file_path, cast("UndoWork | None", failure.work)
        left = [file for file in (work.files if work is not None else ()) if file.file_path in failure.left]
        note = outputs.undo_failure_note(path, failure.left) if path is not None and failure.n_files > 1 else ""
        output = failure_text(failure.error, "edit", path or self.request.file_path or "")
        return UndoResult(
            output=f"{output}\n{note}" if note else output,
            error=failure.error,
            file_path=path,
            files=tuple(map(to_result, left)),
            note=note,
            dry_run=self.request.dry_run,
        )

    def _decisions(self, pending: PendingUndo, decision: Decision) -> dict[int, Decision | None]:
        """Return the decision about each waiting file of a set; None: it is left out. Raises: NotDone."""
        if not isinstance(decision, SomeFiles):
            return dict.fromkeys(pending.waiting, decision)
        by_path = {decided.file_path: decided for decided in decision.files}
        decisions: dict[int, Decision | None] = {}
        for at in pending.waiting:
            file = pending.work.files[at]
            decided = by_path.get(file.file_path, FileDecision(file_path=file.file_path))
            is_left_out = decided.is_left_out
            decisions[at] = None if is_left_out else decision_about(decided, file.plan)
        return decisions

    def _decide_file(self, asked: Restoration, decision: Decision | None, *, n_files: int) -> Restoration:
        """Raises: NotDone."""
        if decision is None:
            return replace(asked, is_decided=True, is_left_out=True)
        # The user's text is written even to a file that the undo would remove.
        may_change = isinstance(decision, Modify) or (
            not asked.removes and (bool(asked.plan.splices) or asked.plan.creates)
        )
        try:
            plan = apply_decision(
                asked.plan,
                decision,
                file_path=asked.file_path,
                limits=self.op.settings.limits,
                removes=not may_change,
            )
        except FileOpsError as error:
            raise NotDone(error=error, file_path=asked.file_path, n_files=n_files) from error
        is_other = plan is not asked.plan
        removes = asked.removes and not is_other
        return replace(asked, is_decided=True, modified_by_user=is_other, removes=removes, plan=plan)

    # --- which edits -------------------------------------------------------------------------------------------

    def _choose_edits(self, look: Look) -> Sequence[AppliedEdit]:
        """Return the edits to undo, newest first. Raises: UndoConflict."""
        if self.request.edit_id is not None:
            edit = look.edit(self.request.edit_id)
            if edit is None or not self.op.may_undo(look, edit):
                raise UndoConflict(reason="unknown_edit", explanation="the history has no such edit")
            if edit.undone_by is not None:
                raise UndoConflict(reason="already_undone", explanation="it was undone before")
            return [edit]
        if self.request.set_id is not None:
            return self._edits_of_set(look, self.request.set_id)
        path = self.op.fs.resolve(self.request.file_path) if self.request.file_path is not None else None
        edits = [
            edit
            for edit in look.edits(path=path, session_id=self.request.session_id)
            if edit.undone_by is None and not edit.is_undo and self.op.is_of_session(look, edit)
        ]
        if not edits:
            raise UndoConflict(reason="nothing_to_undo", explanation="the history has no edit of this session to undo")
        return edits

    def _edits_of_set(self, look: Look, set_id: str) -> list[AppliedEdit]:
        """Return a change set's edits that are in force. Raises: UndoConflict."""
        edits = [edit for edit in look.edits(set_id=set_id) if self.op.may_undo(look, edit)]
        if not edits:
            raise UndoConflict(reason="unknown_edit", explanation="the history has no such change set")
        in_force = [edit for edit in edits if edit.undone_by is None]
        if not in_force:
            raise UndoConflict(reason="already_undone", explanation="it was undone before")
        return in_force

    # --- read and plan -----------------------------------------------------------------------------------------

    def plan_of(self, look: Look, path: str, edits: Sequence[AppliedEdit], policy: Policy) -> Restoration:
        """Return the undo of edits of one file, newest first. Raises: UndoConflict and the failures of reading.

        Args: path: where the file is now.
        """
        given = edits[0].file_path if path == edits[0].path else path
        if policy.roots is not None:
            policy.roots.require_inside(path, given)
        try:
            snapshot = self.op.fs.read(path)
        except PathMoved:
            raise UndoConflict(explanation="the path leads elsewhere now") from None
        if snapshot.exists and text.is_binary(snapshot.data, text.detect_format(snapshot.data)):
            raise BinaryFile
        present = snapshot.data if snapshot.exists else None
        undone = undo_in_file(look, path, edits, present)
        change = plan_restoration(snapshot, undone, file_path=given, limits=self.op.settings.limits)
        old_path = _old_path(path, edits)
        plan = change.plan
        if old_path is not None:
            if not snapshot.exists:
                raise UndoConflict(explanation="the file no longer exists")
            if policy.roots is not None:
                policy.roots.require_inside(old_path, old_path)
            if self.op.fs.read(old_path).exists:
                raise UndoConflict(explanation=f"another file exists at {old_path} now")
            plan = replace(plan, change=replace(plan.change, operation="rename"))
        permissions = None if undone.content is None else _permissions_to_restore(edits, snapshot)
        if permissions is not None:
            plan = replace(plan, change=outputs.with_permissions(plan.change, permissions))
        return replace(change, plan=plan, new_path=old_path, permissions=permissions)


def undo_in_file(look: Look, path: str, edits: Sequence[AppliedEdit], present: bytes | None) -> Undone:
    """Return what an undo of one file's edits, newest first, makes of its content: the same as a rewind, or nothing.

    Args: path: where the file is now. Raises: UndoConflict.
    """
    edit_ids = tuple(edit.edit_id for edit in edits)
    lineages = Lineages(look.store, follows_all)
    history = lineages.of(path, has_arrivals=True)
    if not set(edit_ids) <= {entry.edit_id for entry in history}:  # the name belongs to another file now
        history = lineages.entries_at(path)
    chosen = {entry.entry_id for entry in history if entry.edit_id in edit_ids}
    history = history[next((n for n, entry in enumerate(history) if entry.entry_id in chosen), len(history)) :]
    steps = steps_with_renames(history, look.store, look.edits_of_entries(history))
    cancelled = find_cancelled(history, chosen)
    rewound = rewind_file(
        steps, chosen, present, look.contents(), cancelled, find_undone(history), tool_edits_of(history)
    )
    if rewound.conflict is not None:
        raise rewound.conflict
    splices = rewound.splices
    if splices is None and present is not None and rewound.content is not None:
        splices = splices_between(present, rewound.content, text.detect_format(present))
    return Undone(content=rewound.content, splices=splices or (), edit_ids=edit_ids)


def _old_path(path: str, edits: Sequence[AppliedEdit]) -> str | None:
    """Return the path before the renames among a file's edits, newest first; None if it is the present path."""
    old_path = next((edit.renamed_from for edit in reversed(edits) if edit.renamed_from is not None), path)
    return None if old_path == path else old_path


def _permissions_to_restore(edits: Sequence[AppliedEdit], snapshot: Snapshot) -> Permissions | None:
    """Return the permission bits that the oldest edit found, if the edits changed them; None to leave them alone.

    edits: newest first. If others have changed the executable bit since, it stays as it is.
    """
    mode = next((edit.mode for edit in reversed(edits) if edit.mode is not None), None)
    if mode is None or (snapshot.stamp is not None and is_executable(mode) == is_executable(snapshot.stamp.mode)):
        return None
    return Permissions(mode)


def _question(request: UndoRequest, file: Restoration, policy: Policy, token: CancelToken) -> ApprovalRequest:
    return question_about(
        file.plan,
        file.undone.content or b"",
        outputs.undo_question_texts(file.file_path, file.plan.change, len(file.undone.edit_ids), policy.folders),
        file_path=file.file_path,
        session_id=request.by_session or request.session_id or NO_SESSION,
        policy=policy,
        check=token.check,
    )


def _set_question(
    request: UndoRequest, files: Sequence[Restoration], policy: Policy, token: CancelToken
) -> ApprovalRequest:
    """Return one question about all files of a set."""
    questions: list[ApprovalRequest] = []
    for file in files:
        question = _question(request, file, policy, token)
        if file.removes:
            question = replace(question, change=replace(question.change, operation="delete"))
        is_protected = any(policy.is_protected(snapshot) for snapshot in _snapshots_to_check(file))
        questions.append(
            replace(question, new_path=file.new_path, new_canonical_path=file.new_path, is_protected=is_protected)
        )
    return question_about_set(questions, outputs.set_question_texts(questions, "", verb="Undo"))


def _needs_decision(file: Restoration, policy: Policy) -> bool:
    """Raises: NotPermitted."""
    needs = [policy.needs_decision(snapshot) for snapshot in _snapshots_to_check(file)]  # each may raise
    return any(needs)


def _snapshots_to_check(file: Restoration) -> tuple[Snapshot, ...]:
    """Return the snapshots that a policy has to check: a file gets an old name back, which may be protected."""
    snapshot = file.plan.snapshot
    if file.new_path is None:
        return (snapshot,)
    return (snapshot, Snapshot(path=file.new_path, stamp=snapshot.stamp, data=b"", taken_ns=snapshot.taken_ns))


def _result(
    request: UndoRequest,
    files: Sequence[UndoFileOutcome],
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
                file.file_path,
                file.change,
                len(file.edit_ids),
                file.outcome,
                is_dry=request.dry_run,
                cells=file.change.cells,
            )
            texts.append(outputs.with_user_change(output, file.change.unified) if file.modified_by_user else output)
        output = "\n".join([*texts, *map(outputs.left_out_text, dropped)])
        if not request.dry_run:
            output = outputs.with_unsaved(output, (file.file_path for file in files if file.applied_to == "buffer"))
    if dropped or any(file.modified_by_user for file in files):
        output = outputs.with_reason(output, " ".join(dict.fromkeys(reasons)))
    if request.dry_run:
        output = outputs.with_dry_run(output)
    return UndoResult(output=output, files=tuple(files), dry_run=request.dry_run, needs_approval=needs_approval)
