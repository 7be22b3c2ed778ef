"""Clients that break the rules, against the real daemon and real files: it answers or ends, and no file is harmed.

R-FRAME-*, R-RPC-*, R-PARAMS-*, R-END-*, R-ASK-1 of docs/PROTOCOL.md. What the seam alone can show is in
test_envelopes.py and test_process.py.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.rawclient import DAEMON, Message, RawClient, frame, raw_client

BROKEN_NAME = os.fsdecode(b"caf\xe9 \xff.txt")
CONFIRM = {"experimental": {"fileops": {"confirm_edit": True}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


@pytest.fixture
def client() -> Iterator[RawClient]:
    with raw_client() as one:
        one.initialize()
        yield one


def read(client: RawClient, path: Path | str, **more: object) -> Any:
    return client.result("fileops/read", {"file_path": str(path), **more})


def edit(path: Path | str, old: str = "two", new: str = "2", **more: object) -> Message:
    return {"file_path": str(path), "old_string": old, "new_string": new, **more}


def no_id(message: Message) -> bool:
    return message.get("id", 0) is None


def names_in(folder: Path) -> set[str]:
    return {os.fsdecode(name) for name in os.listdir(os.fsencode(folder))}


# --- bytes -----------------------------------------------------------------------------------------------------------

NOISE: list[tuple[str, bytes, bool]] = [
    ("garbage", b"\x00\xff\xfe\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", True),
    ("a negative length", b"Content-Length: -2\r\n\r\n", True),
    ("two lengths", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", True),
    ("a length in hex", b"Content-Length: 0x10\r\n\r\n", True),
    ("no body", b"Content-Length: 0\r\n\r\n", True),
    ("bad UTF-8", frame(b'{"jsonrpc":"2.0","id":1,"method":"fileops/tracked","params":{"session_id":"\xff"}}'), True),
    ("half a surrogate pair in UTF-8", frame(b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}'), True),
    ("a BOM", frame(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"fileops/tracked"}'), True),
    ("UTF-16", frame('{"jsonrpc":"2.0","id":1,"method":"fileops/tracked"}'.encode("utf-16")), True),
    ("infinity", frame(b'{"jsonrpc":"2.0","id":1,"method":"fileops/tracked","params":{"a":-Infinity}}'), True),
    ("a number of 400 zeros", frame(b'{"jsonrpc":"2.0","id":1e400,"method":"fileops/tracked"}'), True),
    ("a number of 5000 digits", frame(b'{"jsonrpc":"2.0","id":%b,"method":"fileops/tracked"}' % (b"9" * 5000)), True),
    ("nested lists", frame(b"[" * 1_000_000), True),
    ("nested objects", frame(b'{"a":' * 300_000 + b"1" + b"}" * 300_000), True),
    ("two messages in one frame", frame(b'{"jsonrpc":"2.0","id":1,"method":"x"}' * 2), True),
    ("a batch", frame([{"jsonrpc": "2.0", "id": 1, "method": "fileops/tracked"}]), True),
    ("a comment", frame(b'{"jsonrpc":"2.0",/**/"id":1,"method":"fileops/tracked"}'), True),
    ("upper case and a line feed", b"CONTENT-LENGTH:2\n\n[]", True),
    ("further headers", b"Content-Type: text/plain\r\nX: y\r\nContent-Length: 2\r\n\r\n[]", True),
    ("a reply to nothing", frame({"jsonrpc": "2.0", "id": "fileops-1", "result": {"outcome": "proceed_once"}}), False),
    ("a notification of nobody", frame({"jsonrpc": "2.0", "method": "nobody/knows", "params": [1]}), False),
]


# R-FRAME-2, R-FRAME-3, R-RPC-1, R-RPC-2
def test_noise_between_requests_gets_its_answer_and_changes_nothing(client: RawClient, file: Path) -> None:
    """Each noise is followed by an edit, which must have its one effect."""
    read(client, file)
    for number, (name, noise, is_answered) in enumerate(NOISE):
        client.send_bytes(noise)
        old, new = ("two", "2") if number % 2 == 0 else ("2", "two")
        assert client.result("fileops/edit", edit(file, old, new))["status"] == "success", name
        assert file.read_bytes() == b"one\n%b\nthree\n" % new.encode(), name
        if is_answered:
            assert client.claim(no_id)["error"]["code"] in {-32700, -32600}, name
        assert not any(no_id(message) for message in client.received), name
    assert "Traceback" not in client.stderr
    assert client.shut_down() == 0


# R-FRAME-2
def test_frames_in_any_pieces_are_the_same_requests(client: RawClient, file: Path) -> None:
    """Split anywhere, merged, and both: one read and a chain of edits, sent in pieces of each small size."""
    message = {"jsonrpc": "2.0", "method": "fileops/read", "params": {"file_path": str(file)}}
    for size in (1, 2, 3, 7, 19, 64, 10_000):
        ids = [f"{size}-{n}" for n in range(3)]
        stream = b"".join(frame({**message, "id": one}) for one in ids)
        for at in range(0, len(stream), size):
            client.send_bytes(stream[at : at + size])
        assert all(client.answer(one)["result"]["status"] == "success" for one in ids)


# R-PARAMS-1
def test_duplicate_keys_of_params_count_once(client: RawClient, file: Path) -> None:
    path = json.dumps(str(file))
    body = (
        f'{{"jsonrpc":"2.0","id":"d","method":"fileops/read","params":{{"file_path":"/nowhere","file_path":{path}}}}}'
    )
    client.send_bytes(frame(body.encode()))
    assert client.answer("d")["result"]["status"] == "success"


# R-RPC-2
def test_envelope_inside_a_payload_is_a_payload(client: RawClient, file: Path) -> None:
    inner = {"jsonrpc": "2.0", "id": 1, "method": "exit"}
    assert client.error("fileops/read", {"file_path": str(file), "jsonrpc": "2.0"})["data"]["path"] == "$.jsonrpc"
    assert client.error("fileops/read", {"file_path": inner})["data"]["path"] == "$.file_path"
    read(client, file)
    text = json.dumps(inner)
    assert client.result("fileops/edit", edit(file, "two", text))["status"] == "success"
    assert file.read_text() == f"one\n{text}\nthree\n"


def test_body_of_60_mb_is_an_edit(client: RawClient, file: Path) -> None:
    read(client, file)
    text = "x" * 60_000_000
    assert client.result("fileops/edit", edit(file, new=text))["status"] == "success"
    assert file.stat().st_size == 60_000_000 + len(b"one\n\nthree\n")


# R-FRAME-4
@pytest.mark.parametrize("size", [b"2000000000", b"99999999999999999999999"])
def test_stream_that_cannot_be_followed_ends_in_the_midst_of_edits(client: RawClient, file: Path, size: bytes) -> None:
    read(client, file)
    asked = client.request("fileops/edit", edit(file))
    client.send_bytes(b"Content-Length: %b\r\n\r\n{}" % size)
    assert client.wait() == 1
    assert client.answer(asked)["result"]["status"] == "success"
    assert file.read_bytes() == b"one\n2\nthree\n"
    assert names_in(file.parent) == {"f.txt"}
    assert "Traceback" not in client.stderr
    assert "ending: " in client.stderr


# --- values ----------------------------------------------------------------------------------------------------------


def test_numbers_beyond_any_file_are_numbers(client: RawClient, file: Path) -> None:
    huge = 10**300
    assert "shorter than the provided offset" in read(client, file, offset=huge)["output"]
    assert read(client, file, limit=huge)["details"]["total_lines"] == 3
    assert read(client, file, offset=-huge)["details"]["start_line"] == 1
    assert client.answer(client.request("fileops/tracked", {}, msg_id=huge))["result"]["files"]
    counted = client.result("fileops/edit", edit(file, expected_replacements=huge))
    assert counted["error"]["code"] == "count_mismatch"


NAMES_OF_NO_FILE = ["/a\0b", "/\ud800", "/" + "x" * 300, "/" + "x/" * 3000, "/" + "y" * 1_000_000]


# R-NAME-1
@pytest.mark.parametrize("path", NAMES_OF_NO_FILE, ids=lambda path: ascii(path[:4]) + str(len(path)))
def test_name_that_no_file_can_have_is_missing_and_cannot_be_created(client: RawClient, path: str) -> None:
    assert read(client, path)["error"]["code"] == "not_found"
    assert client.result("fileops/edit", edit(path))["error"]["code"] == "not_found"
    refused = client.result("fileops/edit", edit(path, old="", new="x"))
    assert refused["error"]["code"] == "io_error"
    assert "name" in refused["error"]["message"]


# R-NAME-2
def test_lone_surrogates_go_everywhere_and_match_nothing(client: RawClient, file: Path) -> None:
    read(client, file, session_id="\ud800")
    assert len(client.result("fileops/tracked", {"session_id": "\ud800"})["files"]) == 1
    read(client, file)
    for strategy in ("exact", "regex", "block"):
        missed = client.result("fileops/edit", edit(file, old="\udce9\ntwo\n\ud800", strategy=strategy))
        assert missed["error"]["code"] == "no_match"
    for new in ("\udce9", "\ud83d"):
        assert client.result("fileops/edit", edit(file, new=new))["error"]["code"] == "not_encodable"
    created = client.result("fileops/edit", edit(file.with_name("new"), old="", new="\udce9"))
    assert created["error"]["code"] == "not_encodable"
    assert client.error("nobody/\ud800")["code"] == -32601
    assert client.result("fileops/edit", edit(file, new="\ud83d\ude00"))["status"] == "success"  # a pair, escaped
    assert file.read_text(encoding="utf-8") == "one\n\U0001f600\nthree\n"
    assert names_in(file.parent) == {"f.txt"}


# R-NAME-1
def test_name_that_is_not_utf_8_is_a_name_from_end_to_end(tmp_path: Path) -> None:
    folder = os.path.join(str(tmp_path), os.fsdecode(b"d\xe9"))
    os.mkdir(folder)
    path = os.path.join(folder, BROKEN_NAME)
    uri = "file://" + str(tmp_path) + "/d%E9/caf%E9%20%FF.txt"
    with raw_client() as client:
        client.initialize(workspaceFolders=[{"uri": f"file://{tmp_path}/d%E9", "name": "d"}])
        created = client.result("fileops/edit", edit(path, old="", new="one\ntwo\n"))
        assert created["output"] == f"File created successfully at: {path}"
        assert created["ui_extra"]["file_path"] == path
        changed = client.result(
            "fileops/multiEdit", {"file_path": path, "edits": [{"old_string": "two", "new_string": "2"}]}
        )
        assert r"caf\351 \377.txt" in changed["ui_extra"]["diff"]
        assert client.notification("fileops/didEdit")["file_path"] == path
        with open(os.fsencode(path), "wb") as stream:
            stream.write(b"other\n")
        assert client.notification("fileops/didBecomeStale")["file_path"] == path
        client.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": "unsaved\n"}},
        )
        assert "unsaved" in read(client, path)["output"]
        outside = client.result("fileops/edit", edit(os.path.join(str(tmp_path), BROKEN_NAME), old="", new="x"))
        assert outside["error"]["code"] == "outside_roots"
        assert client.shut_down() == 0
    assert names_in(tmp_path) == {os.fsdecode(b"d\xe9")}


STRANGE_URIS = ["file:///\ud800", "file:///%00", "file:///" + "x" * 5000, "file:///%", "file://[", "untitled:x", ""]


# R-INIT-3
def test_folder_that_cannot_be_found_out_neither_opens_nor_blocks_anything(tmp_path: Path, file: Path) -> None:
    """Not even where it is the only one: nothing is confined only without any folder."""
    too_long = {"uri": "file:///" + "x" * 5000, "name": "long"}
    inside = {"uri": file.parent.as_uri(), "name": "in"}
    with raw_client() as client:
        client.initialize(workspaceFolders=[too_long])
        read(client, file)
        assert client.result("fileops/edit", edit(file))["error"]["code"] == "outside_roots"
        for uri in STRANGE_URIS:
            strange = {"uri": uri, "name": "s"}
            client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [strange], "removed": []}})
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [inside], "removed": []}})
        assert client.result("fileops/edit", edit(file))["status"] == "success"
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [inside]}})
        assert client.result("fileops/edit", edit(file, "2", "two"))["error"]["code"] == "outside_roots"
        assert "Traceback" not in client.stderr
        assert client.shut_down() == 0


def test_documents_with_strange_uris_texts_and_changes_do_no_harm(client: RawClient, file: Path) -> None:
    read(client, file)
    for uri in STRANGE_URIS:
        document = {"uri": uri, "languageId": "x", "version": 1, "text": "t"}
        client.notify("textDocument/didOpen", {"textDocument": document})
    uri = file.as_uri()
    client.notify(
        "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": "\udce9\ud83d"}}
    )
    for line, character in ((2**80, 2**80), (-1, -1), (0, -(2**80))):
        place = {"line": line, "character": character}
        change = {"range": {"start": place, "end": place}, "text": "\ude00"}
        client.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": -5}, "contentChanges": [change]}
        )
    assert read(client, file)["details"]["source"] == "buffer"
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert read(client, file)["details"]["source"] == "disk"
    assert client.result("fileops/edit", edit(file))["status"] == "success"
    assert "Traceback" not in client.stderr


# --- clients that go away --------------------------------------------------------------------------------------------


def litter_in(folder: Path, n_files: int) -> set[str]:
    return names_in(folder) - {f"f{n}.txt" for n in range(n_files)}


def many_edits(client: RawClient, folder: Path, n_files: int, n_edits: int) -> list[tuple[int, int, int]]:
    """(id, file, number) of edits that are on their way: each turns a file's number into the next one."""
    for n in range(n_files):
        (folder / f"f{n}.txt").write_bytes(b"<0>" + b"x" * 50_000 + b"\n")
        read(client, folder / f"f{n}.txt")
    return [
        (client.request("fileops/edit", edit(folder / f"f{n}.txt", f"<{k}>", f"<{k + 1}>")), n, k)
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
def test_end_in_the_middle_of_edits_answers_truly_and_leaves_no_litter(
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
def test_client_killed_in_the_middle_of_edits_leaves_no_orphan_and_no_litter(tmp_path: Path, parent: str) -> None:
    """It never reads an answer, either."""
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


def has_ended(pidfd: int, patience_s: float = 20) -> bool:
    import select

    return bool(select.select([pidfd], [], [], patience_s)[0])


# R-END-1
def test_client_that_closes_only_its_reading_end_in_the_middle_of_edits(tmp_path: Path) -> None:
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
            {"id": 2 + k, "method": "fileops/edit", "params": edit(path, f"<{k}>", f"<{k + 1}>")} for k in range(50)
        ]
        daemon.stdin.write(b"".join(frame({"jsonrpc": "2.0", **message}) for message in messages))
        assert daemon.stdout.read(1)
        daemon.stdout.close()
        assert daemon.wait(20) == 1
        assert daemon.stderr is not None
        reason = daemon.stderr.read().decode()
    assert "does not read" in reason
    assert "Traceback" not in reason
    assert number_in(tmp_path, 0) >= 0
    assert litter_in(tmp_path, 1) == set()


# --- replies ---------------------------------------------------------------------------------------------------------

YES, NO = {"outcome": "proceed_once"}, {"outcome": "cancel"}
REPLIES: dict[str, tuple[list[Message], str | None]] = {
    "no, then yes": ([{"result": NO}, {"result": YES}], "rejected"),
    "yes, then no": ([{"result": YES}, {"result": NO}], None),
    "yes and an error at once": ([{"result": YES, "error": {"code": 1, "message": "no"}}], "rejected"),
    "yes beside a null error": ([{"result": YES, "error": None}], None),
    "neither": ([{}], "rejected"),
    "a list of yes": ([{"result": [YES]}], "rejected"),
    "yes in words": ([{"result": "proceed_once"}], "rejected"),
    "a text that no file can hold": ([{"result": {"outcome": "modify", "text": "\udce9"}}], "not_encodable"),
    "everything at once": ([{"result": {**YES, "text": "x", "hunk_ids": ["0"]}}], "rejected"),
}


# R-ASK-1
@pytest.mark.parametrize("name", REPLIES)
def test_replies_to_one_question_count_once_and_only_a_clear_yes_writes(file: Path, name: str) -> None:
    replies, code = REPLIES[name]
    with raw_client() as client:
        client.initialize(CONFIRM)
        read(client, file)
        for wrong_id in (1, "1", None, "fileops-2"):  # before there is a question: the next one's id is no secret
            client.send({"jsonrpc": "2.0", "id": wrong_id, "result": YES})
        asked = client.request("fileops/edit", edit(file))
        question = client.question("fileops/confirmEdit")
        for reply in replies:
            client.send({"jsonrpc": "2.0", "id": question["id"], **reply})
        result = client.answer(asked)["result"]
        assert (result["error"] or {"code": None})["code"] == code
        assert file.read_bytes() == (b"one\n2\nthree\n" if code is None else b"one\ntwo\nthree\n")
        assert client.result("fileops/tools")["tools"]
        assert "Traceback" not in client.stderr
        assert client.shut_down() == 0


def test_question_that_nobody_answers_holds_up_nothing_else(file: Path) -> None:
    """Not other edits of the same file, not the end."""
    with raw_client() as client:
        client.initialize(CONFIRM)
        read(client, file)
        forgotten = [client.request("fileops/edit", edit(file)) for _ in range(600)]
        for _ in forgotten:
            client.question("fileops/confirmEdit")
        assert read(client, file)["status"] == "success"
        client.result("fileops/setApprovalMode", {"mode": "yolo"})
        assert client.result("fileops/edit", edit(file, "one", "1"))["status"] == "success"
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
def test_client_that_asks_for_half_a_gigabyte_and_does_not_read_costs_bounded_memory(tmp_path: Path) -> None:
    """500 MB of answers that nobody takes; then all of them come, in one piece."""
    path = tmp_path / "big.txt"
    path.write_text(("x" * 999 + "\n") * 250, encoding="ascii")
    n_requests = 2000
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
