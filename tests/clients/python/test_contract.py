"""What a client does, over each way to run it: a child process, a part of this process, the shared daemon."""

import asyncio
import gc
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from clients.python.conftest import Start
from fileops_client import (
    Answer,
    BecameStale,
    CallbackFailed,
    CommandQuestion,
    ConnectionLost,
    CorrectionRequest,
    DidEdit,
    Options,
    Question,
    RequestTimeout,
    ResponseError,
)
from support.patience import PATIENCE_S

NO_GRACE: Options = {"review_grace_s": 0}  # no other view comes in place of a callback that failed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo\n")
    return path


async def test_file_is_read_and_edited(start: Start, file: Path) -> None:
    async with start(root=file.parent) as client:
        assert (await client.edit(file, "one", "1")).code == "not_read"
        assert (await client.read(file)).output.startswith("     1→one\n     2→two\n")
        assert (await client.edit(file, "one", "1")).ok
        assert (await client.multi_edit(file, [("1", "I"), ("two", "II")])).ok
        assert file.read_bytes() == b"I\r\nII\n"
        (newest, _) = await client.history()
        assert (await client.undo(edit_id=newest.edit_id)).ok
    assert file.read_bytes() == b"1\r\ntwo\n"


async def test_external_change_is_notified_and_its_overwrite_refused(start: Start, file: Path) -> None:
    async with start(root=file.parent) as client:
        await client.read(file)
        with client.events(BecameStale.METHOD) as stale:
            file.write_bytes(b"three\n")
            event = await stale.next(timeout_s=PATIENCE_S)
        assert (event.file_path, event.reason) == (str(file), "modified")
        assert (await client.edit(file, "one", "1")).code == "modified_externally"


async def test_read_returns_unsaved_text(start: Start, file: Path) -> None:
    async with start(root=file.parent) as client:
        client.did_open(file, "unsaved\n")
        reading = await client.read(file)
        assert (reading.details.get("source"), reading.output.split("\n")[0]) == ("buffer", "     1→unsaved")


async def test_reviewer_is_asked_and_its_decision_counts(start: Start, file: Path) -> None:
    async def review(question: Question) -> Answer:
        return Answer(outcome="cancel" if question.session_id == "careless" else "proceed_once")

    async with start(root=file.parent, confirm_edit=review) as client:
        for name, code in (("careless", "rejected"), ("careful", None)):
            session = client.session(name)
            await session.read(file)
            assert (await session.edit(file, "one", "1")).code == code


async def test_cancelled_call_leaves_the_connection_usable(start: Start, file: Path) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def review(_: Question) -> Answer:
        asked.set()
        await answered.wait()
        return Answer(outcome="proceed_once")

    async with start(root=file.parent, confirm_edit=review) as client:
        await client.read(file)
        editing = asyncio.ensure_future(client.edit(file, "one", "1"))
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        editing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await editing
        assert (await client.read(file)).ok
    assert file.read_bytes() == b"one\r\ntwo\n"


async def test_bad_option_fails_the_start(start: Start) -> None:
    with pytest.raises(ResponseError, match="freshness"):
        async with start(roots="anywhere", initialization_options={"freshness": "sometimes"}):
            pass


def test_misspelt_parameter_is_a_type_error(start: Start) -> None:
    with pytest.raises(TypeError, match="rot"):
        start(rot="/p")


# --- nothing fails silently -----------------------------------------------------------------------------------


