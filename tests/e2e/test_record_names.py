"""What the record knows of files with several names, and of files whose name changes: a file is not its name.

R-REC-2, R-BY-1, R-REW-3. Each test has one inode under two names, and writes through both.
"""

import asyncio
import mmap
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, SharedDaemon, code_of, shared_daemon, until_recorded

OLD = "one\ntwo\nthree\n"


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recorded folder with one file that is called a.txt and b.txt."""
    path = tmp_path.resolve() / "p"
    path.mkdir()
    (path / "a.txt").write_text(OLD)
    os.link(path / "a.txt", path / "b.txt")
    return path


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as daemon:
        yield daemon


@pytest.fixture
async def editor(daemon: SharedDaemon, folder: Path) -> LspClient:
    client = await daemon.editor(folder)
    await until_recorded(client, folder)
    return client


async def command(client: LspClient, folder: Path, line: str) -> str:
    """Run a line as a command of the client's session, and return the command's id."""
    begun = await client.call("fileops/beginCommand", {"label": line})
    process = await asyncio.create_subprocess_shell(line, cwd=folder)
    assert await process.wait() == 0
    await client.call("fileops/endCommand", {"command_id": begun["command_id"]})
    return begun["command_id"]


async def edited(editor: LspClient, file: Path) -> None:
    """An edit of the session "agent"."""
    await editor.read(file, "agent")
    assert code_of(await editor.edit(file, "two", "2", "agent")) is None


async def saved(editor: LspClient, file: Path, text: str) -> None:
    """The person changes the open document and saves it, in the file's own inode."""
    editor.open(file)
    editor.change(file, text, version=2)
    await editor.call("fileops/tracked", {})
    with file.open("r+b") as opened:
        opened.write(text.encode())
    editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    await settled(editor, 1)


async def settled(client: LspClient, n_entries: int) -> list[dict[str, Any]]:
    """The entries, oldest first, once there are so many and their authors are certain."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await client.call("fileops/log", {}))["entries"]
            if len(found) >= n_entries and all(entry["settled"] for entry in found):
                return found[::-1]
            await asyncio.sleep(0.01)


def authors(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((Path(entry["path"]).name, entry["by"]["kind"]) for entry in entries)


async def test_line_of_another_under_one_name_is_not_the_commands_under_the_other(
    daemon: SharedDaemon, editor: LspClient, folder: Path
) -> None:
    """The agent's command appends through the other name; its undo leaves the line that was there before."""
    agent = await daemon.agent(folder)
    with (folder / "a.txt").open("a") as opened:
        opened.write("by another\n")
    await settled(editor, 2)
    await command(agent, folder, "echo by the command >> b.txt")
    found = await settled(editor, 4)
    assert authors(found) == [("a.txt", "command"), ("a.txt", "outside"), ("b.txt", "command"), ("b.txt", "outside")]
    assert {(entry["added"], entry["removed"]) for entry in found} == {(1, 0)}
    session = next(entry["by"]["session_id"] for entry in found if entry["by"]["kind"] == "command")
    result = await editor.call("fileops/rewind", {"session_id": session, "approved": True})
    assert code_of(result) is None, result
    assert (folder / "a.txt").read_text() == OLD + "by another\n"
    assert os.path.samefile(folder / "a.txt", folder / "b.txt")


async def test_save_of_a_person_under_one_name_is_theirs_under_the_other(
    daemon: SharedDaemon, editor: LspClient, folder: Path
) -> None:
    """A change so soon after a save is unsure (R-BY-1), and it is so under both names."""
    agent = await daemon.agent(folder)
    await saved(editor, folder / "a.txt", OLD + "by the person\n")
    await command(agent, folder, "echo by the command >> b.txt")
    found = await settled(editor, 4)
    of_a, of_b = ([entry for entry in found if entry["path"].endswith(name)] for name in ("a.txt", "b.txt"))
    assert [entry["by"] for entry in of_a] == [entry["by"] for entry in of_b]
    assert of_b[0]["by"]["kind"] == "person"
    assert {(entry["added"], entry["removed"]) for entry in found} == {(1, 0)}
    candidates = of_b[1]["by"].get("candidates", [of_b[1]["by"]])
    assert "command" in {by["kind"] for by in candidates}


async def test_edit_through_one_name_is_the_sessions_under_the_other(
    daemon: SharedDaemon, editor: LspClient, folder: Path
) -> None:
    agent = await daemon.agent(folder)
    await edited(editor, folder / "a.txt")
    await command(agent, folder, "touch b.txt && echo more >> b.txt")
    found = await settled(editor, 4)
    assert authors(found) == [("a.txt", "command"), ("a.txt", "session"), ("b.txt", "command"), ("b.txt", "session")]
    result = await editor.call("fileops/rewind", {"session_id": "agent", "approved": True})
    assert code_of(result) is None, result
    assert (folder / "b.txt").read_text() == OLD + "more\n"
    assert os.path.samefile(folder / "a.txt", folder / "b.txt")


