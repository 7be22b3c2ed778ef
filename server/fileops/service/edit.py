"""One edit in a worker thread: look, check, plan, and, unless a person has to be asked, commit.

Knows the order of checks of an edit. A plan that needs a decision goes back as a Proposal; `settle` continues with
it. A text that is not found may go back as NeedsCorrection, for the client to correct. Everything is tried again
from the look when the file moved between look and commit, so what is committed was always planned on what stood there.
"""

import secrets
from collections.abc import Callable
from typing import Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken, CommitGuard, retry_while_stale
from fileops.core import plan as edit
from fileops.core import splices, text, validation
from fileops.core.approval import needs_decision, simplified
from fileops.core.decision import hunk_splices, modified_splices
from fileops.core.diff import unified
from fileops.core.presentation import outputs
from fileops.core.roots import Roots
from fileops.model.approval import Always, Decision, Modify, Once, Question, Reject, SomeHunks, TimedOut
from fileops.model.edits import Plan, Splice
from fileops.model.errors import (
    AlreadyExists,
    ApprovalTimedOut,
    BinaryFile,
    FileMissing,
    FileOpsError,
    IoFailure,
    NoMatch,
    NotebookFile,
    Rejected,
)
from fileops.model.events import DidEdit
from fileops.model.files import CommitReport, Committed, Snapshot, Text, TextFormat
from fileops.model.requests import EditRequest
from fileops.model.results import EditResult
from fileops.model.settings import Settings
from fileops.ports import Clock, EditJournal, FileSystem
from fileops.service.correction import NeedsCorrection, original_error, unmatched
from fileops.service.policy import Policy
from fileops.service.read import canonical_path
from fileops.tracking.freshness import Freshness

MAX_SHOWN_BYTES = 1_000_000  # of a text put before a person, as docs/PROTOCOL.md says


class Proposal(Struct, frozen=True, kw_only=True):
    """A plan that waits for a person. Nothing is held meanwhile."""

    plan: Plan
    question: Question


Attempted = EditResult | Proposal | NeedsCorrection


