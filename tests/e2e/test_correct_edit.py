"""The client's own model corrects an edit. Requirements: R-CORRECT-* of docs/PROTOCOL.md."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from fileops_client import Answer, CorrectionRequest, FileOpsClient, Options, Question, ResponseError
from support.editor_client import Held, answer, within

Correct = Callable[[CorrectionRequest], Awaitable[tuple[str, str] | None]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trip.py"
    path.write_bytes(b"bread = 2\r\ncheese = 1\r\napples = 4\r\napples = 4\r\n")
    return path


class Model:
    """The agent's model: proposes what the test prepared, and remembers the questions."""

    def __init__(self, *proposals: tuple[str, str] | None) -> None:
        self._proposals = iter(proposals)
        self.questions: list[CorrectionRequest] = []

    async def __call__(self, question: CorrectionRequest) -> tuple[str, str] | None:
        self.questions.append(question)
        return next(self._proposals)


@asynccontextmanager
async def agent(file: Path, correct: Correct, **options: Any) -> AsyncGenerator[FileOpsClient]:
    chosen = cast("Options", {"correction": True} | options)
    async with FileOpsClient.start(root=file.parent, correct_edit=correct, initialization_options=chosen) as client:
        await client.read(file)
        yield client


@asynccontextmanager
async def raw_agent(file: Path, reply: Any, **options: Any) -> AsyncGenerator[FileOpsClient]:
    chosen = cast("Options", {"correction": True} | options)
    handlers = {"fileops/correctEdit": reply}
    async with FileOpsClient.start(root=file.parent, handlers=handlers, initialization_options=chosen) as client:
        await client.read(file)
        yield client


# R-CORRECT-1
async def test_client_is_asked_after_the_tiers_and_its_proposal_is_used(file: Path) -> None:
    model = Model(("cheese = 1", "cheese = 3"))
    async with agent(file, model) as client:
        result = await client.edit(file, "cheddar = 1", "cheddar = 3", session_id=None)
    (question,) = model.questions
    assert (question.file_path, question.session_id, question.edit_index) == (str(file), "default", 0)
    assert (question.old_string, question.new_string) == ("cheddar = 1", "cheddar = 3")
    assert question.reason == "The text to replace was not found in the file."
    assert question.suggested_place is not None
    assert question.suggested_place["start_line"] == 2
    assert file.read_bytes() == b"bread = 2\r\ncheese = 3\r\napples = 4\r\napples = 4\r\n"
    assert result.details.get("match") == "client"
    assert result.details.get("match_lines") == [2]
    assert result.details.get("corrected") == [
        {"edit_index": 0, "old_string": "cheese = 1", "new_string": "cheese = 3"}
    ]
    lines = result.output.splitlines()
    assert lines[0].endswith("Here's the result of running `cat -n` on a snippet of the edited file:")
    assert lines[-1] == (
        "Note: old_string was not found as given; a corrected old_string and new_string were used instead."
    )


async def test_edit_corrected_by_a_tier_is_not_sent_to_the_client(file: Path) -> None:
    model = Model()
    async with agent(file, model) as client:
        assert (await client.edit(file, "cheese = 1 \n", "cheese = 3\n")).details.get("match") == "trailing_blanks"
        assert (await client.edit(file, "bread = 2", "bread = 3")).details.get("match") == "exact"
    assert model.questions == []


# R-CORRECT-2
@pytest.mark.parametrize(
    "proposal",
    [
        ("gouda = 1", "x"), ("apples = 4", "x"), ("cheese = 1", "cheese = 1"), ("CHEESE = 1", "x"),
        ("cheese = 1 ", "x"), ("", "x"), None,
    ],
    ids=str,
)  # fmt: skip
async def test_proposal_that_does_not_match_exactly_once_fails_as_the_edit_did(
    file: Path, proposal: tuple[str, str] | None
) -> None:
    before = file.read_bytes()
    async with agent(file, Model(proposal)) as client:
        result = await client.edit(file, "cheddar = 1", "cheddar = 3")
        assert result.code == "no_match"
        assert result.output == (
            "<tool_use_error>String to replace not found in file.\nString: cheddar = 1</tool_use_error>"
        )
        assert (result.details.get("suggested_place") or {}).get("start_line") == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "reply", [{}, [], "cheese = 1", {"old_string": "cheese = 1"}, {"old_string": 3, "new_string": "x"}, True], ids=str
)
async def test_malformed_answer_is_no_proposal(file: Path, reply: Any) -> None:
    async with raw_agent(file, answer(reply)) as client:
        assert (await client.edit(file, "cheddar = 1", "x")).code == "no_match"


