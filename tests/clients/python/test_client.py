"""The client alone, against a toy daemon: calls, failures, events, questions, and how it ends."""

import asyncio
import inspect
import os
import pathlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

import fileops_client._client as client_module
import fileops_client._start as start_module
from fileops_client import (
    Answer,
    BecameStale,
    ConnectionLost,
    EventContext,
    FileOpsClient,
    Notification,
    Question,
    ResponseError,
    ServerMissing,
    uri_of,
)
from support.patience import PATIENCE_S

TOY = (sys.executable, str(pathlib.Path(__file__).with_name("toy_daemon.py")))
STALE = {
    "method": "fileops/didBecomeStale",
    "params": {
        "file_path": "/p/a",
        "session_id": "default",
        "reason": "modified",
        "source": "external",
        "timestamp": 1.5,
        "a_key_of_tomorrow": 1,
    },
}
QUESTION: dict[str, Any] = {
    "title": "Edit a",
    "description": "",
    "file_path": "/p/a",
    "session_id": "default",
    "operation": "modify",
    "diff": "",
    "hunks": [],
    "original_text": None,
    "proposed_text": None,
}


@pytest_asyncio.fixture
async def toy() -> AsyncIterator[FileOpsClient]:
    async with FileOpsClient.start(TOY, roots="anywhere") as client:
        yield client


async def test_default_command_is_the_daemon_of_this_interpreter() -> None:
    from fileops_client._process import DEFAULT_COMMAND

    assert (sys.executable, "-P", "-m", "fileops") == DEFAULT_COMMAND


@pytest.mark.parametrize("begin", [FileOpsClient.start, FileOpsClient.in_process])
def test_client_that_names_no_folder_has_to_say_that_it_may_go_anywhere(begin: Callable[..., object]) -> None:
    for folders in ({}, {"root": None}, {"roots": ()}):
        with pytest.raises(ValueError, match=r'root=\.\.\. or roots=\[\.\.\.\]; or roots="anywhere"'):
            begin(**folders)
    for folders in ({"roots": "/p"}, {"roots": "anywhere", "root": "/p"}):
        with pytest.raises(ValueError, match="roots must be a list of folders"):
            begin(**folders)


async def test_initialize_announces_client_and_capabilities(tmp_path: pathlib.Path) -> None:
    async def apply_edit(_: Any) -> Any:
        return {"applied": True}

    async def confirm(_: Question) -> Answer:
        return Answer(outcome="cancel")

    async with FileOpsClient.start(
        TOY,
        root=tmp_path,
        roots=[tmp_path / "b c"],
        initialization_options={"freshness": "content"},
        handlers={"workspace/applyEdit": apply_edit},
        confirm_edit=confirm,
        capabilities={"workspace": {"configuration": True}},
    ) as client:
        said = client.capabilities["experimental"]
        assert client.server_info == {"name": "toy"}
        seen = await client.request("toy/seen")
    assert said["processId"] is None
    assert said["initializationOptions"] == {"freshness": "content"}
    assert said["rootUri"] == uri_of(tmp_path)
    assert [folder["uri"] for folder in said["workspaceFolders"]] == [uri_of(tmp_path), uri_of(tmp_path / "b c")]
    assert said["capabilities"]["workspace"] == {
        "workspaceFolders": True,
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "configuration": True,
    }
    assert said["capabilities"]["experimental"] == {"fileops": {"confirm_edit": True}}
    assert [message["method"] for message in seen] == ["initialize", "initialized"]


async def test_process_id_is_sent_to_the_default_command_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_module, "DEFAULT_COMMAND", TOY)
    async with FileOpsClient.start(roots="anywhere") as client:
        assert client.capabilities["experimental"]["processId"] == os.getpid()


async def test_capabilities_without_handler_are_not_announced(toy: FileOpsClient) -> None:
    said = toy.capabilities["experimental"]["capabilities"]
    assert "experimental" not in said
    assert "applyEdit" not in said["workspace"]