class Editor(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    freshness: Freshness
    clock: Clock
    settings: Settings
    journal: EditJournal

    def attempt(self, request: EditRequest, policy: Policy, token: CancelToken) -> Attempted:
        """Raises: Cancelled."""
        return self._guarded(
            request, policy, lambda: retry_while_stale(token, lambda: self._attempt(request, policy, token))
        )

    def settle(
        self, request: EditRequest, policy: Policy, token: CancelToken, proposal: Proposal, decision: Decision
    ) -> Attempted:
        """Go on with a decided proposal; again a Proposal where what was decided upon is not what stands now.

        Raises: Cancelled.
        """
        return self._guarded(request, policy, lambda: self._settle(request, policy, token, proposal, decision))

    def failed(self, request: EditRequest, error: FileOpsError) -> EditResult:
        own = original_error(request, error)
        return EditResult(
            output=outputs.failure_text(own, request.tool, request.file_path),
            error=own,
            edits=request.edits,
            is_multi=request.tool == "multi_edit",
            dry_run=request.dry_run,
        )

    def _guarded(self, request: EditRequest, policy: Policy, work: Callable[[], EditResult | Proposal]) -> Attempted:
        try:
            return work()
        except FileOpsError as error:
            if policy.can_correct and isinstance(error, NoMatch) and (waiting := unmatched(request, error)):
                return waiting
            return self.failed(request, error)

    # --- look, check, plan ---------------------------------------------------------------------------------

    def _attempt(self, request: EditRequest, policy: Policy, token: CancelToken) -> EditResult | Proposal:
        """Raises: Stale, PathMoved."""
        plan = self._plan(request, self._look(request, policy.roots), token)
        if request.dry_run or not (plan.splices or plan.creates):
            return self._outcome(request, plan, None)
        if needs_decision(policy.mode, plan.snapshot, policy.roots, policy.can_ask):
            return Proposal(plan=plan, question=_question(request, plan))
        return self._commit(request, plan, token)

    def _canonical(self, request: EditRequest, roots: Roots | None) -> str:
        try:
            return canonical_path(self.fs, request.file_path, roots)
        except FileMissing as error:
            if request.edits[0].old_string:
                raise
            raise IoFailure(reason="no file can have this name", hint="Use another name.") from error

    def _plan(self, request: EditRequest, snapshot: Snapshot, token: CancelToken) -> Plan:
        """Raises: Cancelled, and what `edit.plan` raises."""
        fmt = text.detect_format(snapshot.data)
        if snapshot.exists:
            if text.is_binary(snapshot.data, fmt):
                raise BinaryFile
            if self.settings.notebooks == "refuse" and snapshot.path.lower().endswith(".ipynb"):
                raise NotebookFile
        plan = edit.plan(
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
        validation.require_valid(self.settings.validators, plan)
        return plan

    def _look(self, request: EditRequest, roots: Roots | None) -> Snapshot:
        """The file as it stands, if this session may edit it. Checks in the order of docs/PROTOCOL.md."""
        canonical = self._canonical(request, roots)
        session_id, wants_creation = request.session_id, not request.edits[0].old_string

        def refuses_creation(size_bytes: int) -> bool:
            return wants_creation and not (self.settings.fill_empty_files and size_bytes == 0)

        if not self.freshness.is_tracked(session_id, canonical) and (stamp := self.fs.stat(canonical)) is not None:
            if refuses_creation(stamp.size_bytes):
                raise AlreadyExists
            self.freshness.require_tracked(session_id, canonical)
        snapshot = self.fs.read(canonical)
        if not snapshot.exists:
            if wants_creation:
                return snapshot
            if not request.dry_run:
                self.freshness.note_missing(session_id, canonical)
            raise FileMissing
        if refuses_creation(len(snapshot.data)):
            raise AlreadyExists
        self.freshness.require_fresh(session_id, snapshot, dry_run=request.dry_run)
        return snapshot

    # --- decide --------------------------------------------------------------------------------------------

    def _settle(
        self, request: EditRequest, policy: Policy, token: CancelToken, proposal: Proposal, decision: Decision
    ) -> EditResult | Proposal:
        plan = proposal.plan
        decision = simplified(decision, plan)
        match decision:
            case Reject():
                raise Rejected
            case TimedOut(timeout_s):
                raise ApprovalTimedOut(timeout_s=timeout_s)
            case Once() | Always():
                wanted = plan.splices
            case Modify(person_text):
                content = Text(data=plan.snapshot.data, format=plan.format)
                wanted = modified_splices(content, person_text)
            case SomeHunks(hunk_ids):
                wanted = hunk_splices(plan, hunk_ids)
            case _:
                assert_never(decision)
        if not wanted and not plan.creates:
            raise Rejected
        decided = plan if wanted == plan.splices else self._replanned(request, plan, wanted)
        return retry_while_stale(token, lambda: self._commit_decided(request, policy, token, plan, decided))

    def _commit_decided(
        self, request: EditRequest, policy: Policy, token: CancelToken, asked: Plan, decided: Plan
    ) -> EditResult | Proposal:
        """Look again first: whatever moved the file while the person thought is refused there.

        Only this session's own other edits pass. Then the wish still stands, and where it comes to the same lines
        the decision does too; otherwise the person is asked again.
        """
        snapshot = self._look(request, policy.roots)
        if (snapshot.path, snapshot.exists, snapshot.data) == (
            asked.snapshot.path, asked.snapshot.exists, asked.snapshot.data,
        ):  # fmt: skip
            plan = replace(decided, snapshot=snapshot)
            return self._commit(request, plan, token, modified_by_user=decided is not asked)
        again = self._plan(request, snapshot, token)
        is_same_file = snapshot.path == asked.snapshot.path  # a link may lead to another one by now
        if decided is asked and is_same_file and _same_lines(again, asked):
            return self._commit(request, again, token)
        return Proposal(plan=again, question=_question(request, again))

    def _replanned(self, request: EditRequest, plan: Plan, wanted: tuple[Splice, ...]) -> Plan:
        change = unified.change_of(
            plan.snapshot.data, plan.format, wanted,
            file_path=request.file_path, operation="create" if plan.creates else "modify",
            limits=self.settings.limits,
        )  # fmt: skip
        return replace(plan, splices=wanted, change=change)

    # --- commit --------------------------------------------------------------------------------------------

    def _commit(
        self, request: EditRequest, plan: Plan, token: CancelToken, *, modified_by_user: bool = False
    ) -> EditResult:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        edit_id = secrets.token_hex(16)

        def note(committed: Committed) -> None:
            self.freshness.note_write(request.session_id, request.file_path, committed)

        committed = self.fs.replace(plan.snapshot, plan.splices, CommitGuard(token, note))
        timestamp = self.clock.time_ns() / 1e9
        self.journal.record(
            edit_id=edit_id, session_id=request.session_id, given_path=request.file_path, plan=plan,
            committed=committed, timestamp=timestamp,
        )  # fmt: skip
        told = DidEdit(
            file_path=request.file_path,
            session_id=request.session_id,
            timestamp=timestamp,
            content_length=text.count_characters(committed.snapshot.data, plan.format),
            edit_id=edit_id,
        )
        return self._outcome(request, plan, committed, did_edit=told, modified_by_user=modified_by_user)

    def _outcome(
        self,
        request: EditRequest,
        plan: Plan,
        committed: Committed | None,
        *,
        did_edit: DidEdit | None = None,
        modified_by_user: bool = False,
    ) -> EditResult:
        source = committed.snapshot.source if committed else plan.snapshot.source
        nothing_to_write = CommitReport(method="none", durability="not_synced")
        return EditResult(
            output=_success_text(request, plan, modified_by_user=modified_by_user),
            change=plan.change,
            edits=plan.edits,
            is_multi=request.tool == "multi_edit",
            n_replaced=plan.n_replacements,
            created=plan.creates,
            applied_to=source,
            matches=plan.matches,
            match_lines=plan.match_lines,
            modified_by_user=modified_by_user,
            edit_id=did_edit and did_edit.edit_id,
            did_edit=did_edit,
            commit=committed.report if committed else None if request.dry_run else nothing_to_write,
            dry_run=request.dry_run,
        )


def _success_text(request: EditRequest, plan: Plan, *, modified_by_user: bool) -> str:
    if request.tool == "multi_edit":
        output = outputs.multi_edited_text(request.file_path, plan.edits)
    elif plan.creates:
        output = outputs.created_text(request.file_path)
    else:
        output = outputs.edited_text(request.file_path, plan.edits[0], plan.change.snippet)
    output = outputs.with_corrections(output, plan.matches)
    return outputs.with_user_change(output, plan.change.unified) if modified_by_user else output


def _question(request: EditRequest, plan: Plan) -> Question:
    before, fmt = plan.snapshot.data, plan.format
    after = splices.apply(before, plan.splices)
    title, description = outputs.question_texts(request.file_path, plan)
    return Question(
        title=title,
        description=description,
        file_path=request.file_path,
        session_id=request.session_id,
        change=plan.change,
        original_text=shown_text(before, fmt),
        proposed_text=shown_text(after, fmt),
    )


def shown_text(data: bytes, fmt: TextFormat) -> str | None:
    """As a person is shown it; None where it is too long for that."""
    return text.decode(data, fmt) if len(data) <= MAX_SHOWN_BYTES else None


def _same_lines(one: Plan, other: Plan) -> bool:
    """Whether two plans remove and add the same lines, wherever these stand now."""
    return _changed_lines(one) == _changed_lines(other)


def _changed_lines(plan: Plan) -> list[tuple[Literal[" ", "-", "+"], str]]:
    return [(line.kind, line.text) for hunk in plan.change.hunks for line in hunk.lines if line.kind != " "]
