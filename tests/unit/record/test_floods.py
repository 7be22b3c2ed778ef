"""A command that writes thousands of files is the author of all of them, and where events were lost, one of several."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fileops.model.record import LogQuery
from fileops.record import folder_upkeep, recorder
from support.abilities import needs_inotify
from support.patience import PATIENCE_S, wait_until
from support.recorded_folder import RecordedFolder, author_of, recorded_folder

pytestmark = needs_inotify
N_FOLDERS, N_FILES = 20, 100  # of each


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[RecordedFolder]:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "first.txt").write_text("mine\n")
    async with recorded_folder(tmp_path / "p") as recorded:
        yield recorded


def flood(it: RecordedFolder, *, loses_at: int | None = None) -> None:
    assert it.stream is not None
    for number in range(N_FOLDERS):
        it.stream.is_losing = number == loses_at
        folder = it.folder / f"made{number}"
        folder.mkdir()
        for name in range(N_FILES):
            (folder / f"{name}.txt").write_text(f"{number} {name}\n")
    it.stream.is_losing = False


async def authors(it: RecordedFolder) -> Counter[str]:
    def entries() -> int:
        it.recorder.settle()
        return len(it.recorder.store.entries(LogQuery())[0])

    await asyncio.to_thread(wait_until, lambda: entries() == N_FOLDERS * N_FILES)
    return Counter(author_of(entry) for entry in it.recorder.store.entries(LogQuery())[0])


async def test_files_that_a_command_made_are_all_its_own(it: RecordedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the recorder takes to read them; beyond a bound the end of a command does not wait for that."""
    monkeypatch.setattr(recorder, "_BUSY_WITHIN_S", PATIENCE_S)
    async with it.command():
        await asyncio.to_thread(flood, it)
    assert await authors(it) == {"agent": N_FOLDERS * N_FILES}


async def test_files_of_a_command_whose_events_were_lost_are_never_called_anothers(it: RecordedFolder) -> None:
    async with it.command():
        await asyncio.to_thread(flood, it, loses_at=N_FOLDERS // 2)
    found = await authors(it)
    assert set(found) <= {"agent", "agent or outside"}, found


async def test_record_is_whole_only_when_changes_whose_events_were_lost_are_found(
    it: RecordedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo waits for that, however long the comparison of all files takes: else it would leave the rest unsaid."""
    monkeypatch.setattr(folder_upkeep, "_COMPARED_WITHIN_S", 0.0)
    assert it.stream is not None
    it.stream.is_late = True
    for name in range(N_FILES):
        (it.folder / f"{name}.txt").write_text(f"{name}\n")
    it.stream.is_late, it.stream.is_losing = False, True
    assert await asyncio.to_thread(it.recorder.settle)
    assert len(it.recorder.store.entries(LogQuery())[0]) == N_FILES
