"""The service over files in memory, below an editor without a screen: everything but the wire, in one process."""

import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from fileops.compose.files import build_workspace
from fileops.core.ignore import FILE_NAME
from fileops.fs.memory import MemoryFileSystem
from fileops.fs.overlay.filesystem import OverlayFileSystem
from fileops.fs.rule_files import StatRuleFiles
from fileops.model.approval import Always, ApprovalRequest, Decision, Once
from fileops.model.edits import Edit
from fileops.model.requests import EditRequest, ReadRequest, UndoRequest
from fileops.model.results import EditResult, ReadResult, UndoResult
from fileops.model.review import Decider, SessionInfo
from fileops.model.sessions import DEFAULT_SESSION, SessionName
from fileops.model.settings import Settings
from fileops.ports import Approver, EventSink, FileSystem
from fileops.record.history import History
from fileops.record.recorder import Recorder
from fileops.service.client.adapters import ClientAdapters
from fileops.service.client.unreadable import RuleBook
from fileops.service.fileops import FileOps
from fileops.service.hub.names import SessionNames
from fileops.service.review.client import NoHost, PersonReviews, ReviewAsker
from fileops.service.review.queue import HostApprover, ReviewQueue, WaitingReview
from fileops.service.review.views import AskingView
from fileops.service.workspace import Workspace
from fileops.tracking.freshness import Freshness
from support.events import EventRecorder
from support.fake_editor import FakeEditor


class SystemClock:
    def time_ns(self) -> int:
        return time.time_ns()


def rules_in(files: FileSystem) -> RuleBook:
    """What agents must not read, as the files say it."""
    return RuleBook(files, StatRuleFiles(files, FILE_NAME, SystemClock()))


class Person:
    """An Approver. answer: what they say to a question; `meanwhile`: what happens before that."""

    def __init__(self) -> None:
        self.can_ask = False
        self.questions: list[ApprovalRequest] = []
        self.answer: Callable[[ApprovalRequest], Decision] = lambda question: Once()
        self.meanwhile: Callable[[], None] = lambda: None

    async def decide(self, question: ApprovalRequest) -> Decision:
        self.questions.append(question)
        self.meanwhile()
        return self.answer(question)


def asker_of(approver: Approver) -> ReviewAsker:
    """Asks this person about every edit, through a queue of reviews."""
    queue = ReviewQueue()
    reviews = PersonReviews(
        queue=queue,
        person=Decider("the test"),
        concerns=lambda _review: True,
        is_listed=lambda _review: True,
        always_for=lambda _review: Always(),
    )

    async def ask(review: WaitingReview) -> Decision | None:
        return await approver.decide(review.asked)

    queue.connect("", AskingView(queue, "", reviews, 0.0, ask))
    return replace(asker_of_host(NoHost(), queue), can_ask=lambda: approver.can_ask)


def asker_of_host(host: HostApprover, queue: ReviewQueue | None = None) -> ReviewAsker:
    """Asks an agent's host, if no view of the queue is left."""
    return ReviewAsker(
        queue=queue or ReviewQueue(),
        info_of=lambda name: SessionInfo(session_id=name, host="test", label="Test"),
        host=host,
        can_ask=lambda: True,
        timeout_s=600.0,
    )


def service_over(
    disk: FileSystem,
    events: EventSink,
    asker: ReviewAsker,
    settings: Settings,
    folders: Iterable[str] = (),
    *,
    agent: SessionNames | None = None,
) -> FileOps:
    """The service of one client, over open documents on a disk. agent: names of the sessions of an agent."""
    files = OverlayFileSystem(disk)
    workspace = build_workspace(files, events, History(), freshness_mode=settings.freshness, saved=disk)
    client = ClientAdapters(
        asker=asker, events=events, on_closed=workspace.close, names=agent or SessionNames(), is_agent=agent is not None
    )
    return FileOps(workspace, client, settings, folders)


class Workbench:
    """A disk, an editor over it, a person who may be asked, and the service."""

    def __init__(
        self,
        *,
        history: History | None = None,
        settings: Settings | None = None,
        disk: MemoryFileSystem | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.disk = disk or MemoryFileSystem()
        self.disk.make_folder("/w")
        self.editor = FakeEditor(self.disk, self.disk.put)
        self.events = EventRecorder()
        self.person = Person()
        self.history = history or History(recorder)
        buffers = self.editor.buffers
        self.freshness = Freshness(buffers, self.events, SystemClock(), is_open=buffers.is_open, sweep_s=3600)
        buffers.on_change = self.freshness.hint
        workspace = self.workspace = Workspace(
            fs=buffers,
            freshness=self.freshness,
            history=self.history,
            clock=SystemClock(),
            rules=rules_in(self.disk),
            recorder=recorder,
        )
        client = ClientAdapters(asker=asker_of(self.person), events=self.events, on_closed=workspace.close)
        self.service = FileOps(workspace, client, settings or Settings(), ["/w"])

    def close(self) -> None:
        self.service.close()

    def on_disk(self, path: str) -> bytes | None:
        snapshot = self.disk.read(path)
        return snapshot.data if snapshot.exists else None

    async def read(self, path: str, session_id: str = DEFAULT_SESSION) -> ReadResult:
        return await self.service.read(ReadRequest(file_path=path, session_id=SessionName(session_id)))

    async def edit(
        self, path: str, old: str, new: str, session_id: str = DEFAULT_SESSION, *, replace_all: bool = False
    ) -> EditResult:
        edits = (Edit(old_string=old, new_string=new, replace_all=replace_all),)
        return await self.service.edit(EditRequest(file_path=path, edits=edits, session_id=SessionName(session_id)))

    async def applied(self, path: str, old: str, new: str, session_id: str = DEFAULT_SESSION) -> str:
        """Read, then edit, successfully: the edit's id."""
        if old:
            await self.read(path, session_id)
        outcome = await self.edit(path, old, new, session_id)
        assert outcome.error is None, outcome.output
        assert outcome.edit_id is not None
        return outcome.edit_id

    async def undo(
        self,
        edit_id: str | None = None,
        *,
        session_id: str | None = None,
        path: str | None = None,
        dry_run: bool = False,
    ) -> UndoResult:
        of = None if session_id is None else SessionName(session_id)
        request = UndoRequest(
            edit_id=edit_id, session_id=of, file_path=path, by_session=of or DEFAULT_SESSION, dry_run=dry_run
        )
        return await self.service.history.undo(request)
