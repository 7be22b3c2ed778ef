"""What is not kept yet, end to end in a shared daemon: notifications, documents, reviews, restarts.

R-KEEP-1 (accepted in a review), R-KEEP-3 (notifications, versions of documents), R-KEEP-5 (a restart of the daemon),
R-UI-3 (what is committed).
"""

import asyncio
import hashlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fileops.record.store import FILE_NAME
from support.patience import wait_until
from support.shared_daemon import LspClient, SharedDaemon, code_of, shared_daemon, until_recorded

TEXT = "one\ntwo\nthree\n"
UNKEPT = {"experimental": {"fileops": {"unkept": True}}}


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "p"
    path.mkdir()
    for name in ("a.txt", "b.txt"):
        (path / name).write_text(TEXT)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=path, check=True, capture_output=True)
    return path


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as daemon:
        yield daemon


async def _editor(daemon: SharedDaemon, folder: Path, **options: Any) -> LspClient:
    editor = await daemon.lsp("editor", "nvim")
    await editor.initialize(folder, capabilities=UNKEPT, options={"approval_fallback": "none", **options})
    return editor


async def _unkept(client: LspClient, path: Path | None = None) -> Any:
    return await client.call("fileops/unkept", {} if path is None else {"file_path": str(path)})


async def test_editor_is_notified_of_an_edit_of_typing_beside_it_and_of_keeping(
    daemon: SharedDaemon, folder: Path
) -> None:
    path = folder / "a.txt"
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await agent.read(path)
    await agent.edit(path, "two", "2")
    assert await editor.notification("fileops/didChangeUnkept") == {"file_path": str(path)}
    (file,) = (await _unkept(editor, path))["files"]
    assert (file["document_version"], [place["start_line"] for place in file["changes"]]) == (None, [2])

    editor.open(path, "one\n2\nthree\n")
    editor.change(path, "zero\none\n2\nthree\n", version=2)
    assert await editor.notification("fileops/didChangeUnkept") == {"file_path": str(path), "typed": True}
    (file,) = (await _unkept(editor, path))["files"]
    assert (file["document_version"], [place["start_line"] for place in file["changes"]]) == (2, [3])

    (session,) = (await _unkept(editor))["sessions"]
    kept = await editor.call("fileops/keep", {"change_ids": session["change_ids"]})
    assert (kept["n_entries"], kept["n_changes"]) == (1, 1)
    assert await editor.notification("fileops/didChangeUnkept") == {"file_path": str(path)}
    assert (await _unkept(editor))["files"] == []

    undone = await editor.call("fileops/undoKeep", {"keep_id": kept["keep_id"]})
    assert undone == {"n_entries": 1, "n_changes": 1}
    assert await editor.notification("fileops/didChangeUnkept") == {"file_path": str(path)}
    assert (await _unkept(editor))["sessions"] == [session]


async def test_edit_that_was_accepted_in_a_review_is_kept(daemon: SharedDaemon, folder: Path) -> None:
    """R-KEEP-1."""
    path = folder / "a.txt"
    editor = await daemon.editor(folder, confirms=True, ask="each_edit")
    agent = await daemon.agent(folder)
    await agent.read(path)

    async def accept(_question: object) -> dict[str, str]:
        return {"outcome": "proceed_once"}

    editor.answers["fileops/confirmEdit"] = accept
    assert (await agent.edit(path, "two", "2"))["status"] == "success"
    assert len(editor.asked) == 1
    (entry,) = (await editor.call("fileops/log", {"file_path": str(path)}))["entries"]
    assert (entry["by"]["kind"], entry["kept"]) == ("session", True)
    assert (await _unkept(editor))["files"] == []


