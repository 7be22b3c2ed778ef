"""A recorder of one folder, in this process, with commands of agents and what it recorded."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fileops.core.merge.undo import Undone
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.files import CommitReport, Committed, FolderEvent, FolderEvents, Snapshot
from fileops.model.record import ByCommand, ByUnsure, Entry, LogQuery
from fileops.model.sessions import SessionName
from fileops.model.settings import Limits
from fileops.platform.steady_clock import steady_time
from fileops.ports import EventStream
from fileops.record.change_facts import TypedDocument
from fileops.record.command_windows import CommandWindows
from fileops.record.recorder import Recorder
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry
from fileops.service.restoration import plan_restoration
from fileops.service.session_work import SessionWork, WorkingSession
from fileops.watch.factory import FolderStreams
from support.commits import commit_of
from support.patience import wait_until


class Documents(dict[str, TypedDocument]):
    """What an editor has open, by its path."""

    def documents_at(self, path: str) -> Sequence[TypedDocument]:
        return (self[path],) if path in self else ()


class LosingStream:
    """The events of a folder, of which the kernel drops some as long as `is_losing`. They are reported as lost.

    on_read: called with events that have been read, before anything is done with them. is_late: none is there yet.
    """

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream
        self.is_losing = self.is_late = False
        self.on_read: Callable[[Sequence[FolderEvent]], None] = lambda _events: None
        self.has_barrier, self.add, self.remove_below = stream.has_barrier, stream.add, stream.remove_below
        self.is_in_place = stream.is_in_place
        self.is_alive, self.close = stream.is_alive, stream.close

    def read(self) -> FolderEvents:
        if self.is_late:
            return FolderEvents(())
        batch, is_losing = self._stream.read(), self.is_losing
        self.on_read(batch.events)
        return FolderEvents((), is_lost=bool(batch.events)) if is_losing else batch


class RecordedFolder:
    """See the module. The record is in `database`, a folder."""

    def __init__(
        self, folder: Path, *, wall: Callable[[], float] = time.time, now: Callable[[], float] = steady_time
    ) -> None:
        self.folder = folder.resolve()
        self.database = self.folder.parent / "record"
        self.sentences: list[str] = []
        self.stream: LosingStream | None = None
        self.documents = Documents()
        windows = CommandWindows(wall=wall)
        self.recorder = Recorder(
            lambda: RecordStore(str(self.database)), windows, TurnRegistry(), self.documents,
            open_stream=self._open, warn=self._note_sentence, wall=wall, now=now,
        )  # fmt: skip
        self.work = SessionWork(
            windows, self.recorder.turns, at_edge=self.recorder.drain, until_watched=self.recorder.until_watched,
            flush=self.recorder.flush,
        )  # fmt: skip
        self.recorder.start()

    def _note_sentence(self, sentence: str, _root: str | None) -> None:
        self.sentences.append(sentence)

    def _open(self, on_event: Callable[[], None]) -> EventStream:
        self.stream = LosingStream(FolderStreams().events(on_event))
        return self.stream

    async def begin(self) -> None:
        await asyncio.to_thread(self.recorder.record, str(self.folder), "editor")
        assert await self.recorder.until_watched([str(self.folder)])
        await asyncio.to_thread(wait_until, lambda: [folder.n_to_copy for folder in self.recorder.status()] == [0])
        await self.recorder.flush()

    @asynccontextmanager
    async def command(self, agent: str = "agent") -> AsyncGenerator[None]:
        session = WorkingSession(session_id=SessionName(f"{agent}:1"), label=agent, roots=(str(self.folder),))
        async with self.work.run_command(session, "make"):
            yield

    async def entries(self) -> list[Entry]:
        """Oldest first."""
        await self.recorder.flush()
        return self.recorder.store.entries(LogQuery())[0][::-1]

    async def authors(self) -> dict[str, str]:
        """Who made the last entry of each file, by the file's name: as `author_of` says it."""
        return {Path(entry.path).name: author_of(entry) for entry in await self.entries()}

    def reasons(self) -> list[str | None]:
        return [folder.reason for folder in self.recorder.status()]


def author_of(entry: Entry) -> str:
    """ "agent", "outside", or all candidates."""
    candidates = entry.by.candidates if isinstance(entry.by, ByUnsure) else (entry.by,)
    names = [by.session_id.partition(":")[0] if isinstance(by, ByCommand) else by.label for by in candidates]
    return " or ".join(names)


@asynccontextmanager
async def recorded_folder(
    folder: Path, *, wall: Callable[[], float] = time.time, now: Callable[[], float] = steady_time
) -> AsyncGenerator[RecordedFolder]:
    it = RecordedFolder(folder, wall=wall, now=now)
    try:
        await it.begin()
        yield it
    finally:
        await asyncio.to_thread(it.recorder.close)


def locked(database: Path) -> sqlite3.Connection:
    """Lock a record as another program does, until the connection is closed."""
    other = sqlite3.connect(database / "record.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other


def end_commit(recorder: Recorder, path: str, written: str) -> None:
    """End a commit of this daemon that writes a text over what is there."""
    before = LocalFileSystem().read(path)
    Path(path).write_text(written)
    after: Snapshot = LocalFileSystem().read(path)
    made = Undone(content=after.data, splices=(), edit_ids=())
    plan = plan_restoration(before, made, file_path=path, limits=Limits()).plan
    committed = Committed(snapshot=after, report=CommitReport(method="swap", durability="synced"))
    recorder.end_commit(commit_of(plan, committed, "e-1", time=time.time()))
