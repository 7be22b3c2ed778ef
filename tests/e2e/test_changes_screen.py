"""The full screen of `fileops-server changes --screen`, at 80 columns: what is not kept, to keep and undo by keys."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fileops_client import FileOpsClient
from support.daemon_process import FILEOPS, Place
from support.patience import PATIENCE_S
from support.tmux import LOOK_S, Terminal, terminal

LINES = [f"line {n}\n" for n in range(1, 31)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.py").write_text("".join(LINES))
    (made / "b.py").write_text("".join(LINES))
    return made


@asynccontextmanager
async def changes_in(shared: Place, folder: Path, *more: str) -> AsyncGenerator[tuple[FileOpsClient, Terminal]]:
    """An agent that has changed two places of a.py and one of b.py, and the screen. more: of the command."""
    async with FileOpsClient.attach(root=folder, host="codex") as agent:
        async with asyncio.timeout(PATIENCE_S):
            while not (status := await agent.record_status(folder)) or status[-1].state == "starting":  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)
        await edit(agent, folder / "a.py", (3, "line three"), (20, "line twenty"))
        await edit(agent, folder / "b.py", (5, "line five"))
        command = [*FILEOPS, *(more or ("changes", "--screen"))]
        async with terminal(command, cwd=folder, env=shared.process_env, folder=shared.folder) as window:
            yield agent, window


async def edit(agent: FileOpsClient, file: Path, *pairs: tuple[int, str]) -> None:
    await agent.read(file)
    done = await agent.multi_edit(file, [(f"line {line}\n", f"{text}\n") for line, text in pairs])
    assert done.ok


async def test_changes_have_numbers_and_are_kept_and_undone_one_by_one(shared: Place, folder: Path) -> None:
    """R-CLI-8."""
    async with changes_in(shared, folder) as (_, window):
        screen = await window.until(
            "3 changes in 2 files not kept", "Codex", "> M a.py  +2 -2", "M b.py  +1 -1",
            "change 1 of 2, by Codex", " 3 > -line 3", " 3 > +line three",
        )  # fmt: skip
        assert all(len(line) <= 80 for line in screen.splitlines())
        await window.press("n")
        await window.until("change 2 of 2", "20 > -line 20", "20 > +line twenty")
        await window.press("u")
        await window.until("1 change in 1 file was undone. z takes it back.", "2 changes in 2 files", "> M a.py  +1 -1")
        assert (folder / "a.py").read_text() == "".join(LINES).replace("line 3\n", "line three\n", 1)
        await window.press("a")
        await window.until("Kept change 1 of a.py", "1 change in 1 file not kept", "> M b.py")
        await window.press("z")
        await window.until("To keep or undo again: change 1 of a.py", "2 changes in 2 files not kept")
        await window.press("z")
        await window.until("1 change in 1 file was redone.", "3 changes in 2 files not kept")
        assert "line twenty\n" in (folder / "a.py").read_text()
        await window.press("z")
        await window.until("Nothing was decided here yet.")
        await window.press("?")
        await window.until("Esc closes this page.")
        await window.press("q")  # of the page, not of the screen
        await window.until("3 changes in 2 files not kept", holds=lambda screen: "Esc closes" not in screen)


async def test_turn_and_all_are_decided_after_a_question(shared: Place, folder: Path) -> None:
    async with changes_in(shared, folder) as (_, window):
        await window.until("3 changes in 2 files not kept", "+line three")
        await window.press("T")
        await window.until("Undo 3 changes in 2 files of Codex", "y: undo")
        await window.press("Escape")
        await window.until("3 changes in 2 files", holds=lambda screen: "y: undo" not in screen)
        await window.press("F")
        await window.until("2 changes in 1 file were undone.", "1 change in 1 file not kept")
        await window.press("X")
        await window.until("Undo 1 change in 1 file of", "y: undo")
        await window.press("y")
        await window.until("All changes by agents are kept or undone.", "0 changes in 0 files")
    assert (folder / "a.py").read_text() == (folder / "b.py").read_text() == "".join(LINES)


async def test_list_follows_the_agent_and_the_cursor_stays(shared: Place, folder: Path) -> None:
    async with changes_in(shared, folder) as (agent, window):
        await window.until("3 changes in 2 files not kept")
        await window.press("j")
        await window.until("> M b.py", "5 > +line five")
        assert (await agent.write(folder / "added.py", "made\n")).ok
        await window.until("4 changes in 3 files", "A added.py  +1 -0", "> M b.py", "5 > +line five")
        (folder / "a.py").rename(folder / "moved.py")  # by a person: its changes go with it
        await window.until("M moved.py  +2 -2", "> M b.py")


async def test_renamed_file_is_one_row_and_is_undone_as_a_whole(shared: Place, folder: Path) -> None:
    async with changes_in(shared, folder) as (agent, window):
        await window.until("3 changes in 2 files not kept")
        command_id = await agent.begin_command("mv")
        (folder / "b.py").rename(folder / "c.py")
        await agent.end_command(command_id)
        await window.until("R b.py to c.py")
        await window.press("j")
        await window.until("renamed from b.py, kept and undone as a whole", "-line 5", "+line five")
        await window.press("u")
        await window.until("2 changes in 1 file not kept", "z takes it back.")
    assert (folder / "b.py").read_text() == "".join(LINES)
    assert not (folder / "c.py").exists()


async def test_keys_of_the_queue_decide_nothing_in_the_list_above_it(shared: Place, folder: Path) -> None:
    async with changes_in(shared, folder, "review") as (agent, window):
        await window.until("Nothing waits")
        await window.press("c")
        await window.until("3 changes in 2 files not kept", "> M a.py")
        (folder / ".env").write_text("TOKEN=1\n")
        await agent.read(folder / ".env")
        call = asyncio.create_task(agent.edit(folder / ".env", "TOKEN=1", "TOKEN=2"))
        await window.until("1 edit waits for you: c")
        await window.press("r", "e", "s", "R")  # of the queue
        await window.press("c")
        await window.until("1 edit of 1 session", ".env")
        await window.press("a")
        await window.until("Accepted .env")
        assert (await call).ok


async def test_lost_daemon_is_reported_and_another_one_lists_the_changes(shared: Place, folder: Path) -> None:
    async with changes_in(shared, folder) as (_, window):
        await window.until("3 changes in 2 files not kept")
        await asyncio.to_thread(shared.run, "status", "--stop", "--now")
        await window.until("The shared daemon has ended, so nothing can be decided here.")
        await window.press("F")
        await window.until("There is no daemon, so nothing was decided.")
        await asyncio.to_thread(shared.run, "changes", cwd=folder)  # starts one
        await window.until("3 changes in 2 files not kept", "+line three", holds=lambda it: "no daemon" not in it)
        await window.press("F")
        await window.until("1 change in 1 file not kept", "2 changes in 1 file were undone.")


@pytest.mark.parametrize("words", [["a.py"], ["--diff"], ["--json"]])
def test_screen_with_another_scope_is_refused(shared: Place, folder: Path, words: list[str]) -> None:
    done = shared.run("changes", "--screen", *words, cwd=folder)
    assert done.returncode == 2
    assert b"leave out the path and the other options" in done.stderr


def test_screen_without_a_terminal_names_what_needs_none(shared: Place, folder: Path) -> None:
    done = shared.run("changes", "--screen", cwd=folder)
    assert done.returncode == 2
    assert b"fileops-server changes: The full screen needs a terminal. `fileops-server changes` lists" in done.stderr
