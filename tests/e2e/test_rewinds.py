"""Rewinds and undos of a shared daemon, end to end: what one of them did, the other one and every list know.

R-REW-3 (only the target's own part), R-REW-4 (what is left is listed), R-REW-7 (redo), R-UNDO-2, R-UNDO-3.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, SharedDaemon, code_of, shared_daemon, until_recorded

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A text in a folder that is recorded."""
    path = tmp_path.resolve() / "p" / "a.txt"
    path.parent.mkdir()
    path.write_text(OLD)
    return path


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as daemon:
        yield daemon


@pytest.fixture
async def editor(daemon: SharedDaemon, file: Path) -> LspClient:
    client = await daemon.editor(file.parent, host="VS Code")
    await until_recorded(client, file.parent)
    return client


async def edited(editor: LspClient, file: Path, old: str, new: str) -> str:
    """An edit of the session "agent", which has read the file. Returns its id."""
    await editor.read(file, "agent")
    result = await editor.edit(file, old, new, "agent")
    assert code_of(result) is None, result
    return result["details"]["edit_id"]


async def rewound(editor: LspClient, **target: object) -> Any:
    return await editor.call("fileops/rewind", {"approved": True, **target})


async def undone(editor: LspClient, **target: object) -> Any:
    return await editor.call("fileops/undo", {"approved": True, **target})


async def by_line(editor: LspClient, file: Path) -> dict[int, str]:
    """Who blame says changed each line; lines that nothing recorded are left out."""
    parts = (await editor.call("fileops/blame", {"file_path": str(file)}))["lines"]
    return {
        number: part["by"]["kind"]
        for part in parts
        if part["by"] is not None
        for number in range(part["first_line"], part["first_line"] + part["n_lines"])
    }