async def test_error_as_answer_is_no_proposal(file: Path) -> None:
    async def fails(params: Any) -> Any:
        raise RuntimeError("no model")

    async with raw_agent(file, fails) as client:
        assert (await client.edit(file, "cheddar = 1", "x")).code == "no_match"


# R-CORRECT-3
async def test_client_is_not_asked_without_the_option_or_the_capability(file: Path) -> None:
    model = Model()
    async with agent(file, model, correction=False) as client:
        assert (await client.edit(file, "cheddar = 1", "x")).code == "no_match"
    async with FileOpsClient.start(
        root=file.parent,
        correct_edit=model,
        initialization_options={"correction": True},
        capabilities={"experimental": {"fileops": {"correct_edit": False}}},
    ) as client:
        await client.read(file)
        assert (await client.edit(file, "cheddar = 1", "x")).code == "no_match"
    assert model.questions == []


async def test_client_is_not_asked_about_other_failures(file: Path) -> None:
    model = Model()
    async with agent(file, model) as client:
        assert (await client.edit(file, "apples = 4", "x")).code == "multiple_matches"
        assert (await client.edit(file, "no such (text)", "x", strategy="regex")).code == "no_match"
        assert (await client.edit(file, "gouda", "x", session_id="other")).code == "not_read"
    assert model.questions == []


async def test_dry_run_requests_a_correction_and_writes_nothing(file: Path) -> None:
    before = file.read_bytes()
    async with agent(file, Model(("cheese = 1", "cheese = 3"))) as client:
        result = await client.edit(file, "cheddar = 1", "cheddar = 3", dry_run=True)
        assert (result.ok, result.details.get("match")) == (True, "client")
        assert result.ui_extra is not None
        assert "+cheese = 3" in result.ui_extra.diff
    assert file.read_bytes() == before


# R-EDIT-6
async def test_each_step_of_a_multi_edit_is_sent_to_the_client_once(file: Path) -> None:
    model = Model(("bread = 2", "bread = 3"), ("cheese = 1", "cheese = 4"))
    edits = [("brot = 2", "brot = 3"), ("bread = 3", "bread = 5"), ("käse = 1", "käse = 4")]
    async with agent(file, model) as client:
        result = await client.multi_edit(file, edits)
        assert result.ok, result.output
        assert [question.edit_index for question in model.questions] == [0, 2]
        assert result.output.splitlines() == [
            f"Applied 3 edits to {file}:",
            '1. Replaced "bread = 2" with "bread = 3"',
            '2. Replaced "bread = 3" with "bread = 5"',
            '3. Replaced "cheese = 1" with "cheese = 4"',
            "Note: edit 1: old_string was not found as given; a corrected old_string and new_string were used instead.",
            "Note: edit 3: old_string was not found as given; a corrected old_string and new_string were used instead.",
        ]
        assert result.details.get("edits") == [
            {"index": 0, "status": "ok", "replacements": 1, "match": "client", "match_lines": [1]},
            {"index": 1, "status": "ok", "replacements": 1, "match": "exact", "match_lines": [1]},
            {"index": 2, "status": "ok", "replacements": 1, "match": "client", "match_lines": [2]},
        ]
    assert file.read_bytes().startswith(b"bread = 5\r\ncheese = 4\r\n")


async def test_later_step_that_fails_leaves_everything_as_it_was(file: Path) -> None:
    before = file.read_bytes()
    model = Model(("bread = 2", "bread = 3"), None)
    async with agent(file, model) as client:
        result = await client.multi_edit(file, [("brot", "x"), ("nothing like it", "y"), ("cheese", "z")])
        assert (result.code, result.details.get("edit_index")) == ("no_match", 1)
        assert "String: nothing like it" in result.output
        assert result.details.get("edits") == [
            {"index": 0, "status": "ok"}, {"index": 1, "status": "failed"}, {"index": 2, "status": "not_tried"},
        ]  # fmt: skip
    assert file.read_bytes() == before