@pytest.mark.parametrize(
    "edits",
    [[("two", "2")], [("three", "3"), ("two", "2")], [("two\n", "")]],
    ids=["the same", "a part of it", "a deletion"],
)
async def test_text_that_a_person_accepted_of_one_agent_is_not_listed_as_that_of_another(
    daemon: SharedDaemon, folder: Path, edits: list[tuple[str, str]]
) -> None:
    """R-UI-3: one wrote it, the person took it away, another proposed it again, and that was accepted."""
    path = folder / "a.txt"
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "first")
    editor = await daemon.editor(folder, confirms=True, ask="never")
    first, second = await daemon.agent(folder, host="claude-code"), await daemon.agent(folder, host="codex")
    await first.read(path)
    for old, new in edits:
        assert code_of(await first.edit(path, old, new)) is None
    await until_recorded(editor, folder)
    assert len(await _lines(editor, path)) > 0
    _git(folder, "checkout", "-q", "--", "a.txt")
    assert await _lines(editor, path) == []

    async def accept(_question: object) -> dict[str, str]:
        return {"outcome": "proceed_once"}

    editor.answers["fileops/confirmEdit"] = accept
    await editor.call("fileops/setAsk", {"ask": "each_edit"})
    await second.read(path)
    assert code_of(await second.edit(path, *edits[-1])) is None
    assert len(editor.asked) == 1
    assert (await _unkept(editor))["sessions"] == []


async def test_places_survive_a_restart_of_the_daemon(daemon: SharedDaemon, folder: Path) -> None:
    """R-KEEP-5."""
    path = folder / "a.txt"
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await agent.read(path)
    await agent.edit(path, "one", "1")
    await agent.edit(path, "three", "3")
    first, second = (await _unkept(editor, path))["files"][0]["changes"]
    await editor.call("fileops/keep", {"change_ids": [first["change_id"]]})
    await daemon.close()

    async with shared_daemon() as restarted:
        editor = await _editor(restarted, folder)
        await until_recorded(editor, folder)
        (file,) = (await _unkept(editor))["files"]
        assert [place["change_id"] for place in file["changes"]] == [second["change_id"]]
        (folder / "a.txt").rename(folder / "renamed.txt")
        moved = {"file_path": str(folder / "renamed.txt")}
        assert await editor.notification("fileops/didChangeUnkept", lambda params: params == moved) == moved
        (file,) = (await _unkept(editor))["files"]
        assert (file["file_path"], [place["start_line"] for place in file["changes"]]) == (moved["file_path"], [3])


async def test_agent_cannot_undo_places_of_another(daemon: SharedDaemon, folder: Path) -> None:
    path = folder / "a.txt"
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    other = await daemon.agent(folder, host="other")
    await agent.read(path)
    await agent.edit(path, "two", "2")
    (file,) = (await _unkept(editor))["files"]
    (place,) = file["changes"]
    result = await other.call("fileops/rewind", {"change_ids": [place["change_id"]]})
    assert (result["error"]["code"], path.read_text()) == ("unknown_target", "one\n2\nthree\n")


@pytest.mark.parametrize("acts", [("keep", "undo"), ("undo", "keep"), ("undo", "undo"), ("keep", "keep")])
async def test_change_that_two_editors_decide_is_decided_once(
    daemon: SharedDaemon, folder: Path, acts: tuple[str, str]
) -> None:
    """R-KEEP-2, R-KEEP-4: the second editor reads that the change is not there any more."""
    path = folder / "a.txt"
    editors = [await _editor(daemon, folder) for _ in range(2)]
    agent = await daemon.agent(folder)
    await agent.read(path)
    await agent.edit(path, "two", "2")
    (place,) = (await _unkept(editors[0], path))["files"][0]["changes"]
    ids = [place["change_id"]]

    async def decide(editor: LspClient, act: str) -> bool:
        if act == "keep":
            return (await editor.call("fileops/keep", {"change_ids": ids}))["n_changes"] == 1
        result = await editor.call("fileops/rewind", {"change_ids": ids, "approved": True})
        if result["status"] == "error":
            assert result["error"]["code"] == "unknown_target"
        return result["status"] == "success"

    assert [await decide(editor, act) for editor, act in zip(editors, acts, strict=True)] == [True, False]
    assert path.read_text() == (TEXT if acts[0] == "undo" else "one\n2\nthree\n")
    assert (await _unkept(editors[1], path))["n_changes"] == 0