async def test_undo_under_one_name_is_no_change_of_the_next_command(
    daemon: SharedDaemon, editor: LspClient, folder: Path
) -> None:
    """A person undoes an edit through a.txt; the next command must not be the author of that under b.txt."""
    agent = await daemon.agent(folder)
    await edited(editor, folder / "a.txt")
    result = await editor.call("fileops/rewind", {"session_id": "agent", "approved": True})
    assert code_of(result) is None, result
    assert (folder / "b.txt").read_text() == OLD
    await command(agent, folder, "touch b.txt && echo more >> b.txt")
    found = await settled(editor, 6)
    of_commands = [entry for entry in found if entry["by"]["kind"] == "command"]
    assert [(entry["added"], entry["removed"]) for entry in of_commands] == [(1, 0), (1, 0)]
    unkept = await editor.call("fileops/unkept", {})
    assert {Path(file["file_path"]).name for file in unkept["files"]} == {"a.txt", "b.txt"}


async def test_command_that_links_a_file_and_changes_it_is_undone(
    daemon: SharedDaemon, editor: LspClient, folder: Path
) -> None:
    """One hard link made by a command does not block the undo of all that it did."""
    agent = await daemon.agent(folder)
    (folder / "c.txt").write_text("c\n")
    (folder / "d.txt").write_text("d\n")
    await settled(editor, 2)
    command_id = await command(agent, folder, "ln c.txt linked.txt; echo more >> c.txt; echo more >> d.txt; rm b.txt")
    await settled(editor, 6)
    result = await editor.call("fileops/rewind", {"command_id": command_id, "approved": True})
    assert code_of(result) is None, result
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "a.txt": OLD, "b.txt": OLD, "c.txt": "c\n", "d.txt": "d\n",
    }  # fmt: skip


# --- names that change while no daemon runs -------------------------------------------------------------------------


def swap(folder: Path) -> None:
    for old, new in (("first.txt", "third"), ("second.txt", "first.txt"), ("third", "second.txt")):
        (folder / old).rename(folder / new)


def rename(folder: Path) -> None:
    (folder / "first.txt").rename(folder / "other.txt")


def rename_into_a_new_folder(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "first.txt").rename(folder / "new" / "first.txt")


def rename_and_edit(folder: Path) -> None:
    rename(folder)
    with (folder / "other.txt").open("a") as file:
        file.write("four\n")


RENAMES: dict[Callable[[Path], None], set[str]] = {
    rename: {"other.txt", "second.txt"},
    rename_into_a_new_folder: {"first.txt", "second.txt"},
    rename_and_edit: {"other.txt", "second.txt"},
    swap: {"first.txt", "second.txt"},
}


@pytest.mark.parametrize(("change", "expected"), RENAMES.items(), ids=lambda each: getattr(each, "__name__", ""))
async def test_rename_while_no_daemon_runs_keeps_the_changes_of_an_agent(
    tmp_path: Path, change: Callable[[Path], None], expected: set[str]
) -> None:
    """S12, R-KEEP-5: the inode, the time and the content are known, so the file is followed under its new name."""
    folder = tmp_path.resolve() / "p"
    folder.mkdir()
    for name in ("first.txt", "second.txt"):
        (folder / name).write_text(f"{name}\n{OLD}")
    async with shared_daemon() as daemon:
        editor = await daemon.editor(folder)
        await until_recorded(editor, folder)
        for name in ("first.txt", "second.txt"):
            await edited(editor, folder / name)
        before = await editor.call("fileops/unkept", {})
    change(folder)
    async with shared_daemon() as daemon:
        editor = await daemon.editor(folder)
        await until_recorded(editor, folder)
        await settled(editor, 4)
        after = await editor.call("fileops/unkept", {})
        assert {Path(file["file_path"]).name for file in after["files"]} == expected
        assert after["n_changes"] == before["n_changes"]
        places = [
            (await editor.call("fileops/unkept", {"file_path": file["file_path"]}))["files"][0]["changes"]
            for file in after["files"]
        ]
        change_ids = [change["change_id"] for changes in places for change in changes]
        result = await editor.call("fileops/rewind", {"change_ids": change_ids, "approved": True})
        assert code_of(result) is None, result
    assert all("2" not in path.read_text() for path in folder.rglob("*.txt"))


# --- writes without events --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_by_command", [False, True])
async def test_write_through_a_mapping_is_no_change_of_a_command_that_begins_after_it(
    daemon: SharedDaemon, editor: LspClient, folder: Path, *, is_by_command: bool
) -> None:
    """Such a write has no event. The stamps show it at the edges of a command."""
    file = folder / "mapped.txt"
    with file.open("w") as written:
        written.write("one\ntwo\n")
        written.flush()
        os.fsync(written.fileno())  # a page that is dirty already gets no new time
    await settled(editor, 1)
    agent = await daemon.agent(folder)
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        before = file.stat().st_mtime_ns
        if is_by_command:
            begun = await agent.call("fileops/beginCommand", {"label": "program"})
            mapped[0:3] = b"ONE"
            await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})
        else:
            mapped[0:3] = b"ONE"
            if file.stat().st_mtime_ns == before:
                pytest.skip("a write through a mapping changes no time on this filesystem")
            await command(agent, folder, "echo three >> mapped.txt")
        found = [entry for entry in await settled(editor, 2) if entry["path"] == str(file)]
    last = found[-1]
    assert (last["by"]["kind"], last["added"], last["removed"]) == ("command", 1, 1 if is_by_command else 0)
