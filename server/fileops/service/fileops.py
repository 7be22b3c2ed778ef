"""FileOps: what the daemon does for one client, without a wire. Owns the order of steps of a request.

Each step of a request waits for the lock of its path and runs once in a worker thread for all disk work. If a step
needs a decision or a correction, it returns a question. The client is asked while nothing is locked, and the answer
leads to the next step. A cancel before the commit leaves everything unchanged; after it the caller gets the result.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency import shares
from fileops.concurrency.cancellation import CancelToken
from fileops.core.roots import Roots, is_inside
from fileops.model.approval import Always, ApprovalRequest, Decision, SomeHunks
from fileops.model.errors import FileOpsError
from fileops.model.events import ApprovalModeChanged, DidRead
from fileops.model.history import AppliedEdit
from fileops.model.requests import EditRequest, HistoryRequest, ReadRequest, UndoRequest
from fileops.model.results import AgentEditRange, EditResult, ForeignChange, ReadResult, UndoResult
from fileops.model.settings import ApprovalMode, Settings
from fileops.ports import (
    Approver,
    CommandApprover,
    Corrector,
    EventSink,
    ExecutorChoice,
)
from fileops.service.correction import NeedsCorrection, with_proposal
from fileops.service.edit import EditOperation, Proposal
from fileops.service.policy import Policy
from fileops.service.read import ReadOperation
from fileops.service.session_files import SessionFiles
from fileops.service.sessions import OpenSession, OpenSessions
from fileops.service.undo import PendingUndo, UndoOperation
from fileops.service.workspace import Workspace
from fileops.telemetry.calls import Calls, Sink, excluded, note_outcome
from fileops.telemetry.stats import Statistics
from fileops.tracking.freshness import TrackedFile

if TYPE_CHECKING:
    from fileops.service.commands import CommandRunner
    from fileops.telemetry.stats import StatsOutcome


def _nothing() -> None: ...


class ClientAdapters(Struct, frozen=True, kw_only=True):
    """The adapters of one client. on_closed: called once the client's part has been closed."""

    approver: Approver
    events: EventSink
    corrector: Corrector | None = None
    sinks: tuple[Sink, ...] = ()  # of measured calls
    executor_at: ExecutorChoice | None = None
    command_approver: CommandApprover | None = None
    on_closed: Callable[[], None] = _nothing