async def test_keeping_a_change_that_was_undone_does_not_keep_it_when_it_comes_back(
    daemon: SharedDaemon, folder: Path
) -> None:
    """R-KEEP-2."""
    path = folder / "a.txt"
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await agent.read(path)
    await agent.edit(path, "two", "2")
    (place,) = (await _unkept(editor, path))["files"][0]["changes"]
    ids = [place["change_id"]]
    undone = await editor.call("fileops/rewind", {"change_ids": ids, "approved": True})
    assert (await editor.call("fileops/keep", {"change_ids": ids}))["n_changes"] == 0
    await editor.call("fileops/rewind", {"rewind_id": undone["details"]["rewind_id"], "approved": True})
    assert path.read_text() == "one\n2\nthree\n"
    assert (await _unkept(editor, path))["n_changes"] == 1


@pytest.mark.parametrize("acts", [("keep", "keep"), ("keep", "undo"), ("undo", "undo")])
async def test_each_change_that_two_editors_decide_at_once_is_decided_once(
    daemon: SharedDaemon, folder: Path, acts: tuple[str, str]
) -> None:
    """R-KEEP-2, R-KEEP-4: all requests are sent before one of them is answered."""
    path = folder / "a.txt"
    lines = [f"line {n}" for n in range(24)]
    path.write_text("".join(f"{line}\n" for line in lines))
    editors = [await _editor(daemon, folder) for _ in range(2)]
    agent = await daemon.agent(folder)
    await agent.read(path)
    for line in lines[::4]:
        await agent.edit(path, f"{line}\n", f"{line} changed\n")
    places = (await _unkept(editors[0], path))["files"][0]["changes"]

    async def decide(editor: LspClient, act: str, change_id: str) -> int:
        if act == "keep":
            return (await editor.call("fileops/keep", {"change_ids": [change_id]}))["n_changes"]
        result = await editor.call("fileops/rewind", {"change_ids": [change_id], "approved": True})
        assert code_of(result) in {None, "unknown_target"}
        return int(result["status"] == "success")

    for line, place in zip(lines[::4], places, strict=True):
        decisions = (decide(editor, act, place["change_id"]) for editor, act in zip(editors, acts, strict=True))
        counts = await asyncio.gather(*decisions)
        assert sorted(counts) == [0, 1]
        assert (f"{line} changed\n" in path.read_text()) == (acts[counts.index(1)] == "keep")
    assert (await _unkept(editors[0], path))["n_changes"] == 0


async def test_change_that_is_being_undone_in_an_editor_is_not_kept(daemon: SharedDaemon, folder: Path) -> None:
    """R-KEEP-2: the keeping waits until the editor has the undo in its unsaved text."""
    path = folder / "a.txt"
    editor, other = await daemon.editor(folder), await _editor(daemon, folder)
    agent = await daemon.agent(folder)
    await agent.read(path)
    await agent.edit(path, "two", "2")
    editor.open(path, "zero\none\n2\nthree\n")
    (place,) = (await _unkept(editor, path))["files"][0]["changes"]
    keeping: list[asyncio.Task[Any]] = []

    async def apply(_params: object) -> dict[str, bool]:
        keeping.append(other.start("fileops/keep", {"change_ids": [place["change_id"]]}))
        await other.call("fileops/log", {"file_path": str(path)})  # the daemon has taken the request before it
        editor.change(path, "zero\none\ntwo\nthree\n", version=2)
        return {"applied": True}

    editor.answers["workspace/applyEdit"] = apply
    undone = await editor.call("fileops/rewind", {"change_ids": [place["change_id"]], "approved": True})
    assert (undone["status"], await keeping[0]) == ("success", {"keep_id": None, "n_entries": 0, "n_changes": 0})


