"""What an answer makes count, counts if it was sent; and what was done is reported, even if its answer is lost.

R-SENT-1 (reads and bases), R-SENT-2 (what was done), R-SENT-3 (the order of requests).
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from fileops.api import additions
from fileops.mcp.options import McpOptions, mcp_options
from fileops.model.approval import ApprovalRequest, Decision, FileDecision, Modify, SomeFiles
from support.in_process import Person
from support.patience import PATIENCE_S
from support.wired import HeldDisk, Wire, code_of, lsp_wire, mcp_wire, texts_of

FILE, OTHER = "/w/f", "/w/other"
TEXT = "one\ntwo\nthree\n"
EDIT = {"file_path": FILE, "old_string": "two", "new_string": "2"}
EDITS: dict[str, dict[str, Any]] = {
    "fileops/edit": EDIT,
    "fileops/multiEdit": {"file_path": FILE, "edits": [{"old_string": "two", "new_string": "2"}]},
    "fileops/write": {"file_path": FILE, "content": "one\n2\nthree\n"},
}
APPLIED = b"one\n2\nthree\n"
CANCELLED = -32800
WAS_APPLIED = f"An edit of {FILE} that was cancelled had been applied already."


@pytest.fixture
def disk() -> HeldDisk:
    disk = HeldDisk()
    disk.put(FILE, TEXT.encode())
    disk.put(OTHER, b"other\n")
    return disk


@pytest.fixture
async def lsp(disk: HeldDisk) -> AsyncGenerator[Wire]:
    async with lsp_wire(disk, freshness="relevant", notices="details") as wire:
        yield wire


@pytest.fixture
async def mcp(disk: HeldDisk) -> AsyncGenerator[Wire]:
    options = mcp_options({"roots": ["/w"], "freshness": "relevant", "further_tools": ["Write", "Undo"]})
    async with mcp_wire(disk, options) as wire:
        yield wire


@pytest.fixture(autouse=True)
def notices_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that a test holds at its notices is not sent because that takes too long."""
    monkeypatch.setattr(additions, "NOTICES_S", PATIENCE_S)


async def held_at_notices(wire: Wire, method: str, params: object) -> int:
    """A request whose work is done, and for whose notices the disk is being asked."""
    assert isinstance(wire.disk, HeldDisk)
    wire.disk.hold(OTHER)
    msg_id = wire.start(method, params)
    assert await asyncio.to_thread(wire.disk.has_begun.wait, PATIENCE_S)
    return msg_id


def held_tool(wire: Wire, name: str, **arguments: object) -> Any:
    return held_at_notices(wire, "tools/call", {"name": name, "arguments": arguments})


def release(wire: Wire) -> None:
    assert isinstance(wire.disk, HeldDisk)
    wire.disk.release()


def cancel_all(wire: Wire) -> None:
    """As at the end of the connection."""
    for request in wire.connection.in_flight():
        request.cancel()


# --- a commit is not hidden --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cancel", "shutdown", "end"])
@pytest.mark.parametrize("method", [*EDITS, "fileops/undo"])
async def test_applied_edit_is_answered_if_a_cancel_meets_its_notices(
    lsp: Wire, disk: HeldDisk, method: str, how: str
) -> None:
    for path in (OTHER, FILE):
        await lsp.call("fileops/read", {"file_path": path})
    params, content = EDITS.get(method), APPLIED
    if params is None:
        await lsp.call("fileops/edit", EDIT)
        params, content = {"session_id": "default"}, TEXT.encode()
    msg_id = await held_at_notices(lsp, method, params)
    if how == "cancel":
        lsp.cancel(msg_id)
    elif how == "shutdown":
        lsp.start("shutdown")
    else:
        cancel_all(lsp)
    answer = await lsp.answer(msg_id)
    release(lsp)
    assert answer["result"]["status"] == "success"
    assert disk.read(FILE).data == content


async def test_applied_edit_is_answered_without_notices_while_a_mount_hangs(
    lsp: Wire, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additions, "NOTICES_S", 0.05)
    for path in (OTHER, FILE):
        await lsp.call("fileops/read", {"file_path": path})
    disk.put(OTHER, b"changed\n")
    msg_id = await held_at_notices(lsp, "fileops/edit", EDIT)
    result = (await lsp.answer(msg_id))["result"]
    assert (result["status"], "notices" in result["details"]) == ("success", False)
    release(lsp)
    monkeypatch.setattr(additions, "NOTICES_S", PATIENCE_S)
    (notice,) = (await lsp.call("fileops/read", {"file_path": FILE}))["details"]["notices"]
    assert notice["file_path"] == OTHER


