"""FileOps: what the daemon does, without a wire. The order of steps of a request, nothing else.

Each request waits for its turn at the file, hops once into a worker thread for all disk work, and comes back with
an outcome. Where a person has to be asked, it comes back with a proposal, asks without holding anything, and hops
again. A cancel before the commit leaves everything as it was; later the caller gets the true result.
"""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.path_locks import PathLocks
from fileops.concurrency.workers import SharedWorkers
from fileops.core.roots import Roots
from fileops.history.journal import History
from fileops.model.approval import Always, Decision, SomeHunks
from fileops.model.errors import FileOpsError
from fileops.model.events import ApprovalModeChanged, DidRead
from fileops.model.history import AppliedEdit
from fileops.model.requests import EditRequest, HistoryRequest, ReadRequest, UndoRequest
from fileops.model.results import AgentEditRange, EditResult, ReadResult, UndoResult
from fileops.model.settings import ApprovalMode, Settings
from fileops.ports import (
    Approver,
    Clock,
    CommandApprover,
    Corrector,
    Events,
    ExecutorChoice,
    FileSystem,
)
from fileops.service.correction import NeedsCorrection, with_proposal
from fileops.service.edit import Attempted, Editor, Proposal
from fileops.service.policy import Policy
from fileops.service.read import Reader
from fileops.service.session_files import SessionFiles
from fileops.service.sessions import OpenSession, OpenSessions
from fileops.service.undo import PendingUndo, UndoOperation
from fileops.telemetry.calls import Calls, Sink, note_outcome, waiting
from fileops.telemetry.stats import Statistics
from fileops.tracking.freshness import Freshness, TrackedFile

if TYPE_CHECKING:
    from fileops.service.commands import Bash
    from fileops.service.plugins import Plugins
    from fileops.telemetry.stats import StatsOutcome


T = TypeVar("T")


class World(Struct, frozen=True, kw_only=True):
    """The adapters that a FileOps works with."""

    fs: FileSystem
    freshness: Freshness
    approver: Approver
    events: Events
    clock: Clock
    history: History
    corrector: Corrector | None = None
    sinks: tuple[Sink, ...] = ()  # of measured calls
    executor_at: ExecutorChoice | None = None
    command_approver: CommandApprover | None = None
    plugins: "Plugins | None" = None


