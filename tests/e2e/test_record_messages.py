"""The messages and codes of the record and of change sets, through pytest-lsp.

What each of them means is the business of other tests; here it is that the daemon serves or sends it.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from fileops.fs.local.set_journal import SetJournal, SetRecord, SetStep
from fileops.model.digest import content_digest
from support.daemon_process import place
from support.lsp_client import SUITE, FileOpsClient, serving
from support.patience import PATIENCE_S

pytestmark = SUITE
HEARS = types.ClientCapabilities(experimental={"fileops": {"record": True, "unkept": True}})
CONFIRMS = types.ClientCapabilities(experimental={"fileops": {"confirm_edit": True}})


def code_of(result: Any) -> str | None:
    return None if result["error"] is None else str(result["error"]["code"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "p"
    path.mkdir()
    (path / "a.txt").write_text("one\ntwo\nthree\n")
    return path


@asynccontextmanager
async def recording(folder: Path) -> AsyncGenerator[FileOpsClient]:
    """A client of a shared daemon that records the folder."""
    root = types.WorkspaceFolder(uri=folder.as_uri(), name="p")
    with place() as here:
        async with serving("--shared", env=here.process_env) as client:
            await client.start_session(capabilities=HEARS, workspace_folders=[root])
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    folders = (await client.call("recordStatus"))["folders"]
                    if folders and folders[0]["state"] != "starting" and folders[0]["n_to_copy"] == 0:
                        break
                    await asyncio.sleep(0.01)
            yield client


async def test_keep_is_undone_and_the_switch_is_set(folder: Path) -> None:
    path = str(folder / "a.txt")
    async with recording(folder) as client:
        await client.call("read", file_path=path)
        await client.call("edit", file_path=path, old_string="two", new_string="2")
        await client.hear("didRecord")
        kept = await client.call("keep", file_path=path)
        assert (await client.call("undoKeep", keep_id=kept["keep_id"]))["n_entries"] == 1
        assert len((await client.call("unkept"))["files"]) == 1
        assert (await client.call("ask"))["ask"] == "protected"
        assert (await client.call("setAsk", ask="each_edit"))["ask"] == "each_edit"
        assert (await client.hear("didChangeAsk"))["ask"] == "each_edit"


# R-NB-33
async def test_entry_of_a_notebook_has_its_cells(folder: Path) -> None:
    path = folder / "a.ipynb"
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "c1",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": "x = 1",
    }
    document: dict[str, object] = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(document))
    async with recording(folder) as client:
        await client.call("read", file_path=str(path))
        step = {"kind": "source", "cell_id": "c1", "source": "x = 2"}
        await client.call("editNotebook", file_path=str(path), cells=[step])
        (entry,) = (await client.hear("didRecord"))["entries"]
        shown = await client.call("entry", entry_id=entry["entry_id"])
        assert [(each["kind"], each["cell_id"], each["stats"]) for each in shown["cells"]] == [
            ("source", "c1", {"added": 1, "removed": 1}),
        ]


async def test_edit_is_logged_kept_and_undone(folder: Path) -> None:
    path = str(folder / "a.txt")
    async with recording(folder) as client:
        turn_id = (await client.call("beginTurn", title="make it better"))["turn_id"]
        await client.call("read", file_path=path)
        await client.call("edit", file_path=path, old_string="two", new_string="2")
        (entry,) = (await client.hear("didRecord"))["entries"]
        assert [listed["turn_id"] for listed in (await client.call("turns"))["turns"]] == [turn_id]
        assert (await client.call("log"))["entries"] == [entry]
        assert (await client.call("entry", entry_id=entry["entry_id"]))["after_text"] == "one\n2\nthree\n"
        assert (await client.call("recordItem", id=entry["entry_id"]))["entry"] == entry
        assert [line["entry_id"] for line in (await client.call("blame", file_path=path))["lines"]] == [
            None, entry["entry_id"], None,
        ]  # fmt: skip
        assert await client.hear("didChangeUnkept") == {"file_path": path}
        (file,) = (await client.call("unkept"))["files"]
        assert [change["entry_ids"] for change in file["changes"]] == [[entry["entry_id"]]]
        assert (await client.call("keep", turn_id=turn_id))["n_entries"] == 1
        assert (await client.call("unkept"))["files"] == []
        assert code_of(await client.call("rewind", turn_id=turn_id, plan="p-none")) == "plan_changed"
        assert code_of(await client.call("rewind", turn_id=turn_id)) is None
        assert code_of(await client.call("rewind", turn_id=turn_id)) == "unknown_target"
        assert len((await client.call("history"))["edits"]) == 2
        assert (await client.call("forgetRecord", all=True))["n_entries"] == 2
        assert (await client.call("history"))["edits"] == []
        assert (await client.call("turns"))["turns"] == []
    assert (folder / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_rewind_of_a_turn_restores_permission_bits(folder: Path) -> None:
    """R-REW-4. All bits of the file that a tool has deleted; of what a command changed, the executable bit."""
    modes = {"a.txt": 0o644, "by_command": 0o755, "by_tool": 0o700}
    for name, mode in modes.items():
        (folder / name).write_text("one\n")
        (folder / name).chmod(mode)
    async with recording(folder) as client:
        turn_id = (await client.call("beginTurn", title="clear up"))["turn_id"]
        path = str(folder / "by_tool")
        await client.call("read", file_path=path)
        deleted = await client.call("applyChanges", changes=[{"kind": "delete", "file_path": path}])
        assert code_of(deleted) is None
        command_id = (await client.call("beginCommand", label="clear up"))["command_id"]
        (folder / "a.txt").chmod(0o755)
        (folder / "by_command").unlink()
        await client.call("endCommand", command_id=command_id)
        rewound = await client.call("rewind", turn_id=turn_id)
        assert (code_of(rewound), rewound["details"]["n_undone"], rewound["details"]["n_left"]) == (None, 3, 0)
        redone = await client.call("rewind", rewind_id=rewound["details"]["rewind_id"])
        assert code_of(redone) is None
        assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {"a.txt": 0o755}
        again = await client.call("rewind", turn_id=turn_id)
        assert code_of(again) is None
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == modes


@pytest.mark.parametrize("way", ["command", "change set"])
async def test_rewind_of_a_rename_gives_the_first_name_back_with_the_text_of_others(folder: Path, way: str) -> None:
    """R-REW-3."""
    old, new = folder / "a.txt", folder / "b.txt"
    old.chmod(0o640)
    async with recording(folder) as client:
        turn_id = (await client.call("beginTurn", title="rename it"))["turn_id"]
        if way == "command":
            command_id = (await client.call("beginCommand", label="mv a.txt b.txt"))["command_id"]
            old.rename(new)
            await client.call("endCommand", command_id=command_id)
        else:
            await client.call("read", file_path=str(old))
            rename = {"kind": "rename", "file_path": str(old), "new_path": str(new)}
            assert code_of(await client.call("applyChanges", changes=[rename])) is None
        entries = (await client.call("log"))["entries"]
        assert {(entry["path"], entry["moved_from"], entry["moved_to"]) for entry in entries} == {
            (str(old), None, str(new)),
            (str(new), str(old), None),
        }
        new.write_text("one\ntwo\n3 by another\n")
        rewound = await client.call("rewind", turn_id=turn_id)
        assert (code_of(rewound), rewound["details"]["conflicts"]) == (None, []), rewound
        assert {path.name: path.read_text() for path in folder.iterdir()} == {"a.txt": "one\ntwo\n3 by another\n"}
        assert old.stat().st_mode & 0o777 == 0o640
        redone = await client.call("rewind", rewind_id=rewound["details"]["rewind_id"])
        assert code_of(redone) is None, redone
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"b.txt": "one\ntwo\n3 by another\n"}


async def test_entries_of_a_change_set_have_its_id_and_one_is_rewound_alone(folder: Path) -> None:
    """R-SET-6. A rename is two entries, of its two names."""
    (folder / "b.txt").write_text("b\n")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    changes = [
        {"kind": "edit", "file_path": f"{folder}/a.txt", "edits": [{"old_string": "two", "new_string": "2"}]},
        {"kind": "rename", "file_path": f"{folder}/b.txt", "new_path": f"{folder}/c.txt"},
    ]
    async with recording(folder) as client:
        for name in before:
            await client.call("read", file_path=f"{folder}/{name}")
        made = await client.call("applyChanges", changes=changes)
        assert code_of(made) is None
        entries = (await client.call("log"))["entries"]
        assert {entry["set_id"] for entry in entries} == {made["details"]["set_id"]}
        ids = {os.path.basename(entry["path"]): entry["entry_id"] for entry in entries}
        assert ids.keys() == {"a.txt", "b.txt", "c.txt"}
        assert code_of(await client.call("rewind", entry_id=ids["a.txt"])) is None
        assert (folder / "a.txt").read_text() == before["a.txt"]
        undone = await client.call("undo", set_id=made["details"]["set_id"])
        assert code_of(undone) is None, undone
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


async def test_command_over_too_many_files_is_not_undone_at_once(folder: Path) -> None:
    async with recording(folder) as client:
        command_id = (await client.call("beginCommand", label="make files"))["command_id"]
        for number in range(1001):
            (folder / f"{number}.txt").write_text("new\n")
        ended = await client.call("endCommand", command_id=command_id)
        assert len(ended["entries"]) == 1001
        assert code_of(await client.call("rewind", command_id=command_id)) == "too_many_files"
    assert len(os.listdir(folder)) == 1002


async def test_private_daemon_records_nothing(folder: Path) -> None:
    async with serving() as client:
        await client.start_session()
        assert code_of(await client.call("rewind", entry_id="e-none")) == "not_recorded"


async def test_change_set_is_confirmed_and_applied(folder: Path) -> None:
    asked: list[Any] = []

    async def accept(params: Any) -> Any:
        asked.append(params)
        return {"outcome": "proceed_once"}

    new = {"kind": "create", "file_path": str(folder / "new.txt"), "content": "new\n"}
    async with serving() as client:
        client.answer("fileops/confirmEdit", accept)
        await client.start_session(capabilities=CONFIRMS)
        assert code_of(await client.call("applyChanges", changes=[new])) is None
        assert [question["operation"] for question in asked] == ["create"]
        folder_itself = {"kind": "delete", "file_path": str(folder)}
        assert code_of(await client.call("applyChanges", changes=[folder_itself])) == "set_unsupported"
    assert (folder / "new.txt").read_text() == "new\n"


async def test_change_set_of_a_dead_daemon_is_reported(folder: Path, tmp_path: Path) -> None:
    """It had exchanged its one file."""
    path, old_name = folder / "a.txt", ".fileops-1-0-00000000000a.set"
    path.rename(folder / old_name)
    path.write_text("new\n")
    old, new = (folder / old_name).stat(), path.stat()
    step = SetStep(
        kind="swap", path=str(path), kept=".fileops-1-0-00000000000c.tmp", temp=old_name,
        backup=".fileops-1-0-00000000000d.set", ino=old.st_ino, uid=old.st_uid, mode=old.st_mode & 0o7777,
        digest=content_digest((folder / old_name).read_bytes()).hex(), new_ino=new.st_ino,
        new_digest=content_digest(b"new\n").hex(),
    )  # fmt: skip
    with SetJournal(f"{tmp_path}/state/fileops-server/sets", "5e7") as journal:
        journal.prepare(SetRecord(set_id="5e7", prepared_at=time.time(), steps=(step,)))
    async with serving(env={"XDG_STATE_HOME": f"{tmp_path}/state"}) as client:
        await client.start_session(workspace_folders=[types.WorkspaceFolder(uri=folder.as_uri(), name="p")])
        (file,) = (await client.hear("didRecover"))["files"]
        assert (file["file_path"], file["outcome"]) == (str(path), "restored")
    assert path.read_text() == "one\ntwo\nthree\n"