# R-CORRECT-4
async def test_pending_correction_holds_no_lock_and_the_file_is_checked_again(file: Path) -> None:
    held = Held(answer({"old_string": "cheese = 1", "new_string": "cheese = 3"}))
    async with raw_agent(file, held) as client:
        call = client.begin("fileops/edit", {"file_path": str(file), "old_string": "cheddar", "new_string": "x"})
        await within(held.asked.wait())
        assert (await client.read(file)).ok
        assert (await client.edit(file, "bread = 2", "bread = 3")).ok
        held.unlock_and_close_later.set()
        assert (await within(call))["status"] == "success"
        assert file.read_bytes().startswith(b"bread = 3\r\ncheese = 3\r\n")


async def test_file_changed_during_the_correction_is_modified_externally(file: Path) -> None:
    held = Held(answer({"old_string": "cheese = 1", "new_string": "cheese = 3"}))
    async with raw_agent(file, held) as client:
        call = client.begin("fileops/edit", {"file_path": str(file), "old_string": "cheddar", "new_string": "x"})
        await within(held.asked.wait())
        file.write_text("cheese = 1\n")
        held.unlock_and_close_later.set()
        assert (await within(call))["error"]["code"] == "modified_externally"
        assert file.read_text() == "cheese = 1\n"


async def test_correction_that_times_out_is_withdrawn(file: Path) -> None:
    held = Held(answer(None))
    async with raw_agent(file, held, correction_timeout_s=0.05) as client:
        while not held.asked.is_set():  # it may be withdrawn before this program gets to it
            assert (await client.edit(file, "cheddar", "x")).code == "no_match"
        await within(held.withdrawn.wait())


async def test_cancelled_edit_withdraws_its_correction(file: Path) -> None:
    before = file.read_bytes()
    held = Held(answer(None))
    async with raw_agent(file, held) as client:
        call = client.begin("fileops/edit", {"file_path": str(file), "old_string": "cheddar", "new_string": "x"})
        await within(held.asked.wait())
        call.cancel()
        with pytest.raises(ResponseError) as refusal:
            await within(call)
        assert refusal.value.code == -32800
        await within(held.withdrawn.wait())
    assert file.read_bytes() == before


async def test_corrected_edit_requires_approval_like_any_other(file: Path) -> None:
    asked: list[Any] = []
    seen = asyncio.Event()

    async def confirm(params: Any) -> Any:
        asked.append(params)
        seen.set()
        return {"outcome": "cancel"}

    handlers = {
        "fileops/correctEdit": answer({"old_string": "cheese = 1", "new_string": "cheese = 3"}),
        "fileops/confirmEdit": confirm,
    }
    async with FileOpsClient.start(
        root=file.parent, handlers=handlers, initialization_options={"correction": True}
    ) as client:
        await client.read(file)
        assert (await client.edit(file, "cheddar", "x")).code == "rejected"
        assert "+cheese = 3" in asked[0]["diff"]


async def test_correction_for_a_closed_session_does_not_use_the_mode_of_the_next_one(file: Path) -> None:
    """R-APPROVE-9"""
    questions: list[Question] = []

    async def confirm(question: Question) -> Answer:
        questions.append(question)
        return Answer(outcome="cancel")

    held = Held(answer(("cheese = 1", "cheese = 3")))
    async with FileOpsClient.start(
        root=file.parent, correct_edit=held, confirm_edit=confirm, initialization_options={"correction": True}
    ) as client:
        await client.read(file, session_id="s")
        editing = asyncio.create_task(client.edit(file, "cheddar = 1", "cheddar = 3", session_id="s"))
        await within(held.asked.wait())
        await client.close_session("s")
        await client.set_approval_mode("yolo", session_id="s")
        await client.read(file, session_id="s")
        held.unlock_and_close_later.set()
        assert (await within(editing)).code == "rejected"
    assert len(questions) == 1
