"""What the client says of a document and the daemon cannot take: its file is refused, never taken for closed.

With real daemons whose installation changes, or whose descriptors run out, below them.
"""

import os
import resource
import shutil
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import fileops
from support.rawclient import PATIENCE_S, RawClient, edit_of, raw_client
from support.starved import Starved

EDITOR: dict[str, Any] = {
    "textDocument": {"synchronization": {}},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
}
NO_EDITOR: dict[str, Any] = {}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "f.txt"
    path.parent.mkdir()
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the installed package, to be changed while a daemon runs from it."""
    copy = tmp_path / "site" / "fileops"
    shutil.copytree(Path(fileops.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture
def client(package: Path) -> Generator[RawClient]:
    env = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    with raw_client((sys.executable, "-m", "fileops"), env=env) as client:
        yield client


def opened(client: RawClient, file: Path, text: object = "unsaved\ntwo\n", version: object = 1) -> None:
    document = {"uri": file.as_uri(), "languageId": "x", "version": version, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


def changed(client: RawClient, file: Path, *changes: object, version: int = 2) -> None:
    document = {"uri": file.as_uri(), "version": version}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})


def require_refused(client: RawClient, file: Path) -> None:
    for result in (client.read(file), client.result("fileops/edit", edit_of(file))):
        assert result["error"]["code"] == "apply_refused"
        assert "not known" in result["error"]["message"]
    assert file.read_text() == "one\ntwo\n"


def require_text(client: RawClient, file: Path, text: str) -> None:
    result = client.read(file)
    assert (result["status"], result["details"]["source"]) == ("success", "buffer")
    assert text in result["output"]


# --- an installation that changes -------------------------------------------------------------------------------


def test_first_document_is_kept_after_removal_of_the_installation(client: RawClient, package: Path, file: Path) -> None:
    """R-DOC-1. An upgrade removes what runs before it brings the new one."""
    client.initialize(EDITOR)
    client.read(file)
    shutil.rmtree(package)
    opened(client, file)
    require_text(client, file, "unsaved")
    editing = client.request("fileops/edit", edit_of(file))
    question = client.question("workspace/applyEdit")
    changed(client, file, {"text": "unsaved\n2\n"})
    client.reply(question["id"], {"applied": True})
    assert client.answer(editing)["result"]["details"]["applied_to"] == "buffer"
    assert file.read_text() == "one\ntwo\n"


# --- no descriptors ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process can be set on Linux only")
@pytest.mark.parametrize("capabilities", [EDITOR, NO_EDITOR], ids=["editor", "no editor"])
def test_document_opened_without_free_descriptors_is_not_treated_as_closed(
    file: Path, capabilities: dict[str, Any]
) -> None:
    """R-DOC-3, R-DOC-12."""
    with raw_client() as client:
        client.initialize(capabilities)
        client.read(file)
        with Starved(client.process.pid):
            opened(client, file)
            client.call("fileops/approvalMode")  # by then it was taken
        require_text(client, file, "unsaved")
        changed(client, file, {"text": "typed\ntwo\n"})
        require_text(client, file, "typed")
        assert file.read_text() == "one\ntwo\n"


# --- messages that cannot be taken ------------------------------------------------------------------------------


def at(line: object, character: object) -> dict[str, object]:
    return {"line": line, "character": character}


BAD_CHANGES: dict[str, list[object]] = {
    "a text that is none": [{"text": 3}],
    "no text": [{}],
    "a range that is none": [{"range": "all", "text": "x"}],
    "a place that is none": [{"range": {"start": at("0", 0), "end": at(0, 0)}, "text": "x"}],
    "a place behind the text": [{"range": {"start": at(7, 0), "end": at(7, 0)}, "text": "x"}],
    "a negative place": [{"range": {"start": at(-1, 0), "end": at(0, 0)}, "text": "x"}],
}


@pytest.mark.parametrize("how", BAD_CHANGES)
def test_change_that_cannot_be_applied_makes_the_text_unknown(file: Path, how: str) -> None:
    """R-DOC-12."""
    with raw_client() as client:
        client.initialize(EDITOR)
        opened(client, file)
        client.read(file)
        changed(client, file, *BAD_CHANGES[how])
        require_refused(client, file)
        changed(client, file, {"range": {"start": at(0, 0), "end": at(0, 0)}, "text": "x"}, version=3)
        require_refused(client, file)
        changed(client, file, {"text": "typed\ntwo\n"}, version=4)
        require_text(client, file, "typed")


@pytest.mark.parametrize(
    "params",
    [None, [], {}, {"textDocument": None}, {"textDocument": {"uri": 3}, "contentChanges": []}],
    ids=["null", "array", "empty", "no document", "no URI"],
)
def test_change_without_a_document_makes_every_text_unknown(file: Path, params: Any) -> None:
    with raw_client() as client:
        client.initialize(EDITOR)
        opened(client, file)
        client.read(file)
        client.notify("textDocument/didChange", params)
        require_refused(client, file)
        opened(client, file, "typed\ntwo\n", version=9)
        require_text(client, file, "typed")


@pytest.mark.parametrize(("text", "version"), [(None, 1), (3, 1), ("x", "1"), ("x", None)])
def test_document_opened_with_malformed_text_is_not_treated_as_closed(
    file: Path, text: object, version: object
) -> None:
    with raw_client() as client:
        client.initialize(EDITOR)
        client.read(file)
        opened(client, file, text, version)
        require_refused(client, file)
        client.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})
        assert client.result("fileops/edit", edit_of(file))["status"] == "success"


# --- a reload ---------------------------------------------------------------------------------------------------


def test_reload_of_an_unread_file_is_not_treated_as_typing(file: Path) -> None:
    """R-DOC-8. Again until the daemon has had the time to look at the document between the two writes."""
    with raw_client() as client:
        client.initialize(EDITOR)
        opened(client, file, file.read_text())
        until, n = time.monotonic() + PATIENCE_S, 0
        source = "buffer"
        while source == "buffer" and time.monotonic() < until:
            n += 1
            file.write_text(f"reloaded {n}\n")
            changed(client, file, {"text": f"reloaded {n}\n"}, version=n + 1)
            client.call("fileops/approvalMode")
            file.write_text(f"then {n}\n")
            source = client.read(file, session_id="reader")["details"]["source"]
            client.result("fileops/closeSession", {"session_id": "reader"})  # what a session reads is looked at anyway
        assert source == "disk"
        assert f"then {n}" in client.read(file)["output"]
        assert os.listdir(file.parent) == ["f.txt"]


def test_change_on_disk_before_a_late_reload_is_reported_as_external(file: Path) -> None:
    """R-DOC-8. An editor reports its reload of the edit when another program has already written the file again."""
    with raw_client() as client:
        client.initialize(EDITOR)
        opened(client, file, file.read_text())
        client.read(file)
        assert client.result("fileops/edit", edit_of(file))["status"] == "success"
        edited = file.read_text()
        file.write_text(f"{edited}formatted\n")
        changed(client, file, {"text": edited})
        assert client.notification("fileops/didBecomeStale")["source"] == "external"
        result = client.read(file)
        assert (result["details"]["source"], "formatted" in result["output"]) == ("disk", True)
