"""Clients that end, die or stop reading in the middle of edits: the daemon ends, too, and every file is whole.

R-END-1 of docs/PROTOCOL.md. What the seam alone can show is in test_process.py.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.patience import PATIENCE_S
from support.rawclient import DAEMON, Message, RawClient, edit_of, frame, has_ended, raw_client


@pytest.fixture
def client() -> Iterator[RawClient]:
    with raw_client() as one:
        one.initialize()
        yield one


def litter_in(folder: Path, n_files: int) -> set[str]:
    return set(os.listdir(folder)) - {f"f{n}.txt" for n in range(n_files)}


def many_edits(client: RawClient, folder: Path, n_files: int, n_edits: int) -> list[tuple[int, int, int]]:
    """(id, file, number) of edits that are on their way: each turns a file's number into the next one."""
    for n in range(n_files):
        (folder / f"f{n}.txt").write_bytes(b"<0>" + b"x" * 50_000 + b"\n")
        client.read(folder / f"f{n}.txt")
    return [
        (client.request("fileops/edit", edit_of(folder / f"f{n}.txt", f"<{k}>", f"<{k + 1}>")), n, k)
        for k in range(n_edits)
        for n in range(n_files)
    ]


def number_in(folder: Path, n: int) -> int:
    """Of a file that must be whole."""
    data = (folder / f"f{n}.txt").read_bytes()
    number, rest = data[1:].split(b">", 1)
    assert rest == b"x" * 50_000 + b"\n"
    return int(number)


def exits(client: RawClient) -> None:
    client.notify("exit")


def shuts_down_and_exits(client: RawClient) -> None:
    client.request("shutdown")
    client.notify("exit")


def terminates(client: RawClient) -> None:
    client.process.send_signal(signal.SIGTERM)


def breaks_a_frame(client: RawClient) -> None:
    client.send_bytes(b"Content-Length: 100\r\n\r\n{")
    client.close_stdin()


# R-END-1, R-END-2, R-RPC-1
@pytest.mark.parametrize("end", [exits, shuts_down_and_exits, terminates, RawClient.close_stdin, breaks_a_frame])
def test_shutdown_during_edits_answers_truthfully_and_leaves_no_temp_files(
    client: RawClient, tmp_path: Path, end: Callable[[RawClient], None]
) -> None:
    n_files, n_edits = 4, 25
    asked = many_edits(client, tmp_path, n_files, n_edits)
    end(client)
    client.wait()
    n_applied = [0] * n_files
    answered = {message["id"]: message for message in client.received if "method" not in message}
    for msg_id, n, k in asked:
        if msg_id not in answered:
            assert end is terminates, "only a request that was not read yet may stay without an answer"
        elif "result" in answered[msg_id] and answered[msg_id]["result"]["status"] == "success":
            assert n_applied[n] == k
            n_applied[n] += 1
    assert [number_in(tmp_path, n) for n in range(n_files)] == n_applied
    assert litter_in(tmp_path, n_files) == set()
    assert "Traceback" not in client.stderr


DYING_CLIENT = """
import json, os, subprocess, sys
folder, has_parent = sys.argv[1], sys.argv[2] == "named"
daemon = subprocess.Popen([sys.executable, "-m", "fileops"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    daemon.stdin.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
pid = os.getpid() if has_parent else None
send({"id": 0, "method": "initialize", "params": {"processId": pid, "capabilities": {}}})
paths = [os.path.join(folder, f"f{n}.txt") for n in range(4)]
for n, path in enumerate(paths):
    send({"id": f"r{n}", "method": "fileops/read", "params": {"file_path": path}})
for k in range(2000):
    for path in paths:
        params = {"file_path": path, "old_string": f"<{k}>", "new_string": f"<{k + 1}>"}
        send({"id": f"{k}{path}", "method": "fileops/edit", "params": params})
    daemon.stdin.flush()
    if k == 0:
        print(daemon.pid, flush=True)
"""


# R-END-1
@pytest.mark.parametrize("parent", ["named", "not named"])
def test_client_killed_during_edits_leaves_no_daemon_and_no_temp_files(tmp_path: Path, parent: str) -> None:
    """It never reads an answer, either."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("descriptors of processes are Linux's")
    for n in range(4):
        (tmp_path / f"f{n}.txt").write_bytes(b"<0>" + b"x" * 50_000 + b"\n")
    command = [sys.executable, "-c", DYING_CLIENT, str(tmp_path), parent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as dying:
        assert dying.stdout is not None
        daemon_pid = int(dying.stdout.readline())
        daemon = os.pidfd_open(daemon_pid)
        while number_in(tmp_path, 0) < 3:
            assert dying.poll() is None
        dying.kill()
    try:
        assert has_ended(daemon), "the daemon outlives its client"
    finally:
        os.close(daemon)
    assert all(number_in(tmp_path, n) >= 0 for n in range(4))
    assert litter_in(tmp_path, 4) == set()


# R-END-1
def test_client_that_closes_its_reading_end_during_edits_ends_the_daemon(tmp_path: Path) -> None:
    (tmp_path / "f0.txt").write_bytes(b"<0>" + b"x" * 50_000 + b"\n")
    with subprocess.Popen(
        DAEMON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        path = tmp_path / "f0.txt"
        messages: list[Message] = [
            {"id": 0, "method": "initialize", "params": {"capabilities": {}}},
            {"id": 1, "method": "fileops/read", "params": {"file_path": str(path)}},
        ]
        messages += [
            {"id": 2 + k, "method": "fileops/edit", "params": edit_of(path, f"<{k}>", f"<{k + 1}>")} for k in range(50)
        ]
        daemon.stdin.write(b"".join(frame({"jsonrpc": "2.0", **message}) for message in messages))
        assert daemon.stdout.read(1)
        daemon.stdout.close()
        assert daemon.wait(PATIENCE_S) == 1
        assert daemon.stderr is not None
        reason = daemon.stderr.read().decode()
    assert "does not read" in reason
    assert "Traceback" not in reason
    assert number_in(tmp_path, 0) >= 0
    assert litter_in(tmp_path, 1) == set()
