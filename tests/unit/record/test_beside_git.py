"""Git carries text, it does not write it: real git in a recorded folder, and whose the lines are then."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.record import ByPerson, LogQuery
from fileops.platform.steady_clock import steady_time
from fileops.record.change_facts import TypedDocument
from fileops.service.rewind.blame import blame
from support.abilities import needs_inotify
from support.patience import wait_until
from support.recorded_folder import RecordedFolder, author_of, recorded_folder

BASE = "".join(f"line {n}\n" for n in range(1, 21))
UPSTREAM = BASE.replace("line 18\n", "line 18 of upstream\n")

pytestmark = needs_inotify


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a second branch, "upstream"."""
    path = tmp_path / "p"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    for branch, text in (("main", BASE), ("upstream", UPSTREAM)):
        git(path, "checkout", "-q", "-B", branch)
        (path / "f.txt").write_text(text)
        git(path, "add", ".")
        git(path, "commit", "-q", "-m", branch)
    git(path, "checkout", "-q", "main")
    return path


@pytest.fixture
async def it(folder: Path) -> AsyncIterator[RecordedFolder]:
    async with recorded_folder(folder) as it:
        yield it


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a person", "-c", "user.email=person@example.com")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True)


async def authors(it: RecordedFolder) -> dict[str, str]:
    """Return the authors of the lines that have one, by line."""
    entries = {entry.entry_id: entry for entry in await it.entries()}
    lines = (it.folder / "f.txt").read_text().splitlines()
    found: dict[str, str] = {}
    for part in await asyncio.to_thread(blame, it.recorder.store, LocalFileSystem(), str(it.folder / "f.txt")):
        for line in lines[part.first_line - 1 : part.first_line - 1 + part.n_lines]:
            if part.entry_id is not None:
                found[line] = author_of(entries[part.entry_id])
    return found


async def let_agent_write(it: RecordedFolder) -> None:
    async with it.command():
        text = (it.folder / "f.txt").read_text().replace("line 3\n", "line 3 of the agent\n")
        (it.folder / "f.txt").write_text(text)


@pytest.mark.parametrize("is_by_agent", [False, True])
async def test_lines_that_git_merges_belong_to_nobody_and_the_others_to_their_authors(
    it: RecordedFolder, is_by_agent: bool
) -> None:
    await let_agent_write(it)
    await it.recorder.drain()
    git(it.folder, "commit", "-q", "-am", "of the agent")
    if is_by_agent:
        async with it.command("other"):
            git(it.folder, "merge", "-q", "-m", "merge", "upstream")
    else:
        git(it.folder, "merge", "-q", "-m", "merge", "upstream")
    assert await authors(it) == {"line 3 of the agent": "agent"}
    path = str(it.folder / "f.txt")

    def sizes() -> set[int]:
        merge = it.recorder.store.newest(path)
        return set() if merge is None or not merge.is_beside_git else {n_bytes for _, n_bytes in merge.parents}

    await asyncio.to_thread(wait_until, lambda: len(UPSTREAM.encode()) in sizes())
    assert await authors(it) == {"line 3 of the agent": "agent"}


async def test_what_a_merge_has_merged_is_known_if_a_person_resolves_its_conflict_at_once(it: RecordedFolder) -> None:
    path, person = it.folder / "f.txt", ByPerson(session_id="editor", label="an editor")
    path.write_text(BASE.replace("line 18\n", "line 18 of this branch\n"))
    git(it.folder, "commit", "-q", "-am", "in conflict with upstream")
    await it.recorder.drain()
    with pytest.raises(subprocess.CalledProcessError):
        git(it.folder, "merge", "-q", "upstream")
    assert "<<<<<<<" in path.read_text()
    await it.recorder.drain()
    path.write_text(UPSTREAM)
    await it.recorder.flush()
    it.recorder.note_save(str(path), person, UPSTREAM)
    await asyncio.to_thread(it.recorder.settle)

    def sizes() -> list[set[int]]:
        entries = it.recorder.store.entries(LogQuery(path=str(path)))[0]
        return [{n_bytes for _, n_bytes in entry.parents} for entry in entries if entry.is_carried]

    await asyncio.to_thread(wait_until, lambda: [len(UPSTREAM.encode()) in found for found in sizes()] == [True])


async def test_line_keeps_its_author_through_a_stash_an_older_commit_and_back(it: RecordedFolder) -> None:
    await let_agent_write(it)
    await it.recorder.drain()
    git(it.folder, "stash", "-q")
    await it.recorder.drain()
    git(it.folder, "checkout", "-q", "upstream")
    await it.recorder.drain()
    git(it.folder, "stash", "pop", "-q")
    assert await authors(it) == {"line 3 of the agent": "agent"}


async def test_what_a_command_writes_after_git_is_the_commands(it: RecordedFolder) -> None:
    async with it.command():
        git(it.folder, "checkout", "-q", "upstream")
        await it.recorder.drain()
        (it.folder / "f.txt").write_text(UPSTREAM + "the command's\n")
    assert await authors(it) == {"the command's": "agent"}


async def test_save_that_an_editor_reports_while_git_writes_is_the_persons(it: RecordedFolder) -> None:
    path, person = it.folder / "f.txt", ByPerson(session_id="editor", label="an editor")
    lock = it.folder / ".git" / "index.lock"
    lock.touch()
    document = TypedDocument(person=person, text=BASE + "typed\n", changed=steady_time(), is_typed=True)
    it.documents[str(it.folder / "f.txt")] = document
    path.write_text(BASE + "typed\n")
    await it.recorder.drain()
    it.recorder.note_save(str(path), person, BASE + "typed\n")
    await asyncio.to_thread(it.recorder.settle)
    lock.unlink()
    assert await authors(it) == {"typed": "an editor"}
    assert [entry.is_beside_git for entry in await it.entries()] == [True]
