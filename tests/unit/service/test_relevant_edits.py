"""Rebased edits at the moments that a process cannot be made to hit: between plan and commit, in an open document."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from fileops.fs.memory import MemoryFileSystem
from fileops.model.approval import ApprovalRequest, Decision, Once
from fileops.model.edits import Splice
from fileops.model.errors import ModifiedExternally
from fileops.model.files import Committed, Snapshot
from fileops.model.settings import Settings
from fileops.ports import CommitHooks
from support.in_process import Workbench

LINES = b"".join(b"line %d\n" % number for number in range(1, 31))


class RacingFileSystem(MemoryFileSystem):
    """Another program writes immediately before the next commits, once for each of `rivals`."""

    def __init__(self) -> None:
        super().__init__()
        self.rivals: list[Callable[[], None]] = []

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        if self.rivals:
            self.rivals.pop(0)()
        return super().replace(snapshot, splices, hooks)


@pytest.fixture
def desk() -> Iterator[Workbench]:
    desk = Workbench(settings=Settings(freshness="relevant"), disk=RacingFileSystem())
    desk.disk.put("/w/f", LINES)
    yield desk
    desk.close()


def theirs(desk: Workbench, line: int, text: bytes) -> Callable[[], None]:
    def write() -> None:
        data = desk.disk.read("/w/f").data
        desk.disk.put("/w/f", data.replace(b"line %d\n" % line, text))

    return write


# R-REL-6
async def test_change_before_the_commit_is_checked_for_relevance(desk: Workbench) -> None:
    assert isinstance(desk.disk, RacingFileSystem)
    await desk.read("/w/f")
    theirs(desk, 2, b"theirs\n")()
    desk.disk.rivals = [theirs(desk, 5, b"new\nnew\n"), theirs(desk, 28, b"")]
    edited = await desk.edit("/w/f", "line 20", "mine")
    assert edited.error is None
    assert edited.rebased is not None and len(edited.rebased.ranges) == 3
    expected = LINES.replace(b"line 2\n", b"theirs\n").replace(b"line 5\n", b"new\nnew\n").replace(b"line 28\n", b"")
    assert desk.on_disk("/w/f") == expected.replace(b"line 20", b"mine")


async def test_change_near_the_edit_before_the_commit_refuses_it(desk: Workbench) -> None:
    assert isinstance(desk.disk, RacingFileSystem)
    await desk.read("/w/f")
    theirs(desk, 2, b"theirs\n")()
    desk.disk.rivals = [theirs(desk, 19, b"near\n")]
    edited = await desk.edit("/w/f", "line 20", "mine")
    assert isinstance(edited.error, ModifiedExternally)
    assert edited.error.relevance is not None and edited.error.relevance.reason == "near"
    assert b"mine" not in (desk.on_disk("/w/f") or b"")


async def test_edit_of_a_dirty_document_is_rebased_on_its_text(desk: Workbench) -> None:
    await desk.read("/w/f")
    desk.editor.type(desk.editor.open("/w/f"), "line 2\n", "typed\n")
    edited = await desk.edit("/w/f", "line 20", "mine")
    assert edited.error is None and edited.applied_to == "buffer"
    assert edited.rebased is not None and edited.rebased.changed_by == "buffer"
    assert desk.on_disk("/w/f") == LINES


async def test_change_by_another_session_names_it(desk: Workbench) -> None:
    await desk.read("/w/f")
    await desk.applied("/w/f", "line 2\n", "theirs\n", "other")
    edited = await desk.edit("/w/f", "line 20", "mine")
    assert edited.rebased is not None and edited.rebased.changed_by == "session:other"
    assert (await desk.edit("/w/f", "line 20", "other's", "other")).error is not None  # its own words are gone
    assert (await desk.edit("/w/f", "line 10", "other's", "other")).error is None


async def test_undo_leaves_unseen_changes_unseen(desk: Workbench) -> None:
    await desk.read("/w/f")
    theirs(desk, 2, b"theirs\n")()
    edited = await desk.edit("/w/f", "line 20", "mine")
    assert edited.edit_id is not None
    await desk.undo(edited.edit_id)
    assert desk.on_disk("/w/f") == LINES.replace(b"line 2\n", b"theirs\n")
    refused = await desk.edit("/w/f", "line 3\n", "near\n")
    assert isinstance(refused.error, ModifiedExternally)


async def test_approved_edit_of_the_same_lines_is_not_asked_about_again(desk: Workbench) -> None:
    desk.person.can_ask = True
    desk.disk.put("/w/f", LINES.replace(b"line 30", b"twin").replace(b"line 10", b"twin"))
    await desk.read("/w/f")

    def answer(question: ApprovalRequest) -> Decision:
        if len(desk.person.questions) == 1:
            theirs(desk, 1, b"theirs\n")()
        return Once()

    desk.person.answer = answer
    edited = await desk.edit("/w/f", "twin", "mine", replace_all=True)
    assert edited.error is None
    assert len(desk.person.questions) == 1
