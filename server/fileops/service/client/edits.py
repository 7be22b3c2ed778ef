"""The applied edits that one client may see and undo; an agent only its own.

Belongs to the event loop; worker threads do the work.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers
from fileops.core.decision import always_of
from fileops.model.errors import FileOpsError
from fileops.model.history import AppliedEdit
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import AgentEditRange, UndoResult
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.model.settings import Settings
from fileops.model.statistics import StatsResult
from fileops.ports import FileSystem
from fileops.record.history import Look
from fileops.service.carry_out import Pending
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.approval import ClientApproval
from fileops.service.session_files import SessionFiles
from fileops.service.workspace import Workspace
from fileops.telemetry.calls import note_outcome
from fileops.telemetry.stats import Statistics
from fileops.tracking.reports import IsHidden

if TYPE_CHECKING:
    from fileops.service.undo import UndoOperation


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
        self._client = client
        self._settings = settings
        self._fs = fs

    def _undoer(self, fs: FileSystem) -> "UndoOperation":
        from fileops.service.undo import UndoOperation

        workspace = self._workspace
        return UndoOperation(
            fs=fs,
            freshness=workspace.freshness,
            events=self._client.events,
            committer=workspace.committer,
            settings=self._settings,
            history=workspace.history,
            may_undo=self._may_undo,
            is_of_session=self._is_of_session,
            person=self._client.person,
        )

    async def history(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Return the history, newest first.

        An agent sees only its own edits, and none of files that it must not read.
        """

        def work() -> tuple[AppliedEdit, ...]:
            shown = (edit for edit in self._own_edits(request) if not self._is_hidden(edit.path, edit.file_path))
            return tuple(islice(shown, request.limit))

        return await self._workers.run(CancelToken(), work)

    def _own_edits(self, request: HistoryRequest) -> Iterator[AppliedEdit]:
        """The edits that this client may know of, as far as sessions decide that; all of them. Newest first."""
        path = None
        if request.file_path is not None:
            try:
                path = self._workspace.fs.resolve(request.file_path)
            except FileOpsError:
                return
        look = self._workspace.history.look()
        for edit in look.edits(path=path, session_id=request.session_id):
            if self._may_undo(look, edit):
                yield edit

    async def undo(self, request: UndoRequest) -> UndoResult:
        if self.is_agent:  # it cannot approve anything itself
            request = replace(request, is_approved=False)
        by_session = request.by_session
        await self._approval.know_folders()
        token, session = CancelToken(), self._workspace.sessions.get(by_session or NO_SESSION)
        is_of_user = request.is_approved and by_session is None
        engine = self._undoer(self._workspace.fs if is_of_user else self._fs).of(request)
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

    def _may_undo(self, look: Look, edit: AppliedEdit) -> bool:
        return not self.is_agent or (self._names.is_own(edit.session_id) and self._is_of_session(look, edit))

    def _is_of_session(self, look: Look, edit: AppliedEdit) -> bool:
        """Whether the edit is of the session that has this name now, and not of one of an earlier daemon."""
        return self._names.lasts(edit.session_id) or not look.is_earlier(edit)

    async def agent_ranges(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """Return the current line ranges that agents have written, newest edit first."""
        return await self._workers.run(CancelToken(), lambda: self._workspace.edit_history.agent_ranges(file_path))

    async def stats(self, session_id: SessionName | None) -> StatsResult:
        """Statistics of one session; None: of all sessions together, closed ones included."""
        since = self._stats.since_ns / 1e9

        def n_undone() -> int:
            edits = self._own_edits(HistoryRequest(session_id=session_id))
            recent = takewhile(lambda edit: edit.timestamp >= since, edits)
            return sum(edit.undone_by is not None and not edit.is_undo for edit in recent)

        return self._stats.result(session_id, await self._workers.run(CancelToken(), n_undone))
