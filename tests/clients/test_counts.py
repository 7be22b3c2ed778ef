"""The terminal and the editors count one state as the daemon does: changes in files, and a rename is one.

Of the terminal: the list with its rows, the preview of an undo, the full screen, and the reports of an undo, a redo, a
keep and its undo. Of Neovim: the status line and the list.
`test_vscode.py` compares VS Code and the terminal in the same ten states.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from clients.neovim.world import NO_PYTHON, PLUGIN, Neovim, neovim
from fileops_client import FileOpsClient
from support.daemon_process import FILEOPS, Place, place_of_test
from support.patience import PATIENCE_S
from support.tmux import terminal

TEXT = "".join(f"line {n}\n" for n in range(1, 10))
TEXTS = {name: f"{name}\n{TEXT}" for name in ("a.txt", "b.txt", "d.txt")}
CONFIG = f"lua vim.g.fileops = {{ cmd = {{ {sys.executable!r}, '-m', 'fileops' }}, autostart = true }}"
STATUS = "luaeval('require(\"fileops\").status()')"
LIST = "setqflist([]) + luaeval('require(\"fileops.list\").open()')"
LISTED = "[len(getqflist()), len(uniq(sort(map(getqflist(), {_, item -> bufname(item.bufnr)}))))]"
ROW = re.compile(r"  [AMDRX] ")
COUNT = re.compile(r"(\d+) changes? in (\d+) files?")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Place]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    for name, text in TEXTS.items():
        (made / name).write_text(text)
    return made


@contextmanager
def running(nvim: Neovim, folder: Path, address: str) -> Generator[None]:
    command = [nvim.program, "--clean", "--headless", "--listen", address, "--cmd", NO_PYTHON, "--cmd", CONFIG]
    command += ["--cmd", f"set runtimepath^={PLUGIN} noswapfile", str(folder / "a.txt")]
    process = subprocess.Popen(command, cwd=folder, env=nvim.environment, stdin=subprocess.DEVNULL)
    try:
        nvim.until(address, "luaeval('require(\"fileops.unkept.changes\").is_served()') == v:true")
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


class Surfaces:
    """What the daemon and the terminal say of the project, and an editor."""

    def __init__(
        self, shared: Place, folder: Path, person: FileOpsClient, editor_says: Callable[[int, int], Awaitable[None]]
    ) -> None:
        self.shared, self.folder, self.person, self.editor_says = shared, folder, person, editor_says

    async def all_say(self, n_changes: int, n_files: int) -> None:
        expected = (n_changes, n_files)
        async with asyncio.timeout(PATIENCE_S):
            while (await self._daemon()) != expected:  # noqa: ASYNC110 - what a command wrote is recorded a bit later
                await asyncio.sleep(0.02)
        listed = (await self._run("changes")).splitlines()
        assert _count(next(line for line in listed if line.startswith("Not kept: "))) == expected
        assert len({line.split("  +")[0].split()[-1] for line in listed if ROW.match(line)}) == n_files
        assert _count((await self._run("undo", "--all", "--dry-run")).splitlines()[0]) == expected
        await self.editor_says(n_changes, n_files)

    async def reports_say(self, n_changes: int, n_files: int) -> None:
        """What says afterwards what was done with all that is listed. It is listed again at the end."""
        for command in ("undo --all --yes", "redo --dry-run", "redo --yes", "keep --all", "keep --undo last"):
            said = (await self._run(*command.split())).splitlines()[0]
            assert (command, _count(said)) == (command, (n_changes, n_files))
        await self.all_say(n_changes, n_files)

    async def _daemon(self) -> tuple[int, int]:
        unkept = await self.person.unkept(root=str(self.folder))
        assert sum(turn.n_changes for session in unkept.sessions for turn in session.turns) == unkept.n_changes
        return unkept.n_changes, unkept.n_files

    async def _run(self, *arguments: str) -> str:
        return (await asyncio.to_thread(self.shared.run, *arguments, cwd=self.folder)).stdout.decode()


def _count(sentence: str) -> tuple[int, int]:
    found = COUNT.search(sentence)
    assert found is not None, sentence
    return int(found[1]), int(found[2])


@asynccontextmanager
async def command(agent: FileOpsClient, words: str) -> AsyncGenerator[None]:
    command_id = await agent.begin_command(words)
    yield
    await agent.end_command(command_id)


async def test_all_count_ten_states_alike(shared: Place, folder: Path, tmp_path: Path) -> None:
    """R-KEEP-3."""
    nvim, address = neovim("new", tmp_path / "homes"), str(shared.folder / "nvim")
    async with FileOpsClient.attach(root=folder, role="editor") as person:

        async def neovim_says(n_changes: int, n_files: int) -> None:
            said = f"{n_changes} change{'s' * (n_changes != 1)} in {n_files} file{'s' * (n_files != 1)}"
            await asyncio.to_thread(nvim.until, address, f"{STATUS} ==# 'fileops: {said}'")
            await asyncio.to_thread(nvim.ask, address, LIST)
            await asyncio.to_thread(nvim.until, address, f"{LISTED} == [{n_changes}, {n_files}]")
            await screen.until(f" {said} not kept")

        command = [*FILEOPS, "changes", "--screen"]
        async with terminal(command, cwd=folder, env=shared.process_env, folder=shared.folder) as screen:
            with running(nvim, folder, address):
                surfaces = Surfaces(shared, folder, person, neovim_says)
                await ten_states(folder, person, surfaces.all_say)
                await surfaces.reports_say(4, 3)


async def ten_states(folder: Path, person: FileOpsClient, all_say: Callable[[int, int], Awaitable[None]]) -> None:
    text = folder / "a.txt"
    async with (
        FileOpsClient.attach(root=folder, host="opencode") as agent,
        FileOpsClient.attach(root=folder, host="gemini") as other,
    ):
        async with asyncio.timeout(PATIENCE_S):
            while not (status := await person.record_status(folder)) or status[-1].state == "starting":  # noqa: ASYNC110
                await asyncio.sleep(0.02)

        async def edited(client: FileOpsClient, path: Path, old: str, new: str) -> None:
            await client.read(path)
            assert (await client.edit(path, old, new)).ok

        await edited(agent, text, "line 2", "LINE 2")
        await all_say(1, 1)
        await edited(agent, text, "LINE 2", "Line 2")  # the same place
        await all_say(1, 1)
        await edited(agent, text, "line 8", "LINE 8")
        await all_say(2, 1)
        assert (await agent.write(folder / "new.txt", "made\n")).ok
        await all_say(3, 2)
        async with command(agent, "mv"):
            (folder / "b.txt").rename(folder / "c.txt")
        await all_say(4, 3)
        await agent.begin_turn(title="edit it under its new name")
        await edited(agent, folder / "c.txt", "line 5", "LINE 5")  # of the renamed file, all of which is one change
        await all_say(4, 3)
        async with command(agent, "rm"):
            (folder / "d.txt").unlink()
        await all_say(5, 4)
        await edited(other, text, "line 5", "LINE 5")
        await all_say(6, 4)
        await person.keep(file_path=folder / "new.txt")
        await all_say(5, 3)
        (file,) = (await person.unkept(file_path=text)).files
        assert (await person.rewind(change_ids=[file.changes[0].change_id], approved=True)).error is None
        await all_say(4, 3)
