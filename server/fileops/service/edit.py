"""One edit in a worker thread: read, check, plan, and commit unless a user has to approve it.

Owns the order of an edit's checks, from the request to its result. A plan that needs a decision is returned as a
Proposal, and `resume` continues with the decision. If a text is not found, NeedsCorrection may be returned so that the
client can correct it. If the file changes between the read and the commit, the edit starts again with the read. So a
commit always applies to the content on which it was planned.

With `freshness: "relevant"`, the content may have changed since the session was shown it. The request is then planned
on what the session was shown, and the plan is carried over the changes if they are not relevant to it.

This is one module so that the whole edit, and the order of its checks, can be read in one place.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace as with_data
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import Attempts, CancelToken
from fileops.core import plan as planning
from fileops.core import processing, splices, text, validation
from fileops.core.decision import apply_decision, reason_of
from fileops.core.diff.unified import change_of
from fileops.core.merge import relevance
from fileops.core.merge.relevance import Carried, Leg, Replanned, carry_shown, foreign_ranges
from fileops.core.notebook.cell_changes import cells_since_read, changes_between
from fileops.core.notebook.cell_plan import plan_notebook
from fileops.core.notebook.cells import fault_of, is_notebook_path, parse
from fileops.core.notebook.known_cells import CellGuard
from fileops.core.patch.hunks import plan_hunks
from fileops.core.presentation import outputs
from fileops.core.presentation.failures import failure_text
from fileops.core.presentation.notebook_texts import edited_cells_text
from fileops.core.review.decision_merge import Decided, Reopened, merge
from fileops.core.roots import Roots
from fileops.model.approval import Always, ApprovalRequest, Decision, Once, SomeChanges
from fileops.model.commits import Commit
from fileops.model.edits import Plan, Rebased, Relevance, Splice
from fileops.model.errors import (
    AlreadyExists,
    BinaryFile,
    FileMissing,
    FileOpsError,
    IoFailure,
    ModifiedExternally,
    NoMatch,
    NotebookFile,
)
from fileops.model.files import Base, CommitReport, Committed, Snapshot
from fileops.model.notebooks import MENDED_AS_TEXT
from fileops.model.requests import EditRequest
from fileops.model.results import EditResult
from fileops.model.settings import Settings
from fileops.ports import FileSystem
from fileops.service.agent_lines import AgentLines
from fileops.service.answers.suggester import Suggested, Suggester
from fileops.service.answers.syntax import SyntaxChecker
from fileops.service.commit import Committer, PlannedCommit, did_edit
from fileops.service.correction import NeedsCorrection, ask_about, original_error
from fileops.service.formatting import Formatter
from fileops.service.paths import canonical_path, other_form, require_new_name
from fileops.service.policy import Policy, question_about, texts_of
from fileops.tracking.content_cache import diff_between
from fileops.tracking.freshness import Freshness


class Proposal(Struct, frozen=True, kw_only=True):
    """A plan that waits for a decision. Nothing is locked until then.

    is_other: whether the plan is no longer what was requested, because others or the user removed or changed a part of
    it, in this round of the review or an earlier one. reason: why the user did so, from the last of these rounds.
    """

    plan: Plan
    question: ApprovalRequest
    is_other: bool = False
    reason: str = ""


class DecidedPlan(Struct, frozen=True):
    """A decision on the current file. by_user: it is not what was requested. reason: the user's, if they gave one."""

    plan: Plan
    by_user: bool = False
    reason: str = ""


EditStep = EditResult | Proposal | NeedsCorrection


