"""A workbench with a record that the test writes, as if a recorder had seen the changes."""

import time
from collections.abc import Callable

from fileops.core.diff.entry_diffs import count_lines
from fileops.model.changes import is_executable
from fileops.model.digest import content_digest
from fileops.model.record import By, ByCommand, ByPerson, BySession, Contents, Entry, FileVersion, LogQuery, is_by_agent
from fileops.model.rewind import RewindRequest, RewindResult, RewindTarget, TargetKind
from fileops.model.sessions import SessionName
from fileops.record.change_facts import TypedDocument
from fileops.record.command_windows import CommandWindows
from fileops.record.recorder import WRITTEN_WITHIN_S, Recorder
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry
from support.in_process import Workbench

AGENT = BySession(session_id=SessionName("agent"), label="Agent")
OTHER = BySession(session_id=SessionName("other"), label="Other")
COMMAND = ByCommand(session_id=SessionName("agent"), command_id="c-1", label="Agent · make")
PERSON = ByPerson(session_id="", label="VS Code")


class NoDocuments:
    def documents_at(self, path: str) -> list[TypedDocument]:
        del path
        return []


class Recording:
    """A workbench whose files change together with the record."""

    def __init__(self, *, written_within_s: float = WRITTEN_WITHIN_S, folder: str | None = None) -> None:
        """Args: folder: of the record; None keeps it in memory."""
        self.store = RecordStore(folder)
        windows, turns = CommandWindows(), TurnRegistry()
        self.recorder = recorder = Recorder(
            lambda: self.store, windows, turns, NoDocuments(), open_stream=None, written_within_s=written_within_s
        )
        recorder.start()
        self.bench = Workbench(recorder=recorder)
        self.settle = recorder.settle
        self.turns = turns
        self.n_entries = 0

    def write(self, path: str, data: bytes | None, by: By, turn_id: str | None = None, **fields: object) -> str:
        """Change a file as another program does, and record it. Returns the entry's id."""

        def change() -> None:
            if data is None:
                self.bench.disk.delete(path)
            else:
                self.bench.disk.put(path, data)

        kind = "create" if self.bench.on_disk(path) is None else "modify" if data is not None else "delete"
        return self._record(path, change, by, kind=kind, turn_id=turn_id, **fields)

    def chmod(self, path: str, mode: int, by: By) -> str:
        """Change the executable bit of a file as another program does, and record it. Returns the entry's id."""
        return self._record(path, lambda: self.bench.disk.chmod(path, mode), by, kind="mode")

    def _record(self, path: str, change: Callable[[], None], by: By, **fields: object) -> str:
        before, old = self.bench.on_disk(path), self._version(path)
        change()
        after = self.bench.on_disk(path)
        added, removed = count_lines(before or b"", after or b"")
        self.n_entries += 1
        entry = Entry(
            entry_id=f"e-{self.n_entries}", time=time.time(), path=path,
            by=by, before=old, after=self._version(path), kept=not is_by_agent(by),
            command_id=by.command_id if isinstance(by, ByCommand) else None, added=added, removed=removed,
            **fields,  # pyrefly: ignore[bad-argument-type]
        )  # fmt: skip
        self.store.append(entry, Contents(before, after))
        return entry.entry_id

    def _version(self, path: str) -> FileVersion | None:
        snapshot = self.bench.disk.read(path)
        if snapshot.stamp is None:
            return None
        return FileVersion(content_digest(snapshot.data), is_executable(snapshot.stamp.mode))

    def rename(self, path: str, new_path: str, by: By, turn_id: str | None = None) -> None:
        """Rename a file as another program does, and record it."""
        data = self.bench.on_disk(path)
        self.write(path, None, by, turn_id, moved_to=new_path)
        self.write(new_path, data, by, turn_id, moved_from=path)

    async def rewind(self, kind: TargetKind, wanted: str, **options: object) -> RewindResult:
        request = RewindRequest(
            target=RewindTarget(kind, (wanted,)),
            is_approved=True,
            **options,  # pyrefly: ignore[bad-argument-type]
        )
        return await self.bench.service.history.rewind(request)

    def entries(self, path: str | None = None) -> list[Entry]:
        self.settle()
        return self.store.entries(LogQuery(path=path))[0]


def version_of(content: bytes | None) -> FileVersion | None:
    return None if content is None else FileVersion(content_digest(content))
