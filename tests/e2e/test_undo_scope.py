"""R-UI-13: an undo of an agent or of a turn leaves what is kept or committed, unless `--kept` asks for it."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient
from support.daemon_process import Place
from support.patience import PATIENCE_S

OLD = "one\ntwo\nthree\nfour\nfive\nsix\n"
TARGETS = (("--agent", "codex"), ("--turn", "last"), ("--since", "last-turn"), ("--all", "--since", "last-turn"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    git(made, "init", "-q")
    for name in ("a.txt", "b.txt", "c.txt"):
        (made / name).write_text(OLD)
    git(made, "add", ".")
    git(made, "commit", "-qm", "first")
    return made


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=folder, check=True)


class Agent:
    """An agent of a project, in one turn."""

    def __init__(self, client: FileOpsClient, folder: Path) -> None:
        self.client, self._folder = client, folder

    async def edits(self, name: str, old: str, new: str) -> None:
        path = self._folder / name
        await self.client.read(path)
        assert (await self.client.edit(path, old, new)).ok

    async def removes(self, name: str) -> None:
        command_id = await self.client.begin_command("rm")
        (self._folder / name).unlink()
        await self.client.end_command(command_id)

    async def renames(self, old: str, new: str) -> None:
        command_id = await self.client.begin_command("mv")
        (self._folder / old).rename(self._folder / new)
        await self.client.end_command(command_id)


@pytest.fixture
async def agent(shared: Place, folder: Path) -> Any:
    async with FileOpsClient.attach(root=folder, host="codex") as client:
        async with asyncio.timeout(PATIENCE_S):
            while not any(known.state != "starting" for known in await client.record_status()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await client.begin_turn(title="change it")
        yield Agent(client, folder)


async def run(shared: Place, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return await asyncio.to_thread(shared.run, *arguments, cwd=folder)


async def undo(shared: Place, folder: Path, *arguments: str) -> tuple[int, str]:
    """The status, and what it says."""
    done = await run(shared, folder, "undo", *arguments)
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
async def test_undo_leaves_what_is_kept_or_committed_and_says_so(
    shared: Place, folder: Path, agent: Agent, target: tuple[str, ...]
) -> None:
    await agent.edits("a.txt", "two", "2")
    git(folder, "commit", "-qam", "second")
    await agent.edits("b.txt", "two", "2")
    assert (await run(shared, folder, "keep", "b.txt")).returncode == 0
    await agent.edits("c.txt", "two", "2")
    said = "  Left out: 2 edits in 2 files, kept, committed or overwritten. --kept undoes them, too."
    status, preview = await undo(shared, folder, *target, "--dry-run")
    assert (status, preview.splitlines()[:3]) == (
        0, ["1 change in 1 file would be undone.", "  c.txt  +1 -1", said]
    )  # fmt: skip
    details = json.loads((await run(shared, folder, "undo", *target, "--dry-run", "--json")).stdout)
    assert (details["n_undone"], details["n_decided"], details["n_decided_files"]) == (1, 2, 2)
    status, done = await undo(shared, folder, *target, "--yes")
    assert (status, said in done.splitlines()) == (0, True)
    changed = OLD.replace("two", "2")
    assert contents(folder) == {"a.txt": changed, "b.txt": changed, "c.txt": OLD}
    status, nothing = await undo(shared, folder, *target, "--yes")
    assert (status, "2 edits in 2 files" in nothing, "--kept" in nothing) == (1, True, True)
    status, done = await undo(shared, folder, *target, "--kept", "--yes")
    assert (status, done.splitlines()[0]) == (0, "2 changes in 2 files were undone.")
    assert set(contents(folder).values()) == {OLD}


async def test_undo_of_new_edits_keeps_the_committed_text_below_them(shared: Place, folder: Path, agent: Agent) -> None:
    """One line was changed before the commit and again after it, and a new file was changed after its commit."""
    await agent.edits("a.txt", "two", "2")
    assert (await agent.client.write(folder / "new.txt", "made\n")).ok
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "second")
    committed = contents(folder)
    await agent.edits("a.txt", "2", "zwei")
    await agent.edits("new.txt", "made", "remade")
    status, done = await undo(shared, folder, "--agent", "codex", "--yes")
    assert (status, contents(folder)) == (0, committed), done


@pytest.mark.parametrize("target", [("--all",), ("a.txt", "--path", "new.txt")], ids=" ".join)
async def test_undo_of_files_keeps_the_committed_text_below_new_edits(
    shared: Place, folder: Path, agent: Agent, target: tuple[str, ...]
) -> None:
    await agent.edits("a.txt", "two", "2")
    assert (await agent.client.write(folder / "new.txt", "made\n")).ok
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "second")
    committed = contents(folder)
    await agent.edits("a.txt", "2", "zwei")
    await agent.edits("new.txt", "made", "remade")
    listed = (await run(shared, folder, "changes")).stdout.decode().splitlines()
    assert listed[1:3] == ["  M a.txt  +1 -1", "  M new.txt  +1 -1"]
    status, done = await undo(shared, folder, *target, "--yes")
    assert (status, contents(folder)) == (0, committed), done
    git(folder, "reset", "-q", "--soft", "HEAD~1")
    git(folder, "reset", "-q")
    listed = (await run(shared, folder, "changes")).stdout.decode().splitlines()
    assert listed[1:3] == ["  M a.txt  +1 -1", "  A new.txt  +1 -0"]


async def test_undo_of_an_edit_of_two_places_leaves_the_kept_one(shared: Place, folder: Path, agent: Agent) -> None:
    path = folder / "a.txt"
    await agent.client.read(path)
    assert (await agent.client.multi_edit(path, [("two", "2"), ("five", "5")])).ok
    unkept = json.loads((await run(shared, folder, "changes", "--json")).stdout)["unkept"]
    first, _ = unkept["files"][0]["changes"]
    async with FileOpsClient.attach(root=folder, host="editor", role="editor") as editor:
        await editor.keep(change_ids=[first["change_id"]])
    status, done = await undo(shared, folder, "--agent", "codex", "--yes")
    assert (status, path.read_text()) == (0, OLD.replace("two", "2")), done
    assert b"all changes by agents are kept or undone" in (await run(shared, folder, "changes")).stdout


@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
async def test_undo_counts_as_the_list_does(shared: Place, folder: Path, agent: Agent, target: tuple[str, ...]) -> None:
    """R-UI-13, R-KEEP-3: a rename with an edit is one change, and so are two edits of the same words."""
    await agent.renames("a.txt", "d.txt")
    await agent.edits("d.txt", "two", "2")
    await agent.edits("b.txt", "two", "2")
    await agent.edits("b.txt", "2", "zwei")
    listed = (await run(shared, folder, "changes")).stdout.decode().splitlines()[-3]
    assert "2 changes in 2 files" in listed
    status, said = await undo(shared, folder, *target, "--dry-run")
    assert (status, said.splitlines()[0]) == (0, "2 changes in 2 files would be undone.")
    status, said = await undo(shared, folder, *target, "--path", "b.txt", "--yes")
    assert (status, said.splitlines()[0]) == (0, "1 change in 1 file was undone.")
    status, said = await undo(shared, folder, *target, "--yes")
    assert (status, said.splitlines()[0]) == (0, "1 change in 1 file was undone.")
    assert contents(folder) == {"a.txt": OLD, "b.txt": OLD, "c.txt": OLD}


async def test_undo_of_a_committed_rename_takes_the_later_edit_alone(shared: Place, folder: Path, agent: Agent) -> None:
    await agent.renames("a.txt", "d.txt")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "second")
    committed = contents(folder)
    await agent.edits("d.txt", "two", "2")
    status, done = await undo(shared, folder, "--agent", "codex", "--yes")
    assert (status, contents(folder)) == (0, committed), done


async def test_undo_takes_the_removal_of_a_new_file_that_is_staged(shared: Place, folder: Path, agent: Agent) -> None:
    """HEAD lacks the path, but the person has staged the file, and not its removal."""
    assert (await agent.client.write(folder / "new.txt", "made\n")).ok
    git(folder, "add", ".")
    await agent.removes("new.txt")
    status, done = await undo(shared, folder, "--agent", "codex", "--yes")
    assert (status, contents(folder).get("new.txt")) == (0, "made\n"), done


async def test_undo_takes_what_came_back_after_a_stash(shared: Place, folder: Path, agent: Agent) -> None:
    """HEAD has what the stash restored, but the agent's text is there again, and is not committed."""
    await agent.edits("a.txt", "two", "2")
    git(folder, "stash", "-q")
    git(folder, "stash", "pop", "-q")
    await agent.edits("a.txt", "five", "5")
    status, done = await undo(shared, folder, "--agent", "codex", "--yes")
    assert (status, contents(folder)["a.txt"]) == (0, OLD), done


async def test_undo_takes_what_a_person_brought_back_from_before_the_commit(
    shared: Place, folder: Path, agent: Agent
) -> None:
    """The agent had replaced its first text before the commit, so HEAD lacks it."""
    await agent.edits("a.txt", "two", "2")
    earlier = (folder / "a.txt").read_text()
    await agent.edits("a.txt", "2", "zwei")
    git(folder, "commit", "-qam", "second")
    (folder / "a.txt").write_text(earlier)
    status, done = await undo(shared, folder, "--agent", "codex", "--yes")
    assert (status, contents(folder)["a.txt"]) == (0, OLD), done