async def test_lists_and_all_are_of_the_clients_folders(
    daemon: SharedDaemon, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """R-UI-5: what an agent did in another project is neither listed, nor kept, nor undone from here."""
    other = tmp_path_factory.mktemp("other")
    paths = [folder / "a.txt", other / "b.txt"]
    for path in paths:
        path.write_text("one\ntwo\nthree\n")
    here, there = await daemon.editor(folder), await daemon.editor(other)
    agent = await daemon.agent(folder, other)
    await until_recorded(here, folder, other)
    turn_id = (await agent.call("fileops/beginTurn", {"title": "both"}))["turn_id"]
    for path in paths:
        await agent.read(path)
        assert code_of(await agent.edit(path, "two", "2")) is None

    async def shown(editor: LspClient) -> tuple[list[str], list[str]]:
        entries = (await editor.call("fileops/log", {}))["entries"]
        return [file["file_path"] for file in (await _unkept(editor))["files"]], [entry["path"] for entry in entries]

    assert [await shown(here), await shown(there)] == [([str(path)], [str(path)]) for path in paths]
    assert len((await here.call("fileops/unkept", {"root": str(other)}))["files"]) == 1
    kept = await here.call("fileops/keep", {"all": True})
    assert kept["n_entries"] == 1
    assert [file["file_path"] for file in (await _unkept(there))["files"]] == [str(paths[1])]
    await here.call("fileops/undoKeep", {"keep_id": kept["keep_id"]})

    for target in ("turn_id", "all_since_turn"):
        undone = await here.call("fileops/rewind", {target: turn_id, "approved": True})
        assert [file["file_path"] for file in undone["details"]["files"]] == [str(paths[0])]
        assert [path.read_text().splitlines()[1] for path in paths] == ["two", "2"]
        redone = await here.call("fileops/rewind", {"rewind_id": undone["details"]["rewind_id"], "approved": True})
        assert redone["status"] == "success"


async def test_undo_since_a_turn_is_of_its_session_or_of_all_agents(daemon: SharedDaemon, folder: Path) -> None:
    """R-REW-1."""
    editor = await daemon.editor(folder)
    await until_recorded(editor, folder)
    turns: list[str] = []
    for n, host in enumerate(("first", "second")):
        agent = await daemon.agent(folder, host=host)
        turns.append((await agent.call("fileops/beginTurn", {"title": host}))["turn_id"])
        assert code_of(await agent.call("fileops/write", {"file_path": f"{folder}/{n}.txt", "content": "x\n"})) is None
    for target, n_files in (("since_turn", 1), ("all_since_turn", 2)):
        preview = await editor.call("fileops/rewind", {target: turns[0], "dry_run": True})
        assert len(preview["details"]["files"]) == n_files


async def test_code_actions_keep_and_undo_what_is_at_the_lines(daemon: SharedDaemon, folder: Path) -> None:
    """R-UNDO-8, R-UNDO-9: for any editor, by the daemon."""
    literals = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor"]}}}
    editor = await daemon.lsp("editor", "helix")
    await editor.initialize(folder, capabilities={"textDocument": {"codeAction": literals}})
    await until_recorded(editor, folder)
    path = folder / "a.txt"
    path.write_text("".join(f"{n}\n" for n in range(1, 10)))
    agent = await daemon.agent(folder, host="bot")
    await agent.read(path)
    for old, new in (("2\n", "two\n"), ("5\n6\n", ""), ("8\n", "eight\n")):
        assert code_of(await agent.edit(path, old, new)) is None

    async def titles(first: int, last: int) -> dict[str, Any]:
        place = {"start": {"line": first - 1, "character": 0}, "end": {"line": last - 1, "character": 0}}
        params: Any = {"textDocument": {"uri": path.as_uri()}, "range": place, "context": {"diagnostics": []}}
        actions = await editor.call("textDocument/codeAction", params)
        return {action["title"]: action["command"] for action in actions}

    async def run(command: Any) -> Any:
        params = {"command": command["command"], "arguments": command["arguments"]}
        return await editor.call("workspace/executeCommand", params)

    assert await titles(3, 3) == {}
    assert list(await titles(2, 2)) == list(await titles(5, 5)) == ["Keep (bot)", "Undo (bot)"]
    assert list(await titles(1, 7)) == ["Keep (3 changes: bot)", "Undo (3 changes: bot)"]
    kept = await run((await titles(2, 2))["Keep (bot)"])
    assert (kept["n_changes"], bool(kept["keep_id"])) == (1, True)
    assert await titles(2, 2) == {}
    undone = await run((await titles(1, 7))["Undo (2 changes: bot)"])
    assert undone["status"] == "success"
    assert path.read_text() == "".join(f"{n}\n" for n in (1, "two", *range(3, 10)))


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


async def _lines(client: LspClient, path: Path) -> list[int]:
    return [change["start_line"] for file in (await _unkept(client, path))["files"] for change in file["changes"]]


async def _edited(daemon: SharedDaemon, folder: Path, *edits: tuple[str, str], **options: Any) -> LspClient:
    """An editor of a folder whose files are committed, after an agent's edits of a.txt."""
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    editor, agent = await _editor(daemon, folder, **options), await daemon.agent(folder)
    await until_recorded(editor, folder)
    await agent.read(folder / "a.txt")
    for old, new in edits:
        await agent.edit(folder / "a.txt", old, new)
    await editor.notification("fileops/didChangeUnkept")
    return editor


async def test_what_is_committed_counts_as_kept(daemon: SharedDaemon, folder: Path) -> None:
    """R-UI-3: the editor is notified, and the list is empty, also after another branch and back."""
    path = folder / "a.txt"
    editor = await _edited(daemon, folder, ("two", "2"))
    assert await _lines(editor, path) == [2]
    _git(folder, "switch", "-q", "-c", "other")
    assert await _lines(editor, path) == [2]
    agent = await daemon.agent(folder, host="other")
    await agent.read(folder / "b.txt")
    await agent.edit(folder / "b.txt", "two", "2")
    other = {"file_path": str(folder / "b.txt")}
    await editor.notification("fileops/didChangeUnkept", lambda params: params == other)  # all before it has come
    await until_recorded(editor, folder)
    editor.claim_all()
    _git(folder, "commit", "-q", "-a", "-m", "second")
    await editor.notification("fileops/didChangeUnkept", lambda params: params == {"file_path": str(path)})
    assert (await _unkept(editor)) | {"truncated": False} == {
        "n_files": 0, "n_changes": 0, "added": 0, "removed": 0, "files": [], "sessions": [], "truncated": False,
    }  # fmt: skip
    for branch, text in (("main", TEXT), ("other", "one\n2\nthree\n")):
        _git(folder, "switch", "-q", branch)
        assert (path.read_text(), await _lines(editor, path)) == (text, [])
    asks = await _editor(daemon, folder, keep_committed=False)
    assert await _lines(asks, path) == [2]


async def test_what_an_agents_command_commits_counts_as_kept(daemon: SharedDaemon, folder: Path) -> None:
    """R-UI-3: whoever ran git. With the option off, it stays listed."""
    path = folder / "a.txt"
    editor = await _edited(daemon, folder, ("two", "2"))
    agent = await daemon.agent(folder, host="committer")
    begun = await agent.call("fileops/beginCommand", {"label": "git commit"})
    _git(folder, "commit", "-q", "-a", "-m", "second")
    await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})
    assert await _lines(editor, path) == []
    asks = await _editor(daemon, folder, keep_committed=False)
    assert await _lines(asks, path) == [2]


