"""The client without asyncio: the same methods as the asynchronous one, whose essential stories it repeats."""

import asyncio
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fileops_client
from clients.python.test_contract import NO_GRACE
from fileops_client import (
    Answer,
    BecameStale,
    CallbackFailed,
    ConnectionLost,
    DidEdit,
    Question,
    RequestTimeout,
    ResponseError,
    sync,
)
from support.daemon_process import Place
from support.patience import PATIENCE_S

CLIENT = Path(__file__).parents[3] / "clients" / "python"
THREAD = "fileops-client"

Start = Callable[..., sync.FileOpsClient]


@pytest.fixture(params=["start", "in_process", "attach"])
def start(request: pytest.FixtureRequest) -> Start:
    if request.param != "attach":
        return getattr(sync.FileOpsClient, request.param)
    place_of_daemon: Place = request.getfixturevalue("shared")

    def attach(**setup: Any) -> sync.FileOpsClient:
        return sync.FileOpsClient.attach(socket=place_of_daemon.socket, role="editor", **setup)

    return attach


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo\n")
    return path


# --- it is the asynchronous client ------------------------------------------------------------------------------


def test_generated_client_is_up_to_date(tmp_path: Path) -> None:
    generated = tmp_path / "sync.py"
    subprocess.run([sys.executable, CLIENT / "scripts" / "generate_sync.py", generated], check=True)
    committed = (CLIENT / "fileops_client" / "sync.py").read_text(encoding="utf-8")
    assert generated.read_text(encoding="utf-8") == committed, "run clients/python/scripts/generate_sync.py"


@pytest.mark.parametrize("name", ["FileOpsClient", "Session", "Subscription", "Tool"])
def test_methods_and_parameters_match_the_asynchronous_class(name: str) -> None:
    inside = {"deliver", "end", "take"}  # of Subscription, for EventHub
    asynchronous, synchronous = getattr(fileops_client, name), getattr(sync, name)
    methods = {method for method in dir(asynchronous) if not method.startswith("_")} - inside
    set_by_init = {"timeout_s", "server_info", "capabilities"} if name == "FileOpsClient" else set[str]()
    assert methods | set_by_init == {method for method in dir(synchronous) if not method.startswith("_")}
    for method in methods:
        theirs, ours = getattr(asynchronous, method), getattr(synchronous, method)
        assert not inspect.iscoroutinefunction(ours)
        if callable(theirs):
            assert _parameters(ours) == _parameters(theirs), method
            assert "await" not in (ours.__doc__ or "")


def _parameters(method: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(method).parameters.values()]


# --- the contract -------------------------------------------------------------------------------------------------


def test_file_is_read_and_edited(start: Start, file: Path) -> None:
    with start(root=file.parent) as client:
        assert client.edit(file, "one", "1").code == "not_read"
        assert client.read(file).output.startswith("     1→one\n     2→two\n")
        assert client.edit(file, "one", "1").ok
        assert client.multi_edit(file, [("1", "I"), ("two", "II")]).ok
        assert file.read_bytes() == b"I\r\nII\n"
        (newest, _) = client.history()
        assert client.undo(edit_id=newest.edit_id).ok
    assert file.read_bytes() == b"1\r\ntwo\n"


def test_external_change_is_notified_and_its_overwrite_refused(start: Start, file: Path) -> None:
    with start(root=file.parent) as client:
        client.read(file)
        with client.events(BecameStale.METHOD) as stale:
            file.write_bytes(b"three\n")
            event = stale.next(timeout_s=PATIENCE_S)
        assert (event.file_path, event.reason) == (str(file), "modified")
        assert client.edit(file, "one", "1").code == "modified_externally"


def test_read_returns_unsaved_text(start: Start, file: Path) -> None:
    with start(root=file.parent) as client:
        client.did_open(file, "unsaved\n")
        reading = client.read(file)
        assert (reading.details.get("source"), reading.output.split("\n")[0]) == ("buffer", "     1→unsaved")


