"""`fileops-server log`, `diff`, `blame`, `changes`, `undo`, `redo` and `keep`: for people and scripts."""

import asyncio
import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fileops.terminal.record_arguments import MAX_ENTRIES, NothingDone, last_undo
from fileops_client import FileOpsClient
from support.daemon_process import FILEOPS, Place, place, place_of_test
from support.patience import PATIENCE_S

OLD = "one\ntwo\nthree\nfour\n"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    (made / "a.txt").write_text(OLD)
    return made


@pytest.fixture(scope="module")
def changed() -> Iterator[tuple[Place, Path]]:
    """A project in which an agent has changed files, for commands that change nothing."""
    with place() as made:
        made.start()
        project = made.folder / "project"
        project.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        (project / "a.txt").write_text(OLD)
        asyncio.run(edited(project, socket=str(made.socket)))
        yield made, project


async def run(shared: Place, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return await asyncio.to_thread(shared.run, *arguments, cwd=folder)


async def answer(shared: Place, folder: Path, *arguments: str) -> Any:
    done = await run(shared, folder, *arguments, "--json")
    assert done.stderr == b""
    return json.loads(done.stdout)


def lines_of(done: "subprocess.CompletedProcess[bytes]") -> list[str]:
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


async def edited(folder: Path, socket: str | None = None) -> str:
    """An agent edits one file and creates another. Returns the name of its session."""
    async with FileOpsClient.attach(socket=socket, root=folder, host="codex") as agent:
        await until_started(agent)
        await agent.read(folder / "a.txt")
        assert (await agent.edit(folder / "a.txt", "two", "2 by agent")).ok
        assert (await agent.write(folder / "new.txt", "made\n")).ok
        log = await agent.log()
        return log.entries[0].by.session_id or ""


async def test_log_of_all_prints_one_line_for_each_entry(shared: Place, folder: Path) -> None:
    """R-CLI-4."""
    await edited(folder)
    created, changed = lines_of(await run(shared, folder, "log", "--all"))
    assert [part.strip() for part in created.split("  ")][2:] == ["Codex", "A new.txt", "+1 -0"]
    assert [part.strip() for part in changed.split("  ")][2:] == ["Codex", "M a.txt", "+1 -1"]
    listed = await answer(shared, folder, "log", "a.txt")
    assert (listed["root"], len(listed["entries"]), listed["more"]) == (str(folder), 1, False)
    assert listed["entries"][0]["by"]["kind"] == "session"


@pytest.mark.parametrize(
    "command", ["log", "log --turns", "diff", "blame a.txt", "changes", "keep --all", "undo --all", "redo"]
)
async def test_command_says_that_the_recording_begins_with_it(shared: Place, folder: Path, command: str) -> None:
    """R-CLI-1: once, and not for programs."""
    begins = f"The recording of {folder} begins now: earlier changes are not known.\n"
    assert begins in (await run(shared, folder, *command.split())).stderr.decode()
    again = await run(shared, folder, "log")
    assert (again.stdout, again.stderr) == (b"Nothing is recorded.\n", b"")


def without_ids(lines: list[str]) -> list[str]:
    """The lines of a log without ids and times."""
    return [line if line.startswith("  ") and line[2] != " " else line[22:] for line in lines]


async def test_log_has_one_group_for_each_turn_undo_and_what_a_person_wrote(shared: Place, folder: Path) -> None:
    """R-CLI-4."""
    async with FileOpsClient.attach(root=folder, role="editor", host="nvim") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            turn_id = await agent.begin_turn(title="count better")
            for number in range(3):
                await agent.read(folder / "a.txt")
                assert (await agent.edit(folder / "a.txt", f"two{number or ''}\n", f"two{number + 1}\n")).ok
            assert (await agent.write(folder / "with blank.txt", "made\n")).ok
            command_id = await agent.begin_command("mv")
            (folder / "with blank.txt").rename(folder / "new.txt")
            await agent.end_command(command_id)
        text = (folder / "a.txt").read_text()
        document = {"uri": (folder / "a.txt").as_uri(), "languageId": "", "version": 1, "text": text}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        for version, added in ((2, "by hand\n"), (3, "again\n")):
            text += added
            document = {"uri": document["uri"], "version": version}
            editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
            (folder / "a.txt").write_text(text)
            editor.notify("textDocument/didSave", {"textDocument": document})
            await entries_of(editor, 5 + version)
    await run(shared, folder, "undo", turn_id, "--path", "a.txt", "--yes")
    assert without_ids(lines_of(await run(shared, folder, "log"))) == [
        "You  undo of 3 edits by Codex  (1 file +1 -1)",
        "  M a.txt  +1 -1",
        "You  (1 file +2 -0)",
        "  M a.txt  +2 -0",
        "Codex  count better  (2 files +4 -3, 3 of 5 edits undone)",
        "  M a.txt  +3 -3 (undone)",
        "  A new.txt  +1 -0",
    ]
    assert lines_of(await run(shared, folder, "log", "-n", "1"))[2:] == ["... there are older changes: -n N shows more"]
    await run(shared, folder, "redo", "last", "--yes")
    assert without_ids(lines_of(await run(shared, folder, "log")))[0] == "You  redo of 3 edits  (1 file +1 -1)"


async def test_log_has_one_line_for_a_branch_switch(shared: Place, folder: Path) -> None:
    """R-CLI-4: and what a program wrote at another time has its own."""
    names = [f"n{number}.txt" for number in range(5)]

    def commit(text: str) -> None:
        for name in names:
            (folder / name).write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", text)

    commit("one\n")
    git(folder, "checkout", "-qb", "other")
    commit("other\n")
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        git(folder, "checkout", "-q", "-")
        await entries_of(editor, len(names))
    (line,) = without_ids(lines_of(await run(shared, folder, "log")))
    assert line.startswith("git checkout: moving from other to ")
    assert line.endswith("  (5 files +5 -5)")
    (folder / ".git" / "logs" / "HEAD").unlink()
    os.mkfifo(folder / ".git" / "logs" / "HEAD")
    first, *files = without_ids(lines_of(await run(shared, folder, "log")))
    assert (first, len(files)) == ("outside  (5 files +5 -5)", 5)


async def test_log_names_a_stash_as_one(shared: Place, folder: Path) -> None:
    """R-CLI-4: Git writes the same words for it as for a reset."""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            await agent.read(folder / "a.txt")
            assert (await agent.edit(folder / "a.txt", "two", "2")).ok
        git(folder, "stash", "-q")
        await entries_of(editor, 2)
    lines = without_ids(lines_of(await run(shared, folder, "log")))
    assert any("stash or reset: the files are those of HEAD again" in line for line in lines)


async def entries_of(client: FileOpsClient, n_entries: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len((await client.log()).entries) < n_entries:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_log_of_a_unique_beginning_has_the_diff(shared: Place, folder: Path) -> None:
    """R-CLI-1."""
    await edited(folder)
    entry = (await answer(shared, folder, "log", "a.txt"))["entries"][0]
    shown = await answer(shared, folder, "log", entry["entry_id"][:10])
    assert (shown["entry"]["entry_id"], "+2 by agent" in shown["diff"]) == (entry["entry_id"], True)
    lines = lines_of(await run(shared, folder, "log", entry["entry_id"]))
    assert {"-two", "+2 by agent", "--- a.txt"} <= set(lines)
    wrong = await run(shared, folder, "log", "e-nothing")
    assert (wrong.returncode, wrong.stdout) == (1, b"")
    assert b"e-nothing is not the id" in wrong.stderr


async def test_undo_without_a_terminal_needs_yes_or_dry_run(shared: Place, folder: Path) -> None:
    """R-CLI-2."""
    session = await edited(folder)
    refused = await run(shared, folder, "undo", "--session", session)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"--yes" in refused.stderr
    preview = await run(shared, folder, "undo", "--session", session, "--dry-run")
    assert lines_of(preview)[0] == "2 changes in 2 files would be undone."
    assert (folder / "a.txt").read_text() != OLD
    done = await run(shared, folder, "undo", "--session", session, "--yes")
    assert (done.returncode, lines_of(done)[0]) == (0, "2 changes in 2 files were undone.")
    undone = (await answer(shared, folder, "log", "a.txt"))["entries"][1]["entry_id"]
    lines = lines_of(await run(shared, folder, "log", "a.txt", "--all"))
    assert [line.rpartition("  ")[2] for line in lines] == [f"+1 -1 (undoes {undone[:10]})", "+1 -1 (undone)"]
    assert (folder / "a.txt").read_text() == OLD
    assert not (folder / "new.txt").exists()
    again = await run(shared, folder, "undo", "--session", session, "--yes")
    assert again.returncode == 1
    assert b"undone before" in again.stderr


async def test_undo_of_an_agent_since_a_time_leaves_what_was_before(shared: Place, folder: Path) -> None:
    """By edits and by commands; nor what a person and another agent did since then."""
    await edited(folder)
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        moment = time.time()
        await agent.read(folder / "a.txt")
        assert (await agent.edit(folder / "a.txt", "four", "4 by agent")).ok
        command_id = await agent.begin_command("make")
        (folder / "made.txt").write_text("made\n")
        await agent.end_command(command_id)
        async with FileOpsClient.attach(root=folder, host="claude-code") as other:
            assert (await other.write(folder / "others.txt", "by another agent\n")).ok
    (folder / "a.txt").write_text((folder / "a.txt").read_text().replace("one", "1 by hand"))
    later = await run(shared, folder, "undo", "--agent", "codex", "--since", str(time.time()), "--yes")
    assert (later.returncode, b"No change by codex has been recorded since then" in later.stderr) == (1, True)
    done = await run(shared, folder, "undo", "--agent", "codex", "--since", str(moment), "--yes")
    assert (done.returncode, lines_of(done)[0]) == (0, "2 changes in 2 files were undone.")
    assert (folder / "a.txt").read_text() == "1 by hand\n2 by agent\nthree\nfour\n"
    assert (folder / "new.txt").exists()
    assert (folder / "others.txt").exists()
    assert not (folder / "made.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name what to undo"),
        (["--since", "12:00", "--all"], "--agent NAME --since TIME"),
        (["--since", "12:00"], "--agent NAME --since TIME"),
        (["--command", "c-1", "--since", "12:00"], "--since TIME needs --agent NAME"),
        (["--agent", "codex", "--since", "25:00"], "is not a time"),
    ],
)
async def test_undo_without_a_clear_target_is_refused(
    shared: Place, folder: Path, arguments: list[str], sentence: str
) -> None:
    done = await run(shared, folder, "undo", *arguments, "--yes")
    assert (done.returncode, done.stdout) == (2, b"")
    assert sentence in done.stderr.decode()