async def test_what_is_staged_as_it_is_counts_as_kept_and_other_changes_do_not(
    daemon: SharedDaemon, folder: Path
) -> None:
    """R-UI-3: by the lines, whatever else the file has that is not staged."""
    path = folder / "a.txt"
    editor = await _edited(daemon, folder, ("one", "1"))
    _git(folder, "add", "a.txt")
    assert await _lines(editor, path) == []
    agent = await daemon.agent(folder, host="other")
    await agent.read(path)
    await agent.edit(path, "three", "3")
    assert await _lines(editor, path) == [3]
    _git(folder, "reset", "-q")
    assert await _lines(editor, path) == [1, 3]


async def test_executable_bit_counts_as_kept_when_it_is_committed(daemon: SharedDaemon, folder: Path) -> None:
    """R-UI-3: with the text, or alone, as HEAD has it now."""
    path = folder / "a.txt"
    editor = await _edited(daemon, folder, ("two", "2"))
    agent = await daemon.agent(folder, host="other")

    async def set_bit(mode: int) -> None:
        begun = await agent.call("fileops/beginCommand", {"label": "chmod"})
        path.chmod(mode)
        await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})

    async def kinds() -> list[str]:
        files = (await _unkept(editor))["files"]
        return [change["kind"] for file in files for change in file["changes"]]

    await set_bit(0o755)
    assert await kinds() == ["file", "changed"]
    old_text = hashlib.sha1(b"blob %d\0%b" % (len(TEXT), TEXT.encode()), usedforsecurity=False).hexdigest()
    _git(folder, "update-index", "--cacheinfo", f"100755,{old_text},a.txt")
    _git(folder, "commit", "-q", "-m", "the bit alone")
    assert await kinds() == ["changed"]
    _git(folder, "commit", "-q", "-a", "-m", "second")
    assert await kinds() == []
    await set_bit(0o644)
    await set_bit(0o755)
    assert await kinds() == []
    _git(folder, "switch", "-q", "-c", "other", "HEAD~2")
    await set_bit(0o755)
    assert await kinds() == ["file"]


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_deletion_counts_as_kept_when_it_is_committed(
    daemon: SharedDaemon, folder: Path, is_tracked: bool
) -> None:
    """R-UI-3: a file that git never had is missing in HEAD too, which decides nothing."""
    path = folder / "a.txt"
    path.write_text("a text of its own\n")
    _git(folder, "add", "." if is_tracked else "b.txt")
    _git(folder, "commit", "-q", "-m", "first")
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await until_recorded(editor, folder)
    await agent.read(path)
    deletion = {"kind": "delete", "file_path": str(path)}
    deleted = await agent.call("fileops/applyChanges", {"changes": [deletion]})
    assert deleted["status"] == "success"
    assert len((await _unkept(editor, path))["files"]) == 1
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "second")
    assert len((await _unkept(editor, path))["files"]) == (0 if is_tracked else 1)