async def test_misspelt_option_is_logged(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fileops_client"):
        async with start(roots="anywhere", initialization_options=cast("Options", {"freshnes": "content"})) as client:
            await client.tracked()
    assert "unknown initializationOptions key ignored: freshnes" in caplog.text


async def _raises(_: Any) -> Any:
    raise ValueError("a bug of the reviewer")


async def _returns_nothing(_: Any) -> Any:
    return None


def _is_no_coroutine(_: Any) -> Any:
    return Answer(outcome="proceed_once")


@pytest.mark.parametrize(
    ("reviewer", "reason"),
    [
        (_raises, "ValueError: a bug of the reviewer"),
        (_returns_nothing, "the answer must be an Answer, not NoneType"),
        (_is_no_coroutine, "confirm_edit must be a coroutine function; it returned Answer"),
    ],
)
async def test_failure_of_the_reviewer_is_an_error_and_no_rejection(
    start: Start, file: Path, reviewer: Any, reason: str
) -> None:
    async with start(root=file.parent, confirm_edit=reviewer, initialization_options=NO_GRACE) as client:
        session = client.session("a")
        await session.read(file)
        with pytest.raises(CallbackFailed, match=reason) as caught:
            await session.edit(file, "one", "1")
        assert caught.value.callback == "confirm_edit"
        assert isinstance(caught.value.__cause__, (ValueError, TypeError))
    assert file.read_bytes() == b"one\r\ntwo\n"


async def test_failure_of_the_reviewer_in_one_call_does_not_fail_another(start: Start, file: Path) -> None:
    async def review(question: Question) -> Answer:
        if question.session_id == "b":
            raise ValueError("b only")
        return Answer(outcome="cancel")

    async with start(root=file.parent, confirm_edit=review, initialization_options=NO_GRACE) as client:
        a, b = client.session("a"), client.session("b")
        await a.read(file)
        await b.read(file)
        refused, failed = await asyncio.gather(
            a.edit(file, "one", "1"), b.edit(file, "one", "1"), return_exceptions=True
        )
        assert not isinstance(refused, BaseException)
        assert refused.code == "rejected"
        assert isinstance(failed, CallbackFailed)
        assert (await a.edit(file, "one", "1")).code == "rejected"


async def test_failure_of_corrector_or_command_reviewer_is_an_error(start: Start, file: Path) -> None:
    async def correct(_: CorrectionRequest) -> tuple[str, str] | None:
        raise KeyError("model")

    async def allow(_: CommandQuestion) -> Answer:
        raise KeyError("policy")

    async with start(
        root=file.parent,
        correct_edit=correct,
        confirm_command=allow,
        initialization_options={"correction": True, "bash": True},
    ) as client:
        await client.read(file)
        with pytest.raises(CallbackFailed, match="correct_edit failed"):
            await client.edit(file, "four", "4")
        with pytest.raises(CallbackFailed, match="confirm_command failed"):
            await client.bash("true")


async def test_timeout_names_method_and_seconds(start: Start, file: Path) -> None:
    async with start(root=file.parent) as client:
        with pytest.raises(RequestTimeout, match=r"fileops/read was not answered within 1e-09 s") as caught:
            await client.read(file, timeout_s=1e-9)
        assert (caught.value.method, caught.value.timeout_s) == ("fileops/read", 1e-9)
        assert (await client.read(file)).ok


# --- sessions, restart, end -----------------------------------------------------------------------------------


async def test_session_is_isolated_and_can_be_closed(start: Start, file: Path) -> None:
    async with start(root=file.parent) as client, client.session("planner") as planner:
        await planner.read(file)
        assert [tracked.file_path for tracked in await planner.tracked()] == [str(file)]
        assert await client.tracked() == ()
        edited: list[DidEdit] = []
        planner.on(DidEdit, edited.append)
        with planner.events(DidEdit) as edits:
            other = client.session("other")
            await other.read(file)
            await other.edit(file, "two", "2")
            await planner.read(file)
            await planner.edit(file, "one", "1")
            event = await edits.next(timeout_s=PATIENCE_S)
        assert (event.session_id, [event.session_id for event in edited]) == ("planner", ["planner"])
        assert [entry.session_id for entry in await planner.history()] == ["planner"]
        assert (await planner.stats()).edits.applied == 1
        called = await planner.call("Read", {"file_path": str(file)})
        assert called.ok
        await planner.close()
        assert await planner.tracked() == ()


async def test_restart_keeps_the_parameters(start: Start, file: Path) -> None:
    async with start(root=file.parent, initialization_options={"limits": {"max_lines": 1}}) as client:
        heard: list[DidEdit] = []
        client.on(DidEdit, heard.append)
        subscription = client.events(DidEdit)
        await client.read(file)
        await asyncio.gather(client.restart(), client.restart())
        assert client.is_open
        assert await client.tracked() == ()
        assert [event async for event in subscription] == []
        assert "1 lines are truncated" in (await client.read(file)).output
        with client.events(DidEdit.METHOD) as edits:
            edited = await client.edit(file, "one", "1")
            event = await edits.next(timeout_s=PATIENCE_S)
        assert [event.edit_id for event in heard] == [event.edit_id] == [edited.details.get("edit_id")]


async def test_closed_client_refuses_calls(start: Start, file: Path) -> None:
    client = await start(root=file.parent)
    assert client.is_open
    assert client.pid > 0
    await client.close()
    await client.close()
    assert not client.is_open
    with pytest.raises(ConnectionLost, match="closed"):
        await client.read(file)
    gc.collect()  # what was left open would warn, which is an error
