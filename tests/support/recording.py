"""A workbench with a record that the test writes, as if a recorder had seen the changes."""

import time

from fileops.model.digest import content_digest
from fileops.model.record import By, ByCommand, ByPerson, BySession, Contents, Entry, FileVersion, LogQuery, is_by_agent
from fileops.model.rewind import RewindRequest, RewindResult, RewindTarget, TargetKind
from fileops.model.sessions import SessionName
from fileops.record.brackets import Brackets
from fileops.record.recorder import Recorder, TypedDocument
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

    def __init__(self) -> None:
        self.store = RecordStore(None)
        brackets, turns = Brackets(), TurnRegistry()
        recorder = Recorder(lambda: self.store, brackets, turns, NoDocuments(), watches=False)
        recorder.start()
        self.bench = Workbench(recorder=recorder)
        self.settle = recorder.settle
        self.turns = turns
        self.n_entries = 0

    def write(self, path: str, data: bytes | None, by: By, turn_id: str | None = None, **fields: object) -> str:
        """Change a file as another program does, and record it. Returns the entry's id."""
        before = self.bench.on_disk(path)
        if data is None:
            self.bench.disk.delete(path)
        else:
            self.bench.disk.put(path, data)
        self.n_entries += 1
        entry = Entry(
            entry_id=f"e-{self.n_entries}", time=time.time(), path=path,
            kind="create" if before is None else "modify" if data is not None else "delete",
            by=by, before=version_of(before), after=version_of(data), turn_id=turn_id,
            kept=not is_by_agent(by),
            command_id=by.command_id if isinstance(by, ByCommand) else None,
            **fields,  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
        self.store.append(entry, Contents(before, data))
        return entry.entry_id

    def rename(self, path: str, new_path: str, by: By) -> None:
        """Rename a file as another program does, and record it."""
        data = self.bench.on_disk(path)
        self.write(path, None, by, moved_to=new_path)
        self.write(new_path, data, by, moved_from=path)

    async def rewind(self, kind: TargetKind, wanted: str, **options: object) -> RewindResult:
        request = RewindRequest(
            target=RewindTarget(kind, (wanted,)),
            is_approved=True,
            **options,  # pyright: ignore[reportArgumentType]
        )
        return await self.bench.service.rewinds.rewind(request)

    def entries(self, path: str | None = None) -> list[Entry]:
        self.settle()
        return self.store.entries(LogQuery(path=path))[0]


def version_of(content: bytes | None) -> FileVersion | None:
    return None if content is None else FileVersion(content_digest(content))
