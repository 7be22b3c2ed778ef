"""The record of a shared daemon, end to end: who changed which file, with what evidence.

R-REC-2 (entries), R-REC-3 (which files), R-BY-2 (unsettled entries, unsaved text), R-BY-3 (`during`), R-BY-5
(`evidence`), R-LOG-1 (the log), R-LOG-2 (an entry), R-LOG-4 (the status), R-LOG-5 (notifications; what agents see),
R-RECP-1 (where it is), R-RECP-2 (what is never kept).
"""

import asyncio
import itertools
import json
import mmap
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fileops.model.sessions import SessionName
from fileops.model.settings import Settings
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, SharedDaemon, shared_daemon
from support.shared_daemon import until_recorded as recording

Entries = list[dict[str, Any]]
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with three committed files."""
    path = tmp_path / "p"
    path.mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (path / name).write_text(f"{name}\none\ntwo\n")
    git(path, "init", "-q", "-b", "main")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "one")
    return path


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as daemon:
        yield daemon


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


async def shell(folder: Path, line: str) -> None:
    process = await asyncio.create_subprocess_shell(line, cwd=folder)
    assert await process.wait() == 0


async def entries(client: LspClient, **query: object) -> Entries:
    """The log, oldest first."""
    return (await client.call("fileops/log", query))["entries"][::-1]


async def logged(client: LspClient, condition: Callable[[Entries], bool], **query: object) -> Entries:
    """Wait for entries."""
    async with asyncio.timeout(PATIENCE_S):
        async for found in repeated(lambda: entries(client, **query)):
            if condition(found):
                return found
    raise AssertionError


async def repeated(ask: Callable[[], Awaitable[Any]]) -> AsyncIterator[Any]:
    """The answers to a question that is asked often."""
    for _ in itertools.count():
        yield await ask()
        await asyncio.sleep(0.01)


def outline(found: Entries) -> list[tuple[str, str, str]]:
    return [(entry["by"]["kind"], entry["kind"], Path(entry["path"]).name) for entry in found]


async def test_edit_by_a_tool_is_its_sessions_and_the_event_of_it_adds_nothing(
    daemon: SharedDaemon, folder: Path
) -> None:
    editor, agent = await daemon.editor(folder), await daemon.agent(folder)
    await recording(editor, folder)
    await agent.read(folder / "a.py")
    edit = await agent.edit(folder / "a.py", "one", "1")
    await asyncio.sleep(0.2)  # longer than the debounce: the event of the commit has been read
    (entry,) = await entries(editor)
    assert (entry["by"]["kind"], entry["by"]["session_id"], entry["evidence"]) == ("session", "bot-1", "commit")
    assert (entry["edit_id"], entry["added"], entry["removed"]) == (edit["details"]["edit_id"], 1, 1)
    assert (entry["undoable"], entry["settled"], entry["gap"], entry["kept"]) == (True, True, None, False)
    shown = await editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
    assert (shown["before_text"], shown["after_text"]) == ("a.py\none\ntwo\n", "a.py\n1\ntwo\n")
    assert "-one\n+1\n" in shown["diff"]


async def test_changes_by_unknown_programs_are_outside_with_their_contents(daemon: SharedDaemon, folder: Path) -> None:
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    await shell(folder, "sed -i s/one/1/ a.py && rm b.py && echo new > d.py && chmod +x c.py")
    found = await logged(editor, lambda found: len(found) >= 4)
    assert sorted(outline(found)) == [
        ("outside", "create", "d.py"), ("outside", "delete", "b.py"), ("outside", "mode", "c.py"),
        ("outside", "modify", "a.py"),
    ]  # fmt: skip
    texts = {
        Path(entry["path"]).name: await editor.call("fileops/entry", {"entry_id": entry["entry_id"]}) for entry in found
    }
    assert texts["a.py"]["before_text"] == "a.py\none\ntwo\n"
    assert (texts["b.py"]["before_text"], texts["b.py"]["after_text"]) == ("b.py\none\ntwo\n", None)
    assert (texts["d.py"]["before_text"], texts["d.py"]["after_text"]) == (None, "new\n")


async def test_save_of_an_attached_editor_is_its_users(daemon: SharedDaemon, folder: Path) -> None:
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    file = folder / "a.py"
    editor.open(file)
    editor.change(file, "typed\n", version=2)
    await editor.call("fileops/tracked", {})
    file.write_text("typed\n")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    (entry,) = await logged(editor, lambda found: any(entry["settled"] for entry in found))
    assert (entry["by"], entry["evidence"]) == (
        {"kind": "person", "session_id": "nvim-1", "label": "Neovim"}, "save",
    )  # fmt: skip
    assert entry["kept"]


@pytest.mark.parametrize("saved", [None, "typed\n", "typed\nby a formatter\n"])
async def test_editor_that_leaves_after_typing_may_have_saved(
    daemon: SharedDaemon, folder: Path, saved: str | None
) -> None:
    """R-BY-2: it was killed, or the daemon was asked to end, before its report of the save was read."""
    watcher, editor, agent = await daemon.editor(folder), await daemon.editor(folder), await daemon.agent(folder)
    await recording(watcher, folder)
    file = folder / "a.py"
    editor.open(file)
    await editor.call("fileops/tracked", {})
    if saved is not None:
        editor.change(file, "typed\n", version=2)
    await agent.call("fileops/read", {"file_path": str(file)})
    command = await agent.call("fileops/beginCommand", {"label": "make"})
    file.write_text(saved or "made\n")
    await agent.call("fileops/read", {"file_path": str(file)})  # compares the document with the file
    await editor.close()
    await agent.call("fileops/endCommand", {"command_id": command["command_id"]})
    (entry,) = await logged(watcher, lambda found: any(entry["settled"] for entry in found))
    kinds = {entry["by"]["kind"], *(one["kind"] for one in entry["by"].get("candidates", ()))}
    assert ("person" in kinds) == (saved is not None), entry["by"]


@pytest.mark.parametrize("is_dropped", [False, True])
async def test_edit_of_unsaved_text_follows_an_entry_of_the_user_and_its_save_adds_nothing(
    daemon: SharedDaemon, folder: Path, *, is_dropped: bool
) -> None:
    editor, agent = await daemon.editor(folder), await daemon.agent(folder)
    await recording(editor, folder)
    file = folder / "a.py"
    editor.open(file)
    editor.change(file, "typed\n", version=2)
    document = ["typed\n"]

    async def apply(params: Any) -> Any:
        assert '"newText": "written"' in json.dumps(params)
        document[0] = "written\n"
        editor.change(file, document[0], version=3)
        return {"applied": True}

    editor.answers["workspace/applyEdit"] = apply
    await agent.read(file)
    result = await agent.edit(file, "typed", "written")
    assert result["details"]["applied_to"] == "buffer"
    recorder = daemon.state.parts(Settings(), print, "mtime", daemon.state.hub.router).recorder
    assert recorder is not None
    await recorder.drain(recorder.scan)  # the file on the disk has neither text, and did not change
    await asyncio.sleep(0.2)
    assert len(await entries(editor)) == 2
    if is_dropped:
        editor.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})
        found = await logged(editor, lambda found: len(found) >= 3)
        assert outline(found)[2] == ("person", "modify", "a.py")
        shown = await editor.call("fileops/entry", {"entry_id": found[2]["entry_id"]})
        assert (shown["before_text"], shown["after_text"]) == ("written\n", "a.py\none\ntwo\n")
        return
    file.write_text(document[0])
    editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    await asyncio.sleep(0.2)  # longer than the debounce
    found = await entries(editor)
    assert outline(found) == [("person", "modify", "a.py"), ("session", "modify", "a.py")]


async def test_drained_command_is_the_author_of_what_it_wrote(daemon: SharedDaemon, folder: Path) -> None:
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    recorder = daemon.state.parts(Settings(), print, "mtime", daemon.state.hub.router).recorder
    assert recorder is not None
    await shell(folder, "echo before > before.py")
    begun: list[Any] = []
    await recorder.drain(
        lambda: begun.append(
            recorder.windows.begin(SessionName("codex:1"), "codex · sed a.py", (str(folder),), names_git=True)
        )
    )
    await shell(folder, "sed -i s/one/1/ a.py; sed -i s/two/2/ a.py; echo t > t.tmp; rm t.tmp; git stash -q")
    await shell(folder, "git stash pop -q; mkdir -p x/y; echo deep > x/y/z.py")
    await recorder.drain(lambda: begun.append(recorder.windows.end_command(begun[0].command_id)))
    await shell(folder, "echo after > after.py")
    found = await logged(editor, lambda found: len({entry["path"] for entry in found}) >= 4)
    assert {(Path(entry["path"]).name, entry["by"]["kind"]) for entry in found} == {
        ("before.py", "outside"), ("a.py", "command"), ("z.py", "command"), ("after.py", "outside"),
    }  # fmt: skip
    # What git takes away and brings back is merged with no other change, so a.py has one entry or several.
    of_command = [entry for entry in found if entry["by"]["kind"] == "command"]
    assert {(entry["command_id"], entry["evidence"]) for entry in of_command} == {(begun[0].command_id, "command")}


async def test_content_before_is_known_after_a_file_was_touched_or_was_binary(
    daemon: SharedDaemon, folder: Path
) -> None:
    (folder / "c.py").write_bytes(b"a\0b")
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    (folder / "a.py").touch()
    (folder / "c.py").write_text("text now\n")
    await logged(editor, bool)
    await shell(folder, "echo more >> a.py; echo more >> c.py; sleep 0.1")
    found = await logged(editor, lambda found: len(found) >= 2 and found[-1]["added"] == 1)
    for entry in found[-2:]:
        shown = await editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
        if entry["content"] == "kept":
            assert shown["before_text"] in {"a.py\none\ntwo\n", "text now\n"}


async def test_entry_of_a_renamed_file_is_compared_with_its_text_under_the_old_name(
    daemon: SharedDaemon, folder: Path
) -> None:
    """R-LOG-2."""
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    (folder / "a.py").rename(folder / "z.py")
    found = await logged(editor, lambda found: len(found) >= 2)
    (arrival,) = (entry for entry in found if entry["moved_from"] is not None)
    shown = await editor.call("fileops/entry", {"entry_id": arrival["entry_id"]})
    assert (shown["before_text"], shown["after_text"]) == ("a.py\none\ntwo\n", "a.py\none\ntwo\n")
    assert [line.rpartition("/")[2] for line in shown["diff"].splitlines()] == ["a.py", "z.py"]
    assert shown["diff"].startswith("rename from ")


async def test_ignored_files_and_gits_own_are_not_recorded(daemon: SharedDaemon, folder: Path) -> None:
    (folder / ".gitignore").write_text("*.log\nout/\n")
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    await shell(folder, "echo x > a.log; mkdir out; echo x > out/x.py; git add .gitignore; echo y > y.py")
    found = await logged(editor, bool)
    assert outline(found) == [("outside", "create", "y.py")]


async def test_protected_and_binary_files_have_entries_without_contents(daemon: SharedDaemon, folder: Path) -> None:
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    await shell(folder, "echo SECRET > .env; echo SECRET > id_rsa; printf 'a\\0b' > x.bin; truncate -s 3M large.txt")
    found = await logged(editor, lambda found: len(found) >= 4)
    contents = {Path(entry["path"]).name: entry["content"] for entry in found}
    assert contents == {".env": "protected", "id_rsa": "protected", "x.bin": "binary", "large.txt": "too_large"}
    assert not any(entry["undoable"] for entry in found)
    record = b"".join(path.read_bytes() for path in (folder.parent / "state").rglob("record.db*"))
    assert b"SECRET" not in record


async def test_changes_while_no_daemon_ran_are_one_entry_for_each_file(folder: Path) -> None:
    async with shared_daemon() as first:
        editor = await first.editor(folder)
        await recording(editor, folder)
        (folder / "b.py").write_text("recorded\n")
        await logged(editor, bool)
    (folder / "a.py").write_text("x\n")
    (folder / "a.py").write_text("changed while away\n")
    (folder / "b.py").unlink()
    (folder / "new.py").write_text("new\n")
    async with shared_daemon() as second:
        editor = await second.editor(folder)
        found = await logged(editor, lambda found: len(found) >= 4)
        assert [(entry["kind"], Path(entry["path"]).name, entry["gap"]) for entry in found][:1] == [
            ("modify", "b.py", None)
        ]
        away = {(entry["kind"], Path(entry["path"]).name, entry["gap"], entry["by"]["kind"]) for entry in found[1:]}
        assert away == {
            ("modify", "a.py", "away", "outside"), ("delete", "b.py", "away", "outside"),
            ("create", "new.py", "away", "outside"),
        }  # fmt: skip
        (of_a,) = [entry for entry in found if entry["path"].endswith("a.py")]
        shown = await editor.call("fileops/entry", {"entry_id": of_a["entry_id"]})
        assert (shown["before_text"], shown["after_text"]) == ("a.py\none\ntwo\n", "changed while away\n")


@pytest.mark.parametrize(("option", "wanted"), [("edits", 1), ("off", None)])
async def test_option_record_restricts_what_is_recorded(
    daemon: SharedDaemon, folder: Path, option: str, wanted: int | None
) -> None:
    editor = await daemon.editor(folder, record=option)
    await editor.read(folder / "a.py")
    await editor.edit(folder / "a.py", "one", "1")
    (folder / "b.py").write_text("by hand\n")
    assert (await editor.call("fileops/recordStatus", {}))["folders"] == []
    if wanted is None:
        with pytest.raises(Exception, match="Nothing is recorded"):
            await entries(editor)
    else:
        assert outline(await entries(editor)) == [("session", "modify", "a.py")]


async def test_agent_is_shown_its_own_entries_only(daemon: SharedDaemon, folder: Path) -> None:
    editor, agent = await daemon.editor(folder), await daemon.agent(folder)
    await recording(editor, folder)
    await agent.read(folder / "a.py")
    await agent.edit(folder / "a.py", "one", "1")
    (folder / "b.py").write_text("by hand\n")
    found = await logged(editor, lambda found: len(found) == 2)
    of_hand = next(entry for entry in found if entry["path"].endswith("b.py"))
    assert [entry["path"] for entry in await entries(agent)] == [str(folder / "a.py")]
    shown = await agent.call("fileops/entry", {"entry_id": of_hand["entry_id"]})
    assert (shown["diff"], shown["before_text"], shown["after_text"]) == ("", None, None)


async def test_editor_that_asks_for_it_is_notified_of_entries(daemon: SharedDaemon, folder: Path) -> None:
    editor = await daemon.lsp("editor", "nvim")
    capabilities = {"experimental": {"fileops": {"record": True}}}
    await editor.initialize(folder, capabilities=capabilities)
    await recording(editor, folder)
    (folder / "b.py").write_text("by hand\n")
    params = await editor.notification("fileops/didRecord")
    assert [entry["path"] for entry in params["entries"]] == [str(folder / "b.py")]
    for n in range(101):
        (folder / f"n{n}.py").write_text("many\n")
    await editor.notification("fileops/didRecord", lambda params: params.get("n_more", 0) > 100 or params["entries"])


async def test_undo_of_an_edit_is_another_entry(daemon: SharedDaemon, folder: Path) -> None:
    editor, agent = await daemon.editor(folder), await daemon.agent(folder)
    await recording(editor, folder)
    await agent.read(folder / "a.py")
    edit = await agent.edit(folder / "a.py", "one", "1")
    edit_id = edit["details"]["edit_id"]
    await editor.call("fileops/undo", {"edit_id": edit_id, "approved": True})
    first, second = await entries(editor)
    assert (first["undone_by"], first["undoable"]) == (second["entry_id"], False)
    assert (second["undoes"], second["by"]["kind"], second["by"]["label"]) == ([first["entry_id"]], "person", "Neovim")


async def test_history_and_log_are_the_same_after_a_restart(folder: Path) -> None:
    """R-UNDO-7: without any option."""
    async with shared_daemon() as daemon:
        editor, agent = await daemon.editor(folder), await daemon.agent(folder, session="night")
        await recording(editor, folder)
        for name in ("a.py", "b.py"):
            await agent.read(folder / name)
            await agent.edit(folder / name, "one", "1")
        (first, second) = [entry["edit_id"] for entry in await entries(editor)]
        await editor.call("fileops/undo", {"edit_id": second, "approved": True})
        history, log = await editor.call("fileops/history", {}), await entries(editor)
    async with shared_daemon() as daemon:
        editor, agent = await daemon.editor(folder), await daemon.agent(folder, session="night")
        assert await editor.call("fileops/history", {}) == history
        assert await entries(editor) == log
        assert [edit["edit_id"] for edit in history["edits"]] == [entry["edit_id"] for entry in log][::-1]
        (folder / "a.py").write_text("above\n" + (folder / "a.py").read_text())
        await agent.call("fileops/undo", {"session_id": "default"})
        assert (folder / "a.py").read_text() == "above\na.py\none\ntwo\n"
        assert next(entry for entry in await entries(editor) if entry["edit_id"] == first)["undone_by"] is not None


async def test_history_in_memory_ends_with_the_daemon_and_the_log_does_not(folder: Path) -> None:
    async with shared_daemon() as daemon:
        editor = await daemon.editor(folder, history="memory")
        await editor.read(folder / "a.py")
        await editor.edit(folder / "a.py", "one", "1")
        assert len((await editor.call("fileops/history", {}))["edits"]) == 1
    async with shared_daemon() as daemon:
        editor = await daemon.editor(folder)
        assert (await editor.call("fileops/history", {}))["edits"] == []
        assert len(await entries(editor)) == 1


async def test_rename_is_two_entries_that_name_each_other(daemon: SharedDaemon, folder: Path) -> None:
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    await shell(folder, "git mv a.py z.py")
    found = {entry["kind"]: entry for entry in await logged(editor, lambda found: len(found) >= 2)}
    assert found["delete"]["moved_to"] == str(folder / "z.py")
    assert found["create"]["moved_from"] == str(folder / "a.py")


async def test_damaged_record_is_put_aside_and_a_new_one_begins(folder: Path, state_home: Path) -> None:
    record = state_home / "fileops-server" / "record"
    record.mkdir(parents=True, mode=0o700)
    (record / "record.db").write_bytes(b"no database at all" * 100)
    async with shared_daemon() as daemon:
        editor = await daemon.editor(folder)
        await recording(editor, folder)
        (folder / "a.py").write_text("changed\n")
        assert outline(await logged(editor, bool)) == [("outside", "modify", "a.py")]
    assert [path.read_bytes()[:11] for path in record.glob("*.damaged-*")] == [b"no database"]


async def test_record_that_is_damaged_while_it_is_used_begins_again_and_records(
    daemon: SharedDaemon, folder: Path, state_home: Path
) -> None:
    """The damage is met long after the start, by queries and by the recorder."""
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    (folder / "a.py").write_text("before\n")
    await logged(editor, bool)
    record = state_home / "fileops-server" / "record"
    with closing(sqlite3.connect(record / "record.db", isolation_level=None)) as other:
        for table in ("entry", "known", "blob"):
            other.execute(f"DROP TABLE {table}")
    assert (await editor.call("fileops/log", {}))["entries"] == []
    (folder / "b.py").write_text("after\n")
    (entry,) = await logged(editor, lambda found: any(entry["content"] == "kept" for entry in found))
    assert outline([entry]) == [("outside", "modify", "b.py")]
    assert len([path for path in record.glob("*.damaged-*") if path.suffix[-4:] not in {"-wal", "-shm"}]) >= 1


async def test_record_continues_in_memory_when_it_cannot_be_written(daemon: SharedDaemon, folder: Path) -> None:
    """Another program has locked the database. For a full disk see tests/faults/test_record_faults.py."""
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    recorder = daemon.state.parts(Settings(), print, "mtime", daemon.state.hub.router).recorder
    assert recorder is not None
    (folder / "a.py").write_text("before\n")
    await logged(editor, bool)
    with closing(sqlite3.connect(recorder.store.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        (folder / "b.py").write_text("after\n")
        found = await logged(editor, lambda found: len(found) >= 2)
    assert outline(found) == [("outside", "modify", "a.py"), ("outside", "modify", "b.py")]
    (status,) = (await editor.call("fileops/recordStatus", {}))["folders"]
    assert (status["state"], status["reason"]) == ("limited", "store")
    await editor.notification("window/showMessage", lambda params: "recorded in memory" in params["message"])


async def test_scan_finds_what_no_event_reported(daemon: SharedDaemon, folder: Path) -> None:
    """R-REC-6."""
    editor = await daemon.editor(folder)
    await recording(editor, folder)
    recorder = daemon.state.parts(Settings(), print, "mtime", daemon.state.hub.router).recorder
    assert recorder is not None
    with (folder / "a.py").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:1] = b"A"
        mapped.flush()  # sets the stamp; the event comes when the mapping ends
        await recorder.drain(recorder.scan)
        (entry,) = await logged(editor, bool)
    assert (entry["kind"], entry["found"]) == ("modify", "scan")
