"""A change set in a worker thread: plan all, check all, ask once, commit all or nothing.

Each file is planned, and carried over to the current file after a decision, as for a single edit (`edit.py`). This
module adds what concerns all files: limits, distinct paths, one question, one commit. A set of one edit or one creation
is committed as a single edit, so it needs no journal and may be written in place. It is one module because planning,
deciding and committing share the state of each file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import splices as splicing
from fileops.core import text
from fileops.core.decision import apply_decision, decision_about, reason_of
from fileops.core.diff.unified import change_of, format_unified_diff
from fileops.core.merge.relevance import foreign_ranges
from fileops.core.patch.hunks import plan_hunks
from fileops.core.presentation import outputs
from fileops.core.presentation.failures import failure_message
from fileops.core.presentation.suggestion_texts import similar_note
from fileops.core.roots import Roots, is_inside
from fileops.model.approval import (
    ApprovalRequest,
    Decision,
    FileDecision,
    Modify,
    Once,
    SomeFiles,
)
from fileops.model.changes import (
    MAX_CHANGES,
    MAX_NEW_BYTES,
    ChangeProblem,
    ChangeSetRequest,
    ChangeSetResult,
    CreateFile,
    DeleteFile,
    EditFile,
    FileChange,
    FileOutcome,
    Permissions,
    RenameFile,
    is_executable,
)
from fileops.model.commits import Commit
from fileops.model.edits import Change, Plan, Splice
from fileops.model.errors import (
    AlreadyExists,
    FileMissing,
    FileOpsError,
    HunkNotFound,
    IsDirectory,
    Rejected,
    SetUnsupported,
)
from fileops.model.files import Committed, Snapshot
from fileops.model.requests import EditRequest
from fileops.model.review import PreviousDecision
from fileops.model.suggestions import FailedStep, Suggestion, Suggestions
from fileops.service.carry_out import CarryOut, Made, NotDone, Pending, Work
from fileops.service.commit import PlannedCommit, did_edit
from fileops.service.edit import DecidedPlan, EditOperation, Proposal
from fileops.service.paths import canonical_path, require_new_name
from fileops.service.policy import Policy, question_about, question_about_set

MAX_ADVISED = 4  # failing changes per set: the suggester may take 50 ms for each


class SetFile(Struct, frozen=True, kw_only=True):
    """The plan of one change of a set. new_path: canonical, for a rename. proposal: the question about it.

    is_left_out: the user has dropped it. by_user: it is not what was requested.
    """

    change: FileChange
    plan: Plan
    new_path: str | None = None
    proposal: Proposal | None = None
    is_left_out: bool = False
    by_user: bool = False

    @property
    def removes(self) -> bool:
        return isinstance(self.change, DeleteFile)

    @property
    def is_executable(self) -> bool | None:
        """Whether the file will be executable; None if that does not change."""
        wanted = None if isinstance(self.change, DeleteFile) else self.change.is_executable
        stamp = self.plan.snapshot.stamp
        is_so = stamp is not None and is_executable(stamp.mode)
        return None if wanted == is_so else wanted

    @property
    def shown(self) -> Change:
        """The change as people see it, with git's lines about the executable bit."""
        change, becomes = self.plan.shown, self.is_executable
        return change if becomes is None else outputs.with_mode(change, is_executable=becomes)

    @property
    def has_effect(self) -> bool:
        is_text = bool(self.plan.splices) or self.plan.creates
        return is_text or self.removes or self.new_path is not None or self.is_executable is not None

    @property
    def needs_set(self) -> bool:
        """Return whether a single edit's commit cannot make it."""
        return self.removes or self.new_path is not None or self.is_executable is not None

    @property
    def file_path(self) -> str:
        return self.change.file_path

    @property
    def given_path(self) -> str:
        """The session's name for the file after the change."""
        return self.change.new_path if isinstance(self.change, RenameFile) else self.change.file_path


Decided = tuple[tuple[SetFile, Decision], ...]  # a decision for each file, until it is carried over


SetWork = Work[SetFile, Decided]
PendingSet = Pending[SetFile, Decided]