async def test_undo_of_an_undo_is_a_redo(shared: Place, folder: Path) -> None:
    session = await edited(folder)
    rewind = await answer(shared, folder, "undo", "--session", session, "--yes")
    assert (rewind["error"], rewind["n_undone"], rewind["n_left"]) == (None, 2, 0)
    assert (await run(shared, folder, "undo", rewind["rewind_id"], "--yes")).returncode == 0
    assert (folder / "a.txt").read_text() == OLD.replace("two", "2 by agent")
    assert (folder / "new.txt").read_text() == "made\n"
    shown = await answer(shared, folder, "log", rewind["rewind_id"])
    assert (shown["rewind"]["rewind_id"], len(shown["entries"])) == (rewind["rewind_id"], 2)


async def test_all_that_is_not_kept_is_undone_and_redone(shared: Place, folder: Path) -> None:
    """R-UI-1: `redo` without an id is that of the last undo here, and of none that was redone."""
    await edited(folder)
    texts = {name: (folder / name).read_text() for name in ("a.txt", "new.txt")}
    await run(shared, folder, "keep", "new.txt")
    assert (await run(shared, folder, "redo", "--yes")).stderr.endswith(
        b"you have undone nothing here, or have redone it.\n"
    )
    assert (await run(shared, folder, "undo", "--yes")).returncode == 2
    for _ in range(2):
        *_, how = lines_of(await run(shared, folder, "undo", "--all", "--yes"))
        assert how.startswith("To redo it: fileops-server redo ")
        assert (folder / "a.txt").read_text() == OLD
        assert (folder / "new.txt").read_text() == "made\n"
        assert (await run(shared, folder, "undo", "--all", "--yes")).returncode == 1
        first, *_, how = lines_of(await run(shared, folder, "redo", "--yes"))
        assert first == "1 change in 1 file was redone."
        assert how.startswith("To undo it: fileops-server undo ")
        assert {name: (folder / name).read_text() for name in texts} == texts
        assert (await run(shared, folder, "redo", "--yes")).returncode == 1
    entry = (await answer(shared, folder, "log", "--by", "session"))["entries"][0]
    assert b"is not an undo" in (await run(shared, folder, "redo", entry["entry_id"], "--yes")).stderr


