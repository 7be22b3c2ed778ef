"""Several daemons of one user at one folder, with one record: each change has one entry, with the author that is known.

R-REC-2, for two shared daemons (other sockets) and a private one that keeps its history.
"""

import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from support.daemon_process import Place, attached, place
from support.patience import wait_until
from support.rawclient import RawClient

Entry = dict[str, Any]
N_FILES = 2  # for each kind of a change


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "p"
    path.mkdir()
    for name, _, _ in CHANGES:
        for n in range(N_FILES):
            (path / f"{name} {n}.txt").write_text(f"{n}\none\ntwo\n")
    subprocess.run(["git", "init", "-q"], cwd=path, check=True)
    return path


@pytest.fixture
def editors(here: Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[list[RawClient]]:
    """The editors of two shared daemons. What the test starts has their record, too."""
    state = here.env["XDG_STATE_HOME"]
    monkeypatch.setenv("XDG_STATE_HOME", state)
    with (
        place() as there,
        attached(here, "attach", "--role", "editor", "--host", "nvim") as first,
        attached(there, "attach", "--role", "editor", "--host", "code", XDG_STATE_HOME=state) as second,
    ):
        for editor in (first, second):
            editor.initialize(rootUri=folder.as_uri(), initializationOptions={"approval_fallback": "none"})
            wait_until(lambda editor=editor: _is_recorded(editor, folder))
        yield [first, second]


def _is_recorded(editor: RawClient, folder: Path) -> bool:
    folders = editor.result("fileops/recordStatus", {})["folders"]
    return any(status["root"] == str(folder) and status["state"] != "starting" for status in folders)


def _entries(editors: list[RawClient], file: Path) -> list[Entry]:
    """The entries of a file, oldest first, after all daemons have recorded what was written."""
    shown = [editor.result("fileops/log", {"file_path": str(file)})["entries"] for editor in (*editors, *editors)]
    assert [entry["entry_id"] for entry in shown[-1]] == [entry["entry_id"] for entry in shown[-2]]
    return shown[-1][::-1]


def _run(line: str, folder: Path) -> None:
    subprocess.run(["sh", "-c", line], cwd=folder, check=True)


def _by_outside(editors: list[RawClient], file: Path) -> None:
    del editors
    _run(f"sed -i s/one/1/ '{file.name}'", file.parent)


def _by_command(editors: list[RawClient], file: Path) -> None:
    editor = editors[-1]
    begun = editor.result("fileops/beginCommand", {"label": "make"})
    _run(f"echo made >> '{file.name}'", file.parent)
    editor.result("fileops/endCommand", {"command_id": begun["command_id"]})


def _by_edit(editors: list[RawClient], file: Path) -> None:
    editor = editors[0]
    editor.result("fileops/read", {"file_path": str(file)})
    editor.result("fileops/edit", {"file_path": str(file), "old_string": "one", "new_string": "1"})


def _by_edit_of_a_private_daemon(editors: list[RawClient], file: Path) -> None:
    del editors
    private = RawClient((sys.executable, "-m", "fileops"))
    private.initialize(initializationOptions={"history": "persistent", "approval_fallback": "none"})
    _by_edit([private], file)
    private.close()


CHANGES: tuple[tuple[str, Callable[[list[RawClient], Path], None], str], ...] = (
    ("by another program", _by_outside, "outside"),
    ("by a command", _by_command, "command"),
    ("by an edit", _by_edit, "session"),
    ("by an edit of a private daemon", _by_edit_of_a_private_daemon, "session"),
)


def test_change_that_two_daemons_see_is_one_entry_with_the_known_author(editors: list[RawClient], folder: Path) -> None:
    for name, change, _ in CHANGES:
        for n in range(N_FILES):
            change(editors, folder / f"{name} {n}.txt")
    for name, _, kind in CHANGES:
        for n in range(N_FILES):
            found = _entries(editors, folder / f"{name} {n}.txt")
            assert [(entry["by"]["kind"], entry["kind"]) for entry in found] == [(kind, "modify")], found


def test_change_in_commands_of_two_daemons_is_unsure_and_names_both(editors: list[RawClient], folder: Path) -> None:
    begun = [editor.result("fileops/beginCommand", {"label": name}) for editor, name in zip(editors, "xy", strict=True)]
    file = folder / f"{CHANGES[0][0]} 0.txt"
    _by_outside(editors, file)
    for editor, command in zip(editors, begun, strict=True):
        editor.result("fileops/endCommand", {"command_id": command["command_id"]})
    (entry,) = _entries(editors, file)
    assert entry["by"]["kind"] == "unsure"
    assert {by["command_id"] for by in entry["by"]["candidates"]} == {command["command_id"] for command in begun}


def test_text_saved_in_an_editor_is_its_users_though_the_other_daemon_has_a_command(
    editors: list[RawClient], folder: Path
) -> None:
    file = folder / f"{CHANGES[0][0]} 0.txt"
    editors[0].result("fileops/beginCommand", {"label": "make"})
    document = {"uri": file.as_uri(), "languageId": "text", "version": 1, "text": file.read_text()}
    editors[1].notify("textDocument/didOpen", {"textDocument": document})
    editors[1].notify(
        "textDocument/didChange",
        {"textDocument": {"uri": file.as_uri(), "version": 2}, "contentChanges": [{"text": "typed\n"}]},
    )
    editors[1].result("fileops/tracked", {})
    file.write_text("typed\n")
    editors[1].notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    wait_until(lambda: all(entry["settled"] for entry in _entries(editors, file)))
    (entry,) = _entries(editors, file)
    assert (entry["by"]["kind"], entry["evidence"]) == ("person", "save")