@pytest.mark.parametrize("becomes", ["link", "folder", "pipe"])
async def test_file_that_was_replaced_by_something_else_stays_listed_until_it_is_decided(
    daemon: SharedDaemon, folder: Path, becomes: str
) -> None:
    """R-KEEP-1: an undo of what is listed names it, and a keep keeps it."""
    path = folder / "a.txt"
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await until_recorded(editor, folder)
    begun = await agent.call("fileops/beginCommand", {"label": "sh"})
    path.unlink()
    match becomes:
        case "link":
            path.symlink_to("b.txt")
        case "folder":
            path.mkdir()
        case _:
            os.mkfifo(path)
    (folder / "b.txt").write_text("one\n2\nthree\n")
    await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})
    listed = await _unkept(editor)
    assert [(file["file_path"], len(file["changes"])) for file in listed["files"]] == [
        (str(path), 1), (str(folder / "b.txt"), 1),
    ]  # fmt: skip
    ids = listed["sessions"][0]["change_ids"]
    undone = await editor.call("fileops/rewind", {"change_ids": ids, "dry_run": True})
    details = undone["details"]
    assert ([file["file_path"] for file in details["files"]], details["n_left"]) == ([str(folder / "b.txt")], 1)
    assert [conflict["file_path"] for conflict in details["conflicts"]] == [str(path)]
    await editor.call("fileops/keep", {"change_ids": ids})
    assert (await _unkept(editor))["files"] == []


async def test_link_that_replaced_a_file_counts_as_kept_when_it_is_committed(
    daemon: SharedDaemon, folder: Path
) -> None:
    """R-UI-3."""
    path = folder / "a.txt"
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await until_recorded(editor, folder)
    begun = await agent.call("fileops/beginCommand", {"label": "ln"})
    path.unlink()
    path.symlink_to("b.txt")
    await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})
    assert [file["file_path"] for file in (await _unkept(editor))["files"]] == [str(path)]
    _git(folder, "commit", "-q", "-a", "-m", "second")
    assert (await _unkept(editor))["files"] == []