class ChangeSetOperation(Struct, frozen=True, kw_only=True):
    """See the module. editor: plans and checks single files."""

    editor: EditOperation

    def of(self, request: ChangeSetRequest) -> CarryOut[SetFile, Decided, ChangeSetResult]:
        return CarryOut(
            planner=SetPlanner(editor=self.editor, request=request),
            committer=self.editor.committer,
            session_id=request.session_id,
            is_change_set=True,
        )


class SetPlanner(Struct, frozen=True, kw_only=True):
    """See carry_out.Planner."""

    editor: EditOperation
    request: ChangeSetRequest

    @property
    def is_dry_run(self) -> bool:
        return self.request.dry_run

    def hold(self) -> AbstractContextManager[object]:
        return nullcontext()

    def plan(self, policy: Policy, token: CancelToken) -> SetWork:
        _require_limits(self.request)
        return Work(files=self._plan_files(self.request, policy, token), known=())

    def find_waiting(self, work: SetWork, policy: Policy) -> tuple[int, ...]:
        return tuple(range(len(work.files))) if not work.is_decided and self._needs_decision(work.files, policy) else ()

    def question(self, work: SetWork, waiting: Sequence[int], policy: Policy, token: CancelToken) -> ApprovalRequest:
        return self._question([self._ask(file, policy, token) for file in work.files])

    def _question(self, asked: Sequence[SetFile]) -> ApprovalRequest:
        questions = [file.proposal.question for file in asked if file.proposal is not None and not file.is_left_out]
        return question_about_set(questions, outputs.set_question_texts(questions, self.request.description))

    def _ask(self, file: SetFile, policy: Policy, token: CancelToken) -> SetFile:
        if file.is_left_out:
            return file
        return replace(file, proposal=self._file_proposal(self.request, file, policy, token))

    def decide(self, pending: PendingSet, decision: Decision, policy: Policy, token: CancelToken) -> SetWork:
        files = tuple(self._ask(file, policy, token) for file in pending.work.files)
        decided = self._decisions(files, pending.question, decision)
        reason = reason_of(decision) or " ".join(pending.work.reasons)
        return Work(
            files=tuple(file for file, _ in decided), known=decided, reasons=(reason,), is_decided=True, is_old=True
        )

    def again(self, work: SetWork, policy: Policy, token: CancelToken) -> SetWork | PendingSet:
        if not work.is_decided:
            return self.plan(policy, token)
        files: list[SetFile] = []
        is_reopened = False
        for file, decision in work.known:
            if file.is_left_out:
                files.append(file)
                continue
            outcome = self._carry_over(self.request, file, decision, policy, token)
            is_reopened = is_reopened or isinstance(outcome, Proposal)
            if isinstance(outcome, Proposal):
                files.append(replace(file, plan=outcome.plan, proposal=outcome))
            else:
                files.append(replace(file, plan=outcome.plan, by_user=file.by_user or outcome.by_user))
        if not is_reopened:
            return replace(work, files=tuple(files))
        asked = tuple(self._ask(file, policy, token) for file in files)
        again: SetWork = Work(files=asked, known=(), reasons=work.reasons)
        return Pending(work=again, waiting=tuple(range(len(asked))), question=self._question(asked))

    def commit_of(self, file: SetFile) -> PlannedCommit:
        becomes = file.is_executable
        return PlannedCommit(
            plan=file.plan,
            given_path=file.given_path,
            new_path=file.new_path,
            removes=file.removes,
            is_kept=file.proposal is not None,
            permissions=None if becomes is None else Permissions(becomes_executable=becomes),
        )

    def tracker_update_of(self, file: SetFile) -> Callable[[Committed], None]:
        if file.new_path is None:
            return self.editor.tracker_update_of(_edit_request(self.request, file.change), file.plan)
        path = file.plan.snapshot.path
        return lambda committed: self.editor.freshness.note_rename(
            self.request.session_id, file.given_path, path, committed
        )

    def result(
        self, work: SetWork, made: Sequence[Made[SetFile]], *, needs_approval: bool | None = None
    ) -> ChangeSetResult:
        commits = {each.file.file_path: each.commit for each in made if each.commit is not None}
        result = _result_of(self.request, work.files, commits, needs_approval=needs_approval)
        is_other = any(file.is_left_out or file.by_user for file in work.files)
        if not work.is_decided or not is_other:
            return result
        return replace(result, output=outputs.with_reason(result.output, " ".join(work.reasons)))

    def answer_failure(self, failure: NotDone) -> ChangeSetResult:
        """Return the failed result. Without problems, the failure does not belong to a single change."""
        problems = cast("tuple[ChangeProblem, ...]", failure.problems)
        shown = problems or (ChangeProblem(change_index=0, error=failure.error),)
        paths = [change.file_path for change in self.request.changes]
        output = outputs.changes_failure_text(shown, paths, self.editor.settings.texts, is_of_set=not problems)
        return ChangeSetResult(output=output, error=failure.error, problems=problems, dry_run=self.request.dry_run)

    # --- plan and check --------------------------------------------------------------------------------------------

    def _plan_files(self, request: ChangeSetRequest, policy: Policy, token: CancelToken) -> tuple[SetFile, ...]:
        """Raises: NotDone, Stale, PathMoved, Cancelled."""
        planned: dict[int, SetFile] = {}
        problems: list[ChangeProblem] = []
        for index, change in enumerate(request.changes):
            token.check()
            try:
                planned[index] = self._plan(request, change, policy.roots, token)
            except IsDirectory:
                fault = SetUnsupported(reason=f"{change.file_path} is a folder")
                problems.append(ChangeProblem(change_index=index, error=fault))
            except FileOpsError as error:
                is_suggested = len(problems) < MAX_ADVISED
                problem = ChangeProblem(change_index=index, error=error)
                problems.append(self._suggest(request, problem, policy.roots) if is_suggested else problem)
        problems += _faults_together(planned)
        if problems:
            found = tuple(sorted(problems, key=lambda problem: problem.change_index))
            raise NotDone(error=found[0].error, problems=found)
        return tuple(planned.values())

    def _suggest(self, request: ChangeSetRequest, problem: ChangeProblem, roots: Roots | None) -> ChangeProblem:
        """Return the failure of one change with its suggestions.

        As in a dry run, no lines of the file are shown, because what a session knows of a file changes only with the
        whole set.
        """
        change, error = request.changes[problem.change_index], problem.error
        if isinstance(error, HunkNotFound):
            shows = self.editor.settings.suggestions != "off"
            return replace(problem, suggestions=_suggestions_for_hunk(error) if shows else None)
        if not isinstance(change, EditFile | RenameFile):
            return problem
        if not change.edits and not (isinstance(change, EditFile) and change.cells):
            return problem
        suggested = self.editor.suggest(replace(_edit_request(request, change), dry_run=True), error, roots)
        return replace(problem, error=suggested.error, suggestions=suggested.suggestions)

    def _plan(self, request: ChangeSetRequest, change: FileChange, roots: Roots | None, token: CancelToken) -> SetFile:
        """Raises: as `EditOperation.plan`, AlreadyExists."""
        match change:
            case EditFile() if not (change.edits or change.hunks or change.cells):  # only the executable bit changes
                return SetFile(
                    change=change, plan=self._plan_nothing(self._require_known(request, change.file_path, roots))
                )
            case EditFile():
                return SetFile(change=change, plan=self.editor.plan(_edit_request(request, change), roots, token))
            case CreateFile():
                return SetFile(change=change, plan=self._plan_creation(request, change, roots, token))
            case DeleteFile():
                snapshot = self._require_known(request, change.file_path, roots)
                if change.hunks:
                    self._require_no_other_text(snapshot, change, token)
                return SetFile(change=change, plan=self._deletion(snapshot, change.file_path))
            case RenameFile():
                new_path = canonical_path(self.editor.fs, change.new_path, roots)
                snapshot = self._require_known(request, change.file_path, roots)
                if self.editor.fs.read(new_path).exists:
                    raise AlreadyExists
                require_new_name(self.editor.fs, new_path, renamed_from=snapshot.path)
                plan = self._plan_nothing(snapshot)
                if change.edits or change.hunks:
                    plan = self.editor.plan(_edit_request(request, change), roots, token)
                return SetFile(change=change, plan=_as_rename(plan), new_path=new_path)

    def _plan_creation(
        self, request: ChangeSetRequest, change: CreateFile, roots: Roots | None, token: CancelToken
    ) -> Plan:
        snapshot = self.editor.fs.read(canonical_path(self.editor.fs, change.file_path, roots))
        if snapshot.exists:
            raise AlreadyExists
        require_new_name(self.editor.fs, snapshot.path)
        return self.editor.plan_on_snapshot(_edit_request(request, change), snapshot, token)

    def _require_known(self, request: ChangeSetRequest, file_path: str, roots: Roots | None) -> Snapshot:
        """Return the current file, if this session knows it.

        Raises: FileMissing, NotRead, ModifiedExternally, Stale.
        """
        fs, freshness = self.editor.fs, self.editor.freshness
        canonical = canonical_path(fs, file_path, roots)
        if fs.stat(canonical) is None:
            raise FileMissing
        freshness.require_tracked(request.session_id, canonical)
        snapshot = fs.read(canonical)
        suffices = self.editor.settings.freshness != "mtime"
        freshness.require_fresh(request.session_id, snapshot, same_bytes_suffice=suffices, dry_run=request.dry_run)
        return snapshot

    def _deletion(self, snapshot: Snapshot, file_path: str) -> Plan:
        whole = (Splice(0, len(snapshot.data), b""),) if snapshot.data else ()
        plan = self._plan_nothing(snapshot)
        change = change_of(
            snapshot.data,
            plan.format,
            whole,
            file_path=file_path,
            operation="delete",
            limits=self.editor.settings.limits,
        )
        unified = format_unified_diff(change.hunks, file_path=file_path, removes=True)
        return replace(plan, splices=whole, change=replace(change, unified=unified))

    def _require_no_other_text(self, snapshot: Snapshot, change: DeleteFile, token: CancelToken) -> None:
        """Raises: HunkNotFound, HunkAmbiguous, if the file's text is not the one that a patch deletes."""
        fmt = text.detect_format(snapshot.data)
        plan = plan_hunks(snapshot, fmt, change.hunks, limits=self.editor.settings.limits, check=token.check)
        if splicing.apply(snapshot.data, plan.splices):
            first = change.hunks[0]
            raise HunkNotFound(old_string=plan.edits[0].old_string, patch_line=first.at, is_whole_text=True)

    def _plan_nothing(self, snapshot: Snapshot) -> Plan:
        fmt = text.detect_format(snapshot.data)
        change = change_of(
            snapshot.data, fmt, (), file_path=snapshot.path, operation="modify", limits=self.editor.settings.limits
        )
        return Plan(
            snapshot=snapshot,
            format=fmt,
            splices=(),
            edits=(),
            n_replacements=(),
            matches=(),
            match_lines=(),
            creates=False,
            change=change,
        )

    # --- decide ----------------------------------------------------------------------------------------------------

    def _needs_decision(self, files: Sequence[SetFile], policy: Policy) -> bool:
        """Raises: NotPermitted."""
        needs = [
            policy.needs_decision(snapshot) for file in files for snapshot in _snapshots_to_check(file)
        ]  # each may raise
        return any(needs)

    def _file_proposal(self, request: ChangeSetRequest, file: SetFile, policy: Policy, token: CancelToken) -> Proposal:
        """Return the question about one file, or the earlier one if it is still undecided."""
        if file.proposal is not None and file.proposal.plan is file.plan:
            return file.proposal
        question = question_about(
            file.plan,
            splicing.apply(file.plan.snapshot.data, file.plan.splices),
            outputs.question_texts(file.file_path, file.plan, policy.folders),
            file_path=file.file_path,
            session_id=request.session_id,
            policy=policy,
            check=token.check,
        )
        question = replace(
            question,
            change=file.shown,
            is_protected=any(policy.is_protected(snapshot) for snapshot in _snapshots_to_check(file)),
            new_path=file.given_path if file.new_path is not None else None,
            new_canonical_path=file.new_path,
        )
        return Proposal(plan=file.plan, question=question, is_other=file.by_user)

    def _decisions(self, files: Sequence[SetFile], question: ApprovalRequest, decision: Decision) -> Decided:
        """Return each file with its decision. Raises: as `core.decision.apply_decision`."""
        if not isinstance(decision, SomeFiles):
            apply_decision(files[0].plan, decision, file_path="", limits=self.editor.settings.limits, removes=True)
            if not question.is_approvable:
                raise Rejected
            return tuple((file, Once()) for file in files)
        by_path = {decided.file_path: decided for decided in decision.files}
        decided = tuple(_decide_file(file, by_path.get(file.file_path)) for file in files)
        if all(file.is_left_out for file, _ in decided):
            raise Rejected
        return decided

    def _carry_over(
        self, request: ChangeSetRequest, file: SetFile, decision: Decision, policy: Policy, token: CancelToken
    ) -> DecidedPlan | Proposal:
        """Carry what was decided about one file over to the current file."""
        assert file.proposal is not None
        proposal, asked = file.proposal, file.proposal.plan
        if file.new_path is not None and self.editor.fs.read(file.new_path).exists:
            raise AlreadyExists
        if not file.removes and (asked.splices or asked.creates or isinstance(decision, Modify)):
            decided = apply_decision(asked, decision, file_path=file.file_path, limits=self.editor.settings.limits)
            edit_request = _edit_request(request, file.change)
            outcome = self.editor.carry_over(edit_request, policy, token, proposal, decision, decided)
            return self._ask_again(request, file, outcome, policy, token)
        snapshot = self.editor.fs.read(canonical_path(self.editor.fs, file.file_path, policy.roots))
        if not snapshot.exists:
            raise FileMissing
        if not file.removes:
            unchanged = self._plan_nothing(snapshot)  # only the executable bit or the name changes
            return DecidedPlan(unchanged if file.new_path is None else _as_rename(unchanged), file.by_user)
        apply_decision(asked, decision, file_path=file.file_path, limits=self.editor.settings.limits, removes=True)
        if snapshot.data == asked.snapshot.data:
            return DecidedPlan(replace(asked, snapshot=snapshot))
        plan = self._deletion(snapshot, file.file_path)
        again = self._file_proposal(request, replace(file, plan=plan, proposal=None), policy, token)
        previous = PreviousDecision(
            text=None, change_ids=None, reason="near", ranges=foreign_ranges(asked.snapshot.data, snapshot.data)
        )
        return replace(again, question=replace(again.question, previous=previous))

    def _ask_again(
        self,
        request: ChangeSetRequest,
        file: SetFile,
        outcome: DecidedPlan | Proposal,
        policy: Policy,
        token: CancelToken,
    ) -> DecidedPlan | Proposal:
        """Return the outcome for one file's text.

        A new question is about all of the file's change, not only its text.
        """
        plan = outcome.plan if file.new_path is None else _as_rename(outcome.plan)
        if isinstance(outcome, DecidedPlan):
            return replace(outcome, plan=plan)
        about = self._file_proposal(request, replace(file, plan=plan, proposal=None), policy, token).question
        question = replace(about, previous=outcome.question.previous, changes=outcome.question.changes)
        return replace(outcome, plan=plan, question=question)


