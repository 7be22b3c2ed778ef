"""Rewinds that one client may make: a person of any author, an agent only of itself.

Belongs to the event loop; worker threads do the work. What they need is loaded with the first rewind.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers
from fileops.core.presentation.failures import failure_text
from fileops.core.presentation.rewinds import rewound_text
from fileops.core.roots import is_inside
from fileops.model.errors import NotRecorded
from fileops.model.record import By, BySession, Entry, LogQuery, session_of
from fileops.model.rewind import (
    BlamedLines,
    KeepOutcome,
    KeepRequest,
    RecordItem,
    RewindRequest,
    RewindResult,
    UnkeptResult,
)
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.model.settings import Settings
from fileops.ports import FileSystem
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.approval import ClientApproval
from fileops.service.rewind.items import item_of
from fileops.service.session_files import SessionFiles
from fileops.service.workspace import Workspace
from fileops.telemetry.calls import note_outcome

if TYPE_CHECKING:
    from fileops.record.store import RecordStore
    from fileops.service.rewind.committed import CommittedFiles
    from fileops.service.rewind.operation import RewindOperation
    from fileops.service.rewind.unkept import PlacesCache, UnkeptPlaces

T = TypeVar("T")

_OF_MANY_PROJECTS = {"turn_id", "since_turn", "all_since_turn", "session_id"}  # may span several projects


class ClientRewinds:
    def __init__(
        self,
        workspace: Workspace,
        client: ClientAdapters,
        settings: Settings,
        *,
        approval: ClientApproval,
        files: SessionFiles,
        workers: SharedWorkers,
        fs: FileSystem,
        scope: "Callable[[], tuple[str, ...] | None]",
    ) -> None:
        """Args: fs: the files as the client may read them. scope: the folders of lists and of "all"; None for all."""
        self._workspace = workspace
        self._client = client
        self._settings = settings
        self._approval = approval
        self._files = files
        self._workers = workers
        self._fs = fs
        self._scope = scope
        self._places: PlacesCache = {}
        self._committed: CommittedFiles | None = None

    async def rewind(self, request: RewindRequest) -> RewindResult:
        """Rewind, and ask the user first if necessary. Failures are results; only cancellation is raised."""
        rewinder = await self._operation()
        if rewinder is None:
            error = NotRecorded()
            return RewindResult(output=failure_text(error, "edit", ""), error=error, dry_run=request.dry_run)
        if self._client.is_agent:  # it cannot approve anything itself
            request = replace(request, is_approved=False)
        if not request.paths and request.target.kind in _OF_MANY_PROJECTS:
            request = replace(request, paths=self._scope() or ())
        by_session = request.by_session
        if by_session is None and request.is_approved:
            rewinder = structs.replace(rewinder, fs=self._workspace.fs)
        by = self._author(by_session)
        await self._approval.know_folders()
        token, session = CancelToken(), self._workspace.sessions.get(by_session or NO_SESSION)
        engine = rewinder.of(request, by)
        step = engine.start
        with self._approval.asking(by_session, session) as asking:
            while True:
                policy = self._approval.policy(by_session or NO_SESSION, session)
                result = await self._workers.run_apart(token, partial(step, policy, token))
                if isinstance(result, RewindResult):
                    asking.settle(result.error)
                    break
                decision = await asking.decide(result.question)
                step = partial(engine.resume, pending=result, decision=decision)
        note_outcome(result)
        self._workspace.on_keeping({file.file_path for file in result.files})
        if by_session is not None:
            self._files.note_undo(by_session, result.files)
        elif result.rewind_id is not None:
            for session_id, n_changes in result.sessions:
                self._workspace.activity.note_rewound(session_id, n_changes, request.reason)
        return result

    def take_notices(self, session_id: SessionName) -> list[str]:
        """Return, once, what a session should know about rewinds by people."""
        by_reason = self._workspace.activity.take_rewound(session_id)
        label = self._workspace.committer.label_of(session_id)
        return [rewound_text(n_changes, label, reason) for reason, n_changes in by_reason.items()]

    async def newest_turn(self, session_id: SessionName) -> str | None:
        """Return the session's newest turn with changes to undo; None if there is none or nothing is recorded.

        A turn that only undid others is skipped, unless it is the current one: what was undone in it is all that its
        prompt asked for, and a repeated call must not go further back.
        """
        store = await self._workspace.record()
        if store is None:
            return None

        def look() -> str | None:
            self._workspace.settle_record()
            for number, counted in enumerate(store.turns(session_ids=(session_id,))):
                turn_id = counted.turn.turn_id
                entries, _ = store.entries(LogQuery(turn_id=turn_id, in_force=True))
                if any(not entry.is_undo for entry in entries) or (number == 0 and entries):
                    return turn_id
            return None

        return await self._workers.run_apart(CancelToken(), look)

    # --- what is not kept yet, and who wrote what ------------------------------------------------------------------

    async def blame(self, file_path: str) -> "list[BlamedLines]":
        """Return who last changed each line. Raises: NotRecorded and the failures of reading."""
        from fileops.service.rewind.blame import blame

        return await self._run(lambda places: blame(places.store, places.fs, file_path))

    async def unkept(
        self,
        file_path: str | None,
        session_id: SessionName | None,
        turn_id: str | None,
        *,
        root: str | None = None,
    ) -> UnkeptResult:
        """Return what this client's user has not accepted yet, in a file, a folder (root), or the client's folders.

        Raises: NotRecorded and the failures of resolving.

        It does not wait for authors that are still uncertain: a later list includes them.
        """

        def look(places: "UnkeptPlaces") -> UnkeptResult:
            path = None if file_path is None else places.fs.resolve(file_path)
            folders = self._scope() if root is None else (places.fs.resolve(root),)
            return places.find(path, folders=folders, session_id=session_id, turn_id=turn_id)

        if self._workspace.recorder is not None:
            await self._workspace.recorder.flush()
        return await self._run(look, is_settled=True)

    async def keep(self, request: KeepRequest) -> KeepOutcome:
        """Accept changes. Raises: as `unkept`."""

        def work(places: "UnkeptPlaces") -> KeepOutcome:
            path = None if request.file_path is None else places.fs.resolve(request.file_path)
            with self._workspace.deciding:
                self._workspace.settle_record()
                outcome = places.keep(replace(request, file_path=path, folders=self._scope()))
            self._workspace.on_keeping(outcome.paths)
            return outcome

        return await self._run(work, is_settled=True)

    async def undo_keep(self, keep_id: str) -> KeepOutcome:
        """Undo a keep. Raises: NotRecorded, UnknownTarget."""

        def work(places: "UnkeptPlaces") -> KeepOutcome:
            with self._workspace.deciding:
                self._workspace.settle_record()
                outcome = places.undo_keep(keep_id)
            self._workspace.on_keeping(outcome.paths)
            return outcome

        return await self._run(work, is_settled=True)

    async def forget(self, file_path: str | None) -> int:
        """Delete what is recorded of a file or folder; None: of everything. Raises: as `unkept`."""
        recorder = self._workspace.recorder
        if recorder is None:
            raise NotRecorded

        def work(places: "UnkeptPlaces") -> int:
            path = None if file_path is None else places.fs.resolve(file_path)
            unkept = {known for known in places.store.unkept_paths() if path is None or is_inside(path, known)}
            n_entries = recorder.forget(path)
            self._workspace.history.forget(path)
            self._workspace.on_keeping(unkept)
            return n_entries

        return await self._run(work)

    async def item(self, beginning: str) -> RecordItem:
        """Return what the id prefix stands for. Raises: NotRecorded, UnknownTarget."""
        return await self._run(lambda places: item_of(places.store, beginning))

    async def _run(self, work: "Callable[[UnkeptPlaces], T]", *, is_settled: bool = False) -> T:
        """Work on the record after everything written so far has been added. Raises: NotRecorded.

        Args: is_settled: the record need not be waited for, or the work itself waits.
        """
        from fileops.service.rewind.unkept import UnkeptPlaces

        store = await self._workspace.record()
        if store is None:
            raise NotRecorded
        places = UnkeptPlaces(store, self._workspace.fs, self._client.version_of, self._places, self._committed_files())

        def settled() -> T:
            if not is_settled:
                self._workspace.settle_record()
            return work(places)

        return await self._workers.run_apart(CancelToken(), settled)

    def _committed_files(self) -> "CommittedFiles | None":
        from fileops.service.rewind.committed import CommittedFiles

        recorder = self._workspace.recorder
        if self._settings.keep_committed and self._committed is None and recorder is not None:
            self._committed = CommittedFiles(recorder.text_of)
        return self._committed

    # --- helpers -----------------------------------------------------------------------------------------------

    async def _operation(self) -> "RewindOperation | None":
        from fileops.service.rewind.operation import RewindOperation

        workspace = self._workspace
        store = await workspace.record()
        if store is None:
            return None
        return RewindOperation(
            fs=self._fs, freshness=workspace.freshness, events=self._client.events,
            committer=workspace.committer, settings=self._settings, history=workspace.history, store=store,
            may_rewind=partial(self._may_rewind, store), settle=workspace.settle_record,
            deciding=workspace.deciding, person=self._client.person,
        )  # fmt: skip

    def _may_rewind(self, store: "RecordStore", entry: Entry) -> bool:
        session_id = session_of(entry.by)
        if not self._client.is_agent or session_id is None:
            return not self._client.is_agent
        return self._client.names.is_own(session_id) and store.is_known_by_name(session_id, entry.time)

    def _author(self, by_session: SessionName | None) -> By:
        """Return the recorded author; without a session it is the client's user."""
        if by_session is not None:
            return BySession(session_id=by_session, label=self._workspace.committer.label_of(by_session))
        return self._client.person
