"""Clients that answer badly or ask for too much, against the real daemon and real files: no other client waits.

R-ASK-1 of docs/PROTOCOL.md.
"""

import os
import sys
from pathlib import Path

import pytest

from support.patience import wait_until
from support.rawclient import Message, edit_of, frame, has_ended, raw_client

CONFIRM = {"experimental": {"fileops": {"confirm_edit": True}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


# --- replies ---------------------------------------------------------------------------------------------------------

YES, NO = {"outcome": "proceed_once"}, {"outcome": "cancel"}
REPLIES: dict[str, tuple[list[Message], str | None]] = {
    "no, then yes": ([{"result": NO}, {"result": YES}], "rejected"),
    "yes, then no": ([{"result": YES}, {"result": NO}], None),
    "yes and an error at once": ([{"result": YES, "error": {"code": 1, "message": "no"}}], "undecided"),
    "yes beside a null error": ([{"result": YES, "error": None}], None),
    "neither": ([{}], "undecided"),
    "a list of yes": ([{"result": [YES]}], "undecided"),
    "yes in words": ([{"result": "proceed_once"}], "undecided"),
    "a text that no file can hold": ([{"result": {"outcome": "modify", "text": "\udce9"}}], "not_encodable"),
    "everything at once": ([{"result": {**YES, "text": ["x"]}}], "undecided"),
}


# R-ASK-1
@pytest.mark.parametrize("name", REPLIES)
def test_replies_to_one_question_count_once_and_only_a_clear_yes_writes(file: Path, name: str) -> None:
    replies, code = REPLIES[name]
    with raw_client() as client:
        client.initialize(CONFIRM)
        client.read(file)
        for wrong_id in (1, "1", None, "fileops-2"):  # before there is a question: the next one's id is no secret
            client.send({"jsonrpc": "2.0", "id": wrong_id, "result": YES})
        asked = client.request("fileops/edit", edit_of(file))
        question = client.question("fileops/confirmEdit")
        for reply in replies:
            client.send({"jsonrpc": "2.0", "id": question["id"], **reply})
        result = client.answer(asked)["result"]
        assert (result["error"] or {"code": None})["code"] == code
        assert file.read_bytes() == (b"one\n2\nthree\n" if code is None else b"one\ntwo\nthree\n")
        assert client.result("fileops/tools")["tools"]
        assert "Traceback" not in client.stderr
        assert client.shut_down() == 0


def test_unanswered_question_delays_no_other_request(file: Path) -> None:
    """Not other edits of the same file, not the end."""
    with raw_client() as client:
        client.initialize(CONFIRM)
        client.read(file)
        forgotten = [client.request("fileops/edit", edit_of(file)) for _ in range(32)]  # as many as may wait
        for _ in forgotten:
            client.question("fileops/confirmEdit")
        assert client.read(file)["status"] == "success"
        client.result("fileops/setApprovalMode", {"mode": "yolo"})
        assert client.result("fileops/edit", edit_of(file, "one", "1"))["status"] == "success"
        assert client.shut_down() == 0
        assert all(client.answer(one)["error"]["code"] == -32800 for one in forgotten)
        assert file.read_bytes() == b"1\ntwo\nthree\n"


# --- clients that are too much ---------------------------------------------------------------------------------------


def resident_mb(pid: int, *, peak: bool = False) -> float:
    field = "VmHWM" if peak else "VmRSS"
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))


def wait_until_idle(pid: int) -> None:
    """Until the process has not worked for a while."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("descriptors of processes are Linux's")
    pidfd = os.pidfd_open(pid)
    spent: list[str] = []
    for _ in range(400):
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            spent.append(" ".join(stat.read().rsplit(") ", 1)[1].split()[11:13]))
        if len(spent) > 10 and len(set(spent[-10:])) == 1:
            break
        assert not has_ended(pidfd, 0.05)
    os.close(pidfd)


WIDE = {"limits": {"max_lines": 100_000, "max_line_chars": 100_000, "max_chars": 10_000_000}}


# R-FRAME-5
def test_client_that_asks_for_300_megabytes_and_does_not_read_costs_bounded_memory(tmp_path: Path) -> None:
    """300 MB of answers that the client does not read; then all of them come, in one piece."""
    path = tmp_path / "big.txt"
    path.write_text(("x" * 999 + "\n") * 250, encoding="ascii")
    n_requests = 1200
    hello = {
        "jsonrpc": "2.0",
        "id": "init",
        "method": "initialize",
        "params": {"capabilities": {}, "initializationOptions": WIDE},
    }
    ask = {"jsonrpc": "2.0", "method": "fileops/read", "params": {"file_path": str(path)}}
    with raw_client(reads=False) as client:
        client.send(hello)
        client.send_in_background(b"".join(frame({**ask, "id": n}) for n in range(n_requests)))
        wait_until_idle(client.process.pid)
        assert resident_mb(client.process.pid) < 250
        client.start_reading()
        assert all(len(client.answer(n)["result"]["output"]) > 250_000 for n in range(n_requests))
        assert resident_mb(client.process.pid, peak=True) < 300
        assert client.shut_down() == 0


# R-FRAME-5
def test_client_that_does_not_read_is_not_sent_all_progress_of_its_commands(tmp_path: Path) -> None:
    """Each command prints 25 reports of 32 KB, slowly enough for each of them to be one."""
    prints = "for i in $(seq 25); do head -c 32768 /dev/zero | tr '\\0' x; sleep 0.11; done; touch over-$NAME"
    tokens = [f"t{n}" for n in range(8)]
    with raw_client(reads=False, cwd=str(tmp_path)) as client:
        options = {"capabilities": {}, "initializationOptions": {"bash": True}}
        client.request("initialize", options, msg_id="init")
        for token in tokens:
            params = {"command": f"NAME={token}; {prints}", "workDoneToken": token, "cwd": str(tmp_path)}
            client.request("fileops/bash", params, msg_id=token)
        wait_until(lambda: all((tmp_path / f"over-{token}").exists() for token in tokens))
        client.start_reading()
        assert all(client.answer(token)["result"]["details"]["n_output_bytes"] == 25 * 32768 for token in tokens)
        progress = [message["params"] for message in client.received if message.get("method") == "$/progress"]
        for token in tokens:
            values = [one["value"] for one in progress if one["token"] == token]
            assert [value["kind"] for value in (values[0], values[-1])] == ["begin", "end"]
            assert "characters are left out here" in values[-2]["message"]
        assert sum(len(one["value"].get("message", "")) for one in progress) < 1_000_000  # of 6.5 MB
        assert client.shut_down() == 0