class EditOperation(Struct, frozen=True, kw_only=True):
    """Carries out edits, see the module. read_resolved: reads the file at a path that `fs.resolve` has just returned.

    formatter: None if the client does not want changed lines formatted.
    """

    fs: FileSystem
    read_resolved: Callable[[str], Snapshot]
    freshness: Freshness
    committer: Committer
    settings: Settings
    agent_lines: AgentLines
    syntax: SyntaxChecker
    formatter: Formatter | None = None

    def start(self, request: EditRequest, policy: Policy, token: CancelToken) -> EditStep:
        """Raises: Cancelled."""
        attempts = Attempts(token)
        try:
            while True:
                with attempts.next():
                    plan = self.plan(request, policy.roots, token)
                    has_effect = bool(plan.splices) or plan.creates
                    needs_approval = has_effect and policy.needs_decision(plan.snapshot)
                    if request.dry_run:
                        return _result_of(request, plan, None, needs_approval=needs_approval)
                    if not has_effect:
                        return _result_of(request, plan, None)
                    if needs_approval:
                        return _proposal_of(request, plan, policy, token)
                    return self._commit(request, plan, token)
        except FileOpsError as error:
            return self._step_after(error, request, policy)

    def resume(
        self, request: EditRequest, policy: Policy, token: CancelToken, proposal: Proposal, decision: Decision
    ) -> EditStep:
        """Continue with a decided proposal. Returns another Proposal if the decision does not fit the current file.

        Raises: Cancelled.
        """
        attempts, asked = Attempts(token), proposal.plan
        try:
            if not proposal.question.is_approvable and isinstance(decision, Once | Always | SomeChanges):
                # By a host, or if the user allows edits that need consent: a view cannot approve it.
                raise ModifiedExternally(changed_by="external" if asked.rebased is None else asked.rebased.changed_by)
            decided = apply_decision(asked, decision, file_path=request.file_path, limits=self.settings.limits)
            while True:
                with attempts.next():
                    return self._commit_decided(request, policy, token, proposal, decision, decided)
        except FileOpsError as error:
            return self._step_after(error, request, policy)

    def plan(self, request: EditRequest, roots: Roots | None, token: CancelToken) -> Plan:
        """Return the plan of the request on the current file, if this session may edit it.

        Raises: Stale, PathMoved, Cancelled and the failures of reading and planning.
        """
        snapshot, base = self._read_for_edit(request, roots)
        return self._plan(request, snapshot, base, token)

    def plan_on_snapshot(self, request: EditRequest, snapshot: Snapshot, token: CancelToken) -> Plan:
        """Return the plan of the request on this content, whether or not the session knows it.

        Raises: Cancelled and the failures of planning.
        """
        return self._plan(request, snapshot, None, token)

    def fits(self, request: EditRequest, snapshot: Snapshot, shown: Snapshot, token: CancelToken) -> bool:
        """Return whether an edit means the same place in the snapshot as in what its author was shown of the file.

        It also fits if only the snapshot has its text.

        Raises: Cancelled.
        """
        base, legs = Base(content=shown.data, shown=shown.data), self._legs_since(shown.data, snapshot)
        outcome = relevance.replan(base, snapshot, lambda content: self._plan_on(request, content, token), legs)
        if isinstance(outcome, Relevance):
            return outcome.reason == "no_match_then"
        return isinstance(outcome, Replanned)

    def proposal_of(self, request: EditRequest, plan: Plan, policy: Policy, token: CancelToken) -> Proposal:
        """Return the question about a plan. Raises: Cancelled."""
        return _proposal_of(request, plan, policy, token)

    def suggest(self, request: EditRequest, error: FileOpsError, roots: Roots | None) -> "Suggested":
        """Return the failure with its suggested place, and the additions to its answer."""
        return Suggester(fs=self.fs, agent_lines=self.agent_lines, settings=self.settings).suggest(
            request, error, roots
        )

    def _step_after(self, error: FileOpsError, request: EditRequest, policy: Policy) -> EditStep:
        reported = original_error(request, error)
        suggested = self.suggest(request, reported, policy.roots)
        failed = EditResult(
            output=failure_text(suggested.error, request.tool, request.file_path, self.settings.texts),
            error=suggested.error,
            edits=request.edits,
            is_multi=request.tool == "multi_edit",
            dry_run=request.dry_run,
            suggestions=suggested.suggestions,
            read_proof=suggested.read_proof,
            refused=suggested.refused,
        )
        if policy.can_correct and not request.cells and reported is error and isinstance(suggested.error, NoMatch):
            return ask_about(request, suggested.error, failed) or failed
        return failed

    # --- read and check ----------------------------------------------------------------------------------------

    def _read_for_edit(self, request: EditRequest, roots: Roots | None) -> tuple[Snapshot, Base | None]:
        """Return the current file, if this session may edit it. docs/PROTOCOL.md has the order of checks.

        The base is returned if the edit must be rebased, because the session does not know all of the current file.
        """
        session_id, is_write = request.session_id, request.content is not None
        try:
            canonical = canonical_path(self.fs, request.file_path, roots)
        except FileMissing as error:
            if not (is_write or request.wants_new_file):
                raise
            raise IoFailure(reason="no file can have this name", hint="Use another name.") from error

        def refuses_creation(size_bytes: int) -> bool:
            return request.wants_new_file and not (self.settings.fill_empty_files and size_bytes == 0)

        is_tracked = self.freshness.is_tracked(session_id, canonical)
        if not is_tracked and (stamp := self.fs.stat(canonical)) is not None:
            if refuses_creation(stamp.size_bytes):
                raise AlreadyExists
            self.freshness.require_tracked(session_id, canonical)
        snapshot = self.read_resolved(canonical)
        if not snapshot.exists:
            if request.wants_new_file or (is_write and not is_tracked):
                require_new_name(self.fs, canonical)
                return snapshot, None
            if not request.dry_run:
                self.freshness.note_missing(session_id, canonical)
            raise FileMissing(other_form=other_form(self.fs, canonical))
        if refuses_creation(len(snapshot.data)):
            raise AlreadyExists
        if request.cells or self.settings.freshness == "relevant":
            base = self.freshness.base_of(session_id, snapshot, needs_whole=is_write, dry_run=request.dry_run)
            return snapshot, base
        self.freshness.require_fresh(
            session_id,
            snapshot,
            needs_whole=is_write,
            same_bytes_suffice=self.settings.freshness == "content",
            dry_run=request.dry_run,
        )
        return snapshot, None

    # --- plan ------------------------------------------------------------------------------------------------

    def _plan(self, request: EditRequest, snapshot: Snapshot, base: Base | None, token: CancelToken) -> Plan:
        """Return the plan on `snapshot`. base: what the session knows of the file, if that is not all of `snapshot`.

        Raises: Cancelled, ProcessingFailed, ValidationFailed, ModifiedExternally (a change is relevant), Stale,
        BinaryFile, NotebookFile, and what `core.plan.plan` raises.
        """
        plan = self._plan_on(request, snapshot, token) if base is None else self._replan(request, snapshot, base, token)
        if request.cells:
            return plan  # processors, formatters and validators are for texts, not for the JSON of a notebook
        formatting = None if self.formatter is None else self.formatter.of(snapshot.path)
        steps: list[processing.TextStep] = [processing.PROCESSORS[name] for name in self.settings.processors]
        plan = processing.process(
            steps if formatting is None else [*steps, formatting],
            plan,
            file_path=request.file_path,
            limits=self.settings.limits,
            is_multi=request.tool != "edit",
            check=token.check,
        )
        if formatting is not None and formatting.not_formatted is not None:
            plan = replace(plan, not_formatted=formatting.not_formatted)
        validation.require_valid(self.settings.validators, plan)
        return plan

    def _replan(self, request: EditRequest, snapshot: Snapshot, base: Base, token: CancelToken) -> Plan:
        """Raises: ModifiedExternally, Stale, Cancelled."""
        changed_by = self.freshness.find_changer(request.session_id, snapshot)
        shown = base.shown or b""  # not needed for a notebook, whose cells are known by digests
        if request.cells:
            outcome = self._replan_cells(request, snapshot, base, token)
        elif request.content is None:
            legs = () if base.shown is None else self._legs_since(base.shown, snapshot)
            outcome = relevance.replan(base, snapshot, lambda content: self._plan_on(request, content, token), legs)
        else:
            outcome = self._replan_write(request, snapshot, base, token)
        if isinstance(outcome, Carried):
            outcome = self._plan_carried(request, snapshot, shown, outcome, token)
        if isinstance(outcome, Relevance):
            raise self.freshness.refusal(request.session_id, snapshot, outcome, dry_run=request.dry_run)
        rebased = Rebased(
            changed_by=changed_by,
            ranges=outcome.ranges,
            diff=None if base.shown is None else diff_between(shown, snapshot.data, request.file_path),
            cells=cells_since_read(snapshot.path, request.file_path, shown, snapshot.data),
            shown=shown,
            unseen=outcome.unseen,
        )
        return replace(outcome.plan, rebased=rebased)

    def _legs_since(self, shown: bytes, snapshot: Snapshot) -> tuple[Leg, ...]:
        if max(len(shown), len(snapshot.data)) > relevance.MAX_BYTES:
            return ()
        return self.freshness.known_changes.legs(snapshot.path, shown, snapshot.data)

    def _replan_cells(self, request: EditRequest, snapshot: Snapshot, base: Base, token: CancelToken) -> Replanned:
        """Plan on the current notebook. What the session knows of each cell decides, not the whole file."""
        try:
            plan = self._plan_on(request, snapshot, token)
        except ModifiedExternally as failure:
            raise self.freshness.refusal(
                request.session_id,
                snapshot,
                failure.relevance or Relevance(reason="cell"),
                dry_run=request.dry_run,
                edit_index=failure.edit_index,
            ) from None
        return relevance.Replanned(
            plan=plan, ranges=() if base.shown is None else foreign_ranges(base.shown, snapshot.data)
        )

    def _replan_write(
        self, request: EditRequest, snapshot: Snapshot, base: Base, token: CancelToken
    ) -> Replanned | Relevance:
        """Plan a write again.

        The new text was made from what the session was shown, so it is compared with that.
        """
        if base.shown is None:
            return Relevance(reason="no_base")
        then = self._plan_on(request, with_data(snapshot, data=base.shown), token)
        shown = Base(content=base.shown, shown=base.shown)
        carried = relevance.carry(shown, snapshot.data, then.splices, margin_lines=0)
        if isinstance(carried, Relevance):
            return carried
        return self._plan_carried(request, snapshot, base.shown, carried, token)

    def _plan_carried(
        self, request: EditRequest, snapshot: Snapshot, shown: bytes, carried: Carried, token: CancelToken
    ) -> Replanned:
        """Return the plan on what the session was shown, with the splices that were carried over."""
        then = self._plan_on(request, with_data(snapshot, data=shown), token)
        change = change_of(
            snapshot.data,
            then.format,
            carried.splices,
            file_path=request.file_path,
            operation="modify",
            limits=self.settings.limits,
            with_snippet=bool(request.edits) and request.tool == "edit",
            check=token.check,
        )
        lines = tuple(1 + text.count_newlines(snapshot.data, then.format, 0, each.start) for each in carried.splices)
        plan = replace(
            then,
            snapshot=snapshot,
            splices=carried.splices,
            change=change,
            match_lines=(lines,) if len(then.edits) == 1 else then.match_lines,
        )
        return Replanned(plan=plan, ranges=carried.ranges)

    def _plan_on(self, request: EditRequest, snapshot: Snapshot, token: CancelToken) -> Plan:
        """Raises: Cancelled, and what `core.plan.plan` raises."""
        fmt = text.detect_format(snapshot.data)
        if snapshot.exists:
            if text.is_binary(snapshot.data, fmt) and not request.cells:
                raise BinaryFile
            if is_notebook_path(snapshot.path):
                self._require_editable_notebook(request, snapshot)
        if request.cells:
            return self._plan_cells(request, snapshot, token)
        if request.content is not None:
            return planning.plan_write(
                snapshot,
                fmt,
                request.content,
                limits=self.settings.limits,
                file_path=request.file_path,
                check=token.check,
            )
        if request.hunks:
            return plan_hunks(
                snapshot,
                fmt,
                request.hunks,
                limits=self.settings.limits,
                file_path=request.file_path,
                check=token.check,
            )
        return planning.plan(
            snapshot,
            fmt,
            request.edits,
            limits=self.settings.limits,
            file_path=request.file_path,
            is_multi=request.tool == "multi_edit",
            fill_empty=self.settings.fill_empty_files,
            correction=self.settings.correction,
            check=token.check,
        )

    def _require_editable_notebook(self, request: EditRequest, snapshot: Snapshot) -> None:
        """Raises: NotebookFile. One that is not JSON, such as after a merge conflict, may be mended as text."""
        mode = self.settings.notebooks
        if mode == "text" or (mode == "cells" and request.cells):
            return
        fault = fault_of(snapshot.data) if mode == "cells" else None
        if fault is None or fault.fault not in MENDED_AS_TEXT:
            raise NotebookFile

    def _plan_cells(self, request: EditRequest, snapshot: Snapshot, token: CancelToken) -> Plan:
        """Raises: what `plan_notebook` raises."""
        known = self.freshness.find_known_cells(request.session_id, snapshot.path)
        return plan_notebook(
            snapshot,
            request.cells,
            CellGuard(known, shows_cells=self.settings.notebooks == "cells"),
            limits=self.settings.limits,
            file_path=request.file_path,
            correction=self.settings.correction,
            check=token.check,
        )

    # --- decide --------------------------------------------------------------------------------------------

    def _commit_decided(
        self,
        request: EditRequest,
        policy: Policy,
        token: CancelToken,
        proposal: Proposal,
        decision: Decision,
        decided: Plan,
    ) -> EditResult | Proposal:
        """Write what the user decided, or ask again."""
        outcome = self.carry_over(request, policy, token, proposal, decision, decided)
        if isinstance(outcome, Proposal):
            return outcome
        if not outcome.plan.splices and not outcome.plan.creates:  # others have already made the same change
            return _result_of(request, outcome.plan, None, modified_by_user=outcome.by_user, reason=outcome.reason)
        return self._commit(
            request,
            outcome.plan,
            token,
            modified_by_user=outcome.by_user,
            reason=outcome.reason,
            is_accepted=True,
        )

    def carry_over(
        self,
        request: EditRequest,
        policy: Policy,
        token: CancelToken,
        proposal: Proposal,
        decision: Decision,
        decided: Plan,
    ) -> "DecidedPlan | Proposal":
        """Return the decided plan on the current file, or another question: a decision holds only for what was shown.

        The file is read again. There are four cases. If it is as it was shown, the decided plan is written. If only
        this session has changed it since, and the request still changes the same lines, that is written. If others have
        changed it, and their changes can be merged with the decision, the merged text is written. Otherwise the user is
        asked again, about the current file.

        Raises: Stale, PathMoved, Cancelled and the failures of reading and planning.
        """
        asked, by_user = proposal.plan, proposal.is_other or decided is not proposal.plan
        if decided is not asked:
            decided = _with_cells_of(decided)
        reason = reason_of(decision) or proposal.reason
        snapshot = self.fs.read(canonical_path(self.fs, request.file_path, policy.roots))
        was, is_known = asked.snapshot, self.freshness.knows(request.session_id, snapshot)
        if (snapshot.path, snapshot.exists, snapshot.data) == (was.path, was.exists, was.data):
            plan = replace(decided, snapshot=snapshot, rebased=None if is_known else decided.rebased)
            return DecidedPlan(plan, by_user, reason)
        if (is_known or request.cells) and not by_user and snapshot.path == was.path:
            replanned = self._plan_if_possible(request, snapshot, token)
            if replanned is not None and _is_same_change(replanned, asked):
                return DecidedPlan(
                    replanned if is_known else replace(replanned, rebased=self._merge_over(request, snapshot, asked))
                )
        outcome = merge(
            Decided(
                asked=asked,
                splices=decided.splices,
                change_ids=decision.change_ids if isinstance(decision, SomeChanges) else None,
            ),
            snapshot,
            # A whole text does not have others' new lines: planned again, it would remove all of them.
            None if by_user or request.content is not None else lambda: self._plan(request, snapshot, None, token),
            token.check,
        )
        rebased = None if is_known else self._merge_over(request, snapshot, asked)
        plan = self._with_splices(request, snapshot, outcome.splices, replace(decided, rebased=rebased), token)
        if request.cells:
            plan = _with_cells_of(plan)
        else:
            validation.require_valid(self.settings.validators, plan)
        if isinstance(outcome, Reopened):
            again = _proposal_of(request, plan, policy, token)
            changes = again.question.changes if outcome.splices else ()
            question = replace(again.question, previous=outcome.previous, changes=changes)
            requested = None if by_user else self._plan_if_possible(request, snapshot, token)
            is_other = requested is None or not _is_same_change(requested, plan)
            return replace(again, question=question, is_other=is_other, reason=reason)
        return DecidedPlan(plan, by_user, reason)

    def _plan_if_possible(self, request: EditRequest, snapshot: Snapshot, token: CancelToken) -> Plan | None:
        """Return the plan of the request on this content; None if it does not apply there. Raises: Cancelled."""
        try:
            return self._plan(request, snapshot, None, token)
        except FileOpsError:
            return None

    def _with_splices(
        self, request: EditRequest, snapshot: Snapshot, wanted: tuple[Splice, ...], decided: Plan, token: CancelToken
    ) -> Plan:
        """Return the decided plan with these splices on the current file."""
        fmt = text.detect_format(snapshot.data)
        if snapshot.exists and text.is_binary(snapshot.data, fmt):
            raise BinaryFile
        change = change_of(
            snapshot.data,
            fmt,
            wanted,
            file_path=request.file_path,
            operation="modify" if snapshot.exists else "create",
            limits=self.settings.limits,
            check=token.check,
        )
        return replace(
            decided, snapshot=snapshot, format=fmt, splices=wanted, change=change, creates=not snapshot.exists
        )

    def _merge_over(self, request: EditRequest, snapshot: Snapshot, asked: Plan) -> Rebased:
        """Return what others have changed since the session was shown the file, and what it does not know yet."""
        shown = asked.snapshot.data if asked.rebased is None else asked.rebased.shown
        is_tracked = self.freshness.is_tracked(request.session_id, snapshot.path)
        return Rebased(
            changed_by=self.freshness.find_changer(request.session_id, snapshot) if is_tracked else "external",
            ranges=foreign_ranges(shown, snapshot.data),
            diff=diff_between(shown, snapshot.data, request.file_path),
            cells=cells_since_read(snapshot.path, request.file_path, shown, snapshot.data),
            shown=shown,
            is_reviewed=True,
        )

    def _commit(
        self,
        request: EditRequest,
        plan: Plan,
        token: CancelToken,
        *,
        modified_by_user: bool = False,
        reason: str = "",
        is_accepted: bool = False,
    ) -> EditResult:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        with nullcontext() if self.settings.suggestions == "off" else self.syntax.begin(plan) as check:
            commit = self.committer.commit(
                PlannedCommit(plan=plan, given_path=request.file_path, is_kept=is_accepted),
                token,
                session_id=request.session_id,
                on_committed=self.tracker_update_of(request, plan),
            )
            result = _result_of(request, plan, commit, modified_by_user=modified_by_user, reason=reason)
            return result if check is None else replace(result, syntax=check.result())

    def tracker_update_of(self, request: EditRequest, plan: Plan) -> Callable[[Committed], None]:
        """Return a function that records the commit as the session's own write. Call it while the file is locked."""
        is_known_whole = plan.creates or request.content is not None
        rebased, shown, changed_by = plan.rebased, None, "external"
        if rebased is not None:
            changed_by = rebased.changed_by
            shown = carry_shown(rebased.shown, plan.snapshot.data, plan.splices)

        def note(committed: Committed) -> None:
            if shown is not None and rebased is not None:
                after = committed.snapshot
                self.freshness.known_changes.note_unseen(after.path, shown, rebased.unseen, after)
            self.freshness.note_write(
                request.session_id,
                request.file_path,
                committed,
                is_known_whole=is_known_whole,
                shown=shown,
                changed_by=changed_by,
                before=plan.snapshot.data,
                cell_changes=plan.cells,
            )
            if shown is not None and self.settings.freshness != "relevant":
                self.freshness.mark_unshown(request.session_id, committed.snapshot.path)

        return note


