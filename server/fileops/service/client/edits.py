"""The applied edits that one client may see and undo; an agent only its own.

Belongs to the event loop; worker threads do the work.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import structs
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers
from fileops.core.decision import always_of
from fileops.model.history import AppliedEdit
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import AgentEditRange, UndoResult
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.model.settings import Settings
from fileops.model.statistics import StatsResult
from fileops.ports import FileSystem
from fileops.service.carry_out import Pending
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.approval import ClientApproval
from fileops.service.session_files import SessionFiles
from fileops.service.undo import UndoOperation
from fileops.service.workspace import Workspace
from fileops.telemetry.calls import note_outcome
from fileops.telemetry.stats import Statistics
from fileops.tracking.reports import IsHidden

if TYPE_CHECKING:
    from fileops.service.rewind.lineage import Lineages


class ClientEdits:
    def __init__(
        self,
        workspace: Workspace,
        client: ClientAdapters,
        settings: Settings,
        *,
        approval: ClientApproval,
        files: SessionFiles,
        workers: SharedWorkers,
        stats: Statistics,
        fs: FileSystem,
        is_hidden: IsHidden,
    ) -> None:
        """Args: stats: of the calls that this client may see. fs, is_hidden: the files that it may read."""
        self._workspace = workspace
        self._names = client.names
        self.is_agent = client.is_agent
        self._approval = approval
        self._files = files
        self._workers = workers
        self._stats = stats
        self._is_hidden = is_hidden
        undoer = UndoOperation(
            fs=fs,
            freshness=workspace.freshness,
            events=client.events,
            committer=workspace.committer,
            settings=settings,
            history=workspace.history,
            may_undo=self._may_undo,
            is_of_session=self._is_of_session,
            person=client.person,
        )
        self.undoer = undoer
        self._undoer_of_user = structs.replace(undoer, fs=workspace.fs)

    async def history(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Return the history, newest first.

        An agent sees only its own edits, and none of files that it must not read.
        """

        def look() -> tuple[AppliedEdit, ...]:
            shown = (edit for edit in self._own_edits(request) if not self._is_hidden(edit.path, edit.file_path))
            return tuple(islice(shown, request.limit))

        return await self._workers.run(CancelToken(), look)

    def _own_edits(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Return the edits that this client's sessions allow it to see, and all edits. Newest first."""
        edits = self._workspace.edit_history.edits(replace(request, limit=None))
        return tuple(filter(self._may_undo, edits)) if self.is_agent else edits

    async def undo(self, request: UndoRequest) -> UndoResult:
        if self.is_agent:  # it cannot approve anything itself
            request = replace(request, is_approved=False)
        by_session = request.by_session
        await self._approval.know_folders()
        token, session = CancelToken(), self._workspace.sessions.get(by_session or NO_SESSION)
        is_of_user = request.is_approved and by_session is None
        undoer = self._undoer_of_user if is_of_user else self.undoer
        engine = structs.replace(undoer, lineages=await self._lineages()).of(request)
        step, is_rest_approved = engine.start, False
        asking, waiting = self._approval.asking(by_session, session), tuple[int, ...]()
        with ExitStack() as reviews:
            while True:
                policy = self._approval.policy(by_session or NO_SESSION, session)
                if is_rest_approved and policy.mode == "default":
                    policy = replace(policy, mode="auto_edit")
                result = await self._workers.run_apart(token, partial(step, policy, token))
                if not isinstance(result, Pending):
                    asking.settle(result.error)
                    break
                if waiting not in {(), result.waiting}:  # each file has its own review, one after another
                    reviews.close()
                    asking = self._approval.asking(by_session, session)
                waiting = result.waiting
                reviews.enter_context(asking)
                decision = await asking.decide(result.question)
                is_rest_approved = is_rest_approved or always_of(decision) is not None
                step = partial(engine.resume, pending=result, decision=decision)
        note_outcome(result)
        if by_session is not None:
            self._files.note_undo(by_session, result.files)
            if session.is_closed:
                for file in result.files:
                    self._files.drop_record(by_session, file.file_path)
        return result

    async def _lineages(self) -> "Callable[[], Lineages] | None":
        """Return what follows a file to its current name, for one query of the record as it is now."""
        store = await self._workspace.record()
        if store is None or self._workspace.recorder is None:
            return None
        from fileops.service.rewind.lineage import Lineages, follows_all

        await self._workspace.recorder.flush()
        return lambda: Lineages(store, follows_all)

    def _may_undo(self, edit: AppliedEdit) -> bool:
        return not self.is_agent or (self._names.is_own(edit.session_id) and self._is_of_session(edit))

    def _is_of_session(self, edit: AppliedEdit) -> bool:
        """Return whether the edit belongs to the session that has this name now, not to one of an earlier daemon."""
        return self._names.lasts(edit.session_id) or not self._workspace.history.is_earlier(edit)

    async def agent_ranges(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """Return the current line ranges that agents have written, newest edit first."""
        return await self._workers.run(CancelToken(), lambda: self._workspace.edit_history.agent_ranges(file_path))

    async def stats(self, session_id: SessionName | None) -> StatsResult:
        """Return the statistics of one session; None: of all sessions together, including closed ones."""
        edits = await self._workers.run(CancelToken(), lambda: self._own_edits(HistoryRequest(session_id=session_id)))
        since = self._stats.since_ns / 1e9
        n_undone = sum(edit.undone_by is not None and not edit.undoes and edit.timestamp >= since for edit in edits)
        return self._stats.result(session_id, n_undone)