async def logged(editor: LspClient, file: Path, condition: Callable[[list[Any]], bool]) -> list[Any]:
    """The log of a file, newest first, when it is so."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            entries = (await editor.call("fileops/log", {"file_path": str(file)}))["entries"]
            if condition(entries):
                return entries
            await asyncio.sleep(0.01)


async def test_blame_knows_the_authors_of_a_file_under_its_names_before(editor: LspClient, file: Path) -> None:
    """A rename writes no line, and what is changed with it is a change of the text under the name before."""
    await edited(editor, file, "two", "2")
    second, third = file.with_name("b.txt"), file.with_name("c.txt")
    file.rename(second)
    await logged(editor, second, lambda entries: [entry["kind"] for entry in entries] == ["create"])
    await edited(editor, second, "three", "3")
    assert await by_line(editor, second) == {2: "session", 3: "session"}
    second.rename(third)
    await logged(editor, third, lambda entries: [entry["kind"] for entry in entries] == ["create"])
    third.write_text(third.read_text().replace("four", "4"))
    wanted = {2: "session", 3: "session", 4: "outside"}
    async with asyncio.timeout(PATIENCE_S):
        while True:  # until it is recorded, as one change with the rename
            if await by_line(editor, third) == wanted:
                break
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("target", ["session_id", "turn_id", "since_turn"])
async def test_rewind_leaves_what_the_agent_undid_itself(editor: LspClient, file: Path, target: str) -> None:
    edit_id = await edited(editor, file, "two", "2")
    assert code_of(await editor.call("fileops/undo", {"edit_id": edit_id, "session_id": "agent"})) is None
    (undo, edit) = await logged(editor, file, lambda entries: len(entries) == 2)
    assert undo["undoes"] == [edit["entry_id"]]
    wanted = "agent" if target == "session_id" else edit["turn_id"]
    preview = await editor.call("fileops/rewind", {target: wanted, "dry_run": True})
    result = await rewound(editor, **{target: wanted})
    assert (code_of(preview), code_of(result)) == ("unknown_target", "unknown_target")
    assert file.read_text() == OLD


async def test_rewind_leaves_files_whose_deletion_and_creation_the_agent_undid_itself(
    editor: LspClient, file: Path
) -> None:
    """R-REW-3. Neither is the person's file removed, nor the agent's made again."""
    made = file.with_name("t.txt")
    patch = f"*** Begin Patch\n*** Delete File: {file}\n*** Add File: {made}\n+made\n*** End Patch"
    await editor.read(file, "agent")
    result = await editor.call("fileops/applyPatch", {"patch": patch, "session_id": "agent"})
    assert (code_of(result), file.exists(), made.exists()) == (None, False, True)
    undo = await undone(editor, set_id=result["details"]["set_id"], session_id="agent")
    assert (code_of(undo), file.read_text(), made.exists()) == (None, OLD, False)
    assert code_of(await rewound(editor, session_id="agent")) == "unknown_target"
    assert (file.read_text(), made.exists()) == (OLD, False)


async def test_rewind_of_an_edit_that_was_undone_and_redone_undoes_it(editor: LspClient, file: Path) -> None:
    undo = await undone(editor, edit_id=await edited(editor, file, "two", "2"))
    redo = await undone(editor, edit_id=undo["details"]["edit_id"])
    assert (code_of(redo), file.read_text()) == (None, OLD.replace("two", "2"))
    result = await rewound(editor, session_id="agent")
    assert (code_of(result), result["details"]["conflicts"], file.read_text()) == (None, [], OLD)


async def test_undo_of_text_that_the_user_has_restored_leaves_nothing_in_force(editor: LspClient, file: Path) -> None:
    """R-UNDO-3. Nothing is written, and what undo, rewind and the lists say is the same."""
    edit_id = await edited(editor, file, "two", "2")
    file.write_text(OLD)
    await logged(editor, file, lambda entries: len(entries) == 2)
    result = await undone(editor, edit_id=edit_id)
    assert (code_of(result), file.read_text()) == (None, OLD)
    (undo, _, edit) = await logged(editor, file, lambda entries: len(entries) == 3)
    assert (undo["undoes"], edit["undone_by"]) == ([edit["entry_id"]], undo["entry_id"])
    edits = (await editor.call("fileops/history", {"file_path": str(file)}))["edits"]
    assert [(edit["edit_id"], edit["undone_by"]) for edit in edits][-1] == (edit_id, edits[0]["edit_id"])
    assert code_of(await rewound(editor, session_id="agent")) == "unknown_target"
    assert (await undone(editor, edit_id=edit_id))["details"]["reason"] == "already_undone"


@pytest.mark.parametrize("is_saved", [False, True])
async def test_undo_of_text_that_the_user_has_restored_in_an_editor_counts_once_it_is_saved(
    editor: LspClient, file: Path, *, is_saved: bool
) -> None:
    """R-UNDO-3: until then the edit is in the file, and may be in the document again."""
    edit_id = await edited(editor, file, "two", "2")
    editor.open(file)
    editor.change(file, OLD, version=2)
    if is_saved:
        file.write_text(OLD)
        editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
        await logged(editor, file, lambda entries: len(entries) == 2)
    result = await undone(editor, edit_id=edit_id)
    assert (code_of(result), result["details"]["files"][0]["edit_id"]) == (None, None)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})
    again = await undone(editor, edit_id=edit_id)
    assert (again["details"].get("reason"), file.read_text()) == ("already_undone" if is_saved else None, OLD)


async def test_undo_of_a_session_writes_hard_linked_files_too(editor: LspClient, file: Path) -> None:
    """R-UNDO-2."""
    other, twin = file.with_name("b.txt"), file.with_name("twin.txt")
    other.write_text(OLD)
    os.link(other, twin)
    await edited(editor, file, "two", "2")
    await edited(editor, other, "two", "2")
    assert code_of(await undone(editor, session_id="agent")) is None
    assert (file.read_text(), other.read_text(), twin.read_text()) == (OLD, OLD, OLD)
    assert other.samefile(twin)


async def test_rewind_of_many_edits_of_a_long_file_undoes_all(editor: LspClient, file: Path) -> None:
    """As an undo of the session does: the work is bounded by what is changed, not by the contents together."""
    n_edits, lines = 60, [f"line {n} of a file of more than a megabyte\n" for n in range(30_000)]
    file.write_text("".join(lines))
    for n in range(n_edits):
        at = n * 400
        params = {"file_path": str(file), "offset": at + 1, "limit": 2, "session_id": "agent"}
        await editor.call("fileops/read", params)
        result = await editor.edit(file, lines[at], f"LINE {n}\n", "agent")
        assert code_of(result) is None, result
    result = await rewound(editor, session_id="agent")
    assert (result["details"]["n_undone"], result["details"]["n_left"]) == (n_edits, 0)
    assert file.read_text() == "".join(lines)


async def test_redo_of_a_part_of_a_rewind_is_the_agents_again(editor: LspClient, file: Path) -> None:
    """R-REW-7. Blame, the list of what is not kept, and the next rewind agree."""
    await edited(editor, file, "four", "4")
    await edited(editor, file, "nine", "9")
    first = await rewound(editor, session_id="agent")
    await edited(editor, file, "four", "vier")
    redo = await rewound(editor, rewind_id=first["details"]["rewind_id"])
    assert (code_of(redo), file.read_text()) == (None, OLD.replace("four", "vier").replace("nine", "9"))
    assert await by_line(editor, file) == {4: "session", 9: "session"}
    unkept = await editor.call("fileops/unkept", {"file_path": str(file)})
    assert [change["start_line"] for change in unkept["files"][0]["changes"]] == [4, 9]
    again = await rewound(editor, session_id="agent")
    assert (code_of(again), file.read_text()) == (None, OLD)
    assert await by_line(editor, file) == {}


def _as_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def _as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


ODD: dict[str, Callable[[Path], object]] = {
    "link": _as_link,
    "fifo": _as_fifo,
    "folder": _as_folder,
    "binary": lambda path: path.write_bytes(b"\0\1\2"),
}


async def test_file_that_cannot_be_undone_keeps_no_other_from_it(editor: LspClient, file: Path) -> None:
    """R-REW-4. It is listed with its reason."""
    others = {name: file.with_name(f"{name}.txt") for name in ODD}
    for path in (file, *others.values()):
        path.write_text(OLD)
        await edited(editor, path, "two", "2")
    for name, path in others.items():
        ODD[name](path)
    result = await rewound(editor, session_id="agent")
    assert (code_of(result), file.read_text()) == (None, OLD)
    details = result["details"]
    assert (details["n_undone"], details["n_left"]) == (1, len(ODD))
    reasons = {Path(left["file_path"]).stem: left["message"] for left in details["conflicts"]}
    assert reasons == {
        "link": "The edit cannot be undone: the path leads elsewhere now.",
        "fifo": "Not a regular file but a fifo.",
        "folder": "The path is a directory.",
        "binary": "The file is binary.",
    }


OVERWRITTEN = {"binary": b"\0\1\2" * 100, "over 2 MB": b"long line\n" * 300_000, "two steps": b"\0last"}


async def by_command(editor: LspClient, work: Callable[[], object]) -> None:
    """Run work as a command of the session "agent"."""
    begun = await editor.call("fileops/beginCommand", {"session_id": "agent", "label": "make"})
    work()
    await editor.call("fileops/endCommand", {"command_id": begun["command_id"]})


@pytest.mark.parametrize("kind", OVERWRITTEN)
async def test_text_that_became_binary_or_too_large_comes_back(editor: LspClient, file: Path, kind: str) -> None:
    """Its text before is known, so an undo restores it, and an undo of the undo restores what is not text."""
    await edited(editor, file, "two", "2")
    if kind == "two steps":
        await by_command(editor, lambda: file.write_bytes(b"\0first"))
    await by_command(editor, lambda: file.write_bytes(OVERWRITTEN[kind]))
    undo = await rewound(editor, session_id="agent")
    assert (code_of(undo), file.read_text()) == (None, OLD)
    assert undo["details"]["n_left"] == 0
    redo = await rewound(editor, rewind_id=undo["details"]["rewind_id"])
    assert (code_of(redo), file.read_bytes()) == (None, OVERWRITTEN[kind])
    again = await rewound(editor, rewind_id=redo["details"]["rewind_id"])
    assert (code_of(again), file.read_text()) == (None, OLD)


@pytest.mark.parametrize("kind", OVERWRITTEN)
async def test_change_of_text_to_what_is_not_kept_can_be_undone_alone(editor: LspClient, file: Path, kind: str) -> None:
    await edited(editor, file, "two", "2")
    if kind == "two steps":
        await by_command(editor, lambda: file.write_bytes(b"\0first"))
    await by_command(editor, lambda: file.write_bytes(OVERWRITTEN[kind]))
    (listed,) = (await editor.call("fileops/unkept", {"file_path": str(file)}))["files"]
    (change,) = listed["changes"]
    assert (change["kind"], change["undoable"]) == ("file", True)
    undo = await rewound(editor, change_ids=[change["change_id"]])
    assert (code_of(undo), file.read_text()) == (None, OLD.replace("two", "2"))
    (listed,) = (await editor.call("fileops/unkept", {"file_path": str(file)}))["files"]
    assert [change["start_line"] for change in listed["changes"]] == [2]


@pytest.mark.parametrize("data", [b"\0by another", OLD.encode() + b"by another\n"])
async def test_what_another_wrote_over_a_binary_file_stays(editor: LspClient, file: Path, data: bytes) -> None:
    """R-REW-3. The text before the command is not worth more than what somebody else wrote after it."""
    await by_command(editor, lambda: file.write_bytes(b"\0\1\2"))
    file.write_bytes(data)
    result = await rewound(editor, session_id="agent")
    assert (result["details"]["n_undone"], result["details"]["n_left"]) == (0, 1)
    assert file.read_bytes() == data


@pytest.mark.parametrize("mode", [0o600, 0o700, 0o444])
async def test_deleted_file_that_is_made_again_is_open_to_no_further_users(
    daemon: SharedDaemon, file: Path, mode: int
) -> None:
    """R-REW-3. Another program has deleted the one file, and moved the other."""
    moved = file.with_name("moved.txt")
    moved.write_text("other\n")
    for path in (file, moved):
        path.chmod(mode)
    editor = await daemon.editor(file.parent, host="VS Code")
    await until_recorded(editor, file.parent)
    file.unlink()
    moved.rename(file.with_name("new name.txt"))
    gone = [
        (await logged(editor, path, lambda entries: bool(entries) and entries[0]["kind"] == "delete"))[0]["entry_id"]
        for path in (file, moved)
    ]
    result = await rewound(editor, entry_ids=gone)
    assert code_of(result) is None, result
    assert [path.stat().st_mode & 0o777 for path in (file, moved)] == [mode, mode]
    assert (file.read_text(), moved.read_text()) == (OLD, "other\n")


async def renamed(editor: LspClient, file: Path, new: Path) -> None:
    file.rename(new)
    await logged(editor, new, lambda entries: bool(entries) and entries[0]["moved_from"] == str(file))


async def renamed_by_agent(editor: LspClient, file: Path, new: Path) -> str:
    """Returns the id of the set."""
    rename = {"kind": "rename", "file_path": str(file), "new_path": str(new)}
    result = await editor.call("fileops/applyChanges", {"changes": [rename], "session_id": "agent"})
    assert code_of(result) is None, result
    return result["details"]["set_id"]


@pytest.mark.parametrize("way", ["by hand", "changes"])
async def test_undo_of_an_edit_follows_the_file_to_its_present_name(editor: LspClient, file: Path, way: str) -> None:
    """R-UNDO-12. As a rewind does, with the same entries and the same text of others."""
    first = await edited(editor, file, "two", "2")
    second = await edited(editor, file, "five", "5")
    new = file.with_name("b.txt")
    if way == "by hand":
        await renamed(editor, file, new)
    else:
        await renamed_by_agent(editor, file, new)
    new.write_text(new.read_text() + "ten\n")
    result = await undone(editor, edit_id=first)
    assert code_of(result) is None, result
    assert [each["file_path"] for each in result["details"]["files"]] == [str(new)]
    assert (file.exists(), new.read_text()) == (False, OLD.replace("five", "5") + "ten\n")
    assert code_of(await undone(editor, edit_id=first)) == "undo_conflict"
    rewind = await rewound(editor, entry_id=second)
    assert (code_of(rewind), new.read_text()) == (None, OLD + "ten\n")


async def test_undo_of_a_session_undoes_its_edits_under_both_names(editor: LspClient, file: Path) -> None:
    """R-UNDO-12."""
    new = file.with_name("b.txt")
    await edited(editor, file, "two", "2")
    await renamed(editor, file, new)
    await edited(editor, new, "five", "5")
    result = await undone(editor, session_id="agent")
    assert code_of(result) is None, result
    assert (file.exists(), new.read_text()) == (False, OLD)


async def test_undo_of_a_session_that_renamed_the_file_restores_its_first_name(editor: LspClient, file: Path) -> None:
    """R-UNDO-12."""
    new = file.with_name("b.txt")
    await edited(editor, file, "two", "2")
    await renamed_by_agent(editor, file, new)
    await edited(editor, new, "five", "5")
    new.write_text(new.read_text() + "ten\n")
    result = await undone(editor, session_id="agent")
    assert code_of(result) is None, result
    assert (file.read_text(), new.exists()) == (OLD + "ten\n", False)


async def test_undo_of_a_session_that_renamed_the_file_twice_restores_its_first_name(
    editor: LspClient, file: Path
) -> None:
    """R-UNDO-12."""
    new, newer = file.with_name("b.txt"), file.with_name("c.txt")
    await edited(editor, file, "two", "2")
    await renamed_by_agent(editor, file, new)
    await renamed_by_agent(editor, new, newer)
    result = await undone(editor, session_id="agent")
    assert code_of(result) is None, result
    assert (file.read_text(), new.exists(), newer.exists()) == (OLD, False, False)


async def test_undo_of_a_rename_restores_the_first_name_of_a_file_renamed_again(editor: LspClient, file: Path) -> None:
    """R-UNDO-12."""
    new, newer = file.with_name("b.txt"), file.with_name("c.txt")
    await edited(editor, file, "two", "2")
    set_id = await renamed_by_agent(editor, file, new)
    await renamed(editor, new, newer)
    assert code_of(await undone(editor, set_id=set_id)) is None
    assert (file.read_text(), new.exists(), newer.exists()) == (OLD.replace("two", "2"), False, False)
