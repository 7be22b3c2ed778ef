"""Plans one edit on the present content of its file, and has the plan validated.

Under `freshness: "relevant"` the content may have changed since the session was shown it; then the request is planned
on what it was shown, and the plan is carried over the changes, if they are not relevant to it.
"""

from dataclasses import replace as with_data
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import plan as planning
from fileops.core import text, validation
from fileops.core.diff.unified import change_of
from fileops.model.edits import Plan, Rebased, Relevance
from fileops.model.errors import BinaryFile, NotebookFile
from fileops.model.files import Base, Snapshot
from fileops.model.requests import EditRequest
from fileops.model.settings import Settings
from fileops.tracking.freshness import Freshness

if TYPE_CHECKING:
    from fileops.core.merge.relevance import Replanned


class EditPlanner(Struct, frozen=True, kw_only=True):
    freshness: Freshness
    settings: Settings

    def plan(self, request: EditRequest, snapshot: Snapshot, base: Base | None, token: CancelToken) -> Plan:
        """The plan on `snapshot`. base: what the session knows of the file, if that is not all of `snapshot`.

        Raises: Cancelled, ValidationFailed, ModifiedExternally (a change is relevant), Stale, BinaryFile,
            NotebookFile, and what `core.plan.plan` raises.
        """
        plan = self._plan(request, snapshot, token) if base is None else self._replan(request, snapshot, base, token)
        validation.require_valid(self.settings.validators, plan)
        return plan

    def _replan(self, request: EditRequest, snapshot: Snapshot, base: Base, token: CancelToken) -> Plan:
        """Raises: ModifiedExternally, Stale, Cancelled."""
        from fileops.core.merge import relevance
        from fileops.tracking.content_cache import diff_between

        changed_by = self.freshness.changed_by(request.session_id, snapshot)
        if request.content is None:
            outcome = relevance.replan(base, snapshot, lambda content: self._plan(request, content, token))
        else:
            outcome = self._replan_write(request, snapshot, base, token)
        if isinstance(outcome, Relevance):
            raise self.freshness.refusal(request.session_id, snapshot, outcome, dry_run=request.dry_run)
        shown = base.shown or b""
        rebased = Rebased(
            changed_by=changed_by,
            ranges=outcome.ranges,
            diff=diff_between(shown, snapshot.data, request.file_path),
            shown=shown,
        )
        return replace(outcome.plan, rebased=rebased)

    def _replan_write(
        self, request: EditRequest, snapshot: Snapshot, base: Base, token: CancelToken
    ) -> "Replanned | Relevance":
        """The new text was made of what the session was shown, so its changes are those to that."""
        from fileops.core.merge import relevance

        if base.shown is None:
            return Relevance(reason="no_base")
        then = self._plan(request, with_data(snapshot, data=base.shown), token)
        shown = Base(content=base.shown, shown=base.shown)
        carried = relevance.carry(shown, snapshot.data, then.splices, margin_lines=0)
        if isinstance(carried, Relevance):
            return carried
        change = change_of(
            snapshot.data, then.format, carried.splices,
            file_path=request.file_path, operation="modify", limits=self.settings.limits, check=token.check,
        )  # fmt: skip
        plan = replace(then, snapshot=snapshot, splices=carried.splices, change=change)
        return relevance.Replanned(plan=plan, ranges=carried.ranges)

    def _plan(self, request: EditRequest, snapshot: Snapshot, token: CancelToken) -> Plan:
        """Raises: Cancelled, and what `core.plan.plan` raises."""
        fmt = text.detect_format(snapshot.data)
        if snapshot.exists:
            if text.is_binary(snapshot.data, fmt):
                raise BinaryFile
            if self.settings.notebooks == "refuse" and snapshot.path.lower().endswith(".ipynb"):
                raise NotebookFile
        if request.content is not None:
            return planning.plan_write(
                snapshot, fmt, request.content, limits=self.settings.limits, file_path=request.file_path,
                check=token.check,
            )  # fmt: skip
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