# --- helpers -----------------------------------------------------------------------------------------------------


def _require_limits(request: ChangeSetRequest) -> None:
    """Raises: SetUnsupported."""
    n_changes = len(request.changes)
    if not 1 <= n_changes <= MAX_CHANGES:
        raise SetUnsupported(reason=f"a set has 1 to {MAX_CHANGES} changes, not {n_changes}")
    n_given = sum(
        len(change.content) if isinstance(change, CreateFile) else 0 for change in request.changes
    )  # characters: each is at least a byte
    if n_given > MAX_NEW_BYTES:
        raise SetUnsupported(reason=_TOO_LARGE)


_TOO_LARGE = f"the new contents have more than {MAX_NEW_BYTES >> 20} MB together"


def _faults_together(files: Mapping[int, SetFile]) -> Iterator[ChangeProblem]:
    """Yield why files that can be changed alone cannot be changed together. files: by the index of their change."""
    seen: dict[str, int] = {}
    inodes: dict[tuple[int, int], int] = {}
    n_new_bytes = 0
    for index, file in files.items():
        snapshot, shares_path = file.plan.snapshot, False
        for path in filter(None, (snapshot.path, file.new_path)):
            other = next((seen[known] for known in seen if is_inside(known, path) or is_inside(path, known)), None)
            if other is not None:
                reason = f"it has a path in common with change {other + 1}"
                yield ChangeProblem(change_index=index, error=SetUnsupported(reason=reason))
                shares_path = True
            seen[path] = index
        if file.plan.creates or (file.plan.splices and not file.removes):
            n_new_bytes += len(snapshot.data) + splicing.growth(file.plan.splices)
        stamp = snapshot.stamp
        if stamp is None or shares_path:
            continue
        if (stamp.dev, stamp.ino) in inodes:
            reason = f"it is the same file as that of change {inodes[stamp.dev, stamp.ino] + 1}"
            yield ChangeProblem(change_index=index, error=SetUnsupported(reason=reason))
        elif stamp.n_links > 1 and (len(files) > 1 or file.needs_set):
            reason = "the file has hard links, so it can only be written in place, and alone"
            yield ChangeProblem(change_index=index, error=SetUnsupported(reason=reason))
        inodes[stamp.dev, stamp.ino] = index
    if n_new_bytes > MAX_NEW_BYTES:
        yield ChangeProblem(change_index=0, error=SetUnsupported(reason=_TOO_LARGE))


