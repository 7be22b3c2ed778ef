"""Two clients of one workspace, in one process: what they share, and what belongs to each."""

from collections.abc import Generator
from dataclasses import dataclass

import pytest

from fileops.fs.memory import MemoryFileSystem
from fileops.model.approval import Reject
from fileops.model.edits import Edit
from fileops.model.errors import ModifiedExternally, Rejected
from fileops.model.events import ApprovalModeChanged, BecameStale, DidEdit, DidRead
from fileops.model.requests import EditRequest, HistoryRequest, ReadRequest, UndoRequest
from fileops.model.results import EditResult
from fileops.model.sessions import SessionName
from fileops.model.settings import Settings
from fileops.record.history import History
from fileops.service.client.adapters import ClientAdapters
from fileops.service.fileops import FileOps
from fileops.service.workspace import Workspace
from fileops.tracking.freshness import Freshness
from support.events import EventRecorder
from support.in_process import Person, SystemClock, asker_of, rules_in

FILE = "/w/f"


@dataclass
class Client:
    ops: FileOps
    events: EventRecorder
    person: Person

    async def read(self, session_id: str) -> None:
        result = await self.ops.read(ReadRequest(file_path=FILE, session_id=SessionName(session_id)))
        assert result.error is None, result.output

    async def edit(self, session_id: str, old: str, new: str) -> EditResult:
        edits = (Edit(old_string=old, new_string=new),)
        return await self.ops.edit(EditRequest(file_path=FILE, edits=edits, session_id=SessionName(session_id)))


@dataclass
class TwoClients:
    disk: MemoryFileSystem
    shared_events: EventRecorder
    editor: Client
    agent: Client


@pytest.fixture
def clients() -> Generator[TwoClients]:
    """An editor with a user, and an agent whose questions are routed to that user."""
    disk, clock, shared_events = MemoryFileSystem(), SystemClock(), EventRecorder()
    disk.make_folder("/w")
    disk.put(FILE, b"a b\n")
    freshness = Freshness(disk, shared_events, clock, sweep_s=3600)
    workspace = Workspace(fs=disk, freshness=freshness, history=History(), clock=clock, rules=rules_in(disk))
    person = Person()

    asker = asker_of(person)

    def client() -> Client:
        events = EventRecorder()
        ops = FileOps(workspace, ClientAdapters(asker=asker, events=events), Settings(), ["/w"])
        return Client(ops, events, person)

    editor, agent = client(), client()
    yield TwoClients(disk, shared_events, editor, agent)
    editor.ops.close()
    agent.ops.close()
    workspace.close()


async def test_edit_of_one_client_makes_the_session_of_the_other_stale(clients: TwoClients) -> None:
    await clients.editor.read("mine")
    await clients.agent.read("theirs")
    assert (await clients.agent.edit("theirs", "a", "A")).error is None
    stale = [event for event in clients.shared_events.events if isinstance(event, BecameStale)]
    assert [(event.session_id, event.source) for event in stale] == [("mine", "session:theirs")]
    conflict = (await clients.editor.edit("mine", "b", "B")).error
    assert isinstance(conflict, ModifiedExternally)
    assert conflict.changed_by == "session:theirs"
    assert clients.disk.read(FILE).data == b"A b\n"


async def test_edit_of_one_client_is_approved_by_the_user_of_the_other(clients: TwoClients) -> None:
    clients.editor.person.can_ask = True
    await clients.agent.read("theirs")
    assert (await clients.agent.edit("theirs", "a", "A")).error is None
    (question,) = clients.editor.person.questions
    assert (question.session_id, question.proposed_text) == ("theirs", "A b\n")
    clients.editor.person.answer = lambda question: Reject()
    assert isinstance((await clients.agent.edit("theirs", "b", "B")).error, Rejected)
    assert clients.disk.read(FILE).data == b"A b\n"


async def test_edit_of_one_client_is_in_the_history_of_the_other_and_can_be_undone_there(clients: TwoClients) -> None:
    await clients.agent.read("theirs")
    edit_id = (await clients.agent.edit("theirs", "a", "A")).edit_id
    (edit,) = await clients.editor.ops.history.edits(HistoryRequest(session_id=SessionName("theirs")))
    assert edit.edit_id == edit_id
    assert (await clients.editor.ops.history.undo(UndoRequest(edit_id=edit_id))).error is None
    assert clients.disk.read(FILE).data == b"a b\n"


async def test_events_of_one_client_do_not_reach_the_other_and_modes_are_shared(clients: TwoClients) -> None:
    await clients.agent.read("theirs")
    await clients.agent.edit("theirs", "a", "A")
    clients.agent.ops.set_approval_mode(SessionName("theirs"), "yolo")
    kinds = [type(event) for event in clients.agent.events.events]
    assert kinds == [DidRead, DidEdit, ApprovalModeChanged]
    assert clients.editor.events.events == []
    assert clients.editor.ops.approval_mode(SessionName("theirs")) == "yolo"


async def test_requests_of_two_clients_for_one_path_wait_for_each_other(clients: TwoClients) -> None:
    path_locks = clients.agent.ops.files.path_locks
    async with path_locks.acquire(FILE, shared=False):
        assert clients.editor.ops.read_at_once(ReadRequest(file_path=FILE)) is None
    assert clients.editor.ops.files.path_locks is path_locks


async def test_workspace_continues_after_one_client_has_closed(clients: TwoClients) -> None:
    clients.editor.ops.close()
    await clients.agent.read("theirs")
    assert (await clients.agent.edit("theirs", "a", "A")).error is None