async def test_refused_request_raises_code_message_and_data(toy: FileOpsClient) -> None:
    with pytest.raises(ResponseError) as caught:
        await toy.request("toy/refuse")
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, "no", {"path": "$.x"})


@pytest.mark.parametrize("text", ["plain", "ünï→🎉", "\udce9.txt", "\u2028\x00\r\n"])
async def test_any_text_survives_the_wire(toy: FileOpsClient, text: str) -> None:
    assert await toy.request("toy/echo", {"text": text}) == {"text": text}


async def test_large_message_passes_in_both_directions(toy: FileOpsClient) -> None:
    text = "x" * 5_000_000
    assert await toy.request("toy/echo", text) == text


def test_every_method_of_the_client_is_typed() -> None:
    """`py.typed` says so to type checkers."""
    methods = {name: method for name, method in inspect.getmembers(FileOpsClient, inspect.isfunction) if name[0] != "_"}
    assert {"read", "edit", "multi_edit", "call"} <= set(methods)
    untyped = [
        name
        for name, method in methods.items()
        for parameter in (*list(inspect.signature(method).parameters.values())[1:], inspect.signature(method))
        if (parameter.return_annotation if isinstance(parameter, inspect.Signature) else parameter.annotation)
        is inspect.Signature.empty
    ]
    assert untyped == []
    assert (pathlib.Path(inspect.getfile(FileOpsClient)).parent / "py.typed").exists()


async def test_omitted_arguments_are_not_sent(toy: FileOpsClient) -> None:
    reading = asyncio.ensure_future(toy.read("/p/a"))
    editing = asyncio.ensure_future(toy.multi_edit("/p/a", [("a", "b"), {"old_string": "c", "new_string": "d"}]))
    await toy.request("toy/echo")
    seen = await toy.request("toy/seen")
    reading.cancel()
    editing.cancel()
    await asyncio.gather(reading, editing, return_exceptions=True)
    assert [message["params"] for message in seen if message["method"].startswith("fileops/")] == [
        {"file_path": "/p/a"},
        {
            "file_path": "/p/a",
            "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}],
        },
    ]


async def test_cancelling_the_caller_cancels_the_request(toy: FileOpsClient) -> None:
    call = asyncio.ensure_future(toy.request("toy/hang"))
    await toy.request("toy/echo")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    seen = await toy.request("toy/seen")
    (hung,) = (message["id"] for message in seen if message["method"] == "toy/hang")
    assert seen[-1] == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": hung}}


async def test_timeout_cancels_the_request(toy: FileOpsClient) -> None:
    with pytest.raises(TimeoutError):
        await toy.request("toy/hang", timeout_s=0.01)
    assert (await toy.request("toy/seen"))[-1]["method"] == "$/cancelRequest"


async def test_cancelled_pending_call_reports_its_true_outcome(toy: FileOpsClient) -> None:
    call, late = toy.begin("toy/hang"), toy.begin("toy/hang", "late")
    call.cancel()
    late.cancel()
    with pytest.raises(ResponseError) as caught:
        await call
    assert caught.value.code == -32800
    assert await late == "too late"


async def test_death_of_the_daemon_fails_every_call_with_its_stderr(toy: FileOpsClient) -> None:
    calls = [toy.begin("toy/hang"), toy.begin("toy/die", 3)]
    events = toy.events()
    for call in calls:
        with pytest.raises(ConnectionLost) as caught:
            await call
        assert caught.value.exit_code == 3
        assert caught.value.stderr_tail == "something broke"
    with pytest.raises(ConnectionLost, match="something broke"):
        await toy.read("/p/a")
    with pytest.raises(ConnectionLost):
        await events.next(timeout_s=PATIENCE_S)
    with pytest.raises(ConnectionLost):
        await toy.events().next(timeout_s=PATIENCE_S)


async def test_malformed_output_ends_the_connection(toy: FileOpsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "LOSS_GRACE_S", 0.01)
    with pytest.raises(ConnectionLost, match="not a header"):
        await toy.request("toy/babble")