async def test_undo_of_a_path_is_of_what_is_not_kept_in_it(shared: Place, folder: Path) -> None:
    await edited(folder)
    (folder / "below").mkdir()
    async with FileOpsClient.attach(root=folder, host="gemini") as agent:
        await until_started(agent)
        for name in ("kept.txt", "of no use.txt"):
            assert (await agent.write(folder / "below" / name, "made\n")).ok
    await run(shared, folder, "keep", "below/kept.txt")
    done = await run(shared, folder / "below", "undo", ".", "--yes")
    assert (done.returncode, lines_of(done)[0]) == (0, "1 change in 1 file was undone.")
    assert [path.name for path in (folder / "below").iterdir()] == ["kept.txt"]
    assert (folder / "new.txt").exists()
    done = await run(shared, folder, "undo", "--all", "--path", "new.txt", "--path", "below", "--yes")
    assert lines_of(done)[:2] == ["1 change in 1 file was undone.", "  new.txt  +0 -1  (removed)"]
    again = await run(shared, folder, "undo", "new.txt", "--yes")
    assert (again.returncode, b"all changes by agents there are kept or undone" in again.stderr) == (1, True)
    assert "2 by agent" in (folder / "a.txt").read_text()


async def test_undo_since_a_turn_is_of_its_agent_or_of_all(shared: Place, folder: Path) -> None:
    await edited(folder)
    (turn,) = (await answer(shared, folder, "log", "--turns"))["turns"]
    async with FileOpsClient.attach(root=folder, host="gemini") as other:
        assert (await other.write(folder / "other.txt", "made\n")).ok
    done = await answer(shared, folder, "undo", "--since", turn["turn_id"], "--dry-run")
    assert sorted(Path(file["file_path"]).name for file in done["files"]) == ["a.txt", "new.txt"]
    done = await answer(shared, folder, "undo", "--all", "--since", turn["turn_id"], "--yes")
    assert sorted(Path(file["file_path"]).name for file in done["files"]) == ["a.txt", "new.txt", "other.txt"]


@pytest.mark.parametrize("n_at_once", [1, 2, 1000])
async def test_redo_finds_the_last_undo_however_much_the_person_wrote_since(
    shared: Place, folder: Path, n_at_once: int
) -> None:
    """The list of the person's changes comes in parts."""
    await edited(folder)
    first = await answer(shared, folder, "undo", "a.txt", "--yes")
    second = await answer(shared, folder, "undo", "new.txt", "--yes")
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        assert await last_undo(editor, str(folder), n_at_once) == second["rewind_id"]
        assert (await answer(shared, folder, "redo", "--yes"))["error"] is None
        assert await last_undo(editor, str(folder), n_at_once) == first["rewind_id"]
        assert (await answer(shared, folder, "redo", "--yes"))["error"] is None
        with pytest.raises(NothingDone, match="you have undone nothing here, or have redone it"):
            await last_undo(editor, str(folder), n_at_once)


async def test_undo_of_all_says_if_there_are_more_files_than_it_was_about(shared: Place, folder: Path) -> None:
    """Status 3: something was left. 1,000 files are listed, and undone, at once."""
    n_files = 1003
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            command_id = await agent.begin_command("make")
            for number in range(n_files):
                (folder / f"{number}.txt").touch()
            await agent.end_command(command_id)
        assert (await editor.unkept()).n_files == n_files
    shown = await run(shared, folder, "log", command_id)
    more = "Only the newest 1000 changes are shown; `log` and `diff` with a path show others."
    assert (shown.returncode, more in lines_of(shown)) == (3, True)
    assert (await answer(shared, folder, "log", command_id))["truncated"] is True
    difference = await run(shared, folder, "diff")
    more = b"diff: These are the newest 1000 changes, and there are more. `diff` with a path shows others.\n"
    assert (difference.returncode, difference.stderr.endswith(more)) == (3, True)
    done = await run(shared, folder, "undo", "--all", "--yes")
    assert (done.returncode, done.stdout.startswith(b"1000 changes in 1000 files were undone.\n")) == (3, True)
    assert done.stderr == b"fileops-server undo: That covered 1000 files, and there are more. Run this again.\n"
    again = await run(shared, folder, "undo", "--all", "--yes")
    assert (again.returncode, lines_of(again)[0]) == (0, "3 changes in 3 files were undone.")


async def test_undo_in_paths_has_status_3_for_what_is_left_in_them_only(shared: Place, folder: Path) -> None:
    session = await edited(folder)
    (folder / "a.txt").write_text(OLD.replace("two", "by hand"))
    one, both = ("--path", "new.txt"), ("--path", "a.txt", "--path", "new.txt")
    done = await run(shared, folder, "undo", "--session", session, *one, "--yes")
    assert (done.returncode, (folder / "new.txt").exists()) == (0, False)
    assert (await run(shared, folder, "redo", "--yes")).returncode == 0
    done = await run(shared, folder, "undo", "--session", session, *both, "--yes")
    assert (done.returncode, (folder / "new.txt").exists()) == (3, False)
    assert "a.txt, line 2: 1 change left, because others changed the same text since" in done.stdout.decode()


async def test_undo_with_a_conflict_leaves_it_and_has_status_3(shared: Place, folder: Path) -> None:
    session = await edited(folder)
    (folder / "a.txt").write_text(OLD.replace("two", "by hand"))
    done = await run(shared, folder, "undo", "--session", session, "--yes")
    assert done.returncode == 3
    assert "a.txt, line 2: 1 change left, because others changed the same text since" in done.stdout.decode()
    assert (folder / "a.txt").read_text() == OLD.replace("two", "by hand")
    assert not (folder / "new.txt").exists()