def _review(question: Question) -> Answer:
    assert threading.current_thread().name == THREAD
    return Answer(outcome="cancel" if question.session_id == "careless" else "proceed_once")


async def _review_later(question: Question) -> Answer:
    await asyncio.sleep(0)
    return _review(question)


@pytest.mark.parametrize("review", [_review, _review_later])
def test_reviewer_is_asked_and_its_decision_counts(start: Start, file: Path, review: Any) -> None:
    with start(root=file.parent, confirm_edit=review) as client:
        for name, code in (("careless", "rejected"), ("careful", None)):
            session = client.session(name)
            session.read(file)
            assert session.edit(file, "one", "1").code == code


def test_failure_of_the_reviewer_is_an_error_and_no_rejection(start: Start, file: Path) -> None:
    def review(_: Question) -> Answer:
        raise ValueError("a bug of the reviewer")

    with start(root=file.parent, confirm_edit=review) as client:
        client.read(file)
        with pytest.raises(CallbackFailed, match="a bug of the reviewer"):
            client.edit(file, "one", "1")


def test_bad_option_fails_the_start_and_leaves_no_thread(start: Start) -> None:
    with pytest.raises(ResponseError, match="freshness"):
        start(roots="anywhere", initialization_options={"freshness": "sometimes"})
    assert THREAD not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        ({"rot": "/p"}, "rot"),
        ({"confirm_edit": 1}, "confirm_edit must be a function, not int"),
        ({"handlers": {"workspace/applyEdit": 1}}, "workspace/applyEdit must be a function, not int"),
    ],
)
def test_wrong_parameter_is_a_type_error(start: Start, setup: dict[str, Any], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        start(**setup)


def test_timeout_names_method_and_seconds(start: Start, file: Path) -> None:
    with start(root=file.parent) as client:
        with pytest.raises(RequestTimeout, match=r"fileops/read was not answered within 1e-09 s"):
            client.read(file, timeout_s=1e-9)
        assert client.read(file).ok


def test_session_is_isolated_and_can_be_closed(start: Start, file: Path) -> None:
    with start(root=file.parent) as client, client.session("planner") as planner:
        planner.read(file)
        assert [tracked.file_path for tracked in planner.tracked()] == [str(file)]
        assert client.tracked() == ()
        edited: list[DidEdit] = []
        planner.on(DidEdit.METHOD, edited.append)
        with planner.events(DidEdit.METHOD) as edits:
            other = client.session("other")
            other.read(file)
            other.edit(file, "two", "2")
            planner.read(file)
            planner.edit(file, "one", "1")
            event = edits.next(timeout_s=PATIENCE_S)
        assert (event.session_id, [event.session_id for event in edited]) == ("planner", ["planner"])
        assert planner.request("fileops/tracked")["files"]
        planner.close()
        assert planner.tracked() == ()


def test_restart_keeps_the_parameters(start: Start, file: Path) -> None:
    with start(root=file.parent, initialization_options={"limits": {"max_lines": 1}}) as client:
        client.read(file)
        client.restart()
        assert client.tracked() == ()
        assert "1 lines are truncated" in client.read(file).output


def test_tools_are_bound_to_client_and_session(start: Start, file: Path) -> None:
    with start(root=file.parent) as client:
        tools = {tool.definition.name: tool for tool in client.toolbox(session_id="agent")}
        reading = tools["Read"].agent_tool().execute({"file_path": str(file)})
        assert reading.ok
        assert file.name in tools["Read"].render_call({"file_path": str(file)})
        assert [tracked.file_path for tracked in client.tracked(session_id="agent")] == [str(file)]


# --- threads --------------------------------------------------------------------------------------------------------


def test_interrupt_of_a_waiting_call_cancels_its_request(start: Start, file: Path) -> None:
    withdrawn = threading.Event()

    async def review(_: Question) -> Answer:
        assert main.ident is not None
        signal.pthread_kill(main.ident, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        raise AssertionError

    main = threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with start(root=file.parent, confirm_edit=review) as client:
            client.read(file)
            with pytest.raises(KeyboardInterrupt):
                client.edit(file, "one", "1")
            assert withdrawn.wait(PATIENCE_S)
            assert client.read(file).ok
    finally:
        signal.signal(signal.SIGINT, before)
    assert file.read_bytes() == b"one\r\ntwo\n"


def test_callback_that_waits_for_its_own_client_is_an_error(start: Start, file: Path) -> None:
    def review(_: Question) -> Answer:
        client.read(file)
        return Answer(outcome="proceed_once")

    with start(root=file.parent, confirm_edit=review, initialization_options=NO_GRACE) as client:
        client.read(file)
        with pytest.raises(CallbackFailed, match="Make the call in another thread"):
            client.edit(file, "one", "1")


def test_listener_can_stop_itself(start: Start, file: Path) -> None:
    heard: list[DidEdit] = []

    def listen(event: DidEdit) -> None:
        heard.append(event)
        stop()

    with start(root=file.parent) as client:
        stop = client.on(DidEdit.METHOD, listen)
        with client.events(DidEdit.METHOD) as edits:
            client.read(file)
            client.edit(file, "one", "1")
            client.edit(file, "two", "2")
            events = [edits.next(timeout_s=PATIENCE_S), edits.next(timeout_s=PATIENCE_S)]
    assert heard == events[:1]


def test_several_threads_use_one_client(start: Start, tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.txt" for n in range(8)]
    for path in files:
        path.write_text("one\n")

    def work(path: Path) -> bool:
        session = client.session(path.name)
        return session.read(path).ok and session.edit(path, "one", path.name).ok

    with start(root=tmp_path) as client, ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, files))
    assert [path.read_text() for path in files] == [f"{path.name}\n" for path in files]


def test_cancelled_pending_call_returns_its_true_outcome(start: Start, file: Path) -> None:
    asked = threading.Event()

    async def review(_: Question) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    with start(root=file.parent, confirm_edit=review) as client:
        client.read(file)
        call = client.begin("fileops/edit", {"file_path": str(file), "old_string": "one", "new_string": "1"})
        assert asked.wait(PATIENCE_S)
        with pytest.raises(TimeoutError):
            call.result(timeout_s=0)
        assert not call.done()
        call.cancel()
        with pytest.raises(ResponseError) as caught:
            call.result(timeout_s=PATIENCE_S)
    assert caught.value.code == -32800


def test_close_ends_waiting_threads_and_joins_its_own(start: Start, file: Path) -> None:
    client = start(root=file.parent)
    events = client.events()
    stop = client.on(DidEdit.METHOD, print)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(list[Any], events)
        client.close()
        assert [event for event in waiting.result(PATIENCE_S) if isinstance(event, DidEdit)] == []
    assert THREAD not in {thread.name for thread in threading.enumerate()}
    assert client.close() == (0 if start == sync.FileOpsClient.start else None)
    assert not client.is_open
    for call in (client.tracked, client.restart, lambda: client.did_close(file)):
        with pytest.raises(ConnectionLost, match="closed"):
            call()
    assert list(events) == []
    stop()
    gc.collect()  # what was left open would warn, which is an error


def test_events_that_arrived_before_the_close_are_delivered(start: Start, file: Path) -> None:
    with start(root=file.parent) as client:
        events = client.events(DidEdit.METHOD)
        client.read(file)
        client.edit(file, "one", "1")
        client.edit(file, "two", "2")
        client.close()
    assert len(list(events)) == 2


def test_daemon_that_dies_fails_waiting_calls_and_iteration(file: Path) -> None:
    with sync.FileOpsClient.start(root=file.parent) as client:
        events = client.events(DidEdit.METHOD)
        os.kill(client.pid, signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            next(events)
        with pytest.raises(ConnectionLost, match="exit code -9"):
            client.read(file)