async def test_missing_command_is_reported(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ServerMissing, match="no-such-daemon"):
        await FileOpsClient.open([str(tmp_path / "no-such-daemon")], roots="anywhere")


async def test_daemon_that_dies_on_start_is_reported() -> None:
    with pytest.raises(ConnectionLost) as caught:
        await FileOpsClient.open([sys.executable, "-c", "raise SystemExit('bad start')"], roots="anywhere")
    assert (caught.value.exit_code, caught.value.stderr_tail) == (1, "bad start")


async def test_close_shuts_down_in_order_and_is_repeatable() -> None:
    client = await FileOpsClient.open(TOY, roots="anywhere")
    events = client.events()
    assert await client.close() == 0
    assert await client.close() == 0
    with pytest.raises(ConnectionLost, match="closed"):
        await client.request("toy/echo")
    assert [event async for event in events] == []


async def test_close_kills_a_daemon_that_neither_answers_nor_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "SHUTDOWN_GRACE_S", 0.2)
    client = await FileOpsClient.open(TOY, roots="anywhere")
    client.notify("toy/deaf")
    assert await client.close() == -9


async def test_events_are_typed_in_order_and_filtered_by_method(toy: FileOpsClient) -> None:
    heard: list[Any] = []
    finished = asyncio.Event()

    async def listen(event: BecameStale) -> None:
        heard.append(event)
        finished.set()

    stop = toy.on("fileops/didBecomeStale", listen)
    every, stale = toy.events(), toy.events("fileops/didBecomeStale")
    await toy.request("toy/tell", [{"method": "toy/news", "params": [1]}, STALE])
    first = await every.next(timeout_s=PATIENCE_S)
    assert first == Notification("toy/news", [1])
    event = await stale.next(timeout_s=PATIENCE_S)
    assert isinstance(event, BecameStale)
    assert (event.file_path, event.reason, event.timestamp) == ("/p/a", "modified", 1.5)
    assert every.arrived() == [event]
    await asyncio.wait_for(finished.wait(), PATIENCE_S)
    stop()
    await toy.request("toy/tell", [STALE])
    assert heard == [event]


async def test_subscription_waits_for_the_matching_event(toy: FileOpsClient) -> None:
    with toy.events("toy/n") as numbers:
        await toy.request("toy/tell", [{"method": "toy/n", "params": n} for n in range(4)])
        assert (await numbers.next(where=lambda event: event.params == 2, timeout_s=PATIENCE_S)).params == 2
        assert (await numbers.next(timeout_s=PATIENCE_S)).params == 3
        with pytest.raises(TimeoutError):
            await numbers.next(timeout_s=0.01)
    with pytest.raises(StopAsyncIteration):
        await numbers.next()


async def test_failing_listener_and_malformed_event_are_logged_and_harmless(
    toy: FileOpsClient, caplog: pytest.LogCaptureFixture
) -> None:
    def listen(_: object) -> None:
        raise RuntimeError("my fault")

    toy.on("toy/news", listen)
    news = toy.events("toy/news")
    malformed = {"method": "fileops/didBecomeStale", "params": {"file_path": 1}}
    await toy.request("toy/tell", [malformed, {"method": "toy/news"}])
    await news.next(timeout_s=PATIENCE_S)
    assert "my fault" in caplog.text
    assert "fileops/didBecomeStale" in caplog.text


async def test_listener_that_was_added_twice_is_removed_as_a_whole(toy: FileOpsClient) -> None:
    heard: list[EventContext] = []
    params = {"file_path": "/p/a", "session_id": "default", "timestamp": 1.5, "size": 1, "modified": 1.0}
    listen, reads = heard.append, toy.events("fileops/didRead")
    for _ in range(2):
        toy.add_event_listener("file:read", listen)
    for _ in range(2):
        await toy.request("toy/tell", [{"method": "fileops/didRead", "params": params}])
        await reads.next(timeout_s=PATIENCE_S)
        assert [context.data["size"] for context in heard] == [1, 1]
        toy.remove_event_listener("file:read", listen)