async def test_diff_shows_what_agents_changed_and_nothing_of_others(shared: Place, folder: Path) -> None:
    await edited(folder)
    (folder / "a.txt").write_text((folder / "a.txt").read_text() + "by hand\n")
    difference = await answer(shared, folder, "diff", "a.txt")
    assert [(file["added"], file["removed"]) for file in difference["files"]] == [(1, 1)]
    changed = [line for line in difference["diff"].splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["-two", "+2 by agent"]


async def test_diff_of_more_changes_than_fit_says_how_many_it_shows_and_how_to_see_others(
    shared: Place, folder: Path
) -> None:
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        command_id = await agent.begin_command("make")
        for number in range(MAX_ENTRIES + 1):
            (folder / f"made-{number}.txt").write_text(f"{number}\n")
        await agent.end_command(command_id)
        async with asyncio.timeout(PATIENCE_S):
            while not (await agent.log(limit=MAX_ENTRIES)).more:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    done = await run(shared, folder, "diff", "--json")
    shown = json.loads(done.stdout)
    assert (done.returncode, len(shown["files"]), shown["truncated"]) == (3, MAX_ENTRIES, True)
    assert "the newest 1000 changes, and there are more. `diff` with a path shows others." in done.stderr.decode()
    of_one = await answer(shared, folder, "diff", "made-0.txt")
    assert (len(of_one["files"]), "truncated" in of_one) == (1, False)


@pytest.mark.parametrize("name", ["with blank.txt", "quo'te\".txt", "new\nline.txt", "宽 字.txt", "-dash.txt"])
async def test_diff_names_a_file_as_log_does(shared: Place, folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\xef\xbb\xbfone\r\n-- two\r\nthree\r\n")
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        await agent.read(folder / name)
        assert (await agent.edit(folder / name, "-- two\n", "")).ok
    shown = name.replace("\n", "<0a>")
    lines = lines_of(await run(shared, folder, "diff", "--", name))
    assert lines == [f"--- {shown}", f"+++ {shown}", "@@ -1,3 +1,2 @@", " one", "--- two", " three"]
    assert f"  M {shown}  +0 -1" in lines_of(await run(shared, folder, "log"))


async def test_blame_names_the_author_of_each_line(shared: Place, folder: Path) -> None:
    await edited(folder)
    blamed = await answer(shared, folder, "blame", "a.txt")
    assert [(part["first_line"], part["n_lines"], part["text"]) for part in blamed["lines"]] == [
        (1, 1, "one"), (2, 1, "2 by agent"), (3, 2, "three\nfour"),
    ]  # fmt: skip
    assert [part["by"] and part["by"]["label"] for part in blamed["lines"]] == [None, "Codex", None]


async def test_diff_and_blame_show_latin_1_as_letters(shared: Place, folder: Path) -> None:
    path = folder / "with blank.txt"
    path.write_bytes("na\xefve\r\ncaf\xe9 two\r\n".encode("latin-1"))
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        await agent.read(path)
        assert (await agent.edit(path, "two", "2")).ok
    turn = lines_of(await run(shared, folder, "log"))[0].split()[0]
    for command in (("diff",), ("log", turn)):
        assert {" na\xefve", "-caf\xe9 two", "+caf\xe9 2"} <= set(lines_of(await run(shared, folder, *command)))
    blamed = lines_of(await run(shared, folder, "blame", path.name))
    assert [line.partition(") ")[2] for line in blamed] == ["na\xefve", "caf\xe9 2"]


async def test_names_that_are_not_utf_8_are_listed_and_undone_with_the_others(shared: Place, folder: Path) -> None:
    project = folder / os.fsdecode(b"caf\xe9")  # in Latin-1, as old disks have it
    project.mkdir()
    (folder / ".git").rename(project / ".git")
    named = os.fsdecode(b"na\xefve.txt")
    for name in ("a.txt", named):
        (project / name).write_text("one\n")
    async with FileOpsClient.attach(root=project, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=project, host="codex") as agent:
            command_id = await agent.begin_command("make")
            for name in ("a.txt", named):
                (project / name).write_text("one\ntwo\n")
            await agent.end_command(command_id)
        paths = {entry.path for entry in (await editor.log()).entries}
        assert paths == {str(project / "a.txt"), str(project / named)}
        for words in (
            ["log"],
            ["diff"],
            ["blame", named],
            ["log", command_id],
            ["undo", "--agent", "codex", "--dry-run"],
        ):
            for more in ([], ["--json"]):
                done = await run(shared, project, *words, *more)
                assert (done.returncode, done.stderr) == (0, b""), (words, done)
                assert not more or json.loads(done.stdout)
                assert more or words[0] == "blame" or "na<ef>ve.txt" in done.stdout.decode()
        assert (await editor.rewind(command_id=command_id, approved=True)).n_undone == 2
    assert (project / named).read_text() == "one\n"


async def test_file_in_a_named_encoding_is_recorded_as_text(shared: Place, folder: Path) -> None:
    """Its edit is one entry, a command's change another, and both are undone without a change of other bytes."""
    path, old = folder / "with blank.txt", "na\xefve\r\ncaf\xe9 two\r\n"
    path.write_bytes(old.encode("latin-1"))
    git(folder, "add", "-A")
    async with FileOpsClient.attach(
        root=folder,
        host="codex",
        initialization_options={"encodings": [{"glob": "*.txt", "encoding": "latin-1"}]},
    ) as agent:
        await until_started(agent)
        await agent.read(path)
        assert (await agent.edit(path, "two", "zw\xf6lf")).ok
        command_id = await agent.begin_command("sed")
        path.write_bytes(path.read_bytes().replace(b"na\xef", b"n\xe4"))
        await agent.end_command(command_id)
    entries = (await answer(shared, folder, "log"))["entries"]
    assert [entry["by"]["kind"] for entry in entries] == ["command", "session"]
    changed = {"-na\xefve", "+n\xe4ve", "-caf\xe9 two", "+caf\xe9 zw\xf6lf"}
    assert changed <= set(lines_of(await run(shared, folder, "diff")))
    assert "-na\xefve" in lines_of(await run(shared, folder, "log", command_id))
    git(folder, "commit", "-qam", "by the agent")
    assert b"all changes by agents are kept" in (await run(shared, folder, "changes")).stdout
    done = await run(shared, folder, "undo", "--agent", "codex", "--kept", "--yes")
    assert (done.returncode, path.read_bytes()) == (0, old.encode("latin-1"))


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=folder, check=True)


async def until_started(editor: FileOpsClient) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not any(known.state != "starting" for known in await editor.record_status()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("command", ["log", "diff", "blame"])
async def test_path_names_the_project_from_anywhere(shared: Place, folder: Path, command: str) -> None:
    await edited(folder)
    for at in (folder.parent, Path("/")):  # the home folder, and one above it
        home = {"HOME": str(folder.parent)}
        done = await asyncio.to_thread(shared.run, command, str(folder / "a.txt"), cwd=at, env=home)
        assert (done.returncode, done.stderr) == (0, b""), done
        assert b"a.txt" in done.stdout or command == "blame"
        done = await asyncio.to_thread(shared.run, "log", cwd=at, env=home)
        assert done.returncode == 1
        assert done.stderr.decode().startswith(f"fileops-server log: Nothing is recorded in {at}: ")


@pytest.mark.parametrize(
    "command",
    ["log", "blame a.txt", "undo --agent codex", "diff", "keep --all", "review --list", "mcp", "mcp config claude"],
)
async def test_removed_folder_is_named(shared: Place, folder: Path, command: str) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && {shlex.join(FILEOPS)} {command}"
    done = await asyncio.to_thread(
        subprocess.run, ["sh", "-c", line], cwd=folder, env=shared.process_env, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith(": The current folder was removed. Change to another one.\n"), done.stderr


async def test_blame_leaves_no_reader_of_the_file(shared: Place, folder: Path) -> None:
    """Editors warn of each reader whose knowledge of a file is stale, and list each as an agent."""
    await edited(folder)
    lines_of(await run(shared, folder, "blame", "a.txt"))
    async with FileOpsClient.attach(root=folder, host="editor", role="editor") as editor:
        sessions = (await editor.request("fileops/sessions"))["sessions"]
        assert {session["host"] for session in sessions if session["n_reads"] > 0} == {"codex"}


async def test_blame_of_a_missing_file_is_refused_in_plain_words(shared: Place, folder: Path) -> None:
    await edited(folder)
    done = await run(shared, folder, "blame", "missing.txt")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"fileops-server blame: missing.txt: The file does not exist.\n"


async def test_file_without_text_is_listed_without_lines_and_has_no_authors_of_lines(
    shared: Place, folder: Path
) -> None:
    """R-CLI-1, R-CLI-5: a program's change of a binary file."""
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            command_id = await agent.begin_command("make")
            (folder / "picture").write_bytes(b"\0\1")
            await agent.end_command(command_id)
        assert "picture  (binary)" in (await run(shared, folder, "changes")).stdout.decode()
        heading, line = lines_of(await run(shared, folder, "log"))
        assert heading.endswith("  Codex  (1 file)") and line == "  A picture  (binary)", heading
        assert "picture: 1 change not shown, because" in (await run(shared, folder, "diff")).stdout.decode()
        done = await run(shared, folder, "blame", "picture")
        assert (done.returncode, done.stderr) == (1, b"fileops-server blame: The file is binary.\n")


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["log", "--agent", "nobody"], 1, "No session in this folder is named nobody. The sessions are: Codex ("),
        (["log", "nofile"], 1, "nofile is not the id of a change, command, turn or undo, nor a file here."),
        (["log", "--forget", "nofile"], 1, "There is no file or folder nofile, and nothing was recorded of one."),
        (["log", "-n", "0"], 2, "-n 0: give a number of 1 or more."),
        (
            ["log", "codex"],
            1,
            "codex is an agent, not an id. `fileops-server log --agent codex` lists",
        ),
        (
            ["keep", "--turn", "a.txt"],
            1,
            "a.txt is a file or folder, not an id. `fileops-server log a.txt` lists its changes.",
        ),
        (["log", ""], 1, "'' is not the id of a change, command, turn or undo, nor a file here."),
        (["log", "e-"], 1, "Several ids begin with e-. Give more characters."),
        (["diff", "nofile"], 1, "nofile is not the id of a change, command, turn or undo, nor a file here."),
        (["diff", "--agent", "nobody"], 1, "No session in this folder is named nobody. The sessions are: Codex ("),
        (["blame", "."], 1, ". is a folder. Name one of its files."),
        (["undo", "--agent", "nobody", "--yes"], 1, "No session in this folder is named nobody."),
        (["undo", "--agent", "codex", "--path", "nofile", "--yes"], 1, "There is no file or folder nofile, and"),
        (["undo", "nothing", "--yes"], 1, "nothing is not the id of a change, command, turn or undo, nor a file here."),
        (["undo", "codex", "--yes"], 1, "codex is an agent, not an id. `fileops-server log --agent codex` lists"),
        (["log", "e-1", "--agent", "codex"], 2, "An id is shown as a whole: leave out the other options."),
        (["status", "--now"], 2, "--now belongs to --stop. Give both to end the daemon now."),
        (["keep", "nofile"], 1, "There is no file or folder nofile, and nothing is recorded of one."),
    ],
    ids=str,
)
def test_unknown_name_is_answered_with_what_there_is_and_nothing_is_done(
    changed: tuple[Place, Path], arguments: list[str], status: int, sentence: str
) -> None:
    shared, folder = changed
    before = (folder / "a.txt").read_text()
    done = shared.run(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (status, b"")
    assert sentence in done.stderr.decode()
    assert (folder / "a.txt").read_text() == before


async def test_person_who_has_undone_something_is_not_listed_as_an_agent(shared: Place, folder: Path) -> None:
    await edited(folder)
    assert (await run(shared, folder, "undo", "--all", "--yes")).returncode == 0
    refused = (await run(shared, folder, "log", "--session", "nobody")).stderr.decode()
    assert "The sessions are: Codex (" in refused
    assert "terminal" not in refused


async def test_file_that_was_removed_is_known_by_its_name(shared: Place, folder: Path) -> None:
    await edited(folder)
    (folder / "new.txt").unlink()
    assert "A new.txt" in lines_of(await run(shared, folder, "log", "new.txt", "--all"))[-1]


async def test_keep_without_anything_new_has_its_own_sentence(shared: Place, folder: Path) -> None:
    await run(shared, folder, "log")
    assert lines_of(await run(shared, folder, "keep", "--all")) == [
        "There was nothing to keep: no agent has made new changes here."
    ]


async def test_keep_accepts_what_agents_changed(shared: Place, folder: Path) -> None:
    await edited(folder)
    assert lines_of(await run(shared, folder, "keep", "a.txt"))[0] == "1 change in 1 file is kept."
    sentence, how = lines_of(await run(shared, folder, "keep", "--all"))
    assert sentence == "1 change in 1 file is kept."
    assert (await run(shared, folder, "keep")).returncode == 2
    assert b"all changes by agents are kept" in (await run(shared, folder, "changes")).stdout
    assert how.startswith("To undo this: fileops-server keep --undo ")
    undone = await run(shared, folder, *how.partition("fileops-server ")[2].split())
    assert lines_of(undone) == ["1 change in 1 file to keep or undo again."]
    assert b"A new.txt" in (await run(shared, folder, "changes")).stdout
    assert lines_of(await run(shared, folder, "keep", "--undo", "last"))[0].startswith("1 change in 1 file to keep")
    assert (await answer(shared, folder, "changes"))["unkept"]["n_changes"] == 2
    assert (await run(shared, folder, "keep", "--undo", "last")).returncode == 1
    assert (await run(shared, folder, "keep", "--undo", "none")).returncode == 1


async def test_keep_counts_what_changes_counts(shared: Place, folder: Path) -> None:
    """R-CLI-5: places, and not the entries that made them; in a turn, of an agent and in all."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        turn_id = await agent.begin_turn(title="count")
        for number in range(3):
            await agent.read(folder / "a.txt")
            assert (await agent.edit(folder / "a.txt", f"two{number or ''}\n", f"two{number + 1}\n")).ok
        await agent.read(folder / "a.txt")
        assert (await agent.edit(folder / "a.txt", "four\n", "4\n")).ok
    listed = lines_of(await run(shared, folder, "changes"))
    assert listed[-3:] == [  # each command can be pasted
        "Not kept: 2 changes in 1 file.",
        "To see them: fileops-server log ID, or fileops-server changes --diff",
        "To decide: fileops-server changes --screen, fileops-server keep PATH, fileops-server undo ID",
    ]
    for target in (("--turn", turn_id), ("--agent", "codex"), ("--all",), ("a.txt",)):
        kept, how = lines_of(await run(shared, folder, "keep", *target))
        assert kept == "2 changes in 1 file are kept."
        (again,) = lines_of(await run(shared, folder, *how.partition("fileops-server ")[2].split()))
        assert again == "2 changes in 1 file to keep or undo again."
        assert lines_of(await run(shared, folder, "changes")) == listed
    assert (await answer(shared, folder, "keep", "--all"))["n_changes"] == 2


async def test_forget_removes_what_is_recorded(shared: Place, folder: Path) -> None:
    await edited(folder)
    assert lines_of(await run(shared, folder, "log", "--forget", "a.txt")) == ["1 change was removed from the record."]
    assert len((await answer(shared, folder, "log"))["entries"]) == 1


@pytest.mark.parametrize("text", ["ten minutes", "10x"])
async def test_since_that_is_no_time_is_refused(shared: Place, folder: Path, text: str) -> None:
    refused = await run(shared, folder, "log", "--since", text)
    assert (refused.returncode, refused.stdout) == (2, b"")


async def test_json_of_each_command_has_the_documented_keys(shared: Place, folder: Path) -> None:
    """R-CLI-3."""
    await edited(folder)
    log = await answer(shared, folder, "log")
    assert set(log) == {"root", "entries", "more"}
    turns = await answer(shared, folder, "log", "--turns")
    assert set(turns) == {"root", "turns"}
    assert set(await answer(shared, folder, "log", log["entries"][0]["entry_id"])) == {"entry", "diff"}
    assert set(await answer(shared, folder, "log", turns["turns"][0]["turn_id"])) == {"turn", "entries", "diff"}
    diff = await answer(shared, folder, "diff")
    assert (set(diff), set(diff["files"][0])) == ({"diff", "files", "conflicts"}, {"path", "added", "removed"})
    blame = await answer(shared, folder, "blame", "a.txt")
    assert (set(blame), "text" in blame["lines"][0]) == ({"path", "lines"}, True)
    preview = await answer(shared, folder, "undo", "--agent", "codex", "--dry-run")
    assert (preview["error"], preview["dry_run"], bool(preview["plan"])) == (None, True, True)
    refused = await run(shared, folder, "undo", "--agent", "codex", "--plan", "p-none", "--yes", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (1, "plan_changed")
    done = await answer(shared, folder, "undo", "--agent", "codex", "--plan", preview["plan"], "--yes")
    assert set(await answer(shared, folder, "log", done["rewind_id"])) == {"rewind", "entries", "diff"}
    assert {"output", "error", "rewind_id", "files", "conflicts", "n_undone", "n_left"} <= set(done)
    assert set(await answer(shared, folder, "keep", "--all")) == {"keep_id", "n_entries", "n_changes"}


async def test_changes_lists_what_is_not_kept_in_the_project_by_turn_and_file(shared: Place, folder: Path) -> None:
    """R-CLI-5, R-UI-5: also from a folder of the project; what was kept is not listed any more."""
    await edited(folder)
    (below := folder / "below").mkdir()
    for cwd in (folder, below):
        listed = await run(shared, cwd, "changes")
        assert (listed.returncode, listed.stderr) == (0, b"")
        text = listed.stdout.decode()
        assert "a.txt  +" in text
        assert "Not kept: " in text
    answer_ = await answer(shared, folder, "changes")
    assert (set(answer_), answer_["waiting"], answer_["unkept"]["n_files"] > 0) == ({"waiting", "unkept"}, [], True)
    assert (await run(shared, below, "keep", "--all")).returncode == 0
    assert b"all changes by agents are kept" in (await run(shared, below, "changes")).stdout


async def test_rename_is_one_line_of_changes_as_of_the_log(shared: Place, folder: Path) -> None:
    """R-CLI-5."""
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            command_id = await agent.begin_command("mv")
            (folder / "a.txt").rename(folder / "z.txt")
            await agent.end_command(command_id)
        for command in ("changes", "log"):
            lines = [line.strip() for line in lines_of(await run(shared, folder, command)) if line.startswith("  ")]
            assert lines == ["R a.txt to z.txt"]


async def test_rename_with_an_edit_is_one_change_with_the_lines_of_the_edit_alone(shared: Place, folder: Path) -> None:
    """R-CLI-5: no list counts the other lines, which the file has under either name."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: z.txt\n@@\n-four\n+4\n*** End Patch\n"
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            await agent.begin_turn(title="Move it")
            await agent.read(folder / "a.txt")
            assert (await agent.request("fileops/applyPatch", {"patch": patch}))["status"] == "success"
        listed = "R a.txt to z.txt  +1 -1"
        for command in ("changes", "log"):
            lines = [line.strip() for line in lines_of(await run(shared, folder, command)) if line.startswith("  ")]
            assert lines == [listed]
        assert "(1 file +1 -1)" in lines_of(await run(shared, folder, "log"))[0]
        assert "(1 edit in 1 file)" in lines_of(await run(shared, folder, "log", "--turns"))[0]
        turn, change, *rest = lines_of(await run(shared, folder, "log", "last-turn"))
        assert ("(1 edit in 1 file)" in turn, change.endswith(listed)) == (True, True)
        assert [line for line in rest if line[:1] not in {"@", " ", ""}] == [
            "rename from a.txt", "rename to z.txt", "--- a.txt", "+++ z.txt", "-four", "+4",
        ]  # fmt: skip
        back, again = ["  R z.txt to a.txt  +1 -1"], "  a.txt to z.txt  +1 -1  (renamed)"
        assert lines_of(await run(shared, folder, "undo", "last-turn", "--yes"))[0] == "1 change in 1 file was undone."
        group, *listed_files = without_ids(lines_of(await run(shared, folder, "log")))
        assert (group, listed_files[:1]) == ("You  undo of 1 edit by Codex  (1 file +1 -1)", back)
        redo = lines_of(await run(shared, folder, "redo", "--dry-run"))
        assert redo[:2] == ["1 change in 1 file would be redone.", again]
        await run(shared, folder, "redo", "--yes")
        group = without_ids(lines_of(await run(shared, folder, "log")))[0]
        assert group == "You  redo of 1 edit  (1 file +1 -1)"


@pytest.mark.parametrize("name", ["a.txt", "z.txt"])
@pytest.mark.parametrize("command", ["undo", "keep"])
async def test_rename_is_decided_with_its_edit_by_either_name(
    shared: Place, folder: Path, command: str, name: str
) -> None:
    """R-CLI-5: an undo by the old name left the file under both."""
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            command_id = await agent.begin_command("mv")
            (folder / "a.txt").rename(folder / "z.txt")
            await agent.end_command(command_id)
            await agent.read(folder / "z.txt")
            assert (await agent.edit(folder / "z.txt", "four", "4")).ok
    shown = lines_of(await run(shared, folder, "changes", "--diff"))
    assert shown[:4] == ["rename from a.txt", "rename to z.txt", "--- a.txt", "+++ z.txt"]
    assert [line for line in shown[4:] if line[:1] in "+-"] == ["-four", "+4"]
    preview = lines_of(await run(shared, folder, "undo", name, "--dry-run"))
    assert preview[1:4] == ["  z.txt to a.txt  +1 -1  (renamed)", "rename from z.txt", "rename to a.txt"]
    arguments = ["--yes"] if command == "undo" else []
    assert (await run(shared, folder, command, name, *arguments)).returncode == 0
    assert b"all changes by agents are kept" in (await run(shared, folder, "changes")).stdout
    files = {path.name: path.read_text() for path in folder.glob("*.txt")}
    assert files == ({"a.txt": OLD} if command == "undo" else {"z.txt": OLD.replace("four", "4")})


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["log", "--agnt", "codex"], "--agent"),
        (["review", "acept", "r-1"], "accept"),
        (["log", "--by", "persn"], "person"),
        (["undo", "--agent", "cdex", "--yes"], "Codex"),
        (["changes", "nww.txt"], "new.txt"),
        (["blame", "nww.txt"], "new.txt"),
        (["log", "nww.txt"], "new.txt"),
    ],
)
def test_wrong_word_is_answered_with_the_one_that_was_meant(
    changed: tuple[Place, Path], arguments: list[str], meant: str
) -> None:
    shared, folder = changed
    refused = shared.run(*arguments, cwd=folder)
    assert (refused.returncode != 0, refused.stdout) == (True, b"")
    assert f"Did you mean {meant}?" in refused.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "command"),
    [(["log", "a", "b"], "log"), (["review", "--frob"], "review"), (["mcp", "config", "zed", "x"], "mcp config")],
)
def test_unknown_argument_is_answered_with_the_usage_of_its_command(
    shared: Place, folder: Path, arguments: list[str], command: str
) -> None:
    refused = shared.run(*arguments, cwd=folder)
    said = refused.stderr.decode()
    assert refused.returncode == 2
    assert said.startswith(f"usage: fileops-server {command} [-h]"), said
    assert f"fileops-server {command}: error: unrecognized arguments: {arguments[-1]}" in said


