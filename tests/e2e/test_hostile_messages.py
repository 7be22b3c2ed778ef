"""Messages that break the rules or bend them, against the real daemon and real files: it answers, no file is harmed.

R-FRAME-*, R-RPC-*, R-PARAMS-* of docs/PROTOCOL.md. What the seam alone can show is in test_envelopes.py.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rawclient import Message, RawClient, edit_of, frame, raw_client

BROKEN_NAME = os.fsdecode(b"caf\xe9 \xff.txt")

WARNING = 2  # LSP's MessageType


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


def no_id(message: Message) -> bool:
    return message.get("id", 0) is None


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
def test_malformed_messages_between_requests_are_answered_and_change_nothing(client: RawClient, file: Path) -> None:
    """Each noise is followed by an edit, which must have its one effect."""
    client.read(file)
    for number, (name, noise, is_answered) in enumerate(NOISE):
        client.send_bytes(noise)
        old, new = ("two", "2") if number % 2 == 0 else ("2", "two")
        assert client.result("fileops/edit", edit_of(file, old, new))["status"] == "success", name
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
    client.read(file)
    text = json.dumps(inner)
    assert client.result("fileops/edit", edit_of(file, "two", text))["status"] == "success"
    assert file.read_text() == f"one\n{text}\nthree\n"


def test_edit_of_60_mb_is_applied(client: RawClient, file: Path) -> None:
    client.read(file)
    text = "x" * 60_000_000
    assert client.result("fileops/edit", edit_of(file, new=text))["status"] == "success"
    assert file.stat().st_size == 60_000_000 + len(b"one\n\nthree\n")


# R-FRAME-4
@pytest.mark.parametrize("size", [b"2000000000", b"99999999999999999999999"])
def test_unreadable_stream_during_edits_ends_the_daemon(client: RawClient, file: Path, size: bytes) -> None:
    client.read(file)
    asked = client.request("fileops/edit", edit_of(file))
    client.send_bytes(b"Content-Length: %b\r\n\r\n{}" % size)
    assert client.wait() == 1
    assert client.answer(asked)["result"]["status"] == "success"
    assert file.read_bytes() == b"one\n2\nthree\n"
    assert set(os.listdir(file.parent)) == {"f.txt"}
    assert "Traceback" not in client.stderr
    assert "shutting down: " in client.stderr


# --- values ----------------------------------------------------------------------------------------------------------


def test_huge_numbers_are_accepted(client: RawClient, file: Path) -> None:
    huge = 10**300
    assert "shorter than the provided offset" in client.read(file, offset=huge)["output"]
    assert client.read(file, limit=huge)["details"]["total_lines"] == 3
    assert client.read(file, offset=-huge)["details"]["start_line"] == 1
    assert client.answer(client.request("fileops/tracked", {}, msg_id=huge))["result"]["files"]
    counted = client.result("fileops/edit", edit_of(file, expected_replacements=huge))
    assert counted["error"]["code"] == "count_mismatch"


NAMES_OF_NO_FILE = ["/a\0b", "/\ud800", "/" + "x" * 300, "/" + "x/" * 3000, "/" + "y" * 1_000_000]


# R-NAME-1
@pytest.mark.parametrize("path", NAMES_OF_NO_FILE, ids=lambda path: ascii(path[:4]) + str(len(path)))
def test_impossible_file_name_is_missing_and_cannot_be_created(client: RawClient, path: str) -> None:
    assert client.read(path)["error"]["code"] == "not_found"
    assert client.result("fileops/edit", edit_of(path))["error"]["code"] == "not_found"
    refused = client.result("fileops/edit", edit_of(path, old="", new="x"))
    assert refused["error"]["code"] == "io_error"
    assert "name" in refused["error"]["message"]


# R-NAME-2
def test_lone_surrogates_are_accepted_and_match_nothing(client: RawClient, file: Path) -> None:
    client.read(file, session_id="\ud800")
    assert len(client.result("fileops/tracked", {"session_id": "\ud800"})["files"]) == 1
    client.read(file)
    for strategy in ("exact", "regex", "block"):
        missed = client.result("fileops/edit", edit_of(file, old="\udce9\ntwo\n\ud800", strategy=strategy))
        assert missed["error"]["code"] == "no_match"
    for new in ("\udce9", "\ud83d"):
        assert client.result("fileops/edit", edit_of(file, new=new))["error"]["code"] == "not_encodable"
    created = client.result("fileops/edit", edit_of(file.with_name("new"), old="", new="\udce9"))
    assert created["error"]["code"] == "not_encodable"
    assert client.error("nobody/\ud800")["code"] == -32601
    assert client.result("fileops/edit", edit_of(file, new="\ud83d\ude00"))["status"] == "success"  # a pair, escaped
    assert file.read_text(encoding="utf-8") == "one\n\U0001f600\nthree\n"
    assert set(os.listdir(file.parent)) == {"f.txt"}


# R-NAME-1
def test_non_utf_8_name_is_kept_from_end_to_end(tmp_path: Path) -> None:
    folder = os.path.join(str(tmp_path), os.fsdecode(b"d\xe9"))
    os.mkdir(folder)
    path = os.path.join(folder, BROKEN_NAME)
    uri = "file://" + str(tmp_path) + "/d%E9/caf%E9%20%FF.txt"
    with raw_client() as client:
        client.initialize(workspaceFolders=[{"uri": f"file://{tmp_path}/d%E9", "name": "d"}])
        created = client.result("fileops/edit", edit_of(path, old="", new="one\ntwo\n"))
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
        assert "unsaved" in client.read(path)["output"]
        outside = client.result("fileops/edit", edit_of(os.path.join(str(tmp_path), BROKEN_NAME), old="", new="x"))
        assert outside["error"]["code"] == "outside_roots"
        assert client.shut_down() == 0
    assert set(os.listdir(tmp_path)) == {os.fsdecode(b"d\xe9")}


STRANGE_URIS = ["file:///\ud800", "file:///%00", "file:///" + "x" * 5000, "file:///%", "file://[", "untitled:x", ""]


# R-INIT-3
def test_unresolvable_folder_neither_permits_nor_forbids_anything(tmp_path: Path, file: Path) -> None:
    """Not even where it is the only one: nothing is confined only without any folder."""
    too_long = {"uri": "file:///" + "x" * 5000, "name": "long"}
    inside = {"uri": file.parent.as_uri(), "name": "in"}
    with raw_client() as client:
        client.initialize(workspaceFolders=[too_long])
        client.read(file)
        assert client.result("fileops/edit", edit_of(file))["error"]["code"] == "outside_roots"
        for uri in STRANGE_URIS:
            strange = {"uri": uri, "name": "s"}
            client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [strange], "removed": []}})
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [inside], "removed": []}})
        assert client.result("fileops/edit", edit_of(file))["status"] == "success"
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [inside]}})
        assert client.result("fileops/edit", edit_of(file, "2", "two"))["error"]["code"] == "outside_roots"
        assert "Traceback" not in client.stderr
        assert client.shut_down() == 0


# R-INIT-3
@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize("is_added_later", [False, True])
def test_folder_that_does_not_exist_is_named_once_and_counts_when_it_is_created(
    file: Path, *, is_file: bool, is_added_later: bool
) -> None:
    missing = file.parent / "missing"
    if is_file:
        missing.write_text("a file")
    folder, other = ({"uri": path.as_uri(), "name": path.name} for path in (missing, file.parent / "other"))
    with raw_client() as client:
        client.initialize(workspaceFolders=[] if is_added_later else [folder])
        if is_added_later:
            client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        shown = client.notification("window/showMessage")
        assert shown["type"] == WARNING
        assert f"{missing} does not exist" in shown["message"]
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [other], "removed": []}})
        assert f"{file.parent / 'other'} does not exist" in client.notification("window/showMessage")["message"]
        missing.unlink(missing_ok=True)
        missing.mkdir()
        assert client.result("fileops/edit", edit_of(missing / "new", "", "one\n"))["status"] == "success"
        outside = client.result("fileops/edit", edit_of(file.parent / "outside", "", "one\n"))
        assert outside["error"]["code"] == "outside_roots"


UNREADABLE_CHANGES: list[object] = [None, [], {}, {"event": {"added": []}}, {"event": {"added": [], "removed": [{}]}}]


# R-INIT-3
@pytest.mark.parametrize("params", UNREADABLE_CHANGES)
def test_malformed_change_of_folders_is_ignored_and_reported(file: Path, params: object) -> None:
    with raw_client() as client:
        client.initialize(workspaceFolders=[{"uri": file.parent.as_uri(), "name": "in"}])
        client.read(file)
        client.notify("workspace/didChangeWorkspaceFolders", params)
        shown = client.notification("window/showMessage")
        assert shown["type"] == 2
        assert "workspace folders could not be read" in shown["message"]
        assert shown["message"].endswith("the folders are unchanged")
        assert client.result("fileops/edit", edit_of(file))["status"] == "success"


# R-INIT-3
def test_added_folder_of_another_host_is_reported_and_the_other_folders_are_added(file: Path) -> None:
    inside = {"uri": file.parent.as_uri(), "name": "in"}
    with raw_client() as client:
        client.initialize(workspaceFolders=[inside])
        client.read(file)
        elsewhere = {"uri": "file://elsewhere/p", "name": "far"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [elsewhere], "removed": [inside]}})
        shown = client.notification("window/showMessage")
        assert (shown["type"], ".event.added[0].uri" in shown["message"]) == (2, True)
        assert client.result("fileops/edit", edit_of(file))["error"]["code"] == "outside_roots"


def test_documents_with_odd_uris_texts_and_changes_are_harmless(client: RawClient, file: Path) -> None:
    client.read(file)
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
    assert client.read(file)["error"]["code"] == "apply_refused"  # what the editor shows is not known any more
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.read(file)["details"]["source"] == "disk"
    assert client.result("fileops/edit", edit_of(file))["status"] == "success"
    assert "Traceback" not in client.stderr