def _snapshots_to_check(file: SetFile) -> tuple[Snapshot, ...]:
    """Return what a policy has to check: a rename gives a file a name that may be protected."""
    snapshot = file.plan.snapshot
    if file.new_path is None:
        return (snapshot,)
    renamed = Snapshot(path=file.new_path, stamp=snapshot.stamp, data=b"", taken_ns=snapshot.taken_ns)
    return (snapshot, renamed)


def _edit_request(request: ChangeSetRequest, change: FileChange) -> EditRequest:
    """Return the edit of a file's text, as a single request."""
    cells = change.cells if isinstance(change, EditFile) else ()
    tool: Literal["multi_edit", "write", "edit_notebook"] = (
        "edit_notebook" if cells else "write" if isinstance(change, CreateFile) else "multi_edit"
    )
    return EditRequest(
        file_path=change.file_path,
        cells=cells,
        edits=change.edits if isinstance(change, EditFile | RenameFile) else (),
        hunks=() if isinstance(change, CreateFile) else change.hunks,
        tool=tool,
        content=change.content if isinstance(change, CreateFile) else None,
        dry_run=request.dry_run,
        session_id=request.session_id,
    )


def _suggestions_for_hunk(error: HunkNotFound) -> Suggestions | None:
    place = error.suggested_place
    if place is None:
        return None
    suggestion = Suggestion(
        edit_index=error.edit_index,
        kind="similar",
        start_line=place.start_line,
        end_line=place.end_line,
        old_string=None,
        note=similar_note(place.start_line, place.end_line, place.differs_in, is_elided=False),
        differs_in=place.differs_in,
        diff=place.diff,
    )
    failure = FailedStep(edit_index=error.edit_index, code=error.code, message=failure_message(error))
    return Suggestions(offered=(suggestion,), failures=(failure,))


