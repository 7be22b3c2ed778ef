"""FileOps: what the daemon does for one client, without a wire. Owns the order of a request's steps.

Each step of a request waits for the lock of its path, then does all its disk work in one call in a worker thread. A
step that needs a decision or a correction returns a question. The client is asked while nothing is locked, and the
answer leads to the next step. A cancel before the commit leaves everything unchanged; after it, the caller gets the
result.

This is one module because all requests of a client use the same path locks, workers, settings and folders.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.delivery import when_delivered
from fileops.concurrency.shares import NeedsShare
from fileops.core.patch.changes import to_changes
from fileops.core.patch.parser import parse_patch
from fileops.core.presentation.failures import failure_text
from fileops.core.roots import Roots, is_inside
from fileops.model.approval import Decision
from fileops.model.changes import ChangeSetRequest, ChangeSetResult, PatchRequest, paths_of
from fileops.model.diagnostics import DiagnosticsReport
from fileops.model.errors import FileOpsError, NotAbsolute
from fileops.model.events import ApprovalModeChanged, DidDiagnose, DidRead, DidRecover, Event, WatcherHealth
from fileops.model.files import ReadProof, Snapshot
from fileops.model.internal_errors import PathMoved
from fileops.model.requests import EditRequest, ReadRequest
from fileops.model.results import EditResult, Notices, ReadResult, TrackedFile
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode, Settings
from fileops.ports import FileSystem
from fileops.service.answers.shell_views import read_proofs_in
from fileops.service.change_set import ChangeSetOperation
from fileops.service.client.adapters import ClientAdapters, do_nothing
from fileops.service.client.approval import ClientApproval
from fileops.service.client.folders import WorkspaceFolders, own_folder
from fileops.service.client.history import ClientHistory
from fileops.service.client.unreadable import GuardedFileSystem, UnreadableFiles
from fileops.service.client.work import ClientWork
from fileops.service.commands import CommandRunner
from fileops.service.correction import NeedsCorrection, with_proposal
from fileops.service.diagnosis import ClientDiagnosis
from fileops.service.edit import EditOperation, Proposal
from fileops.service.formatting import Formatter
from fileops.service.notices import NoticeBoard
from fileops.service.reading.read import ReadOperation
from fileops.service.session_files import SessionFiles, read_unshown
from fileops.service.sessions import OpenSession
from fileops.service.workspace import Workspace
from fileops.telemetry.calls import Calls, exclude_wait, note_outcome
from fileops.telemetry.stats import Statistics

if TYPE_CHECKING:
    from fileops.model.losses import Loss
    from fileops.model.record import ByPerson
    from fileops.service.client.approval import Asking
    from fileops.service.hub.sessions import SessionRecord
    from fileops.service.policy import Policy


T = TypeVar("T")


class FileOps:
    """One client's view of a workspace: its settings, folders, approval modes, corrector and events.

    All methods belong to the event loop. A tool's failures are results; only cancellation is raised. Methods take full
    names of sessions; `names` is for this client's front end.
    """

    def __init__(
        self,
        workspace: Workspace,
        client: ClientAdapters,
        settings: Settings,
        workspace_folders: Iterable[str] = (),
    ) -> None:
        self.settings = settings
        self.agent_above = client.agent_above
        self.names = client.names
        self.reviews = client.reviews
        self.ask = client.ask
        if settings.freshness == "relevant":
            workspace.freshness.keep_bases()
        self._notices: NoticeBoard | None = None
        self._workspace = workspace
        self._client = client
        freshness = workspace.freshness
        self._unreadable: UnreadableFiles | None = None  # None for a person's editor
        fs: FileSystem = workspace.fs
        read_resolved = fs.read
        if not client.is_editor:
            self._unreadable = UnreadableFiles(
                workspace.rules, settings.unreadable, client.editor_globs, lambda: self.folders
            )
            fs = guarded = GuardedFileSystem(fs, self._unreadable)
            read_resolved = guarded.read_resolved
        self._reader = ReadOperation(
            fs, freshness, settings, client.image_detector, refused_places=workspace.refused_places
        )
        self._editor = EditOperation(
            fs=fs,
            read_resolved=read_resolved,
            freshness=freshness,
            committer=workspace.committer_of(client.umask, client.label_of),
            settings=settings,
            agent_lines=workspace.agent_lines,
            syntax=workspace.syntax,
            formatter=(
                None
                if settings.format == "off" or workspace.diagnosis is None
                else Formatter(workspace.diagnosis, lambda: self.folders, settings.language_servers)
            ),
        )
        self._stats = Statistics(workspace.clock.time_ns()) if client.is_agent else workspace.stats
        self.calls = Calls(dict.fromkeys((self._stats, workspace.stats, *client.sinks)))
        self._path_locks = workspace.path_locks
        self._workers = workspace.workers.of_client(client.place)
        self._sessions = workspace.sessions
        self._in_flight = workspace.in_flight
        self.files = SessionFiles(
            fs=fs,
            freshness=freshness,
            workers=self._workers,
            path_locks=self._path_locks,
            activity=workspace.activity,
            is_hidden=self._is_hidden,
            sessions=workspace.sessions,
            in_flight=workspace.in_flight,
            refused=workspace.refused_places,
        )
        self._folders = WorkspaceFolders(
            workspace.fs, self._workers, client.warn, may_wait=not workspace.has_many_clients
        )
        self._approval = ClientApproval(client, settings, workspace.modes, self._folders, self._rules_of)
        self.history = ClientHistory(
            workspace,
            client,
            settings,
            approval=self._approval,
            files=self.files,
            workers=self._workers,
            stats=self._stats,
            fs=fs,
            is_hidden=self._is_hidden,
            scope=self._scope,
        )
        self.diagnosis: ClientDiagnosis | None = None  # None if this client does not want to know about problems
        self.set_folders(workspace_folders)
        self.work = ClientWork(
            workspace.work,
            self.names,
            client.asker.info_of,
            self._folders.canonical,
            workspace.record,
            self.run_on_disk,
            is_agent=client.is_agent,
            scope=self._scope,
        )
        if settings.diagnostics != "off" and workspace.diagnosis is not None:
            self.diagnosis = ClientDiagnosis(
                workspace.diagnosis,
                settings,
                folders=lambda: self.folders,
                may_know=self._may_know_problems,
                read=partial(_content, workspace.fs),
                on_late=self._note_late_report,
            )
        self._on_work_waits: Callable[[], None] = do_nothing
        self.bash = self._new_command_runner()  # None if commands are not served

    def _new_command_runner(self) -> "CommandRunner | None":
        client = self._client
        if client.executor_at is None or client.command_approver is None:
            return None

        return CommandRunner(
            executor_at=client.executor_at,
            approver=client.command_approver,
            mode_of=self.approval_mode,
            open_session=self._sessions.get,
            folders=lambda: self.folders,
            default_cwd=own_folder(),
            recheck=self._workspace.freshness.sweep,
            running=self.work.run_command,
        )

    # --- the tools -----------------------------------------------------------------------------------------

    def read_at_once(self, request: ReadRequest) -> ReadResult | None:
        """Return the result of `read` if it need not wait for a path lock or the disk, else None."""
        if not self._path_locks.is_free(request.file_path) or self._folders.find_unresolved(request.file_path):
            return None
        result = self._reader.read_cached(request, self._read_roots)
        if result is not None:
            note_outcome(result)
            self._count_when_answered(request, result, self._lasting(request.session_id))
        return result

    async def read(self, request: ReadRequest) -> ReadResult:
        return await self._read(request, self._reader.read)

    async def record_read(self, request: ReadRequest) -> ReadResult:
        """Record that the agent has seen the whole current file by other means."""
        guarded = self._reader.fs  # an unreadable file does not count as read, and its size is not returned
        return await self._read(request, partial(read_unshown, guarded, self._workspace.freshness))

    async def _read(
        self, request: ReadRequest, read: Callable[[ReadRequest, Roots | None, CancelToken], ReadResult]
    ) -> ReadResult:
        token, lasts, path = CancelToken(), self._lasting(request.session_id), request.file_path
        async with self._path_locks.acquire(path, shared=True):
            await self._folders.resolve_above(path)  # inside the lock: requests for one file keep their order
            roots = self._read_roots
            result = await self._workers.run(token, lambda: read(request, roots, token), path)
            self._count_when_answered(request, result, lasts, checks_later=True)
        note_outcome(result)
        return result

    def _lasting(self, session_id: SessionName) -> Callable[[], bool]:
        """Return what says whether the session has been neither closed nor reset since now."""
        session = self._sessions.get(session_id)
        n_resets = session.n_resets
        return lambda: not session.is_closed and session.n_resets == n_resets

    def _count_when_answered(
        self, request: ReadRequest, result: ReadResult, lasts: Callable[[], bool], *, checks_later: bool = False
    ) -> None:
        """Record what the session is shown. checks_later: see Freshness.note_read."""

        def count() -> None:
            if result.read_proof is None or not lasts():
                return
            size, modified = result.size_bytes or 0, (result.mtime_ns or 0) / 1e9
            self._note_read_proof(result.read_proof, size, modified, checks_later=checks_later)
            if self.settings.suggestions != "off":
                self._workspace.syntax.prepare(result.read_proof.path)

        self._in_flight.when_delivered(request.session_id, request.file_path, count)

    def _note_read_proof(self, read_proof: ReadProof, size: int, modified: float, *, checks_later: bool) -> None:
        self._workspace.freshness.note_read(read_proof, checks_later=checks_later)
        if self.diagnosis is not None:
            self.diagnosis.note_read(read_proof.session_id, read_proof.path)
        session_id, file_path, now = read_proof.session_id, read_proof.given_path, self._workspace.now()
        self.files.activity.note_read(session_id, file_path, now)
        self._client.events.publish(
            DidRead(file_path=file_path, session_id=session_id, timestamp=now, size=size, modified=modified)
        )

    def begin_diagnosis(self, session_id: SessionName) -> None:
        """Compare the problems before and after the session's next write, if the client wants that."""
        if self.diagnosis is not None:
            self.diagnosis.begin(session_id)

    def _may_know_problems(self, session_id: SessionName, path: str) -> bool:
        return self._workspace.freshness.is_tracked(session_id, path) and not self._is_hidden(path)

    def _note_late_report(self, session_id: SessionName, report: DiagnosticsReport) -> None:
        self._client.events.publish(
            DidDiagnose(
                file_path=report.file_paths[0],
                session_id=session_id,
                timestamp=self._workspace.now(),
                diagnostics=report,
            )
        )

    async def edit(self, request: EditRequest) -> EditResult:
        """Run `edit`, `multi_edit` or `write`: the part on the loop, between the steps in a worker thread."""
        session, token = self._sessions.get(request.session_id), CancelToken()
        made, step = request, partial(self._editor.start, request)  # made: with the strings that the client corrected
        with self._in_flight.count_edit(request.session_id, request.file_path):
            with self._approval.begin_asking(request.session_id, session) as asking:
                while True:
                    async with self._path_locks.acquire(request.file_path, shared=False):
                        await self._in_flight.wait_until_answered(request.session_id, request.file_path)
                        await self._folders.resolve_above(request.file_path)
                        policy = self._approval.policy(request.session_id, session)
                        result = await self._workers.run(token, partial(step, policy, token), request.file_path)
                        if isinstance(result, EditResult) and result.edit_id is not None:
                            self.files.note_commit(made, result)
                    match result:
                        case Proposal():
                            decision = await asking.decide(result.question)
                            step = partial(self._editor.resume, made, proposal=result, decision=decision)
                            continue
                        case NeedsCorrection():
                            if (corrected := await self._correct(made, result)) is not None:
                                made, step = corrected, partial(self._editor.start, corrected)
                                continue
                            result = result.failed
                        case EditResult():
                            pass
                    break
                asking.settle(result.error)
            return self._note(request, session, result)

    def _note(self, request: EditRequest, session: OpenSession, result: EditResult) -> EditResult:
        """Return the result of an edit, after recording and publishing everything about it on the loop."""
        note_outcome(result)
        if session.is_closed:
            self.files.drop_record(request.session_id, request.file_path)
        else:
            self.files.note_edit(request, result, self._workspace.now())
        if result.did_edit is not None:
            self._client.events.publish(result.did_edit)
        if result.read_proof is not None:
            self._count_when_shown(request, result.read_proof, session)
        return result

    def _count_when_shown(self, request: EditRequest, read_proof: ReadProof, session: OpenSession) -> None:
        """Count the lines in the answer to a refused edit as read, once the answer has been sent.

        As with a notice (see NoticeBoard), an edit of the file that the session requested earlier was made without
        knowing them, so they do not count for that edit.
        """
        n_resets, freshness = session.n_resets, self._workspace.freshness

        def count() -> None:
            if session.is_closed or session.n_resets != n_resets:
                return
            if not self._in_flight.is_editing(request.session_id, read_proof.path, freshness.paths_of):
                stamp = read_proof.stamp
                self._note_read_proof(read_proof, stamp.size_bytes, stamp.mtime_ns / 1e9, checks_later=True)

        when_delivered(count)

    async def apply_patch(self, request: PatchRequest) -> ChangeSetResult:
        """Make all changes of a patch together, or none."""
        folder = request.cwd or next(iter(self.folders), None)
        try:
            if folder is not None and not folder.startswith("/"):
                raise NotAbsolute(path=folder)
            changes = await self.run_on_disk(lambda: to_changes(parse_patch(request.patch), folder))
        except FileOpsError as error:
            path = error.path if isinstance(error, NotAbsolute) else ""
            output = failure_text(error, "edit", path, self.settings.texts)
            result = ChangeSetResult(output=output, error=error, dry_run=request.dry_run)
            note_outcome(result)
            return result
        return await self.apply_changes(
            ChangeSetRequest(
                changes=changes,
                description=request.description,
                session_id=request.session_id,
                dry_run=request.dry_run,
            )
        )

    async def apply_changes(self, request: ChangeSetRequest) -> ChangeSetResult:
        """Make several changes together, or none."""
        session_id = request.session_id
        session = self._sessions.get(session_id)
        paths = sorted({path for change in request.changes for path in paths_of(change)})
        engine = ChangeSetOperation(editor=self._editor).of(request)
        token = CancelToken()
        step = engine.start
        with ExitStack() as editing, self._approval.begin_asking(session_id, session) as asking:
            for path in paths:
                editing.enter_context(self._in_flight.count_edit(session_id, path))
            while True:
                async with AsyncExitStack() as locks:
                    for path in paths:  # in order, so that sets with common files cannot deadlock
                        await locks.enter_async_context(self._path_locks.acquire(path, shared=False))
                    for path in paths:
                        await self._in_flight.wait_until_answered(session_id, path)
                        await self._folders.resolve_above(path)
                    policy = self._approval.policy(session_id, session)
                    result = await self._workers.run(token, partial(step, policy, token), paths[0] if paths else "")
                    if isinstance(result, ChangeSetResult):
                        self.files.note_set(session_id, result, self._workspace.now())
                if isinstance(result, ChangeSetResult):
                    asking.settle(result.error)
                    break
                decision = await asking.decide(result.question)
                step = partial(engine.resume, pending=result, decision=decision)
        note_outcome(result)
        if session.is_closed:
            for path in paths:
                self.files.drop_record(session_id, path)
        for did_edit in result.did_edit:
            self._client.events.publish(did_edit)
        return result

    async def _correct(self, request: EditRequest, unmatched: NeedsCorrection) -> EditRequest | None:
        """Return the request with the strings that the client's model proposes; None if it proposes none."""
        corrector = self._client.corrector
        with exclude_wait():
            proposal = None if corrector is None else await corrector.correct(unmatched.question)
        return None if proposal is None else with_proposal(request, unmatched.error, proposal)

    async def run_on_disk(self, work: Callable[[], T]) -> T:
        """Run work that waits for the disk in a thread of this client; return its result. Raises: CancelledError."""
        return await self._workers.run(CancelToken(), work)

    async def list_tracked(self, session_id: SessionName) -> tuple[TrackedFile, ...]:
        """Return what the session has read, with its current state, in the order of first reading."""
        return await self._workers.run(
            CancelToken(), lambda: self._workspace.freshness.list_tracked(session_id, self._is_hidden)
        )

    async def note_views(self, session_id: SessionName, file_paths: Sequence[str], output: str) -> None:
        """Count as read what the output of a host's shell command has shown of these files.

        As with a notice, an edit of a file that was requested earlier was made without knowing of it.
        """
        lasts, freshness, roots = self._lasting(session_id), self._workspace.freshness, self._read_roots
        look = partial(read_proofs_in, self._reader.fs, session_id, tuple(file_paths), output, roots)
        read_proofs = await self._workers.run(CancelToken(), look)
        if not lasts():
            return
        for read_proof in read_proofs:
            if not self._in_flight.is_editing(session_id, read_proof.path, freshness.paths_of):
                stamp = read_proof.stamp
                self._note_read_proof(read_proof, stamp.size_bytes, stamp.mtime_ns / 1e9, checks_later=True)

    async def notices(
        self,
        session_id: SessionName,
        about: str | None = None,
        *,
        without: str | None = None,
        is_whole: bool = False,
        is_brief: bool = False,
        n_used: int = 0,
    ) -> Notices:
        """Return what others changed in files that the session has read and may still read, for its next result.

        Args: about: the file of the result, as given, if a change by others concerned it. without: the canonical path
        of a file that the result shows; a later result reports later changes of it. is_whole: the result contains the
        whole change of its file; is_brief: it names only its lines. n_used: how many characters are added to the result
        for other reasons.
        """
        board = self._notices
        if board is None:
            moves_base = self.settings.freshness == "relevant"
            board = self._notices = NoticeBoard(self._workspace.freshness, self._in_flight, moves_base=moves_base)
        roots = self._read_roots
        found = board.find_at_once(session_id)
        if found is None:
            found = await self._workers.run(
                CancelToken(),
                lambda: board.find(
                    session_id,
                    about,
                    lambda path: (roots is None or roots.contains(path)) and not self._is_hidden(path),
                    without,
                ),
            )
        return board.report(session_id, found, is_whole=is_whole, is_brief=is_brief, n_used=n_used)

    # --- hosts' own tools (service/companion) ----------------------------------------------------------------

    @property
    def guarded_files(self) -> FileSystem:
        """The files as this client may read them."""
        return self._reader.fs

    @property
    def edit_operation(self) -> EditOperation:
        return self._editor

    def policy(self, session_id: SessionName) -> "Policy":
        return self._approval.policy(session_id, self._sessions.get(session_id))

    def is_in_folders(self, path: str) -> bool:
        """Return whether a canonical path is in the client's folders."""
        return any(is_inside(folder, path) for folder in self.folders)

    async def resolve_folders(self) -> None:
        """Wait until it is known where the open folders are."""
        await self._folders.resolve_all()

    def is_of_project(self, folders: Sequence[str]) -> bool:
        """Return whether a folder contains, or is inside, one of the client's, or either has no folders."""
        own = self.folders
        nested = (is_inside(a, b) or is_inside(b, a) for a in own for b in folders)
        return not own or not folders or any(nested)

    def publish(self, event: Event) -> None:
        self._client.events.publish(event)

    def begin_asking(self, session_id: SessionName) -> "Asking":
        """Return the review of an edit that the host's own tool will make. It is a context manager."""
        return self._approval.begin_asking(session_id, self._sessions.get(session_id))

    async def write_decided(self, request: EditRequest, proposal: Proposal, decision: Decision) -> EditResult | None:
        """Write what a person has decided about an edit of the host's own tool. None if it must be asked again."""
        session, token = self._sessions.get(request.session_id), CancelToken()
        async with self._path_locks.acquire(request.file_path, shared=False):
            policy = self._approval.policy(request.session_id, session)
            step = await self._workers.run(
                token, lambda: self._editor.resume(request, policy, token, proposal, decision), request.file_path
            )
            if isinstance(step, EditResult) and step.edit_id is not None:
                self.files.note_commit(request, step)
        return self._note(request, session, step) if isinstance(step, EditResult) else None

    def loss(self, loss_id: str) -> "Loss | None":
        """Return fresh lines of others that a write has removed. Losses are kept for a day. Blocks."""
        return self._workspace.losses.get(loss_id)

    @property
    def person(self) -> "ByPerson | None":
        """The client's user, for the record; None if the client is an agent, or is in an agent's shell."""
        return None if self._client.is_agent or self.agent_above() is not None else self._client.person

    def count_when_answered(self, read_proof: ReadProof) -> None:
        """Count as read what a host's own tool shows, once the current request has been answered."""
        lasts, stamp = self._lasting(read_proof.session_id), read_proof.stamp

        def count() -> None:
            if lasts():
                self._note_read_proof(read_proof, stamp.size_bytes, stamp.mtime_ns / 1e9, checks_later=True)

        self._in_flight.when_delivered(read_proof.session_id, read_proof.given_path, count)

    # --- a session's files -----------------------------------------------------------------------------------

    async def find_line(self, file_path: str, old_string: str, session_id: SessionName) -> int | None:
        """Return the line of the first occurrence, in a file that the session has read and may edit."""
        await self._folders.resolve_above(file_path)
        return await self.files.find_line(session_id, file_path, old_string, self._approval.edit_roots)

    # --- sessions, folders, modes --------------------------------------------------------------------------

    def approval_mode(self, session_id: SessionName) -> ApprovalMode:
        return self._approval.mode(session_id)

    def set_approval_mode(self, session_id: SessionName, mode: ApprovalMode) -> None:
        self._approval.set_mode(session_id, mode)

    def may_set_mode(self, session_id: SessionName, mode: ApprovalMode) -> bool:
        """Return whether the mode may be set: an agent may only ask for more questions."""
        return self._approval.may_set_mode(session_id, mode)

    def close_session(self, session_id: SessionName) -> None:
        """Forget what this session has read and was granted. Requests in progress leave no trace of it either."""
        if self.bash is not None:
            self.bash.forget(session_id)
        self._workspace.end_session(session_id)
        self._stats.drop_session(session_id)
        if self._notices is not None:
            self._notices.forget(session_id)
        if self.diagnosis is not None:
            self.diagnosis.forget(session_id)

    def all_sessions(self) -> "Sequence[SessionRecord]":
        """Return the sessions of all connections of a shared daemon."""
        return self._client.all_sessions()

    def set_folders(self, workspace_folders: Iterable[str]) -> None:
        """Set the folders that are open from now on (absolute paths). The `roots` of the settings always count.

        See WorkspaceFolders.set.
        """
        self._folders.set((*workspace_folders, *self.settings.roots))
        if self.diagnosis is not None:
            self.diagnosis.note_folders()

    def _scope(self) -> tuple[str, ...] | None:
        """Return the folders that lists and "all" cover by default: those of a person's editor or terminal."""
        return self._folders.shown if self._client.is_editor else None

    @property
    def folders(self) -> tuple[str, ...]:
        """The open folders, as given and canonical, for showing paths relative to them."""
        return self._folders.shown

    def close(self) -> None:
        """End the client's commands, then what `on_closed` ends. Requests that have begun to commit finish there."""
        if self.bash is not None:
            self.bash.close()
        self._client.on_closed()
        self._workers.leave()
        self._workers.on_hand_over.discard(self._on_work_waits)
        self.calls.close()

    @property
    def n_waiting_for_others(self) -> int:
        """Return Workspace.n_waiting_for_others, plus this client's requests that wait for a person."""
        return self._workspace.n_waiting_for_others + self._approval.n_waiting

    def when_folders_change(self, call: Callable[[], None]) -> None:
        """Also call `call` each time the folders have changed or one of them has been resolved."""
        before = self._folders.on_change

        def call_both() -> None:
            before()
            call()

        self._folders.on_change = call_both

    def when_work_waits(self, call: Callable[[], None]) -> None:
        """Call `call` each time `n_waiting_for_others` increases."""
        self._workers.on_hand_over.discard(self._on_work_waits)
        self._on_work_waits = call
        self._workers.on_hand_over.add(call)
        self._approval.on_wait = call

    def _is_hidden(self, *names: str) -> bool:
        """Return whether this client must not know of a file with these names. Call it in a worker thread."""
        return self._unreadable is not None and self._unreadable.is_hidden(*names)

    def _rules_of(self, snapshot: Snapshot) -> str | None:
        """See Policy. Call it in a worker thread."""
        return None if self._unreadable is None else self._unreadable.rules_of(snapshot.path, snapshot.stamp)

    def shows(self, event: Event) -> bool:
        """Return whether the client may be notified of an event, by the rules as last read. Waits for nothing."""
        if self._unreadable is None or self._unreadable.knows_no_rules():
            return True
        if isinstance(event, WatcherHealth | ApprovalModeChanged):
            return True
        if isinstance(event, DidRecover):
            return not any(
                map(self._unreadable.is_known_hidden, [*(file.file_path for file in event.files), *event.waits_for])
            )
        paths = self._workspace.freshness.paths_of(event.session_id, event.file_path)
        return not self._unreadable.is_known_hidden(*{event.file_path, *paths})

    @property
    def _read_roots(self) -> Roots | None:
        return self._folders.roots if self.settings.confine == "all" else None


def _content(fs: FileSystem, path: str) -> bytes | None:
    """Return the current content, saved or not; None if it cannot be read now."""
    try:
        snapshot = fs.read(path)
    except (FileOpsError, PathMoved, NeedsShare):  # NeedsShare: the content in a mapped folder is unknown
        return None
    return snapshot.data if snapshot.exists else None
