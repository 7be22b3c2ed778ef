"""The start: what is loaded before the first answer, and the order of the first messages."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from support.daemon_process import attached, place
from support.patience import PATIENCE_S, wait_until
from support.rawclient import DAEMON, RawClient, edit_of, frame, raw_client
from support.starved import Starved

COUNTING_IMPORTS = (sys.executable, "-X", "importtime", "-m", "fileops")
HELLO: list[object] = [
    {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {"capabilities": {}}},
    {"jsonrpc": "2.0", "method": "initialized", "params": {}},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


def _opened(file: Path, text: str) -> dict[str, object]:
    document = {"uri": file.as_uri(), "languageId": "text", "version": 1, "text": text}
    return {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}


def _changed(file: Path, version: int, text: str) -> dict[str, object]:
    params = {"textDocument": {"uri": file.as_uri(), "version": version}, "contentChanges": [{"text": text}]}
    return {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}


def _read(msg_id: str, file: Path) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": msg_id, "method": "fileops/read", "params": {"file_path": str(file)}}


def _code_actions(msg_id: object, file: Path) -> dict[str, object]:
    nowhere = {"line": 0, "character": 0}
    params = {"textDocument": {"uri": file.as_uri()}, "range": {"start": nowhere, "end": nowhere}, "context": {}}
    return {"jsonrpc": "2.0", "id": msg_id, "method": "textDocument/codeAction", "params": params}


def _send(client: RawClient, *messages: object) -> None:
    """All in one write."""
    client.send_bytes(b"".join(frame(message) for message in messages))


def _loaded(client: RawClient) -> set[str]:
    return _imports(client.stderr)


def _imports(stderr: str) -> set[str]:
    return set(re.findall(r"\| +([\w.]+)$", stderr, re.MULTILINE))


def test_private_daemon_loads_pygls_before_its_first_answer(file: Path) -> None:
    with raw_client(COUNTING_IMPORTS) as client:
        client.initialize({"textDocument": {"synchronization": {}}})
        at_start = _loaded(client)
        assert {"pygls", "lsprotocol.types", "fileops.lsp.protocol"} <= at_start
        _send(client, _opened(file, "typed\n"), _code_actions("actions", file), _read("read", file))
        assert client.answer("actions")["result"] == []
        assert "typed" in client.answer("read")["result"]["output"]
        assert client.shut_down() == 0
        later = _loaded(client) - at_start
    assert not [name for name in later if name.startswith(("pygls", "lsprotocol", "cattrs", "fileops.lsp"))]


def test_server_of_a_host_loads_no_pygls(file: Path) -> None:
    """Hosts start it for each session, and its answers have none of LSP's types."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "Read", "arguments": {"file_path": str(file)}},
        },
    )
    done = subprocess.run(
        (*COUNTING_IMPORTS, "mcp", "--private"),
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        cwd=file.parent,
    )
    assert "one" in json.loads(done.stdout.splitlines()[-1])["result"]["content"][0]["text"]
    loaded = _imports(done.stderr)
    assert "fileops.mcp.server" in loaded  # the list is what we think it is
    assert loaded.isdisjoint({"pygls", "lsprotocol", "cattrs", "attrs"})


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process can be set on Linux only")
def test_requests_after_the_first_answer_are_served_without_free_descriptors(file: Path) -> None:
    """Those that touch no file need none. The first undo loads what undoes, and SQLite."""
    with raw_client() as client:
        client.initialize()
        client.read(file)
        assert client.result("fileops/undo", {"edit_id": "none"})["error"]["code"] == "undo_conflict"
        with Starved(client.process.pid):
            assert client.result("fileops/history")["edits"] == []
            assert client.result("fileops/stats")
            assert client.result("fileops/undo", {"edit_id": "none"})["error"]["code"] == "undo_conflict"
            assert client.result("fileops/describe", {"method": "fileops/edit", "arguments": edit_of(file)})
            assert client.result("fileops/tools")["tools"]
        assert client.shut_down() == 0


def test_shared_daemon_loads_pygls_and_the_record_before_it_serves(file: Path) -> None:
    """No request waits on the event loop for them."""
    with place() as here:
        log = here.folder / "imports"
        with log.open("wb") as stderr:
            daemon = subprocess.Popen((*COUNTING_IMPORTS, "daemon"), env=here.process_env, stderr=stderr)
        try:
            wait_until(lambda: here.run("status").returncode == 0)
            at_start = log.read_text()
            with attached(here) as client:
                client.initialize(rootUri=file.parent.as_uri())
                client.read(file)
                later = log.read_text().removeprefix(at_start)
        finally:
            daemon.terminate()
            assert daemon.wait(PATIENCE_S) == 0
    assert {"sqlite3", "fileops.record.store", "pygls", "fileops.lsp.protocol"} <= _imports(at_start)
    slow = ("sqlite3", "fileops.record", "pygls", "lsprotocol", "fileops.lsp")
    assert not [name for name in _imports(later) if name.startswith(slow)]


def test_read_after_the_first_didopen_sees_the_document(file: Path) -> None:
    with raw_client() as client:
        _send(client, *HELLO, _opened(file, "typed\n"), _changed(file, 2, "typed more\n"), _read("after", file))
        assert "typed more" in client.answer("after")["result"]["output"]


def test_read_before_the_first_didopen_sees_the_disk(file: Path) -> None:
    with raw_client() as client:
        _send(client, *HELLO, _read("before", file))
        assert "one" in client.answer("before")["result"]["output"]
        _send(client, _opened(file, "typed\n"), _read("after", file))
        assert "typed" in client.answer("after")["result"]["output"]


def test_standard_request_is_answered_though_the_client_stops_sending(file: Path) -> None:
    with raw_client(DAEMON) as client:
        _send(client, *HELLO, _code_actions("last", file))
        client.close_stdin()
        assert client.answer("last")["result"] == []
        assert client.wait() == 1


@pytest.mark.parametrize("msg_id", [1, "a"])
def test_standard_request_is_cancelled_or_answered_once(file: Path, msg_id: object) -> None:
    with raw_client(DAEMON) as client:
        cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": msg_id}}
        _send(client, *HELLO, _code_actions(msg_id, file), cancel)
        answer = client.answer(msg_id)
        assert answer.get("result") == [] or answer["error"]["code"] == -32800
        assert client.shut_down() == 0
        assert not [message for message in client.received if message.get("id") == msg_id]