def _proposal_of(request: EditRequest, plan: Plan, policy: Policy, token: CancelToken) -> Proposal:
    """Return the question about the plan. Raises: Cancelled."""
    question = question_about(
        plan,
        splices.apply(plan.snapshot.data, plan.splices),
        outputs.question_texts(request.file_path, plan, policy.folders),
        file_path=request.file_path,
        session_id=request.session_id,
        policy=policy,
        check=token.check,
    )
    return Proposal(plan=plan, question=question)


def _with_cells_of(plan: Plan) -> Plan:
    """Return the plan of an edit of a notebook with its changes by cells, after a person has changed its text.

    Raises: NotebookInvalid: a text that is not a notebook must not be written.
    """
    if not plan.cells:
        return plan
    before, after = plan.snapshot.data, splices.apply(plan.snapshot.data, plan.splices)
    return replace(plan, cells=changes_between(parse(before), parse(after)))


def _is_same_change(one: Plan, other: Plan) -> bool:
    """Return whether the plans do the same: to the same cells of a notebook, else to the same lines."""
    if one.cells or other.cells:
        return [(cell.kind, cell.cell_id, cell.old, cell.new) for cell in one.cells] == [
            (cell.kind, cell.cell_id, cell.old, cell.new) for cell in other.cells
        ]
    return _list_changed_lines(one) == _list_changed_lines(other)


