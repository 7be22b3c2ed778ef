"""Unknown is not a fact: what could not be read, was lost, locked, unwatched or late decides nothing.

R-REC-6, R-BY-1 (row 5), R-BY-6, R-RECP-4.
"""

import asyncio
import os
import resource
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.files import FolderEvent
from fileops.model.internal_errors import WatchError
from fileops.model.record import ByPerson, LogQuery
from fileops.model.sessions import SessionName
from fileops.platform.steady_clock import steady_time
from fileops.record.attribution import SETTLE_S
from fileops.record.change_facts import TypedDocument
from fileops.record.content import Unreadable, read_file
from fileops.record.store import TABLE_KEYS, RecordStore
from support.abilities import needs_inotify
from support.clock import Clock
from support.patience import wait_until
from support.recorded_folder import LosingStream, RecordedFolder, author_of, end_commit, locked, recorded_folder

NAMES = tuple(f"{n}.txt" for n in range(20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "p"
    path.mkdir()
    for name in NAMES:
        (path / name).write_text("mine\n")
    return path


@pytest.fixture
async def it(folder: Path) -> AsyncIterator[RecordedFolder]:
    async with recorded_folder(folder) as it:
        yield it


@contextmanager
def no_descriptors() -> Generator[None]:
    """This process can open no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def make_repository(folder: Path) -> None:
    for words in (("init", "-q"), ("add", ".")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_file_that_cannot_be_opened_is_not_missing(folder: Path) -> None:
    with no_descriptors(), pytest.raises(Unreadable):
        read_file(str(folder / "1.txt"), str(folder))
    assert read_file(str(folder / "missing.txt"), str(folder)) is None


@needs_inotify
async def test_folder_that_cannot_be_read_for_a_while_is_neither_deleted_nor_created(it: RecordedFolder) -> None:
    file = (it.folder / "1.txt").open("a")
    with no_descriptors():
        print("more", file=file, flush=True)
        await it.recorder.drain(it.recorder.scan)
        await asyncio.to_thread(wait_until, lambda: it.reasons() == ["unread"])
        for name in NAMES[2:]:
            os.utime(it.folder / name)
        await it.recorder.drain(it.recorder.scan)
    file.close()
    async with it.command():
        pass
    await asyncio.to_thread(wait_until, lambda: it.reasons() == [None])
    assert [(entry.kind, Path(entry.path).name) for entry in await it.entries()] == [("modify", "1.txt")]


@needs_inotify
async def test_what_changed_while_it_could_not_be_read_is_no_later_commands(it: RecordedFolder) -> None:
    file = (it.folder / "1.txt").open("a")
    with no_descriptors():
        print("a person's", file=file, flush=True)
        await it.recorder.drain()
        async with it.command():
            await it.recorder.drain()
    file.close()
    await asyncio.to_thread(wait_until, lambda: it.reasons() == [None])
    assert await it.authors() == {"1.txt": "agent or outside"}


@needs_inotify
async def test_what_could_not_be_read_and_was_renamed_may_be_the_commands(it: RecordedFolder) -> None:
    """R-BY-6: under the second name it is new, but it was written under the first one."""
    with no_descriptors():
        async with it.command():
            (it.folder / "3.txt").replace(it.folder / "2.txt")
            await it.recorder.drain()
        (it.folder / "2.txt").rename(it.folder / "newer.txt")
    assert (await it.authors())["newer.txt"] == "agent or outside"


@needs_inotify
async def test_folder_that_could_not_be_listed_at_the_start_has_created_nothing(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "deep.txt").write_text("mine\n")
    it = RecordedFolder(folder)
    assert await it.recorder.wait_until_open() is not None
    await asyncio.to_thread(int)  # what a first thread imports needs descriptors
    with no_descriptors():
        await asyncio.to_thread(it.recorder.record, str(folder), "editor")
        assert await it.recorder.until_watched([str(folder)])
    async with it.command():
        pass
    await asyncio.to_thread(wait_until, lambda: [status.n_files for status in it.recorder.status()] == [21])
    await asyncio.to_thread(wait_until, lambda: it.reasons() == [None])
    assert await it.entries() == []
    await asyncio.to_thread(it.recorder.close)


async def make_in_unlisted_folder(it: RecordedFolder) -> Path:
    """A command called "first" makes a file in a new folder, which cannot be listed before it ends."""
    made = it.folder.parent / "made"
    made.write_text("the first one's\n")
    path = it.folder / "new" / "f.txt"
    async with it.command("first"):
        with no_descriptors():
            path.parent.mkdir()
            made.rename(path)
            await it.recorder.drain()
    return path


@needs_inotify
async def test_file_in_a_new_folder_that_could_not_be_listed_may_be_of_any_command_since(it: RecordedFolder) -> None:
    path = await make_in_unlisted_folder(it)
    async with it.command("second"):
        it.recorder.begin_commit(str(path))
        end_commit(it.recorder, str(path), "the first one's\nedited\n")
        await it.recorder.flush()
    found, edited = await it.entries()
    assert (found.kind, edited.edit_id) == ("create", "e-1")
    assert "first" in author_of(found).split(" or ")  # and the second one, unless it was listed again before that began


@needs_inotify
async def test_file_in_a_folder_that_could_not_be_listed_before_a_loss_may_be_of_any_command_since(
    it: RecordedFolder,
) -> None:
    """The comparison after the loss lists the folder; the file was made long before the loss."""
    await make_in_unlisted_folder(it)
    async with it.command("second"):
        stream = losing(it)
        (it.folder / "1.txt").write_text("the second one's\n")
        await it.recorder.drain()
        stream.is_losing = False
    assert "first" in (await it.authors())["f.txt"].split(" or ")


@needs_inotify
async def test_folder_that_could_not_be_listed_and_is_gone_is_no_gap(it: RecordedFolder) -> None:
    with no_descriptors():
        (it.folder / "new").mkdir()
        await it.recorder.drain()
        assert it.reasons() == ["unread"]
        (it.folder / "new").rmdir()
        await it.recorder.drain()
    await it.recorder.drain(it.recorder.scan)
    await asyncio.to_thread(wait_until, lambda: it.reasons() == [None])


@needs_inotify
async def test_file_of_a_folder_that_cannot_be_watched_is_of_no_command_for_certain(folder: Path) -> None:
    """The kernel allows no more watches. The folder is compared once a minute, of which the command was only a part."""
    (folder / "inner").mkdir()
    it = RecordedFolder(folder)
    await asyncio.to_thread(wait_until, lambda: it.stream is not None)
    assert it.stream is not None
    add = it.stream.add

    def add_some(folder: str) -> None:
        if folder.endswith("inner"):
            raise WatchError(folder=folder, reason="no more watches", is_full=True)
        add(folder)

    it.stream.add = add_some
    await it.begin()
    (folder / "inner" / "mine.txt").write_text("before the command\n")
    async with it.command():
        (folder / "inner" / "its.txt").write_text("the command's\n")
        (folder / "1.txt").write_text("the command's\n")
    await it.recorder.drain(it.recorder.scan)
    assert it.reasons() == ["watches"]
    authors = await it.authors()
    assert authors.pop("mine.txt") in {"outside", "agent or outside"}
    assert authors == {"its.txt": "agent or outside", "1.txt": "agent"}
    await asyncio.to_thread(it.recorder.close)


# --- lost events --------------------------------------------------------------------------------------------------


def losing(it: RecordedFolder) -> LosingStream:
    assert it.stream is not None
    it.stream.is_losing = True
    return it.stream


@needs_inotify
async def test_what_was_written_is_recorded_before_the_log_is_read_although_its_events_were_lost(
    it: RecordedFolder,
) -> None:
    losing(it)
    (it.folder / "1.txt").write_text("a person's\n")
    assert await it.authors() == {"1.txt": "outside"}


@needs_inotify
async def test_after_a_loss_before_a_command_nothing_is_that_commands(it: RecordedFolder) -> None:
    stream = losing(it)
    (it.folder / "1.txt").write_text("a person's\n")
    await it.recorder.drain()
    stream.is_losing = False
    async with it.command():
        (it.folder / "2.txt").write_text("the command's\n")
    assert await it.authors() == {"1.txt": "outside", "2.txt": "agent"}


@needs_inotify
async def test_after_a_loss_around_an_edge_of_a_command_both_sides_are_unsure(it: RecordedFolder) -> None:
    """The recorder reads nothing between the edge and the write after it, as if it waited for a disk."""
    stream = losing(it)

    def begin_and_write(events: Sequence[FolderEvent]) -> None:
        if any(event.name == "0.txt" for event in events):
            stream.on_read = lambda _events: None
            it.recorder.windows.begin(SessionName("agent:1"), "agent", [str(it.folder)])
            (it.folder / "1.txt").write_text("anyone's\n")

    stream.on_read = begin_and_write
    (it.folder / "0.txt").write_text("before\n")
    await it.recorder.drain()
    stream.is_losing = False
    await it.recorder.drain()
    assert set((await it.authors()).values()) <= {"agent or outside", "outside"}
    assert (await it.authors())["1.txt"] == "agent or outside"


@needs_inotify
async def test_what_was_lost_while_one_command_was_open_is_that_commands(it: RecordedFolder) -> None:
    async with it.command():
        stream = losing(it)
        (it.folder / "1.txt").write_text("the command's\n")
        (it.folder / "new.txt").write_text("the command's\n")
        await it.recorder.drain()
        stream.is_losing = False
    assert await it.authors() == {"1.txt": "agent", "new.txt": "agent"}


@needs_inotify
async def test_save_over_a_commands_write_is_unsure_if_its_events_were_lost(it: RecordedFolder) -> None:
    """The command's write was counted, but its file could not be read before the save."""
    path, text = it.folder / "1.txt", "mine\nthe command's\ntyped\n"
    person = ByPerson(session_id="editor", label="an editor")
    made = it.folder.parent / "made"
    made.write_text("mine\nthe command's\n")
    with no_descriptors():
        async with it.command():
            made.rename(path)
            await it.recorder.drain()
    stream = losing(it)
    it.documents[str(path)] = TypedDocument(person=person, text=text, changed=steady_time(), is_typed=True)
    path.write_text(text)
    it.recorder.note_save(str(path), person, text)
    await asyncio.to_thread(it.recorder.settle)
    stream.is_losing = False
    assert (await it.authors())["1.txt"] == "agent or an editor"


@needs_inotify
async def test_save_that_leaves_a_commands_text_as_it_is_is_no_proof_who_wrote_it(it: RecordedFolder) -> None:
    """The save wrote the file again, so it explains that write, or the command's."""
    path, text = it.folder / "1.txt", "the command's\n"
    async with it.command():
        path.write_text(text)
    path.write_text(text)
    it.recorder.note_save(str(path), ByPerson(session_id="editor", label="an editor"), text)
    await asyncio.to_thread(it.recorder.settle)
    assert (await it.authors())["1.txt"] == "agent or an editor"


@needs_inotify
async def test_save_whose_events_were_lost_during_the_look_at_a_commands_write_is_unsure(it: RecordedFolder) -> None:
    path, text = it.folder / "1.txt", "mine\nthe command's\ntyped\n"
    person = ByPerson(session_id="editor", label="an editor")
    stream = it.stream
    assert stream is not None

    def save(events: Sequence[FolderEvent]) -> None:
        if not stream.is_losing and any(event.name == path.name for event in events):
            path.write_text(text)
            it.recorder.note_save(str(path), person, text)
            stream.is_losing = True

    async with it.command():
        stream.on_read = save
        made = it.folder.parent / "made"
        made.write_text("mine\nthe command's\n")
        made.rename(path)
        await it.recorder.flush()
    await asyncio.to_thread(it.recorder.settle)
    assert (await it.authors())["1.txt"] == "agent or an editor"


@needs_inotify
async def test_event_that_is_read_late_is_unsure(it: RecordedFolder) -> None:
    """The recorder was busy: the command began and ended before it read what was written in between."""
    it.recorder.begin_commit(str(it.folder / "1.txt"))  # the file is not looked at until its commit has ended
    (it.folder / "1.txt").write_text("anyone's\n")
    async with it.command():
        await it.recorder.drain()
        it.recorder.cancel_commit(str(it.folder / "1.txt"))
    assert await it.authors() == {"1.txt": "agent or outside"}


@needs_inotify
async def test_save_during_a_command_that_an_edit_overtakes_is_no_commands(it: RecordedFolder) -> None:
    """The edit is committed before the event of the save is read, and the editor reports the save after that."""
    path = str(it.folder / "1.txt")
    person = ByPerson(session_id="editor", label="an editor")
    async with it.command():
        it.recorder.begin_commit(path)
        Path(path).write_text("mine\ntyped\n")
        it.documents[path] = TypedDocument(person=person, text="mine\ntyped\n", changed=steady_time(), is_typed=True)
        end_commit(it.recorder, path, "mine\ntyped\nedited\n")
        await it.recorder.flush()
        it.recorder.note_save(path, person, "mine\ntyped\n")
        await asyncio.to_thread(it.recorder.settle)
    typed, edited = await it.entries()
    assert (author_of(typed), edited.edit_id) == ("an editor", "e-1")


@needs_inotify
async def test_save_explains_no_second_change_after_it(it: RecordedFolder) -> None:
    """A person saves, a tool edits, and another program appends at once: nobody has removed a line."""
    path = str(it.folder / "1.txt")
    person = ByPerson(session_id="editor", label="an editor")
    it.documents[path] = TypedDocument(person=person, text="mine\ntyped\n", changed=steady_time(), is_typed=False)
    it.recorder.begin_commit(path)
    Path(path).write_text("mine\ntyped\n")
    end_commit(it.recorder, path, "mine\ntyped\nedited\n")
    for text in ("mine\ntyped\nedited\nappended\n", "mine\ntyped\nedited\nappended\ntwice\n"):
        Path(path).write_text(text)
    await it.recorder.flush()
    it.recorder.note_save(path, person, "mine\ntyped\n")
    await asyncio.to_thread(it.recorder.settle)
    assert [entry.removed for entry in await it.entries()] == [0, 0, 0]


@needs_inotify
@pytest.mark.parametrize("is_reported_early", [False, True])
async def test_save_explains_the_newest_change_to_its_text_alone(it: RecordedFolder, is_reported_early: bool) -> None:
    """A command writes a text, a merge another one, and a person who resolves it saves the command's again."""
    path = it.folder / "1.txt"
    person, text = ByPerson(session_id="editor", label="an editor"), "mine\nthe command's\n"
    async with it.command():
        path.write_text(text)
    await it.recorder.drain()
    path.write_text(f"<<<<<<<\n{text}=======\n>>>>>>>\n")
    await it.recorder.drain()
    it.documents[str(path)] = TypedDocument(person=person, text="mine\n", changed=steady_time(), is_typed=True)
    if is_reported_early:  # before the event is read
        it.recorder.note_save(str(path), person, text)
    path.write_text(text)
    if not is_reported_early:
        await it.recorder.drain()
        it.recorder.note_save(str(path), person, text)
    await it.recorder.drain()
    await asyncio.to_thread(it.recorder.settle)
    by_command, *_, resolved = await it.entries()
    assert author_of(by_command) in {"agent", "agent or an editor"}  # certain if the save was reported over 1 s later
    assert author_of(resolved) == "an editor"


@needs_inotify
async def test_save_explains_its_change_also_if_the_text_returns_at_once(it: RecordedFolder) -> None:
    """A person saves, a rebase makes a conflict of it, and is given up, all within a second."""
    path = it.folder / "1.txt"
    person, text = ByPerson(session_id="editor", label="an editor"), "mine\ntyped\n"
    it.documents[str(path)] = TypedDocument(person=person, text=text, changed=steady_time(), is_typed=False)
    path.write_text(text)
    it.recorder.note_save(str(path), person, text)
    await it.recorder.drain()
    for other in (f"<<<<<<<\n{text}=======\n>>>>>>>\n", text):
        path.write_text(other)
        await it.recorder.drain()
    await asyncio.to_thread(it.recorder.settle)
    assert author_of((await it.entries())[0]) == "an editor"


@needs_inotify
async def test_save_over_a_commands_write_that_an_edit_overtakes_is_unsure(it: RecordedFolder) -> None:
    """How many writes there were is not known, because none of their events is there when the edit is committed."""
    path = it.folder / "1.txt"
    person, text = ByPerson(session_id="editor", label="an editor"), "mine\nthe command's\ntyped\n"
    assert it.stream is not None
    async with it.command():
        it.stream.is_late = True
        it.recorder.begin_commit(str(path))
        made = it.folder.parent / "made"
        made.write_text("mine\nthe command's\n")
        made.rename(path)
        path.write_text(text)
        it.documents[str(path)] = TypedDocument(person=person, text=text, changed=steady_time() - 60.0, is_typed=True)
        end_commit(it.recorder, str(path), f"{text}edited\n")
        await it.recorder.flush()
        it.stream.is_late = False
        await asyncio.to_thread(it.recorder.settle)
    typed, edited = await it.entries()
    assert (author_of(typed), edited.edit_id) == ("agent or an editor", "e-1")


@needs_inotify
async def test_save_between_the_event_of_a_command_and_the_look_at_its_file_is_unsure(it: RecordedFolder) -> None:
    """What was read has the writes of both, and the event of the second one is still to be read."""
    path = it.folder / "1.txt"
    person = ByPerson(session_id="editor", label="an editor")

    def save(events: Sequence[FolderEvent]) -> None:
        if str(path) in it.documents or not any(event.name == path.name for event in events):
            return
        text = "mine\nthe command's\ntyped\n"
        it.documents[str(path)] = TypedDocument(person=person, text=text, changed=steady_time(), is_typed=True)
        path.write_text(text)

    assert it.stream is not None
    async with it.command():
        it.stream.on_read = save
        made = it.folder.parent / "made"
        made.write_text("mine\nthe command's\n")
        made.rename(path)
        await it.recorder.flush()
        it.recorder.note_save(str(path), person, "mine\nthe command's\ntyped\n")
        await asyncio.to_thread(it.recorder.settle)
    assert (await it.authors())["1.txt"] == "agent or an editor"


@needs_inotify
async def test_lock_of_git_whose_end_was_lost_makes_later_changes_no_less_certain(folder: Path) -> None:
    """R-BY-5: events were lost while git wrote."""
    make_repository(folder)
    lock = folder / ".git" / "index.lock"
    async with recorded_folder(folder) as it:
        assert it.stream is not None
        lock.touch()
        await it.recorder.drain()
        it.stream.is_losing = True
        lock.unlink()
        await it.recorder.drain()
        it.stream.is_losing = False
        await it.recorder.drain(roots=[str(it.folder)])
        async with it.command():
            (it.folder / "1.txt").write_text("the command's\n")
        assert await it.authors() == {"1.txt": "agent"}


@needs_inotify
async def test_save_that_is_reported_long_before_its_event_is_noticed_is_the_persons(folder: Path) -> None:
    """The thread may be busy, while a command runs, the editor saves, and its report arrives."""
    late_s = 0.0
    async with recorded_folder(folder, now=lambda: steady_time() + late_s) as it:
        path, person = it.folder / "1.txt", ByPerson(session_id="editor", label="an editor")

        def notice_late(events: Sequence[FolderEvent]) -> None:
            nonlocal late_s
            if late_s == 0.0 and any(event.name == path.name for event in events):
                it.recorder.note_save(str(path), person, "mine\ntyped\n")
                late_s = 5.0

        assert it.stream is not None
        async with it.command():
            it.stream.on_read = notice_late
            made = it.folder.parent / "made"
            made.write_text("mine\ntyped\n")
            made.rename(path)
            await it.recorder.flush()
            await asyncio.to_thread(it.recorder.settle)
        assert await it.authors() == {"1.txt": "an editor"}


# --- clocks and locks ---------------------------------------------------------------------------------------------


@needs_inotify
@pytest.mark.parametrize("step_s", [-3.0, -30.0, -3600.0, 30.0])
async def test_clock_that_is_set_moves_no_change_into_or_out_of_a_command(folder: Path, step_s: float) -> None:
    clock = Clock()
    async with recorded_folder(folder, wall=clock) as it:
        (it.folder / "1.txt").write_text("a person's\n")
        clock.now += step_s
        async with it.command():
            clock.now += step_s
            (it.folder / "2.txt").write_text("the command's\n")
            clock.now += step_s
        (it.folder / "3.txt").write_text("a person's\n")
        assert await it.authors() == {"1.txt": "outside", "2.txt": "agent", "3.txt": "outside"}


@needs_inotify
async def test_lock_of_the_database_keeps_the_edges_of_commands_exact(folder: Path) -> None:
    async with recorded_folder(folder) as it:
        with closing(locked(it.database)):
            (it.folder / "1.txt").write_text("a person's\n")
            async with it.command():
                (it.folder / "2.txt").write_text("the command's\n")
            (it.folder / "3.txt").write_text("a person's\n")
            await it.recorder.drain()
            await asyncio.to_thread(wait_until, lambda: it.reasons() == ["store"])
        await asyncio.to_thread(wait_until, lambda: it.reasons() == [None])
        assert await it.authors() == {"1.txt": "outside", "2.txt": "agent", "3.txt": "outside"}
        assert not it.recorder.store.is_in_memory
        assert it.sentences == []


@needs_inotify
async def test_save_that_is_reported_while_the_database_is_locked_is_the_persons(folder: Path) -> None:
    """R-BY-1: the change was written before the lock; its author must not count as certain before the report does."""
    person = ByPerson(session_id="editor", label="person")
    async with recorded_folder(folder) as it:
        path = it.folder / "1.txt"
        async with it.command():
            path.write_text("saved\n")
            (written,) = await it.entries()
            with closing(locked(it.database)):
                it.recorder.note_save(str(path), person, "saved\n")
                await asyncio.sleep(SETTLE_S + 0.2)
        assert (author_of(written), await it.authors()) == ("agent", {"1.txt": "person"})
        assert not it.recorder.store.is_in_memory


@needs_inotify
async def test_record_in_memory_returns_to_its_file_with_everything(folder: Path) -> None:
    async with recorded_folder(folder) as it:
        (it.folder / "0.txt").write_text("on the disk\n")
        (earlier,) = await it.entries()
        with closing(locked(it.database)):
            (it.folder / "1.txt").write_text("in memory\n")
            await asyncio.to_thread(wait_until, lambda: it.recorder.store.is_in_memory)
            async with it.command():
                (it.folder / "1.txt").write_text("in memory, again\n")
                (it.folder / "2.txt").unlink()
            it.recorder.store.replace(replace(earlier, kept=False))
            assert it.reasons() == ["store"]
        found = await it.entries()
        await asyncio.to_thread(wait_until, lambda: not it.recorder.store.is_in_memory)
        assert await it.entries() == found
        assert (it.reasons(), len(it.sentences)) == ([None], 2)
        (it.folder / "3.txt").write_text("on the disk\n")
        await it.entries()
    store = RecordStore(str(it.database))
    on_disk = store.entries(LogQuery())[0][::-1]
    assert [Path(entry.path).name for entry in on_disk] == ["0.txt", "1.txt", "1.txt", "2.txt", "3.txt"]
    assert on_disk[:-1] == found
    assert not on_disk[0].kept
    texts = [store.contents(entry).after for entry in on_disk]
    assert texts == [b"on the disk\n", b"in memory\n", b"in memory, again\n", None, b"on the disk\n"]
    known = store.known_files(str(folder.resolve()))
    assert str(folder.resolve() / "2.txt") not in known
    assert len(known) == len(NAMES) - 1
    store.close()


def test_every_table_of_the_record_returns_to_the_disk(tmp_path: Path) -> None:
    store = RecordStore(str(tmp_path))
    with closing(sqlite3.connect(store.path)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    store.close()
    assert tables == {*TABLE_KEYS, "blob", "answer"}  # which is computed again


# --- stamps -------------------------------------------------------------------------------------------------------


@needs_inotify
@pytest.mark.parametrize("seconds", [99_999_999_999, -99_999_999_999])
async def test_file_of_any_time_ends_no_recording(it: RecordedFolder, seconds: int) -> None:
    (it.folder / "1.txt").write_text("from the future\n")
    os.utime(it.folder / "1.txt", (seconds, seconds))
    await it.recorder.drain()
    (it.folder / "2.txt").write_text("after\n")
    assert await it.authors() == {"1.txt": "outside", "2.txt": "outside"}
    assert it.reasons() == [None]