async def test_last_turn_of_an_agent_needs_no_id(shared: Place, folder: Path) -> None:
    """R-CLI-6: what an agent did in its last prompt, though another one came later."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        async with FileOpsClient.attach(root=folder, host="claude-code") as other:
            for name, writer in (("one.txt", agent), ("two.txt", agent), ("three.txt", other)):
                await writer.begin_turn(title=name)
                assert (await writer.write(folder / name, "made\n")).ok
    of_codex = ("--agent", "Codex")
    entries = (await answer(shared, folder, "log", "--turn", "last", *of_codex))["entries"]
    assert [entry["path"] for entry in entries] == [str(folder / "two.txt")]
    assert (await answer(shared, folder, "log", "last-turn", *of_codex))["turn"]["title"] == "two.txt"
    shown = await answer(shared, folder, "diff", "last-turn", *of_codex)
    assert [file["path"] for file in shown["files"]] == [str(folder / "two.txt")]
    whole = await run(shared, folder, "diff", entries[0]["entry_id"], *of_codex)
    assert (whole.returncode, whole.stdout) == (2, b"")


async def test_last_change_turn_and_file_need_no_id(shared: Place, folder: Path) -> None:
    """R-CLI-6."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        for name in ("one.txt", "two.txt"):
            await agent.begin_turn(title=name)
            assert (await agent.write(folder / name, "made\n")).ok
            assert (await agent.write(folder / f"other {name}", "made\n")).ok
    (folder / "by hand.txt").touch()
    shown = await answer(shared, folder, "log", "last")
    assert shown["entry"]["path"] == str(folder / "other two.txt")
    assert (await answer(shared, folder, "log", "last-turn"))["turn"]["title"] == "two.txt"
    assert (await answer(shared, folder, "log", "--turn", "last"))["entries"][0]["turn_id"] == shown["entry"]["turn_id"]
    await run(shared, folder, "keep", "last-file")
    assert (await answer(shared, folder, "changes"))["unkept"]["n_files"] == 3
    assert (await run(shared, folder, "undo", "last-turn", "--kept", "--yes")).returncode == 0
    assert sorted(path.name for path in folder.glob("*e.txt")) == ["one.txt", "other one.txt"]
    assert (await answer(shared, folder, "log", "last"))["entry"]["path"] == str(folder / "other one.txt")
    (folder / "last-file").write_text("")
    assert b"There was nothing to keep" in (await run(shared, folder, "keep", "last-file")).stdout


