"""What the recorder notes of commits, in its own thread."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from fileops.core.merge.undo import Undone
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.files import CommitReport, Committed, FolderEvent, Snapshot
from fileops.model.record import Known, LogQuery
from fileops.model.settings import Limits
from fileops.record.change_facts import TypedDocument
from fileops.record.command_windows import CommandWindows
from fileops.record.recorder import Recorder
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry
from fileops.service.restoration import plan_restoration
from fileops.watch.factory import FolderStreams
from support.abilities import needs_inotify
from support.commits import commit_of
from support.core_models import missing_snapshot, snapshot_of
from support.patience import wait_until
from support.recorded_folder import LosingStream, recorded_folder

OPEN_STREAM = FolderStreams().events


class NoDocuments:
    def documents_at(self, path: str) -> Sequence[TypedDocument]:
        del path
        return ()


@pytest.mark.parametrize("before", [None, b"old\n"], ids=["creation", "change"])
async def test_commit_that_was_listed_before_it_was_noted_is_the_sessions_alone(
    tmp_path: Path, before: bytes | None
) -> None:
    """The recording of the folder begins between the commit and the note of it."""
    path = os.path.realpath(tmp_path / "a.txt")
    Path(path).write_bytes(b"new\n")
    after: Snapshot = LocalFileSystem().read(path)
    recorder = Recorder(
        lambda: RecordStore(None), CommandWindows(), TurnRegistry(), NoDocuments(), open_stream=FolderStreams().events
    )
    recorder.start()
    recorder.begin_commit(path)
    recorder.record(str(Path(path).parent), "editor")
    wait_until(lambda: [status.state for status in recorder.status()] == ["limited"])
    found = missing_snapshot(path) if before is None else snapshot_of(before, path)
    made = Undone(content=after.data, splices=(), edit_ids=())
    plan = plan_restoration(found, made, file_path=path, limits=Limits()).plan
    committed = Committed(snapshot=after, report=CommitReport(method="swap", durability="synced"))
    recorder.end_commit(commit_of(plan, committed, "e-1", time=time.time()))
    await recorder.drain()
    await recorder.flush()
    entries, _ = recorder.store.entries(LogQuery())
    recorder.close()
    assert [entry.edit_id for entry in entries] == ["e-1"]


def test_folder_without_clients_is_recorded_until_its_time_is_over(
    tmp_path: Path,
) -> None:
    folder = tmp_path.resolve() / "p"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    recorder = Recorder(
        lambda: RecordStore(None),
        CommandWindows(),
        TurnRegistry(),
        NoDocuments(),
        open_stream=FolderStreams().events,
        kept_s=0,
    )
    recorder.start()
    for client in ("first", "second"):
        recorder.record(str(folder), client)
    wait_until(lambda: [status.n_to_copy for status in recorder.status() if status.n_copied] == [0])
    recorder.leave("first")
    assert len(recorder.status()) == 1
    recorder.leave("second")
    wait_until(lambda: recorder.status() == [])
    (folder / "a.txt").write_text("new\n")
    recorder.record(str(folder), "third")
    wait_until(lambda: [entry.gap for entry in recorder.store.entries(LogQuery())[0]] == ["away"])
    recorder.close()


@needs_inotify
async def test_file_that_was_made_in_an_empty_folder_while_nobody_recorded_it_is_new(tmp_path: Path) -> None:
    """The record knows no file of the folder then, and yet it was recorded before."""
    path = tmp_path / "p" / "a.txt"
    path.parent.mkdir()
    path.write_text("old\n")
    async with recorded_folder(path.parent):
        path.unlink()
    path.write_text("new\n")
    async with recorded_folder(path.parent) as it:
        wait_until(lambda: len(it.recorder.store.entries(LogQuery())[0]) == 2)
        removed, made = await it.entries()
    assert [(entry.kind, entry.gap) for entry in (removed, made)] == [("delete", None), ("create", "away")]


@needs_inotify
async def test_file_whose_commit_begins_while_it_is_read_is_read_after_the_commit(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "p" / "a.txt"
    path.parent.mkdir()
    path.write_text("old\n")
    async with recorded_folder(path.parent) as it:
        names = list[str]()

        def begin(events: Sequence[FolderEvent]) -> None:
            if names:  # events are read a second time once the file was read
                it.recorder.begin_commit(str(path))
                assert it.stream is not None
                it.stream.on_read = lambda _events: None
            names.extend(event.name for event in events)

        assert it.stream is not None
        it.stream.on_read = begin
        path.write_text("new\n")
        wait_until(lambda: len(names) > 0)
        assert await it.entries() == []
        it.recorder.cancel_commit(str(path))
        assert [entry.kind for entry in await it.entries()] == ["modify"]


@needs_inotify
def test_folder_is_watched_before_what_is_known_of_its_files_is_stored(tmp_path: Path) -> None:
    """Commands wait for the watches of their folder, for 2 s at most, and storing 50,000 files takes long."""
    folder = tmp_path.resolve() / "p"
    folder.mkdir()
    for number in range(700):
        (folder / f"{number}.txt").write_text("text\n")
    was_watched = list[bool]()

    class NotingStore(RecordStore):
        def set_known(self, root: str, files: Iterable[tuple[str, Known | None]]) -> None:
            was_watched.append(asyncio.run(recorder.until_watched([root])))
            super().set_known(root, files)

    recorder = Recorder(
        lambda: NotingStore(None), CommandWindows(), TurnRegistry(), NoDocuments(), open_stream=FolderStreams().events
    )
    recorder.start()
    recorder.record(str(folder), "editor")
    wait_until(lambda: len(recorder.store.known_files(str(folder))) == 700)
    recorder.close()
    assert was_watched
    assert all(was_watched)


@needs_inotify
def test_file_that_is_written_just_before_it_is_copied_has_an_entry(tmp_path: Path) -> None:
    """Its event is not read yet when the copy is, and the copy's content was not known before."""
    folder = tmp_path.resolve() / "p"
    folder.mkdir()
    path = folder / "file.txt"
    path.write_text("1\n")
    watched = list[str]()

    def open_stream(wake: Callable[[], None]) -> LosingStream:
        stream = LosingStream(FolderStreams().events(wake))
        add = stream.add

        def note(folder: str) -> None:
            add(folder)
            watched.append(folder)

        def write(_events: Sequence[FolderEvent]) -> None:
            if str(path.parent) in watched and path.read_text() == "1\n":
                path.write_text("2\n")

        stream.add, stream.on_read = note, write
        return stream

    recorder = Recorder(
        lambda: RecordStore(None), CommandWindows(), TurnRegistry(), NoDocuments(), open_stream=open_stream
    )
    recorder.start()
    recorder.record(str(folder), "editor")
    wait_until(lambda: path.read_text() == "2\n")
    wait_until(lambda: [status.n_to_copy for status in recorder.status()] == [0])
    recorder.settle()
    assert [entry.path for entry in recorder.store.entries(LogQuery())[0]] == [str(path)]
    recorder.close()
