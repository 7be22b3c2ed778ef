"""Results of edits, and the question about one: what the caller and the user are shown of a plan."""

from typing import Literal

from msgspec import Struct

from fileops.core import splices
from fileops.core.presentation import outputs
from fileops.model.approval import ApprovalRequest
from fileops.model.edits import Plan
from fileops.model.files import CommitReport
from fileops.model.requests import EditRequest
from fileops.model.results import EditResult
from fileops.service.commit import CommittedEdit
from fileops.service.policy import Policy, question_about, texts_of


class Proposal(Struct, frozen=True, kw_only=True):
    """A plan that waits for a decision. Nothing is locked until then."""

    plan: Plan
    question: ApprovalRequest


def proposal_of(request: EditRequest, plan: Plan, policy: Policy) -> Proposal:
    """Return the question whether the plan may be committed."""
    question = question_about(
        plan,
        splices.apply(plan.snapshot.data, plan.splices),
        outputs.question_texts(request.file_path, plan),
        file_path=request.file_path,
        session_id=request.session_id,
        policy=policy,
    )
    return Proposal(plan=plan, question=question)


def changed_lines(plan: Plan) -> list[tuple[Literal[" ", "-", "+"], str]]:
    """The lines that the plan removes and adds, without their line numbers."""
    return [(line.kind, line.text) for hunk in plan.change.hunks for line in hunk.lines if line.kind != " "]


def result_of(
    request: EditRequest,
    plan: Plan,
    edit: CommittedEdit | None,
    *,
    modified_by_user: bool = False,
    needs_approval: bool | None = None,
) -> EditResult:
    texts = texts_of(plan, splices.apply(plan.snapshot.data, plan.splices)) if request.include_texts else None
    nothing_to_write = None if request.dry_run else CommitReport(method="none", durability="not_synced")
    return EditResult(
        output=_success_text(request, plan, modified_by_user=modified_by_user),
        change=plan.change,
        edits=plan.edits,
        is_multi=request.tool == "multi_edit",
        n_replaced=plan.n_replacements,
        created=plan.creates,
        applied_to=(edit.committed.snapshot if edit else plan.snapshot).source,
        matches=plan.matches,
        match_lines=plan.match_lines,
        modified_by_user=modified_by_user,
        edit_id=edit.did_edit.edit_id if edit else None,
        did_edit=edit.did_edit if edit else None,
        commit=edit.committed.report if edit else nothing_to_write,
        dry_run=request.dry_run,
        rebased=plan.rebased,
        texts=texts,
        needs_approval=needs_approval,
    )


def _success_text(request: EditRequest, plan: Plan, *, modified_by_user: bool) -> str:
    if request.tool == "multi_edit":
        output = outputs.multi_edited_text(request.file_path, plan.edits)
    elif plan.creates:
        output = outputs.created_text(request.file_path)
    elif request.content is not None:
        output = outputs.written_text(request.file_path, has_effect=bool(plan.splices))
    else:
        output = outputs.edited_text(request.file_path, plan.edits[0], plan.change.snippet)
    output = outputs.with_corrections(output, plan.matches)
    if request.dry_run:
        output = outputs.with_dry_run(output)
    return outputs.with_user_change(output, plan.change.unified) if modified_by_user else output
