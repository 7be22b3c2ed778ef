"""The requests about reviews over a shared daemon: listing, deciding, and what a malformed decision does.

R-REV-2 (the list), R-REV-3 (decisions), R-REV-4 (older clients), R-REV-7 (codes), R-REV-8 (what was shown).
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from support.shared_daemon import LspClient, Refused, SharedDaemon, code_of, editor_capabilities, shared_daemon

LISTS = {"experimental": {"fileops": {"reviews": True}}}
CHANGED = "fileops/didChangeReviews"
OLD = "".join(f"line {n}\n" for n in range(1, 31))


@pytest.fixture
async def daemon() -> AsyncGenerator[SharedDaemon]:
    async with shared_daemon() as running:
        yield running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p" / "a.txt"
    path.parent.mkdir()
    path.write_text(OLD)
    return path


async def view_of(daemon: SharedDaemon, *folders: Path, **options: Any) -> LspClient:
    """An editor that keeps the list of reviews itself."""
    client = await daemon.lsp("editor", "nvim")
    await client.initialize(*folders, capabilities=LISTS, options={"review_grace_s": 0, "ask": "each_edit", **options})
    return client


async def begin_edit(daemon: SharedDaemon, file: Path, old: str = "line 5\n", new: str = "five\n") -> Any:
    """An edit by an agent that waits; returns the agent and the call."""
    agent = await daemon.agent(file.parent, host="bot")
    await agent.read(file)
    return agent, agent.start_edit(file, old, new)


async def opened(view: LspClient) -> Any:
    """The first review that the view was shown."""
    changed = await view.notification(CHANGED, lambda params: bool(params["opened"]))
    return changed["opened"][0]


async def of_revision(view: LspClient, revision: int) -> Any:
    """The review that the view was shown again, as it is listed; it is the only one."""
    await view.until(lambda: any(params["opened"][0]["revision"] == revision for params in view.notified(CHANGED)))
    (review,) = (await view.call("fileops/reviews"))["reviews"]
    return review


async def decide(view: LspClient, review: Any, outcome: str, **more: Any) -> Any:
    return await view.call("fileops/decideReview", {"review_id": review["review_id"], "outcome": outcome, **more})


async def test_view_is_shown_what_waits_and_its_decision_is_written(daemon: SharedDaemon, file: Path) -> None:
    """R-REV-2, R-UI-1: a review is accepted or rejected."""
    view = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    review = await opened(view)
    assert (review["file_path"], review["session"]["host"], review["revision"]) == (str(file), "bot", 1)
    assert [(change["old_start"], change["old_lines"]) for change in review["changes"]] == [(5, 1)]
    assert (await view.call("fileops/reviews"))["reviews"] == [review]
    decided = await decide(view, review, "accept", revision=1)
    assert (decided["state"], decided["reason"], decided["error"]) == ("decided", None, None)
    assert decided["by"] == {"kind": "person", "client": "Neovim"}
    assert file.read_text() == OLD.replace("line 5\n", "five\n")  # before the answer
    assert code_of(await edit) is None
    closed = await view.notification(CHANGED, lambda params: bool(params["closed"]))
    assert (closed["closed"][0]["review_id"], closed["closed"][0]["state"]) == (review["review_id"], "decided")
    assert (await view.call("fileops/reviews"))["reviews"] == []


async def test_late_view_is_shown_the_review_and_decides(daemon: SharedDaemon, file: Path) -> None:
    first = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    await opened(first)
    late = await view_of(daemon, file.parent)
    review = await opened(late)
    await first.hang_up()
    assert (await decide(late, review, "reject", reason="Use\x07 tabs.\n"))["outcome"] == "reject"
    refused = await edit
    assert refused["error"]["code"] == "rejected"
    assert "The proposed edit was rejected: Use tabs.\n Nothing was written." in refused["output"]
    assert "Do not retry" not in refused["output"]
    assert refused["details"]["decided_by"] == {"kind": "person", "client": "Neovim"}
    assert file.read_text() == OLD


async def test_editor_without_a_list_is_asked_about_what_waits_already(daemon: SharedDaemon, file: Path) -> None:
    view = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    await opened(view)
    older = await daemon.lsp("editor", "helix")
    asked = asyncio.Event()

    async def confirm(_params: Any) -> Any:
        asked.set()
        return {"outcome": "proceed_once"}

    older.answers["fileops/confirmEdit"] = confirm
    await older.initialize(file.parent, capabilities=editor_capabilities(confirms=True), options={"ask": "each_edit"})
    assert code_of(await edit) is None
    assert asked.is_set()


async def test_view_that_left_decided_nothing(daemon: SharedDaemon, file: Path) -> None:
    view = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    await opened(view)
    await view.hang_up()
    refused = await edit
    assert refused["error"]["code"] == "undecided"
    assert "You may ask the user, or send it again." in refused["output"]
    assert file.read_text() == OLD


@pytest.mark.parametrize(
    "malformed",
    [
        {"outcome": "yes"}, {"outcome": "modify"}, {"outcome": "accept", "text": "x"},
        {"outcome": "accept", "change_ids": []}, {"outcome": "accept", "change_ids": ["9-none"]},
        {"outcome": "reject", "change_ids": ["9-none"]}, {"outcome": "modify", "text": "x", "change_ids": ["9-none"]},
        {"outcome": "accept", "reviews": 1},
    ],
    ids=str,
)  # fmt: skip
async def test_malformed_decision_is_refused_and_decides_nothing(
    daemon: SharedDaemon, file: Path, malformed: dict[str, Any]
) -> None:
    view = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    review = await opened(view)
    with pytest.raises(Refused) as refusal:
        await view.call("fileops/decideReview", {"review_id": review["review_id"], **malformed})
    assert refusal.value.args[0] == -32602
    assert (await view.call("fileops/reviews"))["reviews"][0]["review_id"] == review["review_id"]
    await decide(view, review, "reject")
    assert code_of(await edit) == "rejected"


async def test_late_unknown_and_outdated_decisions_are_results(daemon: SharedDaemon, file: Path) -> None:
    view = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    review = await opened(view)
    assert (await decide(view, review, "accept", revision=7))["reason"] == "review_changed"
    assert (await decide(view, {"review_id": "r-none"}, "reject"))["reason"] == "unknown_review"
    first, second = await asyncio.gather(decide(view, review, "reject"), decide(view, review, "accept"))
    assert [first["reason"], second["reason"]] == [None, "already_decided"]
    assert second["outcome"] == "reject"
    assert code_of(await edit) == "rejected"


async def test_requests_about_reviews_are_unknown_to_agents(daemon: SharedDaemon, file: Path) -> None:
    agent = await daemon.agent(file.parent)
    for method in ("fileops/reviews", "fileops/decideReview", "fileops/decideReviews"):
        with pytest.raises(Refused) as refusal:
            await agent.call(method, {})
        assert refusal.value.args[0] == -32601


async def test_all_waiting_reviews_of_a_session_are_decided_together(daemon: SharedDaemon, file: Path) -> None:
    other = file.parent / "b.txt"
    other.write_text("two\n")
    view = await view_of(daemon, file.parent)
    agent, edit = await begin_edit(daemon, file)
    await agent.read(other)
    second = agent.start_edit(other, "two", "2")
    await view.until(lambda: sum(len(params["opened"]) for params in view.notified(CHANGED)) == 2)
    result = await view.call("fileops/decideReviews", {"outcome": "reject", "session_id": "bot-1", "reason": "later"})
    assert (len(result["decided"]), result["left"]) == (2, [])
    assert [code_of(await edit), code_of(await second)] == ["rejected", "rejected"]


async def test_dropped_change_does_not_come_back_when_the_file_changes(daemon: SharedDaemon, file: Path) -> None:
    """Of two changes one is dropped. Then a line beside the other one changes, so the decision is not safe any more."""
    view = await view_of(daemon, file.parent)
    agent = await daemon.agent(file.parent, host="bot")
    await agent.read(file)
    steps = [{"old_string": "line 5\n", "new_string": "five\n"}, {"old_string": "line 20\n", "new_string": "twenty\n"}]
    edit = agent.start("fileops/multiEdit", {"file_path": str(file), "edits": steps})
    review = await opened(view)
    file.write_text(OLD.replace("line 21\n", "theirs\n"))
    kept = review["changes"][1]["id"]
    answer = await decide(view, review, "accept", change_ids=[kept])
    assert answer["reason"] == "reopened"
    again = await of_revision(view, 2)
    assert again["proposed_text"] == OLD.replace("line 20\nline 21\n", "twenty\ntheirs\n")
    assert (again["previous"]["reason"], again["previous"]["change_ids"]) == ("near", [kept])
    assert (await decide(view, again, "accept", revision=2))["state"] == "decided"
    assert code_of(await edit) is None
    assert file.read_text() == OLD.replace("line 20\nline 21\n", "twenty\ntheirs\n")


async def test_first_text_of_an_agent_does_not_come_back_after_the_user_wrote_another_one(
    daemon: SharedDaemon, file: Path
) -> None:
    """The file that the agent would create was created by another program, so nothing of its text was left."""
    view = await view_of(daemon, file.parent)
    agent = await daemon.agent(file.parent, host="bot")
    created = file.with_name("new.txt")
    write = agent.start("fileops/write", {"file_path": str(created), "content": "agent's\n"})
    review = await opened(view)
    created.write_text("theirs\n")
    assert (await decide(view, review, "accept"))["reason"] == "reopened"
    left = await of_revision(view, 2)
    assert (left["changes"], left["previous"]["reason"]) == ([], "created")
    created.write_text("theirs\ntheirs too\n")
    assert (await decide(view, left, "modify", text="theirs\ntyped\n"))["reason"] == "reopened"
    again = await of_revision(view, 3)
    assert again["proposed_text"] == "theirs\ntyped\ntheirs too\n"
    assert again["previous"]["text"] == "theirs\ntyped\n"
    await decide(view, again, "accept", revision=3)
    assert code_of(await write) is None
    assert created.read_text() == "theirs\ntyped\ntheirs too\n"


async def test_dropped_change_does_not_come_back_when_its_line_does(daemon: SharedDaemon, file: Path) -> None:
    """Its line is gone in the second round, so all that the request would still do is proposed; then it is back."""
    content = OLD.replace("line 5\n", "word\n").replace("line 20\n", "word\n")
    file.write_text(content)
    view = await view_of(daemon, file.parent)
    agent = await daemon.agent(file.parent, host="bot")
    await agent.read(file)
    step = {"old_string": "word", "new_string": "agent's", "replace_all": True}
    edit = agent.start("fileops/edit", {"file_path": str(file), **step})
    review = await opened(view)
    without = content.replace("word\nline 21\n", "line 21\n").replace("line 6\n", "theirs\n")
    file.write_text(without)
    answer = await decide(view, review, "accept", change_ids=[review["changes"][0]["id"]])
    assert answer["reason"] == "reopened"
    again = await of_revision(view, 2)
    assert again["proposed_text"] == without.replace("word\n", "agent's\n")
    back = content.replace("word\nline 6\n", "theirs\n").replace("line 10\n", "word\n")
    file.write_text(back)  # what was accepted has moved, so it cannot be carried over
    assert (await decide(view, again, "accept", revision=2))["reason"] == "reopened"
    last = await of_revision(view, 3)
    assert (last["changes"], last["proposed_text"]) == ([], back)
    await decide(view, last, "reject", revision=3)
    assert code_of(await edit) == "rejected"


async def test_approval_of_all_that_follows_leaves_an_edit_of_which_nothing_is_left(
    daemon: SharedDaemon, file: Path
) -> None:
    """There is nothing in it to approve: the user looks at it, and is not said to have rejected it."""
    view = await view_of(daemon, file.parent)
    agent = await daemon.agent(file.parent, host="bot")
    await agent.read(file)
    other = file.with_name("g.txt")
    other.write_text("g\n")
    await agent.read(other)
    edit = agent.start("fileops/edit", {"file_path": str(file), "old_string": "line 5\n", "new_string": "five\n"})
    review = await opened(view)
    file.write_text(OLD.replace("line 5\n", ""))
    assert (await decide(view, review, "accept"))["reason"] == "reopened"
    await view.until(lambda: any(params["opened"][0]["revision"] == 2 for params in view.notified(CHANGED)))
    second = agent.start("fileops/edit", {"file_path": str(other), "old_string": "g", "new_string": "h"})
    await view.until(lambda: any(params["opened"][0]["file_path"] == str(other) for params in view.notified(CHANGED)))
    left, asked = (await view.call("fileops/reviews"))["reviews"]
    assert left["changes"] == []
    await decide(view, asked, "accept_always")
    assert code_of(await second) is None
    assert [waiting["review_id"] for waiting in (await view.call("fileops/reviews"))["reviews"]] == [left["review_id"]]
    await decide(view, left, "reject", revision=2)
    assert code_of(await edit) == "rejected"


async def test_approval_of_all_that_follows_does_not_approve_what_its_user_was_not_shown(
    daemon: SharedDaemon, file: Path
) -> None:
    """Beside each of two approved edits another program has changed a line: both are open again."""
    view = await view_of(daemon, file.parent)
    agent, first = await begin_edit(daemon, file)
    await opened(view)
    second = agent.start_edit(file, "line 20\n", "twenty\n")
    await view.until(lambda: sum(len(params["opened"]) for params in view.notified(CHANGED)) == 2)
    present = OLD.replace("line 6\n", "theirs\n").replace("line 21\n", "theirs too\n")
    file.write_text(present)
    reviews = (await view.call("fileops/reviews"))["reviews"]
    assert (await decide(view, reviews[0], "accept_always"))["reason"] == "reopened"
    await view.until(
        lambda: sum(opened["revision"] == 2 for params in view.notified(CHANGED) for opened in params["opened"]) == 2
    )
    assert file.read_text() == present
    for again in (await view.call("fileops/reviews"))["reviews"]:
        await decide(view, again, "reject")
    assert [code_of(await first), code_of(await second)] == ["rejected", "rejected"]


async def test_edits_that_wait_for_a_decision_do_not_keep_the_agent_from_other_requests(
    daemon: SharedDaemon, file: Path
) -> None:
    """One connection may serve many sessions, and each has up to 32 reviews. A cancel is read, too."""
    view = await view_of(daemon, file.parent)
    agent = await daemon.agent(file.parent, host="bot")
    sessions = [f"s{number}" for number in range(6)]
    for session in sessions:
        await agent.read(file, session)
    edits = [agent.start_edit(file, "line 5\n", "five\n", session) for session in sessions for _ in range(30)]
    await view.until(lambda: sum(len(params["opened"]) for params in view.notified(CHANGED)) == len(edits))
    await agent.read(file, "another")
    await view.call("fileops/decideReviews", {"outcome": "reject"})
    assert {code_of(await edit) for edit in edits} == {"rejected"}


async def test_result_of_an_edit_that_was_approved_in_part_has_its_diff_once_and_the_reason(
    daemon: SharedDaemon, file: Path
) -> None:
    """Its text has what was written, and why not the rest; hosts over MCP add no second diff."""
    view = await view_of(daemon, file.parent)
    host = await daemon.host(file.parent, "codex")
    await host.tool("Read", file_path=str(file))
    steps = [{"old_string": "line 5\n", "new_string": "five\n"}, {"old_string": "line 20\n", "new_string": "twenty\n"}]
    edit = host.start_tool("MultiEdit", file_path=str(file), edits=steps)
    review = await opened(view)
    await decide(view, review, "accept", change_ids=[review["changes"][1]["id"]], reason="Keep\x07 digits.\n")
    texts = "\n".join(item["text"] for item in (await edit)["content"])
    assert f"The file {file} has been updated.\nUser modified the proposed change. What was written:" in texts
    assert "Applied 2 edits" not in texts and "Replaced" not in texts
    assert texts.count("\n+twenty\n") == 1
    assert texts.count("\nThe user's reason: Keep digits.") == 1


async def test_reason_stays_with_a_review_that_is_asked_again(daemon: SharedDaemon, file: Path) -> None:
    view = await view_of(daemon, file.parent)
    agent = await daemon.agent(file.parent, host="bot")
    await agent.read(file)
    steps = [{"old_string": "line 5\n", "new_string": "five\n"}, {"old_string": "line 20\n", "new_string": "twenty\n"}]
    edit = agent.start("fileops/multiEdit", {"file_path": str(file), "edits": steps})
    review = await opened(view)
    file.write_text(OLD.replace("line 21\n", "theirs\n"))
    kept = [review["changes"][1]["id"]]
    assert (await decide(view, review, "accept", change_ids=kept, reason="Keep it."))["reason"] == "reopened"
    again = await of_revision(view, 2)
    await decide(view, again, "accept", revision=2)
    assert (await edit)["output"].endswith("\nThe user's reason: Keep it.")


@pytest.mark.parametrize("decision", ["change_ids", "text"])
async def test_reason_beside_an_approval_of_all_is_not_sent(daemon: SharedDaemon, file: Path, decision: str) -> None:
    """It is of a rejection, and nothing was rejected: all changes are named, or the text is the proposed one."""
    view = await view_of(daemon, file.parent)
    _agent, edit = await begin_edit(daemon, file)
    review = await opened(view)
    if decision == "text":
        await decide(view, review, "modify", text=review["proposed_text"], reason="Why not.")
    else:
        await decide(view, review, "accept", change_ids=[review["changes"][0]["id"]], reason="Why not.")
    assert "Why not." not in (await edit)["output"]