def _list_changed_lines(plan: Plan) -> list[tuple[Literal[" ", "-", "+"], str]]:
    """Return the lines that the plan removes and adds, without their line numbers."""
    return [(line.kind, line.text) for hunk in plan.change.hunks for line in hunk.lines if line.kind != " "]


def _result_of(
    request: EditRequest,
    plan: Plan,
    commit: Commit | None,
    *,
    modified_by_user: bool = False,
    reason: str = "",
    needs_approval: bool | None = None,
) -> EditResult:
    texts = texts_of(plan, splices.apply(plan.snapshot.data, plan.splices)) if request.include_texts else None
    nothing_to_write = None if request.dry_run else CommitReport(method="none", durability="not_synced")
    applied_to = (commit.after if commit else plan.snapshot).source
    return EditResult(
        output=_success_text(
            request, plan, is_unsaved=applied_to == "buffer", modified_by_user=modified_by_user, reason=reason
        ),
        change=plan.shown,
        edits=plan.edits,
        is_multi=request.tool == "multi_edit",
        n_replaced=plan.n_replacements,
        created=plan.creates,
        applied_to=applied_to,
        matches=plan.matches,
        match_lines=plan.match_lines,
        modified_by_user=modified_by_user,
        edit_id=commit.edit_id if commit else None,
        did_edit=did_edit(commit) if commit else None,
        commit=commit.report if commit else nothing_to_write,
        dry_run=request.dry_run,
        rebased=plan.rebased,
        texts=texts,
        needs_approval=needs_approval,
        processed_by=plan.processed_by,
        not_formatted=plan.not_formatted,
        shown_path=commit.after.path if commit else None,
    )


