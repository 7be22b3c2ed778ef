"""One edit in a worker thread: read, check, plan, and, unless a user has to approve it, commit.

Owns the order of checks of an edit. A plan that needs a decision is returned as a Proposal, and `resume` continues
with the decision. A text that is not found may be returned as NeedsCorrection, for the client to correct. If the file
changes between the read and the commit, the edit starts again from the read; so a commit always applies to the
content that it was planned on.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken, retry_while_stale
from fileops.core.decision import apply_decision
from fileops.core.presentation.failures import failure_text
from fileops.core.roots import Roots
from fileops.model.approval import Decision
from fileops.model.edits import Plan
from fileops.model.errors import (
    AlreadyExists,
    FileMissing,
    FileOpsError,
    IoFailure,
    NoMatch,
)
from fileops.model.files import Base, Committed, Snapshot
from fileops.model.requests import EditRequest
from fileops.model.results import EditResult
from fileops.model.settings import Settings
from fileops.ports import FileSystem
from fileops.service.commit import Committer
from fileops.service.correction import NeedsCorrection, original_error, unmatched
from fileops.service.edit_plan import EditPlanner
from fileops.service.edit_results import Proposal, changed_lines, proposal_of, result_of
from fileops.service.paths import canonical_path
from fileops.service.policy import Policy
from fileops.tracking.freshness import Freshness

EditStep = EditResult | Proposal | NeedsCorrection


class EditOperation(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    freshness: Freshness
    planner: EditPlanner
    committer: Committer
    settings: Settings

    def start(self, request: EditRequest, policy: Policy, token: CancelToken) -> EditStep:
        """Raises: Cancelled."""
        return self._guarded(
            request, policy, lambda: retry_while_stale(token, lambda: self._start(request, policy, token))
        )

    def resume(
        self, request: EditRequest, policy: Policy, token: CancelToken, proposal: Proposal, decision: Decision
    ) -> EditStep:
        """Continue with a decided proposal. Returns another Proposal if the decision does not fit the present file.

        Raises: Cancelled.
        """
        return self._guarded(request, policy, lambda: self._resume(request, policy, token, proposal.plan, decision))

    def failed(self, request: EditRequest, error: FileOpsError) -> EditResult:
        reported = original_error(request, error)
        return EditResult(
            output=failure_text(reported, request.tool, request.file_path, self.settings.texts),
            error=reported,
            edits=request.edits,
            is_multi=request.tool == "multi_edit",
            dry_run=request.dry_run,
        )

    def _guarded(self, request: EditRequest, policy: Policy, work: Callable[[], EditResult | Proposal]) -> EditStep:
        try:
            return work()
        except FileOpsError as error:
            if policy.can_correct and isinstance(error, NoMatch) and (pending := unmatched(request, error)):
                return pending
            return self.failed(request, error)

    # --- read, check, plan ---------------------------------------------------------------------------------

    def _start(self, request: EditRequest, policy: Policy, token: CancelToken) -> EditResult | Proposal:
        """Raises: Stale, PathMoved."""
        plan = self._planned(request, policy.roots, token)
        has_effect = bool(plan.splices) or plan.creates
        needs_approval = has_effect and policy.needs_decision(plan.snapshot)
        if request.dry_run:
            return result_of(request, plan, None, needs_approval=needs_approval)
        if not has_effect:
            return result_of(request, plan, None)
        if needs_approval:
            return proposal_of(request, plan, policy)
        return self._commit(request, plan, token)

    def _canonical(self, request: EditRequest, roots: Roots | None) -> str:
        try:
            return canonical_path(self.fs, request.file_path, roots)
        except FileMissing as error:
            if request.content is None and not request.wants_new_file:
                raise
            raise IoFailure(reason="no file can have this name", hint="Use another name.") from error

    def _planned(self, request: EditRequest, roots: Roots | None, token: CancelToken) -> Plan:
        """The plan on the present file.

        Raises: Cancelled, Stale, PathMoved, and the failures of reading and of planning.
        """
        snapshot, base = self._read_for_edit(request, roots)
        return self.planner.plan(request, snapshot, base, token)

    def _read_for_edit(self, request: EditRequest, roots: Roots | None) -> tuple[Snapshot, Base | None]:
        """The present file, if this session may edit it. The order of checks is that of docs/PROTOCOL.md.

        The base is returned where the edit has to be rebased: the session does not know all of the present file.
        """
        canonical = self._canonical(request, roots)
        session_id, is_write = request.session_id, request.content is not None

        def refuses_creation(size_bytes: int) -> bool:
            return request.wants_new_file and not (self.settings.fill_empty_files and size_bytes == 0)

        is_tracked = self.freshness.is_tracked(session_id, canonical)
        if not is_tracked and (stamp := self.fs.stat(canonical)) is not None:
            if refuses_creation(stamp.size_bytes):
                raise AlreadyExists
            self.freshness.require_tracked(session_id, canonical)
        snapshot = self.fs.read(canonical)
        if not snapshot.exists:
            if request.wants_new_file or (is_write and not is_tracked):
                return snapshot, None
            if not request.dry_run:
                self.freshness.note_missing(session_id, canonical)
            raise FileMissing
        if refuses_creation(len(snapshot.data)):
            raise AlreadyExists
        if self.settings.freshness == "relevant":
            base = self.freshness.base_of(session_id, snapshot, needs_whole=is_write, dry_run=request.dry_run)
            return snapshot, base
        self.freshness.require_fresh(
            session_id, snapshot,
            needs_whole=is_write, same_bytes_suffice=self.settings.freshness == "content", dry_run=request.dry_run,
        )  # fmt: skip
        return snapshot, None

    # --- decide --------------------------------------------------------------------------------------------

    def _resume(
        self, request: EditRequest, policy: Policy, token: CancelToken, asked: Plan, decision: Decision
    ) -> EditResult | Proposal:
        decided = apply_decision(asked, decision, file_path=request.file_path, limits=self.settings.limits)
        return retry_while_stale(token, lambda: self._commit_decided(request, policy, token, asked, decided))

    def _commit_decided(
        self, request: EditRequest, policy: Policy, token: CancelToken, asked: Plan, decided: Plan
    ) -> EditResult | Proposal:
        """Read the file again first: a change that another program made during the question is refused there.

        Only this session's own other edits pass. If the request then changes the same lines, the decision is valid
        for it too. Otherwise the user is asked again.
        """
        snapshot, base = self._read_for_edit(request, policy.roots)
        if (snapshot.path, snapshot.exists, snapshot.data) == (
            asked.snapshot.path, asked.snapshot.exists, asked.snapshot.data,
        ):  # fmt: skip
            plan = replace(decided, snapshot=snapshot, rebased=None if base is None else decided.rebased)
            return self._commit(request, plan, token, modified_by_user=decided is not asked)
        replanned = self.planner.plan(request, snapshot, base, token)
        is_same_file = snapshot.path == asked.snapshot.path  # a link may lead to another one by now
        if decided is asked and is_same_file and changed_lines(replanned) == changed_lines(asked):
            return self._commit(request, replanned, token)
        return proposal_of(request, replanned, policy)

    def _commit(
        self, request: EditRequest, plan: Plan, token: CancelToken, *, modified_by_user: bool = False
    ) -> EditResult:
        """Raises: Stale, PathMoved, Cancelled and the failures of writing."""
        is_known_whole = plan.creates or request.content is not None
        rebased, shown, changed_by = plan.rebased, None, "external"
        if rebased is not None:
            from fileops.core.merge.relevance import shown_after

            changed_by = rebased.changed_by
            shown = shown_after(rebased.shown, plan.snapshot.data, plan.splices)

        def note(committed: Committed) -> None:
            self.freshness.note_write(
                request.session_id, request.file_path, committed,
                is_known_whole=is_known_whole, shown=shown, changed_by=changed_by,
            )  # fmt: skip

        edit = self.committer.commit(
            plan, token, file_path=request.file_path, session_id=request.session_id, on_committed=note
        )
        return result_of(request, plan, edit, modified_by_user=modified_by_user)