@pytest.mark.parametrize("how", ["cancel", "lost"])
@pytest.mark.parametrize("tool", ["Edit", "MultiEdit", "Write", "Undo"])
async def test_applied_edit_that_is_not_answered_is_reported_with_the_next_result(
    mcp: Wire, tool: str, how: str
) -> None:
    for path in (OTHER, FILE):
        await mcp.tool("Read", file_path=path)
    if tool == "Undo":
        await mcp.tool("Edit", **EDIT)
    arguments = {"Undo": {"file_path": FILE}, "Edit": EDIT}.get(tool) or EDITS[f"fileops/{tool[0].lower()}{tool[1:]}"]
    msg_id = await held_tool(mcp, tool, **arguments)
    if how == "cancel":
        mcp.cancel(msg_id)
    mcp.is_open = how == "cancel"
    release(mcp)
    await mcp.settled()
    mcp.is_open = True
    assert msg_id not in mcp.answers
    lost = await held_tool(mcp, "Read", file_path=OTHER)  # the one that would say it is not sent either
    mcp.cancel(lost)
    release(mcp)
    await mcp.settled()
    assert texts_of(await mcp.tool("Read", file_path=OTHER))[1:] == [WAS_APPLIED]
    assert len(texts_of(await mcp.tool("Read", file_path=OTHER))) == 1


async def test_cancel_of_a_finished_call_is_too_late_for_it(disk: HeldDisk) -> None:
    async with mcp_wire(disk, McpOptions(roots=["/w"], notices="off")) as mcp:
        await mcp.tool("Read", file_path=FILE)
        msg_id = mcp.start_tool("Edit", **EDIT)
        (task,) = mcp.connection.in_flight()
        while not task.done():  # noqa: ASYNC110 - no turn of the loop is between its end and its answer
            await asyncio.sleep(0)
        assert msg_id in mcp.answers
        mcp.cancel(msg_id)
        assert code_of((await mcp.answer(msg_id))["result"]) is None


# --- a read counts by its answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cancel", "lost"])
async def test_mcp_read_that_is_not_answered_does_not_count(mcp: Wire, disk: HeldDisk, how: str) -> None:
    await mcp.tool("Read", file_path=OTHER)
    read = await held_tool(mcp, "Read", file_path=FILE)
    write = mcp.start_tool("Write", file_path=FILE, content="mine\n")  # sent before the read is answered or not
    if how == "cancel":
        mcp.cancel(read)
    mcp.is_open = how == "cancel"
    release(mcp)
    await mcp.settled()
    mcp.is_open = True
    if how == "cancel":
        assert code_of((await mcp.answer(write))["result"]) == "not_read"
    assert read not in mcp.answers
    assert code_of(await mcp.tool("Write", file_path=FILE, content="mine\n")) == "not_read"
    assert code_of(await mcp.tool("Edit", **EDIT)) == "not_read"
    assert disk.read(FILE).data == TEXT.encode()
    await mcp.tool("Read", file_path=FILE)
    assert code_of(await mcp.tool("Write", file_path=FILE, content="mine\n")) is None


@pytest.mark.parametrize("method", ["fileops/read", "fileops/recordRead"])
async def test_lsp_read_whose_connection_is_lost_does_not_count(lsp: Wire, method: str) -> None:
    lsp.start(method, {"file_path": FILE})
    lsp.is_open = False
    await lsp.settled()
    lsp.is_open = True
    assert (await lsp.call("fileops/tracked"))["files"] == []
    assert (await lsp.call("fileops/sessionFiles"))["files"] == []
    assert code_of(await lsp.call("fileops/write", EDITS["fileops/write"])) == "not_read"


async def test_edit_sent_after_its_read_waits_for_the_answer(mcp: Wire, disk: HeldDisk) -> None:
    await mcp.tool("Read", file_path=OTHER)
    read = await held_tool(mcp, "Read", file_path=FILE)
    edit = mcp.start_tool("Edit", **EDIT)
    release(mcp)
    assert code_of((await mcp.answer(edit))["result"]) is None
    assert list(mcp.answers)[-2:] == [read, edit]
    assert disk.read(FILE).data == APPLIED


