"""The history as one client may see and change it: lists, undos and rewinds, what is kept, and who wrote what.

An agent sees and undoes only its own changes, a person those of all authors. Belongs to the event loop; worker threads
do the work. What undos and the record need is loaded when it is first used.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers
from fileops.core import text
from fileops.core.decision import always_of
from fileops.core.diff.entry_diffs import diff_of, diff_of_rename
from fileops.core.notebook.cell_changes import compare
from fileops.core.notebook.cells import is_notebook_path
from fileops.core.presentation.failures import failure_text
from fileops.core.presentation.rewinds import rewound_text
from fileops.core.roots import is_inside
from fileops.model.bounded import LruDict
from fileops.model.errors import FileOpsError, NotRecorded
from fileops.model.history import AppliedEdit
from fileops.model.notebooks import Compared
from fileops.model.record import By, BySession, Contents, EditedLines, Entry, LogQuery, RecordedFolder, session_of
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import AgentEditRange, UndoResult
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
from fileops.model.statistics import StatsResult
from fileops.ports import ChangeRecorder, FileSystem, RecordedChanges
from fileops.record.history import Look
from fileops.service.carry_out import Pending
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.approval import ClientApproval
from fileops.service.rewind.items import item_of
from fileops.service.session_files import SessionFiles
from fileops.service.workspace import Workspace
from fileops.telemetry.calls import note_outcome
from fileops.telemetry.stats import Statistics
from fileops.tracking.reports import IsHidden

if TYPE_CHECKING:
    from fileops.service.rewind.committed import CommittedFiles
    from fileops.service.rewind.operation import RewindOperation
    from fileops.service.rewind.unkept import PlacesCache, UnkeptPlaces
    from fileops.service.undo import UndoOperation

MAX_TEXT_BYTES = 1_000_000
MAX_COMPARED_BYTES = 32 << 20  # of notebooks in one answer; 20 MB are compared in about 0.5 s of processor time
MAX_KNOWN_CHARS = 4 << 20  # of the cells that entries changed
_OF_MANY_PROJECTS = {"turn_id", "since_turn", "all_since_turn", "session_id"}  # targets that may span projects

T = TypeVar("T")


class RecordRefused(Exception):
    """The record has no such entry, or nothing is recorded. The message is a full sentence."""


class ShownEntries(Struct, frozen=True, kw_only=True):
    """Entries of the log, newest first. compared, edited: by entry, how notebooks and renamed files differ.

    more: whether there are older ones.
    """

    entries: list[Entry]
    compared: dict[str, Compared]
    edited: dict[str, EditedLines]
    more: bool


class ShownEntry(Struct, frozen=True, kw_only=True):
    """An entry with its diff and texts, as far as the client may see them.

    compared: how the cells of a notebook differ.
    """

    entry: Entry
    diff: str = ""
    before_text: str | None = None
    after_text: str | None = None
    compared: Compared = ()


class ClientHistory:
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
        scope: Callable[[], tuple[str, ...] | None],
    ) -> None:
        """Store what the client's requests need.

        Args: stats: of the calls that this client may see. fs: the files as it may read them. is_hidden: whether it
        must not know of a file with one of these names. scope: the folders that lists and "all" cover if nothing else
        is named; None for all folders.
        """
        self._workspace = workspace
        self._client = client
        self._names = client.names
        self.is_agent = client.is_agent
        self._settings = settings
        self._approval = approval
        self._files = files
        self._workers = workers
        self._stats = stats
        self._fs = fs
        self._is_hidden = is_hidden
        self._scope = scope
        self._places: PlacesCache = {}
        # The contents of an entry never change, so results stay valid. Worker threads share them under the lock.
        self._cells_lock = threading.Lock()
        self._known_cells: LruDict[str, Compared] = LruDict(MAX_KNOWN_CHARS, _n_chars)
        self._committed: CommittedFiles | None = None

    # --- lists -------------------------------------------------------------------------------------------------

    async def edits(self, request: HistoryRequest) -> tuple[AppliedEdit, ...]:
        """Return the history, newest first.

        An agent sees only its own edits, and none of files that it must not read.
        """

        def work() -> tuple[AppliedEdit, ...]:
            shown = (edit for edit in self._own_edits(request) if not self._is_hidden(edit.path, edit.file_path))
            return tuple(islice(shown, request.limit))

        return await self._workers.run(CancelToken(), work)

    def _own_edits(self, request: HistoryRequest) -> Iterator[AppliedEdit]:
        """The edits that this client may know of, judged by their sessions alone. Newest first."""
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

    async def log(self, query: LogQuery, file_path: str | None, root: str | None) -> ShownEntries:
        """Return a page of the log.

        Args: file_path, root: as given. `root` counts only without `file_path`. Without either, the client's folders
        are covered. Raises: RecordRefused.
        """
        from fileops.service.rewind.renames import edited_lines_in, with_names_of_undos

        recorder = self._recorder
        await recorder.flush()

        def look() -> ShownEntries:
            given = file_path if file_path is not None else root
            path = None if given is None else self._canonical(given)
            if query.before is not None and recorder.store.entry(query.before) is None:
                raise RecordRefused(f"There is no entry {query.before}.")
            found, more = self._visible(replace(query, path=path, folders=self._scope() if path is None else None))
            entries = with_names_of_undos(recorder.store, found)
            return ShownEntries(
                entries=entries,
                compared=self._compare_cells(entries),
                edited=edited_lines_in(recorder.store, entries),
                more=more,
            )

        return await self._read(look)

    def _visible(self, query: LogQuery) -> tuple[list[Entry], bool]:
        """Return the entries that this client may see.

        Only the session's name shows whether an entry is the agent's own.
        """
        store = self._recorder.store
        if not self.is_agent:
            return store.entries(query)
        found: list[Entry] = []
        wanted = query.limit or 0
        while True:
            page, more = store.entries(query)
            found += [entry for entry in page if self._is_visible(entry)]
            if not more or len(found) > wanted:
                return found[:wanted], more or len(found) > wanted
            query = replace(query, before=page[-1].entry_id)

    def _compare_cells(self, entries: Sequence[Entry]) -> dict[str, Compared]:
        """Return how these entries changed the cells of notebooks. About MAX_COMPARED_BYTES are compared."""
        found, room = dict[str, Compared](), MAX_COMPARED_BYTES
        for entry in entries:
            is_changed = entry.kind == "modify" and entry.content == "kept" and is_notebook_path(entry.path)
            if not is_changed or self._is_unreadable(entry):
                continue
            with self._cells_lock:
                known = self._known_cells.use(entry.entry_id)
            if known is None:
                if room <= 0:
                    continue
                contents = self._recorder.store.contents(entry)
                room -= len(contents.before or b"") + len(contents.after or b"")
                known = compare(entry.path, contents.before, contents.after)
                with self._cells_lock:
                    self._known_cells.put(entry.entry_id, known)
            found[entry.entry_id] = known
        return found

    def _is_visible(self, entry: Entry) -> bool:
        return not self.is_agent or (self._may_rewind(self._recorder.store, entry) and not self._is_unreadable(entry))

    def _is_unreadable(self, entry: Entry) -> bool:
        """Return whether the client must not read the file, under any of its names. The content may be an old one."""
        names = (entry.path, entry.moved_from, entry.moved_to)
        return self._is_hidden(*[name for name in names if name is not None])

    async def entry(self, entry_id: str) -> ShownEntry:
        """Return an entry. The text before of a renamed file is the one under its old name. Raises: RecordRefused."""
        from fileops.service.rewind.renames import with_names_of_undos

        recorder = self._recorder
        await recorder.flush()

        def look() -> ShownEntry:
            found = recorder.store.entry(entry_id)
            if found is None or self._is_unreadable(found):
                raise RecordRefused(f"There is no entry {entry_id}.")
            (entry,) = with_names_of_undos(recorder.store, [found])
            if not self._is_visible(entry) or entry.content != "kept":
                return ShownEntry(entry=entry)
            contents = recorder.store.contents(entry)
            departure = recorder.store.other_half(found) if entry.kind == "create" and entry.moved_from else None
            if departure is None or departure.content != "kept":
                diff = diff_of(entry, contents)
            else:
                contents = Contents(recorder.store.contents(departure).before, contents.after)
                diff = diff_of_rename(departure, entry, contents)
            return ShownEntry(
                entry=entry,
                diff=diff,
                before_text=_text(contents.before),
                after_text=_text(contents.after),
                compared=compare(entry.path, contents.before, contents.after),
            )

        return await self._read(look)

    async def status(self, root: str | None) -> list[RecordedFolder]:
        """Return the recorded folders, or only the one that contains `root`."""
        recorder = self._workspace.recorder
        if recorder is None:
            return []

        def look() -> list[RecordedFolder]:
            path = None if root is None else self._canonical(root)
            folders = recorder.status()
            return [folder for folder in folders if path is None or is_inside(folder.root, path)]

        return await self._read(look)

    async def canonical(self, path: str) -> str:
        """Return where a path leads; the path itself if that is unknown."""
        return await self._workers.run(CancelToken(), lambda: self._canonical(path))

    def _canonical(self, path: str) -> str:
        try:
            return self._workspace.fs.resolve(path)
        except FileOpsError:
            return path

    async def _read(self, work: Callable[[], T]) -> T:
        """Raises: RecordRefused."""
        if await self._recorder.wait_until_open() is None:
            raise RecordRefused("Nothing is recorded, because the record could not be opened; see the daemon's log.")
        return await self._workers.run(CancelToken(), work)

    async def agent_ranges(self, file_path: str) -> tuple[AgentEditRange, ...]:
        """Return the current line ranges that agents have written, newest edit first."""
        return await self._workers.run(CancelToken(), lambda: self._workspace.agent_lines.agent_ranges(file_path))

    async def stats(self, session_id: SessionName | None) -> StatsResult:
        """Return statistics of one session; None: of all sessions together, including closed ones."""
        since = self._stats.since_ns / 1e9

        def n_undone() -> int:
            edits = self._own_edits(HistoryRequest(session_id=session_id))
            recent = takewhile(lambda edit: edit.timestamp >= since, edits)
            return sum(edit.undone_by is not None and not edit.is_undo for edit in recent)

        return self._stats.result(session_id, await self._workers.run(CancelToken(), n_undone))

    # --- undos and rewinds -------------------------------------------------------------------------------------

    async def undo(self, request: UndoRequest) -> UndoResult:
        if self.is_agent:  # it cannot approve anything itself
            request = replace(request, is_approved=False)
        by_session = request.by_session
        await self._approval.know_folders()
        token, session = CancelToken(), self._workspace.sessions.get(by_session or NO_SESSION)
        is_of_user = request.is_approved and by_session is None
        engine = self._undoer(self._workspace.fs if is_of_user else self._fs).of(request)
        step, is_rest_approved = engine.start, False
        asking, waiting = self._approval.begin_asking(by_session, session), tuple[int, ...]()
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
                    asking = self._approval.begin_asking(by_session, session)
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
        """Whether the edit belongs to the session that has this name now, not to one of an earlier daemon."""
        return self._names.lasts(edit.session_id) or not look.is_earlier(edit)

    async def rewind(self, request: RewindRequest) -> RewindResult:
        """Rewind, and ask the user first if necessary. Failures are results; only cancellation is raised."""
        rewinder = await self._operation()
        if rewinder is None:
            error = NotRecorded()
            return RewindResult(output=failure_text(error, "edit", ""), error=error, dry_run=request.dry_run)
        if self.is_agent:  # it cannot approve anything itself
            request = replace(request, is_approved=False)
        if not request.paths and request.target.kind in _OF_MANY_PROJECTS:
            request = replace(request, paths=self._scope() or ())
        by_session = request.by_session
        if by_session is None and request.is_approved:
            rewinder = replace(rewinder, fs=self._workspace.fs)
        by = self._author(by_session)
        await self._approval.know_folders()
        token, session = CancelToken(), self._workspace.sessions.get(by_session or NO_SESSION)
        engine = rewinder.of(request, by)
        step = engine.start
        with self._approval.begin_asking(by_session, session) as asking:
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
        """Return what a session should know about people's rewinds and overwritten lines. Each is returned once."""
        by_reason = self._workspace.activity.take_rewound(session_id)
        label = self._client.label_of(session_id)
        rewound = [rewound_text(n_changes, label, reason) for reason, n_changes in by_reason.items()]
        return [*rewound, *self._workspace.activity.take_overwritten(session_id)]

    async def newest_turn(self, session_id: SessionName) -> str | None:
        """Return the session's newest turn that has changes to undo; None if there is none or nothing is recorded.

        A turn that only undid others is skipped, unless it is the current one. Its undo is then all that its prompt
        asked for, and a repeated call must not go further back.
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

    async def blame(self, file_path: str, *, by_cells: bool = False) -> "list[BlamedLines]":
        """Return who last changed each line. Raises: NotRecorded and the failures of reading."""
        from fileops.service.rewind.blame import blame

        def work(places: "UnkeptPlaces") -> "list[BlamedLines]":
            return blame(places.store, places.fs, file_path, by_cells=by_cells, memories=places.memories)

        return await self._run(work)

    async def unkept(
        self,
        file_path: str | None,
        session_id: SessionName | None,
        turn_id: str | None,
        *,
        root: str | None = None,
    ) -> UnkeptResult:
        """Return what this client's user has not accepted yet, in a file, a folder (root), or the client's folders.

        It does not wait for authors that are still uncertain: a later list includes their changes.

        Raises: NotRecorded and the failures of resolving.
        """

        def look(places: "UnkeptPlaces") -> UnkeptResult:
            path = None if file_path is None else places.fs.resolve(file_path)
            folders = self._scope() if root is None else (places.fs.resolve(root),)
            return places.find(path, folders=folders, session_id=session_id, turn_id=turn_id)

        recorder = self._workspace.recorder
        is_whole = recorder is None or await recorder.flush()
        result = await self._run(look, is_settled=True)
        return result if is_whole else replace(result, truncated=True)

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

    async def undo_keep(self, keep_id: str | None) -> KeepOutcome:
        """Undo a keep, or the newest one in the client's folders. Raises: NotRecorded, UnknownTarget."""

        def work(places: "UnkeptPlaces") -> KeepOutcome:
            with self._workspace.deciding:
                self._workspace.settle_record()
                outcome = places.undo_keep(keep_id, self._scope())
            self._workspace.on_keeping(outcome.paths)
            return outcome

        return await self._run(work, is_settled=True)

    async def forget(self, file_path: str | None) -> int:
        """Delete the record of a file or folder; None: of everything. Raises: as `unkept`."""
        recorder = self._workspace.recorder
        if recorder is None:
            raise NotRecorded

        def work(places: "UnkeptPlaces") -> int:
            path = None if file_path is None else places.fs.resolve(file_path)
            unkept = {known for known in places.store.unkept_paths() if path is None or is_inside(path, known)}
            n_entries = recorder.forget(path)
            self._workspace.history.forget(path)
            self._workspace.memories.clear()
            self._workspace.on_keeping(unkept)
            return n_entries

        return await self._run(work)

    async def item(self, beginning: str) -> RecordItem:
        """Return what an id with this prefix stands for. Raises: NotRecorded, UnknownTarget."""
        return await self._run(lambda places: item_of(places.store, beginning))

    async def _run(self, work: "Callable[[UnkeptPlaces], T]", *, is_settled: bool = False) -> T:
        """Work on the record after everything written so far has been added to it. Raises: NotRecorded.

        Args: is_settled: there is no need to wait for the record, or the work itself waits.
        """
        from fileops.service.rewind.unkept import UnkeptPlaces

        store = await self._workspace.record()
        if store is None:
            raise NotRecorded
        places = UnkeptPlaces(
            store,
            self._workspace.fs,
            self._client.version_of,
            self._places,
            self._open_committed_files(),
            memories=self._workspace.memories,
        )

        def work_when_settled() -> T:
            if not is_settled:
                self._workspace.settle_record()
            return work(places)

        return await self._workers.run_apart(CancelToken(), work_when_settled)

    def _open_committed_files(self) -> "CommittedFiles | None":
        from fileops.service.rewind.committed import CommittedFiles

        recorder = self._workspace.recorder
        if self._settings.keep_committed and self._committed is None and recorder is not None:
            self._committed = CommittedFiles(recorder.text_of, recorder.store.staged_files)
        return self._committed

    # --- helpers -----------------------------------------------------------------------------------------------

    def _undoer(self, fs: FileSystem) -> "UndoOperation":
        from fileops.service.undo import UndoOperation

        workspace = self._workspace
        return UndoOperation(
            fs=fs,
            freshness=workspace.freshness,
            events=self._client.events,
            committer=workspace.committer_of(self._client.umask, self._client.label_of),
            settings=self._settings,
            history=workspace.history,
            may_undo=self._may_undo,
            is_of_session=self._is_of_session,
            person=self._client.person,
        )

    async def _operation(self) -> "RewindOperation | None":
        from fileops.service.rewind.operation import RewindOperation

        workspace = self._workspace
        store = await workspace.record()
        if store is None:
            return None
        return RewindOperation(
            fs=self._fs,
            freshness=workspace.freshness,
            events=self._client.events,
            committer=workspace.committer_of(self._client.umask, self._client.label_of),
            settings=self._settings,
            history=workspace.history,
            store=store,
            may_rewind=partial(self._may_rewind, store),
            settle=workspace.settle_record,
            deciding=workspace.deciding,
            person=self._client.person,
            committed=self._open_committed_files(),
        )

    def _may_rewind(self, store: RecordedChanges, entry: Entry) -> bool:
        if not self.is_agent:
            return True
        session_id = session_of(entry.by)
        return (
            session_id is not None and self._names.is_own(session_id) and store.is_known_by_name(session_id, entry.time)
        )

    def _author(self, by_session: SessionName | None) -> By:
        """Return the author to record: the session, or else the client's user."""
        if by_session is not None:
            return BySession(session_id=by_session, label=self._client.label_of(by_session))
        return self._client.person

    @property
    def _recorder(self) -> ChangeRecorder:
        """Raises: RecordRefused."""
        if self._workspace.recorder is None:
            raise RecordRefused("Nothing is recorded here: a private daemon, or record is off.")
        return self._workspace.recorder


def _text(content: bytes | None) -> str | None:
    if content is None or len(content) > MAX_TEXT_BYTES:
        return None
    return text.decode(content, text.detect_format(content))


def _n_chars(known: Compared) -> int:
    if isinstance(known, str):
        return len(known)
    return 100 + sum(len(change.old or "") + len(change.new or "") for change in known)