class FileOps:
    """All methods belong to the event loop. Failures of a tool are outcomes; only cancellation is raised."""

    def __init__(self, world: World, settings: Settings, workspace_folders: Iterable[str] = ()) -> None:
        self.settings = settings
        self._world = world
        self._reader = Reader(world.fs, world.freshness, settings)
        self._editor = Editor(
            fs=world.fs, freshness=world.freshness, clock=world.clock, settings=settings, journal=world.history,
        )  # fmt: skip
        self._undoer = UndoOperation(
            fs=world.fs, freshness=world.freshness, events=world.events, clock=world.clock, settings=settings,
            history=world.history,
        )  # fmt: skip
        self._stats = Statistics(world.clock.time_ns())
        self.calls = Calls((self._stats, *world.sinks))
        self._path_locks = PathLocks()
        self._modes: dict[str, ApprovalMode] = {}
        self._sessions = OpenSessions()
        self._workers = SharedWorkers()
        self.files = SessionFiles(fs=world.fs, freshness=world.freshness, workers=self._workers, turns=self._path_locks)
        self._roots: Roots | None = None  # None: nothing is confined
        self._canonical_folders: dict[str, str] = {}  # as given -> canonical, of the folders that are open
        self.folders: tuple[str, ...] = ()  # as given and canonical, for showing paths relative to them
        self.set_folders(workspace_folders)
        self.bash = self._new_bash()  # None where commands are not served

    def _new_bash(self) -> "Bash | None":
        world = self._world
        if world.executor_at is None or world.command_approver is None:
            return None
        from fileops.service.commands import Bash

        return Bash(
            executor_at=world.executor_at, approver=world.command_approver, mode_of=self.approval_mode,
            sessions=self._sessions, folders=lambda: self.folders, default_cwd=_own_folder(),
            recheck=world.freshness.sweep,
        )  # fmt: skip

    # --- the tools -----------------------------------------------------------------------------------------

    def read_at_once(self, request: ReadRequest) -> ReadResult | None:
        """`read`, where neither a turn at the file nor the disk has to be waited for; None elsewhere."""
        if not self._path_locks.is_free(request.file_path):
            return None
        outcome = self._reader.read_cached(request, self._read_roots)
        if outcome is not None:
            self._note_read(request, outcome)
        return outcome

    async def read(self, request: ReadRequest) -> ReadResult:
        token, session = CancelToken(), self._sessions.get(request.session_id)
        roots = self._read_roots
        async with self._path_locks.take(request.file_path, shared=True):
            outcome = await self._run_at(request.file_path, token, lambda: self._reader.read(request, roots, token))
        self._note_read(request, outcome, session)
        return outcome

    def _note_read(self, request: ReadRequest, outcome: ReadResult, session: OpenSession | None = None) -> None:
        """session: the one that asked, where it may have been closed since."""
        note_outcome(outcome)
        if outcome.error is not None:
            return
        if session is not None and session.is_closed:
            self.files.unsee(request.session_id, request.file_path)
            return
        now = self._now()
        self.files.ledger.note_read(request.session_id, request.file_path, now)
        self._world.events.publish(
            DidRead(
                file_path=request.file_path,
                session_id=request.session_id,
                timestamp=now,
                size=outcome.size_bytes or 0,
                modified=(outcome.mtime_ns or 0) / 1e9,
            )
        )

    async def edit(self, request: EditRequest) -> EditResult:
        """Both `edit` and `multi_edit`."""
        token, session = CancelToken(), self._sessions.get(request.session_id)
        policy = self._policy(request.session_id, session)
        async with self._path_locks.take(request.file_path, shared=False):
            result = await self._run_at(request.file_path, token, lambda: self._editor.attempt(request, policy, token))
        while not isinstance(result, EditResult):
            if isinstance(result, Proposal):
                result = await self._decide(request, result, token, session)
            else:
                request, result = await self._correct(request, result, token, session)
        note_outcome(result)
        if session.is_closed:
            self.files.unsee(request.session_id, request.file_path)
        else:
            self.files.note_edit(request, result, self._now())
        if result.did_edit is not None:
            self._world.events.publish(result.did_edit)
        return result

    async def _correct(
        self, request: EditRequest, unmatched: NeedsCorrection, token: CancelToken, session: OpenSession
    ) -> tuple[EditRequest, Attempted]:
        """The request in the words that the client's model proposed, and what came of it."""
        corrector = self._world.corrector
        with waiting():
            proposal = None if corrector is None else await corrector.correct(unmatched.question)
        if proposal is None:
            return request, self._editor.failed(request, unmatched.error)
        request = with_proposal(request, unmatched.error, proposal)
        policy = self._policy(request.session_id, session)
        async with self._path_locks.take(request.file_path, shared=False):
            return request, await self._run_at(
                request.file_path, token, lambda: self._editor.attempt(request, policy, token)
            )

    async def _decide(
        self, request: EditRequest, proposal: Proposal, token: CancelToken, session: OpenSession
    ) -> Attempted:
        with waiting():
            decision = await self._world.approver.decide(proposal.question)
        if _approves_rest(decision) and not session.is_closed:
            self._stop_asking(request.session_id)
        policy = self._policy(request.session_id, session)
        async with self._path_locks.take(request.file_path, shared=False):
            return await self._run_at(
                request.file_path, token, lambda: self._editor.settle(request, policy, token, proposal, decision)
            )

    async def _run_at(self, file_path: str, token: CancelToken, work: Callable[[], T]) -> T:
        """In a worker thread, with a turn at the file."""
        return await self._workers.run(token, work, file_path)

    async def tracked(self, session_id: str) -> tuple[TrackedFile, ...]:
        """What the session has read, as it stands now, in the order of first reading."""
        return await self._workers.run(CancelToken(), lambda: self._world.freshness.tracked(session_id))

    # --- a session's files -----------------------------------------------------------------------------------

    async def record_read(self, request: ReadRequest) -> ReadResult:
        """The agent saw the whole file by other means, as it stands now."""
        session = self._sessions.get(request.session_id)
        outcome = await self.files.record_read(request, self._read_roots)
        self._note_read(request, outcome, session)
        return outcome

    async def line_of(self, file_path: str, old_string: str, session_id: str) -> int | None:
        """Where the text first stands, in a file that the session has read and may edit."""
        return await self.files.line_of(session_id, file_path, old_string, self._edit_roots)

    # --- history -------------------------------------------------------------------------------------------

    async def history(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Newest first."""
        return await self._workers.run(CancelToken(), lambda: self._undoer.edits(request))

    async def undo(self, request: UndoRequest) -> UndoResult:
        token, session = CancelToken(), self._sessions.get(request.by_session or "")
        policy = self._policy(request.by_session or "", session)
        result = await self._workers.run_apart(token, lambda: self._undoer.attempt(request, policy, token))
        while isinstance(result, PendingUndo):
            with waiting():
                decision = await self._world.approver.decide(result.question)
            if _approves_rest(decision):
                if request.by_session is not None and not session.is_closed:
                    self._stop_asking(request.by_session)
                request = replace(request, approve_rest=True)
            result = await self._settle_undo(request, result, decision, token, session)
        note_outcome(result)
        if session.is_closed and request.by_session is not None:
            for file in result.files:
                self.files.unsee(request.by_session, file.file_path)
        return result

    async def _settle_undo(
        self, request: UndoRequest, proposal: PendingUndo, decision: Decision, token: CancelToken,
        session: OpenSession,
    ) -> UndoResult | PendingUndo:  # fmt: skip
        policy = self._policy(request.by_session or "", session)
        if request.approve_rest and policy.mode == "default":
            policy = replace(policy, mode="auto_edit")
        return await self._workers.run_apart(
            token, lambda: self._undoer.settle(request, policy, token, proposal, decision)
        )

    async def agent_places(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """Where what agents wrote stands in the file now, newest edit first."""
        return await self._workers.run(CancelToken(), lambda: self._undoer.places(file_path))

    # --- statistics ----------------------------------------------------------------------------------------

    async def stats(self, session_id: str | None) -> "StatsOutcome":
        """None: of all sessions together, closed ones included."""
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
            self._world.events.publish(ApprovalModeChanged(session_id=session_id, mode=mode))

    def _stop_asking(self, session_id: str) -> None:
        if self.approval_mode(session_id) == "default":
            self.set_approval_mode(session_id, "auto_edit")

    def close_session(self, session_id: str) -> None:
        """Forget all that this session has seen and was granted, and what it has asked for and is still to be."""
        self._sessions.close(session_id)
        self._modes.pop(session_id, None)
        if self.bash is not None:
            self.bash.forget(session_id)
        self.files.reset(session_id)
        self._stats.drop_session(session_id)

    def set_folders(self, workspace_folders: Iterable[str]) -> None:
        """The folders that are open from now on (absolute paths); the `roots` of the settings always count.

        Confinement never loosens. Once there was a folder, having none leaves everything outside. Where a folder leads
        is asked when it is opened and not again, since a link may stand in its place by then.
        """
        folders = (*workspace_folders, *self.settings.roots)
        before = self._canonical_folders
        self._canonical_folders = {folder: before.get(folder) or self._canonical(folder) for folder in folders}
        canonical = self._canonical_folders.values()
        if folders or self._roots is not None:
            self._roots = Roots.of(canonical)
        self.folders = tuple(dict.fromkeys((*folders, *canonical)))

    def _canonical(self, folder: str) -> str:
        """A folder that cannot be resolved holds nothing, but it counts: its client asked for confinement."""
        try:
            return self._world.fs.resolve(folder)
        except FileOpsError:
            return folder

    def close(self) -> None:
        """Finish what is being committed, start nothing more."""
        if self.bash is not None:
            self.bash.close()
        if self._world.plugins is not None:
            self._world.plugins.close()  # else a worker would wait for one
        self._workers.close()
        self._world.freshness.close()
        self.calls.close()
        self._world.history.close()

    @property
    def n_elsewhere(self) -> int:
        """Requests that wait for an editor, a mapped host or a plugin, or for their turn behind one that does."""
        return self._workers.n_elsewhere(self._path_locks.n_waiting)

    def when_work_waits(self, call: Callable[[], None]) -> None:
        """call: whenever `n_elsewhere` has become larger."""
        self._workers.on_moved = call

    @property
    def _read_roots(self) -> Roots | None:
        return self._roots if self.settings.confine == "all" else None

    def _now(self) -> float:
        return self._world.clock.time_ns() / 1e9

    @property
    def _edit_roots(self) -> Roots | None:
        return None if self.settings.confine == "off" else self._roots

    def _policy(self, session_id: str, session: OpenSession) -> Policy:
        corrector = self._world.corrector
        return Policy(
            roots=self._edit_roots,
            mode=self.settings.approval_mode if session.is_closed else self.approval_mode(session_id),
            can_ask=self._world.approver.can_ask,
            can_correct=self.settings.correction and corrector is not None and corrector.can_ask,
        )


def _approves_rest(decision: Decision) -> bool:
    return isinstance(decision, Always) or (isinstance(decision, SomeHunks) and decision.is_always)


def _own_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return "/"
