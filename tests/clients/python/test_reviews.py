"""Reviews through the client: a program that shows the queue of the daemon, and decides."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fileops_client import DidChangeReviews, FileOpsClient, ResponseError, Review, ToolResult, sync
from support.daemon_process import Place
from support.patience import PATIENCE_S


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


class Shown:
    """What a program shows: the list, kept by its listener."""

    def __init__(self) -> None:
        self.reviews: dict[str, Review] = {}
        self.closed: list[Any] = []
        self._changed = asyncio.Event()

    def update(self, change: DidChangeReviews) -> None:
        self.reviews |= {review.review_id: review for review in change.opened}
        for end in change.closed:
            self.reviews.pop(end.review_id, None)
            self.closed.append(end)
        self._changed.set()

    async def until(self, holds: Callable[["Shown"], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds(self):
                self._changed.clear()
                await self._changed.wait()

    async def one(self) -> Review:
        await self.until(lambda shown: shown.reviews)
        (review,) = self.reviews.values()
        return review


async def edit(agent: FileOpsClient, file: Path) -> ToolResult:
    await agent.read(file)
    return await agent.multi_edit(file, [("one", "1"), ("three", "3")])


async def test_listener_shows_an_agents_edit_and_decides_its_changes(shared: Place, file: Path) -> None:
    shown = Shown()
    async with (
        FileOpsClient.attach(
            root=file.parent,
            role="editor",
            initialization_options={"ask": "each_edit"},
            host="board",
            on_reviews=shown.update,
        ) as board,
        FileOpsClient.attach(root=file.parent, host="planner") as agent,
    ):
        async with asyncio.TaskGroup() as calls:
            call = calls.create_task(edit(agent, file))
            review = await shown.one()
            assert (review.file_path, review.session.host, review.proposed_text) == (
                str(file), "planner", "1\ntwo\n3\n",
            )  # fmt: skip
            assert await board.reviews() == (review,)
            (listed,) = await board.reviews([review.review_id, "r-0"], include_texts=False)
            assert (listed.original_text, listed.proposed_text, listed.changes) == (None, None, review.changes)
            with pytest.raises(ResponseError, match="change_ids"):
                await board.decide_review(review, "accept", change_ids=["no such change"])
            kept = [review.changes[1].id]
            done = await board.decide_review(review, "accept", change_ids=kept, reason="One is a name.")
            assert (done.state, done.outcome, done.reason, done.error) == ("decided", "accept", None, None)
            assert done.by is not None
            assert (done.by.kind, done.by.client) == ("person", "board")
        assert call.result().ok
        assert "\nThe user's reason: One is a name." in call.result().text_for_model
        await shown.until(lambda shown: shown.closed)
        late = await board.decide_review(review.review_id, "reject")
        assert (late.reason, late.outcome) == ("already_decided", "accept")
    assert file.read_text() == "one\ntwo\n3\n"


async def test_several_are_rejected_with_a_reason_that_the_model_reads(shared: Place, file: Path) -> None:
    shown = Shown()
    async with (
        FileOpsClient.attach(
            root=file.parent, role="editor", initialization_options={"ask": "each_edit"}, on_reviews=shown.update
        ) as board,
        FileOpsClient.attach(root=file.parent) as agent,
    ):
        async with asyncio.TaskGroup() as calls:
            call = calls.create_task(edit(agent, file))
            review = await shown.one()
            done = await board.decide_reviews("reject", file_path=file, reason="Leave the numbers.")
            assert [(decided.review_id, decided.error) for decided in done.decided] == [(review.review_id, None)]
            assert done.left == ()
        assert call.result().code == "rejected"
        assert "Leave the numbers." in call.result().output
    assert file.read_text() == "one\ntwo\nthree\n"


async def test_program_without_a_list_sees_the_reviews_of_its_folder_and_is_no_view(shared: Place, file: Path) -> None:
    shown = Shown()
    async with (
        FileOpsClient.attach(
            root=file.parent, role="editor", initialization_options={"ask": "each_edit"}, on_reviews=shown.update
        ),
        FileOpsClient.attach(root=file.parent, role="editor") as command,
        FileOpsClient.attach(root=file.parent) as agent,
    ):
        async with asyncio.TaskGroup() as calls:
            call = calls.create_task(edit(agent, file))
            review = await shown.one()
            assert review.n_editors == 1
            (listed,) = await command.reviews()
            await command.decide_review(listed, "modify", text="typed\n")
        assert call.result().ok
    assert file.read_text() == "typed\n"


async def test_agent_has_no_list_of_reviews() -> None:
    with pytest.raises(ValueError, match="on_reviews needs the role"):
        FileOpsClient.attach(on_reviews=lambda _: None)


def test_synchronous_client_takes_the_queue_from_its_listener(shared: Place, file: Path) -> None:
    with (
        sync.FileOpsClient.attach(
            root=file.parent, role="editor", initialization_options={"ask": "each_edit"}, on_reviews=lambda _: None
        ) as board,
        sync.FileOpsClient.attach(root=file.parent) as agent,
        board.events(DidChangeReviews.METHOD) as changes,
    ):
        agent.read(file)
        call = agent.begin("fileops/edit", {"file_path": str(file), "old_string": "one", "new_string": "1"})
        (review,) = changes.next(timeout_s=PATIENCE_S).opened
        assert board.decide_review(review, "accept").reason is None
        assert call.result(timeout_s=PATIENCE_S)["status"] == "success"
    assert file.read_text() == "1\ntwo\nthree\n"