async def _run_as_command(agent: LspClient, folder: Path, line: str) -> None:
    begun = await agent.call("fileops/beginCommand", {"label": line})
    process = await asyncio.create_subprocess_shell(line, cwd=folder)
    assert await process.wait() == 0
    await agent.call("fileops/endCommand", {"command_id": begun["command_id"]})


async def test_what_an_agents_command_stages_stays_listed_until_a_person_decides(folder: Path) -> None:
    """R-UI-3: a person has decided nothing then, also in the next daemon. What the person stages is kept."""
    path = folder / "a.txt"
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    async with shared_daemon() as daemon:
        editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
        await until_recorded(editor, folder)
        await _run_as_command(agent, folder, "sed -i s/two/2/ a.txt b.txt && git add a.txt")
        assert (await _lines(editor, path), await _lines(editor, folder / "b.txt")) == ([2], [2])
        _git(folder, "add", "b.txt")
        assert (await _lines(editor, path), await _lines(editor, folder / "b.txt")) == ([2], [])
        await _run_as_command(agent, folder, "echo new > c.txt && git add c.txt")
        assert (await _lines(editor, path), await _lines(editor, folder / "b.txt")) == ([2], [])
    async with shared_daemon() as daemon:
        editor = await _editor(daemon, folder)
        await until_recorded(editor, folder)
        assert (await _lines(editor, path), await _lines(editor, folder / "b.txt")) == ([2], [])
        _git(folder, "reset", "-q")
        path.write_text(path.read_text() + "four\n")
        _git(folder, "add", "a.txt")
        await until_recorded(editor, folder)
        assert await _lines(editor, path) == []


async def test_undo_of_all_restores_a_file_that_an_agent_renamed_with_git_and_changed(
    daemon: SharedDaemon, folder: Path
) -> None:
    """R-UI-3: `git mv` stages the deletion of the old name."""
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await until_recorded(editor, folder)
    await _run_as_command(agent, folder, "git mv a.txt c.txt && sed -i s/two/2/ c.txt")
    listed = await _unkept(editor)
    assert [Path(file["file_path"]).name for file in listed["files"]] == ["a.txt", "c.txt"]
    ids = listed["sessions"][0]["change_ids"]
    await editor.call("fileops/rewind", {"change_ids": ids, "approved": True})
    assert ((folder / "a.txt").read_text(), (folder / "c.txt").exists()) == (TEXT, False)


@pytest.mark.parametrize(("method", "options"), [("fileops/rewind", {"approved": True}), ("fileops/keep", {})])
async def test_git_is_asked_about_all_files_of_an_undo_or_a_keep_at_once(
    daemon: SharedDaemon,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    options: dict[str, bool],
) -> None:
    n_files, asked = 30, tmp_path / "asked"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho \"$*\" >>'{asked}'\nexec '{shutil.which('git')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await until_recorded(editor, folder)
    await _run_as_command(agent, folder, f"touch $(seq 1 {n_files})")
    (session,) = (await _unkept(editor))["sessions"]
    asked.write_text("")
    await editor.call(method, {"change_ids": session["change_ids"], **options})
    assert len(asked.read_text().splitlines()) < n_files
    assert (len(session["change_ids"]), (await _unkept(editor))["sessions"]) == (n_files, [])


async def test_what_is_not_kept_is_computed_before_anybody_asks(
    daemon: SharedDaemon, folder: Path, state_home: Path
) -> None:
    """As soon as the file has been left alone for a while."""
    editor, agent = await _editor(daemon, folder), await daemon.agent(folder)
    await until_recorded(editor, folder)
    await agent.read(folder / "a.txt")
    await agent.edit(folder / "a.txt", "two", "2")

    def has_answer() -> bool:
        with closing(sqlite3.connect(state_home / "fileops-server" / "record" / FILE_NAME)) as record:
            return record.execute("SELECT 1 FROM answer WHERE kind = 'places'").fetchone() is not None

    await asyncio.to_thread(wait_until, has_answer)