@pytest.mark.parametrize("method", ["fileops/resetSession", "fileops/closeSession"])
async def test_read_answered_after_its_session_was_reset_does_not_count(lsp: Wire, method: str) -> None:
    await lsp.call("fileops/read", {"file_path": OTHER, "session_id": "s"})
    read = await held_at_notices(lsp, "fileops/read", {"file_path": FILE, "session_id": "s"})
    await lsp.call(method, {"session_id": "s"})
    release(lsp)
    assert code_of((await lsp.answer(read))["result"]) is None
    assert (await lsp.call("fileops/tracked", {"session_id": "s"}))["files"] == []


# --- a base moves by its answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [True, False])
async def test_read_does_not_report_its_file(lsp: Wire, disk: HeldDisk, raw: bool) -> None:
    """Else the base is a content that the read does not show, and its text written back undoes the change."""
    await lsp.call("fileops/read", {"file_path": OTHER})
    await lsp.call("fileops/read", {"file_path": FILE})
    disk.put(FILE, b"one\ntwo\nthree\nfour\n")
    read = await held_at_notices(lsp, "fileops/read", {"file_path": FILE, "raw": raw})
    disk.put(FILE, b"ONE\ntwo\nthree\nfour\n")  # a person's word
    release(lsp)
    result = (await lsp.answer(read))["result"]
    assert "notices" not in result["details"]
    written = await lsp.call("fileops/write", {"file_path": FILE, "content": "one\ntwo\nthree\n4\n"})
    assert code_of(written) is None
    assert disk.read(FILE).data == b"ONE\ntwo\nthree\n4\n"


async def test_write_leaves_a_change_after_it_to_the_next_result(lsp: Wire, disk: HeldDisk) -> None:
    for path in (OTHER, FILE):
        await lsp.call("fileops/read", {"file_path": path})
    write = await held_at_notices(lsp, "fileops/write", EDITS["fileops/write"])
    disk.put(FILE, b"ONE\n2\nthree\n")
    release(lsp)
    assert "notices" not in (await lsp.answer(write))["result"]["details"]
    again = await lsp.call("fileops/write", {"file_path": FILE, "content": "one\n2\n3\n"})
    assert code_of(again) is None
    assert disk.read(FILE).data == b"ONE\n2\n3\n"


@pytest.mark.parametrize("how", ["cancel", "lost"])
async def test_notice_that_was_not_sent_is_repeated_and_moves_no_base(mcp: Wire, disk: HeldDisk, how: str) -> None:
    for path in (FILE, OTHER):
        await mcp.tool("Read", file_path=path)
    disk.put(FILE, b"ONE\ntwo\nthree\n")
    read = await held_tool(mcp, "Read", file_path=OTHER)
    if how == "cancel":
        mcp.cancel(read)
    mcp.is_open = how == "cancel"
    release(mcp)
    await mcp.settled()
    mcp.is_open = True
    assert read not in mcp.answers
    written = await mcp.tool("Write", file_path=FILE, content="one\ntwo\n3\n")
    assert disk.read(FILE).data == b"ONE\ntwo\n3\n"
    (notice,) = texts_of(written)[1:]
    assert "+ONE" in notice


