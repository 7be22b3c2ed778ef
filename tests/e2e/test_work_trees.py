"""A list, an undo and a keep are about the work tree of git that contains the folder; another only if it is named."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fileops_client import FileOpsClient
from support.daemon_process import Place, place_of_test
from support.patience import PATIENCE_S


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A checkout with a linked work tree in it."""
    made = tmp_path / "main"
    made.mkdir()
    git(made, "init", "-q")
    (made / "a.txt").write_text("one\n")
    git(made, "add", "a.txt")
    git(made, "commit", "-qm", "a")
    git(made, "worktree", "add", "-q", "tree")
    return made


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=u", "-c", "user.email=u@x")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


async def run(shared: Place, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return await asyncio.to_thread(shared.run, *arguments, cwd=folder)


async def unkept(shared: Place, folder: Path) -> list[str]:
    answer = json.loads((await run(shared, folder, "changes", "--json")).stdout)
    return [file["file_path"] for file in answer["unkept"]["files"]]


async def recorded(client: FileOpsClient, folder: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not any(  # noqa: ASYNC110
            known.root == folder and known.state != "starting" for known in await client.record_status()
        ):
            await asyncio.sleep(0.01)


async def edited(folder: Path) -> None:
    async with FileOpsClient.attach(root=folder, host="codex", session=folder.name) as agent:
        await recorded(agent, str(folder))
        await agent.read(folder / "a.txt")
        assert (await agent.edit(folder / "a.txt", "one", "by agent")).ok


@pytest.mark.parametrize("is_main_first", [True, False])
async def test_all_of_a_checkout_and_of_a_work_tree_in_it_are_apart(
    shared: Place, main: Path, is_main_first: bool
) -> None:
    shared.start()
    tree = main / "tree"
    for folder in (main, tree) if is_main_first else (tree, main):
        await edited(folder)
    for folder in (main, tree):
        log = json.loads((await run(shared, folder, "log", "--json")).stdout)
        assert [entry["path"] for entry in log["entries"]] == [str(folder / "a.txt")]
        assert await unkept(shared, folder) == [str(folder / "a.txt")]
    done = await run(shared, main, "undo", "--all", "--yes")
    assert (done.returncode, (main / "a.txt").read_text(), (tree / "a.txt").read_text()) == (0, "one\n", "by agent\n")
    done = await run(shared, main, "redo", "--yes")
    assert (done.returncode, (main / "a.txt").read_text()) == (0, "by agent\n")
    done = await run(shared, tree, "keep", "--all")
    assert done.returncode == 0
    assert await unkept(shared, main) == [str(main / "a.txt")]
    done = await run(shared, main, "log", "tree/a.txt")  # named
    assert b"a.txt" in done.stdout