async def test_changes_shows_the_differences_that_are_not_kept(shared: Place, folder: Path) -> None:
    await edited(folder)
    (folder / "a.txt").write_text((folder / "a.txt").read_text() + "by hand\n")
    await run(shared, folder, "keep", "new.txt")
    assert (await answer(shared, folder, "diff"))["diff"].count("+++ ") == 2
    difference = await answer(shared, folder, "changes", "--diff")
    assert set(difference) == {"diff", "files", "conflicts"}
    changed = [line for line in difference["diff"].splitlines() if line[:1] in "+-"]
    assert [line for line in changed if not line.startswith(("+++", "---"))] == ["-two", "+2 by agent"]
    assert lines_of(await run(shared, folder, "changes", "--diff"))[0] == "--- a.txt"
    await run(shared, folder, "keep", "--all")
    assert b"all changes by agents are kept" in (await run(shared, folder, "changes", "--diff")).stdout


async def test_difference_in_a_long_line_is_shown(shared: Place, folder: Path) -> None:
    """And not the equal beginning of both."""
    (folder / "long.txt").write_text(f"{'x, ' * 3000}y{', z' * 3000}\n")
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        await agent.read(folder / "long.txt")
        assert (await agent.edit(folder / "long.txt", "x, y, z", "x, why, z")).ok
    difference = (await answer(shared, folder, "diff", "long.txt"))["diff"]
    (old,) = [line for line in difference.splitlines() if line.startswith("-") and "--" not in line]
    (new,) = [line for line in difference.splitlines() if line.startswith("+") and "++" not in line]
    assert old.startswith("-(the first 8800 characters of this line are truncated) ..., x, ")
    assert (" x, y, z" in old, " x, why, z" in new) == (True, True)
    assert max(len(old), len(new)) < 2200