class FileOps:
    """One client's view of a workspace: its settings, folders, approval modes, approver, corrector and events.

    All methods belong to the event loop. Failures of a tool are results; only cancellation is raised.
    """

    def __init__(
        self,
        workspace: Workspace,
        client: ClientAdapters,
        settings: Settings,
        workspace_folders: Iterable[str] = (),
    ) -> None:
        self.settings = settings
        self._workspace, self._client = workspace, client
        fs, freshness = workspace.fs, workspace.freshness
        self._reader = ReadOperation(fs, freshness, settings)
        self._editor = EditOperation(fs=fs, freshness=freshness, committer=workspace.committer, settings=settings)
        self._undoer = UndoOperation(
            fs=fs, freshness=freshness, events=client.events, committer=workspace.committer, settings=settings,
            history=workspace.history,
        )  # fmt: skip
        self._stats = Statistics(workspace.clock.time_ns())
        self.calls = Calls((self._stats, *client.sinks))
        self._path_locks, self._workers = workspace.path_locks, workspace.workers
        self._modes: dict[str, ApprovalMode] = {}
        self._sessions = OpenSessions()
        self.files = SessionFiles(fs=fs, freshness=freshness, workers=self._workers, path_locks=self._path_locks)
        self._roots: Roots | None = None  # None: nothing is confined
        # As given -> canonical, of the folders that are open; None while a mapped host is asked where one leads.
        self._canonical_folders: dict[str, str | None] = {}
        self._resolving: set[asyncio.Task[None]] = set()
        self.folders: tuple[str, ...] = ()  # as given and canonical, for showing paths relative to them
        self.set_folders(workspace_folders)
        self._on_work_waits: Callable[[], None] = _nothing
        self.bash = self._new_command_runner()  # None if commands are not served

    def _new_command_runner(self) -> "CommandRunner | None":
        client = self._client
        if client.executor_at is None or client.command_approver is None:
            return None
        from fileops.service.commands import CommandRunner

        return CommandRunner(
            executor_at=client.executor_at, approver=client.command_approver, mode_of=self.approval_mode,
            sessions=self._sessions, folders=lambda: self.folders, default_cwd=_own_folder(),
            recheck=self._workspace.freshness.sweep,
        )  # fmt: skip

    # --- the tools -----------------------------------------------------------------------------------------

    def read_at_once(self, request: ReadRequest) -> ReadResult | None:
        """The result of `read` if neither a path lock nor the disk has to be waited for, else None."""
        if not self._path_locks.is_free(request.file_path) or self._unresolved_above(request.file_path):
            return None
        result = self._reader.read_cached(request, self._read_roots)
        if result is not None:
            self._note_read(request, result)
        return result

    async def read(self, request: ReadRequest) -> ReadResult:
        token, session = CancelToken(), self._sessions.get(request.session_id)
        await self._resolve_above(request.file_path)
        roots, path = self._read_roots, request.file_path
        async with self._path_locks.acquire(path, shared=True):
            result = await self._workers.run(token, lambda: self._reader.read(request, roots, token), path)
        self._note_read(request, result, session)
        return result

    def _note_read(self, request: ReadRequest, result: ReadResult, session: OpenSession | None = None) -> None:
        """Record a finished read. session: the one that asked, if it may have been closed since."""
        note_outcome(result)
        if result.error is not None:
            return
        if session is not None and session.is_closed:
            self.files.unsee(request.session_id, request.file_path)
            return
        now = self._workspace.now()
        self.files.ledger.note_read(request.session_id, request.file_path, now)
        self._client.events.publish(
            DidRead(
                file_path=request.file_path,
                session_id=request.session_id,
                timestamp=now,
                size=result.size_bytes or 0,
                modified=(result.mtime_ns or 0) / 1e9,
            )
        )

    async def edit(self, request: EditRequest) -> EditResult:
        """Both `edit` and `multi_edit`."""
        token, session = CancelToken(), self._sessions.get(request.session_id)
        await self._resolve_above(request.file_path)
        step = partial(self._editor.start, request)
        while True:
            policy = self._policy(request.session_id, session)
            async with self._path_locks.acquire(request.file_path, shared=False):
                result = await self._workers.run(token, partial(step, policy, token), request.file_path)
            match result:
                case Proposal():
                    decision = await self._ask(result.question, request.session_id, session)
                    step = partial(self._editor.resume, request, proposal=result, decision=decision)
                case NeedsCorrection():
                    corrected = await self._corrected(request, result)
                    if corrected is None:
                        result = self._editor.failed(request, result.error)
                        break
                    request = corrected
                    step = partial(self._editor.start, request)
                case EditResult():
                    break
        note_outcome(result)
        if session.is_closed:
            self.files.unsee(request.session_id, request.file_path)
        else:
            self.files.note_edit(request, result, self._workspace.now())
        if result.did_edit is not None:
            self._client.events.publish(result.did_edit)
        return result

    async def _corrected(self, request: EditRequest, unmatched: NeedsCorrection) -> EditRequest | None:
        """The request with the strings that the client's model proposes; None if it proposes nothing."""
        corrector = self._client.corrector
        with excluded():
            proposal = None if corrector is None else await corrector.correct(unmatched.question)
        return None if proposal is None else with_proposal(request, unmatched.error, proposal)

    async def _ask(self, question: ApprovalRequest, session_id: str | None, session: OpenSession) -> Decision:
        """The user's decision. If it approves the rest too, the session is asked no more."""
        with excluded():
            decision = await self._client.approver.decide(question)
        if _approves_rest(decision) and session_id is not None and not session.is_closed:
            self._stop_asking(session_id)
        return decision

    async def tracked(self, session_id: str) -> tuple[TrackedFile, ...]:
        """What the session has read, with its present state, in the order of first reading."""
        return await self._workers.run(CancelToken(), lambda: self._workspace.freshness.tracked(session_id))

    async def foreign_changes(self, session_id: str) -> tuple[ForeignChange, ...]:
        """What others changed in files that the session has read and may still read."""
        roots = self._read_roots
        changes = await self._workers.run(CancelToken(), lambda: self._workspace.freshness.foreign_changes(session_id))
        return tuple(change for change in changes if roots is None or roots.contains(change.path))

    # --- a session's files -----------------------------------------------------------------------------------

    async def record_read(self, request: ReadRequest) -> ReadResult:
        """Record that the agent has seen the whole present file by other means."""
        session = self._sessions.get(request.session_id)
        await self._resolve_above(request.file_path)
        result = await self.files.record_read(request, self._read_roots)
        self._note_read(request, result, session)
        return result

    async def find_line(self, file_path: str, old_string: str, session_id: str) -> int | None:
        """The line of the first occurrence, in a file that the session has read and may edit."""
        await self._resolve_above(file_path)
        return await self.files.find_line(session_id, file_path, old_string, self._edit_roots)

    # --- history -------------------------------------------------------------------------------------------

    async def history(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Newest first."""
        return await self._workers.run(CancelToken(), lambda: self._workspace.edit_history.edits(request))

    async def undo(self, request: UndoRequest) -> UndoResult:
        by_session = request.by_session
        token, session = CancelToken(), self._sessions.get(by_session or "")
        step, approves_rest = partial(self._undoer.start, request), False
        while True:
            policy = self._policy(by_session or "", session)
            if approves_rest and policy.mode == "default":
                policy = replace(policy, mode="auto_edit")
            result = await self._workers.run_apart(token, partial(step, policy, token))
            if not isinstance(result, PendingUndo):
                break
            decision = await self._ask(result.question, by_session, session)
            approves_rest = approves_rest or _approves_rest(decision)
            step = partial(self._undoer.resume, request, pending=result, decision=decision)
        note_outcome(result)
        if session.is_closed and by_session is not None:
            for file in result.files:
                self.files.unsee(by_session, file.file_path)
        return result

    async def agent_ranges(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """The present line ranges that agents have written, newest edit first."""
        return await self._workers.run(CancelToken(), lambda: self._workspace.edit_history.agent_ranges(file_path))

    # --- statistics ----------------------------------------------------------------------------------------

    async def stats(self, session_id: str | None) -> "StatsOutcome":
        """Statistics of one session; None: of all sessions together, closed ones included."""
        edits = await self.history(HistoryRequest(session_id=session_id))
        since = self._stats.since_ns / 1e9
        n_undone = sum(edit.undone_by is not None and not edit.undoes and edit.timestamp >= since for edit in edits)
        return self._stats.outcome(session_id, n_undone)

    # --- sessions, folders, modes --------------------------------------------------------------------------

    def approval_mode(self, session_id: str) -> ApprovalMode:
        return self._modes.get(session_id, self.settings.approval_mode)

    def set_approval_mode(self, session_id: str, mode: ApprovalMode) -> None:
        if mode != self.approval_mode(session_id):
            self._modes[session_id] = mode
            self._client.events.publish(ApprovalModeChanged(session_id=session_id, mode=mode))

    def _stop_asking(self, session_id: str) -> None:
        if self.approval_mode(session_id) == "default":
            self.set_approval_mode(session_id, "auto_edit")

    def close_session(self, session_id: str) -> None:
        """Forget what this session has read and was granted; requests in progress leave no trace of it either."""
        self._sessions.close(session_id)
        self._modes.pop(session_id, None)
        if self.bash is not None:
            self.bash.forget(session_id)
        self.files.reset(session_id)
        self._stats.drop_session(session_id)

    def set_folders(self, workspace_folders: Iterable[str]) -> None:
        """Set the folders that are open from now on (absolute paths); the `roots` of the settings always count.

        Confinement never loosens: once there was a folder, having none leaves everything outside. A folder is
        resolved when it is opened and not later, since it may have been replaced by a link by then. A
        folder of a mapped host contains nothing until the host has answered.
        """
        folders = (*workspace_folders, *self.settings.roots)
        before = self._canonical_folders
        self._canonical_folders = {folder: before.get(folder) or self._canonical_at_once(folder) for folder in folders}
        self._folders_resolved()
        for folder in (folder for folder, canonical in self._canonical_folders.items() if canonical is None):
            task = asyncio.get_running_loop().create_task(self._resolve(folder))
            self._resolving.add(task)  # the loop alone would let it go
            task.add_done_callback(self._resolving.discard)

    def _folders_resolved(self) -> None:
        canonical = [folder for folder in self._canonical_folders.values() if folder is not None]
        if self._canonical_folders or self._roots is not None:
            self._roots = Roots.of(canonical)
        self.folders = tuple(dict.fromkeys((*self._canonical_folders, *canonical)))

    def _canonical_at_once(self, folder: str) -> str | None:
        """None if a mapped host has to be asked."""
        try:
            with shares.waiting_for_disk_only():
                return self._canonical(folder)
        except shares.NeedsShare:
            return None

    async def _resolve(self, folder: str) -> None:
        canonical = await self._workers.run(CancelToken(), lambda: self._canonical(folder), folder)
        if self._canonical_folders.get(folder, "") is None:  # neither closed nor resolved since
            self._canonical_folders[folder] = canonical
            self._folders_resolved()

    def _unresolved_above(self, file_path: str) -> list[str]:
        return [
            folder
            for folder, canonical in self._canonical_folders.items()
            if canonical is None and is_inside(folder, file_path)
        ]

    async def _resolve_above(self, file_path: str) -> None:
        """Resolve the folders that were opened before this request, which needs the same host anyway."""
        for folder in self._unresolved_above(file_path):
            await self._resolve(folder)

    def _canonical(self, folder: str) -> str:
        """The folder, resolved if possible. Otherwise it contains nothing, but the client still gets confinement."""
        try:
            return self._workspace.fs.resolve(folder)
        except FileOpsError:
            return folder

    def close(self) -> None:
        """End the client's commands, then what `on_closed` ends; requests that have begun to commit finish there."""
        if self.bash is not None:
            self.bash.close()
        self._client.on_closed()
        self._workers.on_moved.discard(self._on_work_waits)
        self.calls.close()

    @property
    def n_elsewhere(self) -> int:
        """See Workspace.n_elsewhere."""
        return self._workspace.n_elsewhere

    def when_work_waits(self, call: Callable[[], None]) -> None:
        """Call `call` each time `n_elsewhere` has become larger."""
        self._workers.on_moved.discard(self._on_work_waits)
        self._on_work_waits = call
        self._workers.on_moved.add(call)

    @property
    def _read_roots(self) -> Roots | None:
        return self._roots if self.settings.confine == "all" else None

    @property
    def _edit_roots(self) -> Roots | None:
        return None if self.settings.confine == "off" else self._roots

    def _policy(self, session_id: str, session: OpenSession) -> Policy:
        corrector = self._client.corrector
        return Policy(
            roots=self._edit_roots,
            mode=self.settings.approval_mode if session.is_closed else self.approval_mode(session_id),
            can_ask=self._client.approver.can_ask,
            can_correct=self.settings.correction and corrector is not None and corrector.can_ask,
        )


def _approves_rest(decision: Decision) -> bool:
    return isinstance(decision, Always) or (isinstance(decision, SomeHunks) and decision.is_always)


def _own_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return "/"
