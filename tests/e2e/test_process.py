"""How the process begins, keeps its stdout clean, and ends. R-END-*, R-FRAME-* of docs/PROTOCOL.md."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.frames import frames_of
from support.patience import PATIENCE_S, wait_until
from support.rawclient import SEAM_DAEMON, RawClient, frame, raw_client


@pytest.fixture
def client() -> Iterator[RawClient]:
    with raw_client(SEAM_DAEMON) as one:
        one.initialize()
        yield one


# --- ends ------------------------------------------------------------------------------------------------------------


# R-END-1
def test_shutdown_and_exit_end_with_success(client: RawClient) -> None:
    assert client.shut_down() == 0
    assert client.stderr == ""


# R-END-1
def test_exit_alone_ends_with_failure(client: RawClient) -> None:
    client.notify("exit")
    assert client.wait() == 1


def test_exit_before_initialize_ends_the_daemon() -> None:
    with raw_client(SEAM_DAEMON) as client:
        client.notify("exit")
        assert client.wait() == 1


# R-END-2
def test_exit_cancels_and_answers_requests_in_flight(client: RawClient) -> None:
    slow = client.request("test/sleep", {"seconds": 600})
    committing = client.request("test/stubborn", {"seconds": 0.3})
    client.notify("exit")
    assert client.wait() == 1
    assert client.answer(slow)["error"]["code"] == -32800
    assert client.answer(committing)["result"] == "done"


# R-END-1, R-END-2, R-RPC-1
def test_closed_stdin_ends_after_everything_was_answered(client: RawClient) -> None:
    asked = [client.request("test/echo", {"value": number}) for number in range(200)]
    committing = client.request("test/stubborn", {"seconds": 0.3})
    client.close_stdin()
    assert client.wait() == 1
    assert [client.answer(one)["result"] for one in asked] == list(range(200))
    assert client.answer(committing)["result"] == "done"
    assert "stdin was closed" in client.stderr


def test_closed_stdin_after_shutdown_is_success(client: RawClient) -> None:
    assert client.result("shutdown") is None
    client.close_stdin()
    assert client.wait() == 0


def test_closed_stdin_ends_open_questions(client: RawClient) -> None:
    asking = client.request("test/ask", {"method": "client/confirm"})
    client.question("client/confirm")
    client.close_stdin()
    assert client.wait() == 1
    assert client.answer(asking)["result"]["raised"] == "ClientGone"


# R-END-2, R-EVENT-1
def test_last_event_is_sent_after_shutdown(client: RawClient) -> None:
    client.shut_down()
    assert client.notification("fileops/watcherHealth")["reason"] == "closed"


# R-END-1, R-END-2
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_repeated_signal_does_not_change_the_status(number: signal.Signals) -> None:
    with raw_client() as client:
        client.initialize()
        while client.process.poll() is None:
            client.process.send_signal(number)
        assert client.wait() == 128 + number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_the_daemon_cleanly(client: RawClient, number: signal.Signals) -> None:
    slow = client.request("test/sleep", {"seconds": 600})
    committing = client.request("test/stubborn", {"seconds": 0.3})
    assert client.result("test/echo", {"value": 1}) == 1
    client.process.send_signal(number)
    assert client.wait() == 128 + number
    assert client.answer(slow)["error"]["code"] == -32800
    assert client.answer(committing)["result"] == "done"


# R-END-1
def test_end_of_the_parent_ends_the_daemon() -> None:
    with subprocess.Popen(["sleep", "600"]) as parent, raw_client(SEAM_DAEMON) as client:
        client.initialize(processId=parent.pid)
        assert client.result("test/echo", {"value": 1}) == 1
        parent.kill()
        assert client.wait() == 1
        assert "process is gone" in client.stderr


# R-END-1
def test_requests_written_before_the_parents_end_are_served() -> None:
    """A pump between the two may pass it on only now."""
    with subprocess.Popen(["sleep", "600"]) as parent, raw_client(SEAM_DAEMON) as client:
        client.initialize(processId=parent.pid)
        parent.kill()
        parent.wait()
        for value in range(20):  # the end is noticed in between
            assert client.result("test/echo", {"value": value}) == value
        assert client.wait() == 1


def test_missing_parent_ends_the_daemon() -> None:
    parent = subprocess.Popen(["true"])
    parent.wait()
    with raw_client(SEAM_DAEMON) as client:
        client.request("initialize", {"processId": parent.pid, "capabilities": {}})
        assert client.wait() == 1


# R-END-1
def test_client_that_closes_its_reading_end_ends_the_daemon(client: RawClient) -> None:
    assert client.process.stdout is not None
    os.close(os.dup(client.process.stdout.fileno()))
    with subprocess.Popen(
        SEAM_DAEMON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as deaf:
        assert deaf.stdin is not None
        assert deaf.stdout is not None
        deaf.stdout.close()
        deaf.stdin.write(frame({"jsonrpc": "2.0", "id": 1, "method": "test/echo"}))
        deaf.stdin.flush()
        assert deaf.wait(PATIENCE_S) == 1


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_closed_descriptors_at_the_start_are_reported(name: str) -> None:
    closing = {"stdin": "<&-", "stdout": ">&-"}[name]
    ended = subprocess.run(
        ["sh", "-c", f'"$@" {closing}', "sh", *SEAM_DAEMON], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert f"shutting down: {name} was closed at the start" in ended.stderr.decode()
    assert "Traceback" not in ended.stderr.decode()


# --- what stdin and stdout may be besides pipes ------------------------------------------------------------------


def messages_in(data: bytes) -> list[Any]:
    return [json.loads(one) for one in frames_of([data]) if isinstance(one, bytes)]


def script(*messages: object) -> bytes:
    initialize: object = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}
    return b"".join(map(frame, (initialize, {"jsonrpc": "2.0", "method": "initialized", "params": {}}, *messages)))


def test_file_as_stdin_is_served_like_a_pipe(tmp_path: Path) -> None:
    """More of it than the inbox takes at once."""
    asked = [{"jsonrpc": "2.0", "id": n, "method": "test/echo", "params": {"value": n}} for n in range(1, 600)]
    (tmp_path / "in").write_bytes(script(*asked))
    with open(tmp_path / "in", "rb") as given, open(tmp_path / "out", "wb") as taken:
        ended = subprocess.run(
            SEAM_DAEMON, stdin=given, stdout=taken, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
        )
    assert ended.returncode == 1, "stdin was closed without a shutdown"
    answers = messages_in((tmp_path / "out").read_bytes())
    assert [one["result"] for one in answers if one.get("id")] == list(range(1, 600))


def test_unreadable_stdin_ends_the_daemon_with_a_reason(tmp_path: Path) -> None:
    with open(tmp_path / "for writing", "wb") as given:
        ended = subprocess.run(SEAM_DAEMON, stdin=given, capture_output=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 1
    assert "shutting down: " in ended.stderr.decode()
    assert "Traceback" not in ended.stderr.decode()


def test_socket_as_stdin_is_served_like_a_pipe() -> None:
    """Node gives its children sockets. An answer is larger than what a socket takes at once."""
    ours, theirs = socket.socketpair()
    text = "x" * 3_000_000
    ask = {"jsonrpc": "2.0", "id": 1, "method": "test/echo", "params": {"value": text}}
    end = [{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    with (
        ours,
        subprocess.Popen(
            SEAM_DAEMON, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
        ) as daemon,
    ):
        theirs.close()
        ours.settimeout(PATIENCE_S)
        ours.sendall(script(ask))
        data = b""
        while not any(one.get("id") == 1 for one in messages_in(data)):
            data += ours.recv(1 << 20)
        ours.sendall(b"".join(map(frame, end)))
        while chunk := ours.recv(1 << 20):
            data += chunk
        assert daemon.wait(PATIENCE_S) == 0
    results = {one["id"]: one["result"] for one in messages_in(data) if one.get("id")}
    assert results == {1: text, 2: None}


# R-FRAME-1
def test_closed_stderr_does_not_put_logs_between_frames() -> None:
    with raw_client(["sh", "-c", f"exec {sys.executable} {SEAM_DAEMON[1]} 2>&-"]) as client:
        client.initialize()
        assert client.error("test/fail")["code"] == -32603
        assert client.shut_down() == 0


# --- stdout and stdin are ours ---------------------------------------------------------------------------------------


# R-FRAME-1
def test_prints_and_child_output_stay_out_of_the_stream(client: RawClient) -> None:
    assert client.result("test/babble") == 0
    assert client.result("test/echo", {"value": 1}) == 1
    assert client.garbage == []
    wait_until(lambda: "to descriptor 1" in client.stderr and "from a child" in client.stderr)


# --- load ------------------------------------------------------------------------------------------------------------


def test_body_of_60_mb_is_accepted(client: RawClient) -> None:
    text = "x" * 60_000_000
    assert client.result("test/echo", {"value": text}) == text


# R-FRAME-3
def test_body_over_64_mb_is_refused_and_the_next_one_accepted(client: RawClient) -> None:
    client.send_bytes(b"Content-Length: 70000000\r\n\r\n")
    for _ in range(70):
        client.send_bytes(b"x" * 1_000_000)
    assert client.claim(lambda message: message.get("id", 0) is None)["error"]["code"] == -32700
    assert client.result("test/echo", {"value": 1}) == 1


# R-FRAME-5
def test_client_that_writes_without_reading_loses_nothing() -> None:
    """Its requests have to wait, not the daemon's memory; then everything comes, in one piece."""
    n_requests = 120
    requests = b"".join(
        frame({"jsonrpc": "2.0", "id": number, "method": "test/big", "params": {"seconds": 1.0}})
        for number in range(n_requests)
    )
    hello = frame({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {"capabilities": {}}})
    with subprocess.Popen(
        SEAM_DAEMON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(hello + requests)
        process.stdin.flush()
        out, _ = process.communicate(frame({"jsonrpc": "2.0", "id": "down", "method": "shutdown"}), timeout=PATIENCE_S)
    assert out.count(b"Content-Length: ") >= n_requests + 2
    assert out.count(b"x" * 1_000_000) >= 1


# R-FRAME-5, R-RPC-1
def test_flood_of_requests_is_answered_one_by_one(client: RawClient) -> None:
    asked = [client.request("test/sleep", {"seconds": 0.01}) for _ in range(3000)]
    assert all(client.answer(one)["result"] == "slept" for one in asked)


# --- frames that are none --------------------------------------------------------------------------------------------

RECOVERED: list[tuple[str, bytes]] = [
    ("lower case header", b"content-length: 2\r\n\r\n{}"),
    ("line feeds only", b"Content-Length: 2\n\n{}"),
    ("text between frames", b"hello\r\n"),
    ("no length", b"X-Header: 1\r\n\r\n"),
    ("negative length", b"Content-Length: -5\r\n\r\n"),
    ("length of words", b"Content-Length: many\r\n\r\n"),
    ("length too short", b'Content-Length: 4\r\n\r\n{"jsonrpc": "2.0"}'),
    ("length of zero", b"Content-Length: 0\r\n\r\n"),
]
BROKEN: list[tuple[str, bytes]] = [
    ("length of 1e12", b"Content-Length: 1000000000000\r\n\r\n{}"),
    ("length of 1e23", b"Content-Length: 100000000000000000000000\r\n\r\n{}"),
    ("length of 5000 digits", b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}"),
]


# R-FRAME-2, R-FRAME-3
@pytest.mark.parametrize("data", [case[1] for case in RECOVERED], ids=[case[0] for case in RECOVERED])
def test_bad_frame_is_answered_and_the_next_one_served(client: RawClient, data: bytes) -> None:
    client.send_bytes(data)
    assert client.result("test/echo", {"value": 1}) == 1
    assert client.claim(lambda message: message.get("id", 0) is None)["error"]["code"] in {-32700, -32600}


# R-FRAME-4
@pytest.mark.parametrize("data", [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_unreadable_stream_ends_the_daemon_with_a_reason(client: RawClient, data: bytes) -> None:
    client.send_bytes(data)
    assert client.wait() == 1
    assert "Content-Length" in client.stderr or "bytes" in client.stderr
    assert "Traceback" not in client.stderr
