"""The start: a reader does not wait for pygls; what needs it loads it, and nothing is lost or overtaken until then."""

import ast
import importlib.util
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from fileops.api import requests, sessions, views
from support.daemon_process import attached, place
from support.patience import PATIENCE_S, wait_until
from support.rawclient import DAEMON, SEAM_DAEMON, RawClient, edit_of, frame, raw_client
from support.starved import Starved

COUNTING_IMPORTS = (sys.executable, "-X", "importtime", "-m", "fileops")
TELLING_IMPORTS = (sys.executable, "-v", "-m", "fileops")  # those by importlib as well, without times
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


def test_reading_and_editing_loads_no_pygls(file: Path) -> None:
    with raw_client(COUNTING_IMPORTS) as client:
        client.initialize()
        client.result("fileops/read", {"file_path": str(file)})
        edit = {"file_path": str(file), "old_string": "one", "new_string": "1"}
        assert client.result("fileops/edit", edit)["error"] is None
        assert client.shut_down() == 0
        loaded = _loaded(client)
    assert "fileops.rpc.connection" in loaded  # the list is what we think it is
    assert loaded.isdisjoint({"pygls", "lsprotocol", "cattrs", "attrs"})


def test_first_standard_message_loads_pygls(file: Path) -> None:
    with raw_client(COUNTING_IMPORTS) as client:
        client.initialize()
        _send(client, _code_actions("actions", file))
        assert client.answer("actions")["result"] == []
        assert client.shut_down() == 0
        assert {"pygls", "lsprotocol"} <= _loaded(client)


def test_open_documents_load_no_pygls(file: Path) -> None:
    with raw_client(COUNTING_IMPORTS) as client:
        client.initialize({"textDocument": {"synchronization": {}}})
        _send(client, _opened(file, "typed\n"), _read("read", file))
        assert "typed" in client.answer("read")["result"]["output"]
        assert client.shut_down() == 0
        loaded = _loaded(client)
    assert "fileops.fs.overlay.documents" in loaded
    assert loaded.isdisjoint({"pygls", "lsprotocol", "cattrs", "attrs"})


def lazily_imported_by_requests() -> set[str]:
    """Modules that functions of the request table import."""
    names: set[str] = set()
    for module in (requests, sessions, views):
        tree = ast.parse(Path(module.__file__ or "").read_text())
        for function in (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.module is not None:
                    inner = {f"{node.module}.{alias.name}" for alias in node.names}
                    names |= {name for name in inner if find_spec(node.module, name)} or {node.module}
    return names


def find_spec(package: str, name: str) -> bool:
    """Whether the name is a module of the package."""
    found = importlib.util.find_spec(package)
    if found is None or found.submodule_search_locations is None:
        return False
    return importlib.util.find_spec(name) is not None


def imported(client: RawClient) -> set[str]:
    """Not every name is at a line's start: of two threads that import, one may write before the other's newline."""
    return set(re.findall(r"import '([\w.]+)' #", client.stderr))


def test_rarely_needed_modules_are_loaded_after_the_first_answer(file: Path) -> None:
    with raw_client(TELLING_IMPORTS) as client:
        client.initialize()
        assert imported(client).isdisjoint(requests.DEFERRED_MODULES)
        client.read(file)
        wait_until(lambda: imported(client).issuperset(requests.DEFERRED_MODULES))
        assert lazily_imported_by_requests() <= imported(client)
        assert client.shut_down() == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process can be set on Linux only")
def test_requests_after_the_first_answer_are_served_without_free_descriptors(file: Path) -> None:
    """Those that touch no file need none."""
    with raw_client(TELLING_IMPORTS) as client:
        client.initialize()
        client.read(file)
        wait_until(lambda: imported(client).issuperset(requests.DEFERRED_MODULES))
        with Starved(client.process.pid):
            assert client.result("fileops/history")["edits"] == []
            assert client.result("fileops/stats")
            assert client.result("fileops/undo", {"edit_id": "none"})["error"]["code"] == "undo_conflict"
            assert client.result("fileops/describe", {"method": "fileops/edit", "arguments": edit_of(file)})
            assert client.result("fileops/tools")["tools"]
        assert client.shut_down() == 0


def test_shared_daemon_loads_the_record_before_it_serves(file: Path) -> None:
    """No request waits on the event loop for what records it."""
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
    assert {"sqlite3", "fileops.record.store"} <= _imports(at_start)
    assert "fileops.lsp.server" in _imports(later)  # the list is what we think it is
    assert not [name for name in _imports(later) if name.startswith(("sqlite3", "fileops.record"))]


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


def test_messages_after_one_that_loads_pygls_are_served_in_order(file: Path) -> None:
    with raw_client(SEAM_DAEMON) as client:
        saved = {"jsonrpc": "2.0", "method": "textDocument/didSave", "params": {"textDocument": {"uri": file.as_uri()}}}
        states = [{"jsonrpc": "2.0", "id": n, "method": "test/state"} for n in range(50)]
        loading = {"jsonrpc": "2.0", "id": "odd", "method": "textDocument/hover"}
        _send(client, *HELLO, loading, *(message for state in states for message in (saved, state)))
        assert [client.answer(n)["result"]["n_saved"] for n in range(50)] == list(range(1, 51))
        assert client.answer("odd")["error"]["code"] == -32601


def test_request_in_flight_is_answered_while_pygls_loads(file: Path) -> None:
    with raw_client(SEAM_DAEMON) as client:
        asked = {"jsonrpc": "2.0", "id": "ask", "method": "test/ask", "params": {"method": "x/y"}}
        _send(client, *HELLO, asked, {"jsonrpc": "2.0", "id": "odd", "method": "textDocument/hover"})
        question = client.question("x/y")
        client.reply(question["id"], 5)
        assert client.answer("ask")["result"] == {"reply": 5}
        assert client.answer("odd")["error"]["code"] == -32601


def test_request_is_answered_though_the_client_stops_sending_while_pygls_loads(file: Path) -> None:
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