async def test_question_is_answered_by_the_confirm_handler() -> None:
    asked: list[Question] = []

    async def confirm(question: Question) -> Answer:
        asked.append(question)
        return Answer(outcome="modify", text="x")

    async with FileOpsClient.start(TOY, confirm_edit=confirm, roots="anywhere") as client:
        told = await client.request("toy/ask", {"method": "fileops/confirmEdit", "params": QUESTION})
    assert told == {"result": {"outcome": "modify", "text": "x"}, "error": None}
    assert asked[0].file_path == "/p/a"


async def test_time_of_a_pending_approval_does_not_count_towards_timeout(toy: FileOpsClient) -> None:
    begun, decided = asyncio.Event(), asyncio.Event()

    async def confirm(_: Question) -> Answer:
        begun.set()
        await decided.wait()
        return Answer(outcome="proceed_once")

    ask = {"method": "fileops/confirmEdit", "params": QUESTION}
    async with FileOpsClient.start(TOY, confirm_edit=confirm, roots="anywhere") as client:
        asking = asyncio.create_task(client.request("toy/ask", ask))
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        begun_meanwhile = asyncio.create_task(client.request("toy/hang", timeout_s=0.1))
        for _ in range(3):
            with pytest.raises(TimeoutError):  # elsewhere the time passes
                await toy.request("toy/hang", timeout_s=0.1)
        assert not begun_meanwhile.done()
        decided.set()
        assert (await asking)["result"] == {"outcome": "proceed_once"}
        with pytest.raises(TimeoutError):
            await begun_meanwhile


async def test_question_without_handler_is_refused(toy: FileOpsClient) -> None:
    told = await toy.request("toy/ask", {"method": "workspace/applyEdit", "params": {}})
    assert told["error"]["code"] == -32601


async def test_failure_of_a_handler_is_answered_with_an_error() -> None:
    async def fail(_: Any) -> Any:
        raise ValueError("cannot")

    async def refuse(_: Any) -> Any:
        raise ResponseError(-32000, "will not", {"why": 1})

    async with FileOpsClient.start(TOY, handlers={"toy/fail": fail, "toy/refuse": refuse}, roots="anywhere") as client:
        failed = await client.request("toy/ask", {"method": "toy/fail", "params": {}})
        refused = await client.request("toy/ask", {"method": "toy/refuse", "params": {}})
    assert failed["error"]["code"] == -32603
    assert refused["error"] == {"code": -32000, "message": "will not", "data": {"why": 1}}


async def test_cancelled_question_cancels_its_handler() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def ponder(_: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with FileOpsClient.start(TOY, handlers={"toy/ponder": ponder}, roots="anywhere") as client:
        asking = client.begin("toy/ask", {"method": "toy/ponder", "params": {}})
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        client.notify("toy/withdraw")
        told = await asking
    assert told["error"]["code"] == -32800
    assert cancelled.is_set()


async def test_question_cancelled_before_its_handler_began_is_answered() -> None:
    async def ponder(_: Any) -> Any:
        await asyncio.Event().wait()

    async with FileOpsClient.start(TOY, handlers={"toy/ponder": ponder}, roots="anywhere") as client:
        told = await client.request("toy/ask", {"method": "toy/ponder", "params": {}, "withdraw": True})
    assert told["error"]["code"] == -32800


async def test_document_notifications_name_the_uri(toy: FileOpsClient) -> None:
    path = "/p/a b\udce9.txt"
    toy.did_open(path, "one", language_id="text")
    toy.did_change(path, "two", version=2)
    toy.did_save(path)
    toy.did_close(path)
    seen = (await toy.request("toy/seen"))[-4:]
    uri = "file:///p/a%20b%E9.txt"
    assert [message["method"].removeprefix("textDocument/") for message in seen] == [
        "didOpen",
        "didChange",
        "didSave",
        "didClose",
    ]
    assert all(message["params"]["textDocument"]["uri"] == uri for message in seen)
    assert seen[1]["params"]["contentChanges"] == [{"text": "two"}]