async def test_turn_of_an_agent_that_has_left_is_not_called_open(shared: Place, folder: Path) -> None:
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        await agent.begin_turn(title="a prompt")
        assert (await agent.write(folder / "new.txt", "made\n")).ok
        assert "(1 edit in 1 file, not ended)" in lines_of(await run(shared, folder, "log", "--turns"))[0]
    assert lines_of(await run(shared, folder, "log", "--turns"))[0].endswith("(1 edit in 1 file)")


async def test_wrong_command_names_the_one_that_was_meant(shared: Place, folder: Path) -> None:
    former = (("show", "log ID"), ("rewind", "undo"), ("stop", "status --stop"))
    for given, meant in (("chnages", "changes"), ("kep", "keep"), ("blam", "blame"), *former):
        refused = await run(shared, folder, given)
        assert (refused.returncode, f"Did you mean {meant}?" in refused.stderr.decode()) == (2, True)
    assert b"invalid choice" in (await run(shared, folder, "xyzzy")).stderr


async def test_undo_of_what_is_left_of_a_kept_change_says_so(shared: Place, folder: Path) -> None:
    """R-CLI-1: as the lists count it, not as the whole edit, or nothing; and the author of what is left stays."""
    async with FileOpsClient.attach(root=folder, role="editor") as editor:
        await until_started(editor)
        async with FileOpsClient.attach(root=folder, host="codex") as agent:
            command_id = await agent.begin_command("sed")
            (folder / "a.txt").write_text(OLD.replace("one", "1").replace("four", "4"))
            await agent.end_command(command_id)
        (file,) = (await editor.unkept()).files
        await editor.keep(change_ids=[file.changes[0].change_id])
    done = await run(shared, folder, "undo", "--all", "--yes")
    assert done.stdout.decode().splitlines()[:2] == ["1 change in 1 file was undone.", "  a.txt  +1 -1"]
    assert (folder / "a.txt").read_text() == OLD.replace("one", "1")
    assert "Codex" in lines_of(await run(shared, folder, "blame", "a.txt"))[0]
    assert "undo of a part of an edit" in lines_of(await run(shared, folder, "log"))[0]


async def test_changes_names_all_who_wrote_a_place(shared: Place, folder: Path) -> None:
    """R-CLI-5: of two agents' adjacent lines, which are one place."""
    await edited(folder)
    async with FileOpsClient.attach(root=folder, host="opencode") as other:
        await until_started(other)
        await other.read(folder / "a.txt")
        assert (await other.edit(folder / "a.txt", "three", "3")).ok
    assert "  M a.txt  +2 -2  (opencode and Codex)" in lines_of(await run(shared, folder, "changes"))


async def test_first_act_of_an_agent_has_its_name(shared: Place, folder: Path) -> None:
    """R-HUB-2: an edit that nothing was read for, by a client that has done nothing else."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        await until_started(agent)
        assert (await agent.write(folder / "new.txt", "made\n")).ok
        assert [entry.by.label for entry in (await agent.log()).entries] == ["Codex"]