def _success_text(request: EditRequest, plan: Plan, *, is_unsaved: bool, modified_by_user: bool, reason: str) -> str:
    if modified_by_user:  # what was written is not what was requested
        written = outputs.written_text(request.file_path, has_effect=True)
        output = outputs.created_text(request.file_path) if plan.creates else written
    elif request.cells:
        output = edited_cells_text(request.file_path, plan.cells)
    elif request.tool == "multi_edit":
        output = outputs.multi_edited_text(request.file_path, plan.edits)
    elif plan.creates:
        output = outputs.created_text(request.file_path)
    elif request.content is not None:
        output = outputs.written_text(request.file_path, has_effect=bool(plan.splices))
    else:
        output = outputs.edited_text(request.file_path, plan.edits[0], plan.change.snippet)
    output = outputs.with_corrections(output, plan.matches)
    if plan.processed_by and not modified_by_user:
        output = outputs.with_processing(output, plan.processed_by, plan.change.unified)
    if plan.rebased is not None and plan.rebased.is_reviewed:
        output = outputs.with_merge(output)
    if request.dry_run:
        output = outputs.with_dry_run(output)
    elif is_unsaved:
        output = outputs.with_unsaved(output, [request.file_path])
    if not modified_by_user:
        return output
    return outputs.with_reason(outputs.with_user_change(output, plan.change.unified), reason)
