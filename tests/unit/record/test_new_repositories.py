"""A recorded folder, or one in it, becomes a repository while it is recorded, or is made again (R-REC-1, R-REC-3)."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.abilities import needs_inotify
from support.patience import wait_until
from support.recorded_folder import RecordedFolder, recorded_folder

pytestmark = needs_inotify


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[RecordedFolder]:
    for name in ("p/a.txt", "p/build/old.txt", "p/inner/b.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")
    async with recorded_folder(tmp_path / "p") as recorded:
        yield recorded


def init(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


async def until(holds: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, holds)


def n_files(it: RecordedFolder) -> dict[str, int]:
    return {Path(folder.root).name: folder.n_files for folder in it.recorder.status() if folder.state != "starting"}


async def test_folder_that_becomes_a_repository_is_recorded_as_one(it: RecordedFolder) -> None:
    """Its rules are those of git then: `build` is ignored outside of it only. What was there is not new."""
    (it.folder / "a.txt").write_text("before\n")
    init(it.folder)
    await until(lambda: n_files(it) == {"p": 3})
    (it.folder / "a.txt").write_text("after\n")
    (it.folder / "build" / "new.txt").write_text("new\n")
    await until(lambda: n_files(it) == {"p": 4})
    entries = await it.entries()
    assert {Path(entry.path).name for entry in entries} == {"a.txt", "new.txt"}
    assert {entry.gap for entry in entries} == {None}
    newest = next(entry for entry in reversed(entries) if entry.path.endswith("a.txt"))
    assert it.recorder.store.contents(newest).after == b"after\n"


async def test_folder_in_it_that_becomes_a_repository_is_recorded_for_itself(it: RecordedFolder) -> None:
    init(it.folder / "inner")
    await until(lambda: n_files(it).get("inner") == 1)
    (it.folder / "inner" / "b.txt").write_text("new\n")
    assert [Path(entry.path).name for entry in await it.entries()] == ["b.txt"]


async def test_git_folder_that_stays_empty_makes_no_repository(it: RecordedFolder) -> None:
    """The sandbox of an agent's shell makes one for a moment."""
    (it.folder / "inner" / ".git").mkdir()
    (it.folder / "inner" / "b.txt").write_text("new\n")
    await until(lambda: n_files(it) == {"p": 2})
    assert [Path(entry.path).name for entry in await it.entries()] == ["b.txt"]


async def test_folder_that_is_removed_and_made_again_is_recorded_again(it: RecordedFolder) -> None:
    shutil.rmtree(it.folder)
    await until(lambda: n_files(it) == {"p": 0})
    it.folder.mkdir()
    (it.folder / "a.txt").write_text("again\n")
    await until(lambda: n_files(it) == {"p": 1})
    (it.folder / "a.txt").write_text("and changed\n")
    (it.folder / "c.txt").write_text("new\n")
    await until(lambda: n_files(it) == {"p": 2})
    entries = await it.entries()
    newest = next(entry for entry in reversed(entries) if entry.path.endswith("a.txt"))
    assert it.recorder.store.contents(newest).after == b"and changed\n"
    assert [entry.kind for entry in entries if entry.path.endswith("c.txt")] == ["create"]