class SlowPerson(Person):
    """Says yes to each question when `may_answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.can_ask = True
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def decide(self, question: ApprovalRequest) -> Decision:
        self.is_asked.set()
        await self.may_answer.wait()
        return await super().decide(question)


async def test_notice_moves_no_base_of_an_edit_that_was_requested_before_it(disk: HeldDisk) -> None:
    """The write waits for its user while another answer reports a change of its file."""
    person = SlowPerson()
    async with lsp_wire(disk, person, approval_mode="default", freshness="relevant", notices="details") as lsp:
        for path in (FILE, OTHER):
            await lsp.call("fileops/read", {"file_path": path})
        write = lsp.start("fileops/write", EDITS["fileops/write"])
        await person.is_asked.wait()
        disk.put(FILE, b"ONE\ntwo\nthree\n")
        (notice,) = (await lsp.call("fileops/read", {"file_path": OTHER}))["details"]["notices"]
        assert (notice["file_path"], notice["truncated"]) == (FILE, False)
        person.may_answer.set()
        assert code_of((await lsp.answer(write))["result"]) is None
        assert disk.read(FILE).data == b"ONE\n2\nthree\n"


async def test_text_that_the_user_changed_has_to_be_read_if_the_answer_is_lost(disk: HeldDisk) -> None:
    person = Person()
    person.can_ask = True
    person.answer = lambda question: Modify("one\n2\nthree\nby the user\n")
    async with lsp_wire(disk, person, approval_mode="default") as lsp:
        await lsp.call("fileops/read", {"file_path": FILE})
        lsp.start("fileops/edit", EDIT)
        lsp.is_open = False
        await lsp.settled()
        lsp.is_open = True
        assert disk.read(FILE).data.endswith(b"by the user\n")
        assert code_of(await lsp.call("fileops/write", EDITS["fileops/write"])) == "not_read"
        assert disk.read(FILE).data.endswith(b"by the user\n")


# --- what is known of a file follows the order in which requests had it ------------------------------------------

COMMITS: dict[str, dict[str, Any]] = {**EDITS, "fileops/undo": {"session_id": "default"}}


async def held_commit(wire: Wire, method: str) -> int:
    """A request that has written a text of which only its answer tells the session, and waits for its notices."""
    for path in (OTHER, FILE):
        await wire.call("fileops/read", {"file_path": path})
    if method == "fileops/undo":
        await wire.call("fileops/edit", EDIT)
    return await held_at_notices(wire, method, COMMITS[method])


async def lose(wire: Wire) -> None:
    """The answers to all requests in flight are lost."""
    wire.is_open = False
    release(wire)
    await wire.settled()
    wire.is_open = True


@pytest.fixture
async def changing(disk: HeldDisk) -> AsyncGenerator[Wire]:
    """The user changes each proposed text."""
    person = Person()
    person.can_ask = True
    person.answer = lambda question: Modify(f"{question.proposed_text}by the user\n")
    async with lsp_wire(disk, person, approval_mode="default", freshness="relevant", notices="details") as wire:
        yield wire


@pytest.mark.parametrize("reading", ["fileops/read", "fileops/recordRead"])
@pytest.mark.parametrize("method", COMMITS)
async def test_read_after_a_commit_counts_if_the_answer_to_the_commit_is_dropped_later(
    changing: Wire, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch, method: str, reading: str
) -> None:
    commit = await held_commit(changing, method)
    monkeypatch.setattr(additions, "NOTICES_S", 0.0)
    await changing.call(reading, {"file_path": FILE})
    await lose(changing)
    assert commit not in changing.answers
    known = disk.read(FILE).data.decode()
    edit = {"file_path": FILE, "old_string": known.splitlines()[0], "new_string": "1"}
    assert code_of(await changing.call("fileops/edit", edit)) is None
    assert disk.read(FILE).data.startswith(b"1\n")


@pytest.mark.parametrize("method", COMMITS)
async def test_part_read_after_a_commit_whose_answer_is_dropped_is_not_the_whole(
    changing: Wire, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """What the session knew of the rest it knew of another text."""
    await held_commit(changing, method)
    monkeypatch.setattr(additions, "NOTICES_S", 0.0)
    await changing.call("fileops/read", {"file_path": FILE, "limit": 1})
    await lose(changing)
    written = disk.read(FILE).data
    assert code_of(await changing.call("fileops/write", {"file_path": FILE, "content": "mine\n"})) == "not_read"
    assert disk.read(FILE).data == written


@pytest.mark.parametrize("path", [FILE, "/w/moved"])
async def test_set_that_the_user_changed_has_to_be_read_if_the_answer_is_lost(disk: HeldDisk, path: str) -> None:
    person = Person()
    person.can_ask = True
    person.answer = lambda question: SomeFiles((FileDecision(file_path=FILE, text="one\nby the user\n"),))
    async with lsp_wire(disk, person, approval_mode="default", freshness="relevant", notices="details") as lsp:
        await lsp.call("fileops/read", {"file_path": FILE})
        change: dict[str, Any] = {"kind": "rename", "file_path": FILE, "new_path": path}
        if path == FILE:
            change = {"kind": "edit", "file_path": FILE, "edits": [{"old_string": "two", "new_string": "2"}]}
        lsp.start("fileops/applyChanges", {"changes": [change]})
        await lose(lsp)
        assert disk.read(path).data == b"one\nby the user\n"
        assert code_of(await lsp.call("fileops/write", {"file_path": path, "content": "mine\n"})) == "not_read"