def _as_rename(plan: Plan) -> Plan:
    return replace(plan, change=replace(plan.change, operation="rename"))


def _decide_file(file: SetFile, decided: FileDecision | None) -> tuple[SetFile, Decision]:
    if file.is_left_out or decided is None:
        if not file.is_left_out and file.proposal is not None and not file.proposal.question.is_approvable:
            raise Rejected  # nothing of this change is left to approve
        return file, Once()
    if decided.is_left_out:
        return replace(file, is_left_out=True), Once()
    return file, decision_about(decided, file.plan)


def _result_of(
    request: ChangeSetRequest,
    files: Sequence[SetFile],
    commits: Mapping[str, Commit],
    *,
    needs_approval: bool | None = None,
) -> ChangeSetResult:
    made = [file for file in files if not file.is_left_out]
    changed = tuple(_to_outcome(file, commits.get(file.file_path)) for file in made)
    dropped = tuple(file.file_path for file in files if file.is_left_out)
    return ChangeSetResult(
        output=outputs.changes_text(changed, dropped, is_dry=request.dry_run),
        set_id=next((commit.set_id for commit in commits.values()), None),
        files=changed,
        dropped=dropped,
        dry_run=request.dry_run,
        needs_approval=needs_approval,
        did_edit=tuple(map(did_edit, commits.values())),
    )


def _to_outcome(file: SetFile, commit: Commit | None) -> FileOutcome:
    return FileOutcome(
        file_path=file.file_path,
        operation=file.plan.change.operation,
        change=file.shown,
        new_path=file.given_path if file.new_path is not None else None,
        edit_id=None if commit is None else commit.edit_id,
        applied_to=(file.plan.snapshot if commit is None else commit.after).source,
        modified_by_user=file.by_user,
        matches=file.plan.matches,
        commit=None if commit is None else commit.report,
    )
