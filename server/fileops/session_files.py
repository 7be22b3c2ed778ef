"""What a session knows of its files, beside the tools: seen elsewhere, forgotten, changed since, worked on.

Belongs to the event loop; the disk is looked at in worker threads.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from fileops.cancellation import CancelToken
from fileops.core.roots import Roots
from fileops.elsewhere import record_read
from fileops.errors import FileOpsError, ModifiedExternally
from fileops.freshness import Conflict, Freshness
from fileops.ledger import Ledger, SessionFile, joined, most_important_first
from fileops.locating import line_of
from fileops.ports import FileSystem
from fileops.requests import EditOutcome, EditRequest, ReadOutcome, ReadRequest
from fileops.turns import Turns
from fileops.workers import SharedWorkers


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFiles:
    fs: FileSystem
    freshness: Freshness
    workers: SharedWorkers
    turns: Turns
    ledger: Ledger = field(default_factory=Ledger)

    # --- what the tools did ----------------------------------------------------------------------------------

    def note_edit(self, request: EditRequest, outcome: EditOutcome, at: float) -> None:
        if outcome.edit_id is not None:
            self.ledger.note_edit(request.session_id, request.file_path, at)
        elif isinstance(outcome.error, ModifiedExternally) and not request.dry_run:
            self.ledger.note_conflict(request.session_id, request.file_path, at)

    # --- requests --------------------------------------------------------------------------------------------

    async def record_read(self, request: ReadRequest, roots: Roots | None) -> ReadOutcome:
        """The agent saw the whole file by other means, as it stands now."""
        token = CancelToken()
        async with self.turns.take(request.file_path, shared=True):
            return await self.workers.run(
                token, lambda: record_read(self.fs, self.freshness, request, roots, token), request.file_path
            )

    async def forget(self, session_id: str, file_path: str) -> bool:
        """Whether the session had seen the file; now it has not."""

        def drop() -> bool:
            paths = {*self.freshness.paths_of(session_id, file_path), self._canonical(file_path)}
            seen = [path for path in paths if self.freshness.is_tracked(session_id, path)]
            for path in seen:
                self.freshness.forget(session_id, path)
            return bool(seen)

        async with self.turns.take(file_path, shared=False):
            was_seen = await self.workers.run(CancelToken(), drop)
        self.ledger.forget(session_id, file_path)
        return was_seen

    async def conflicts(self, session_id: str) -> tuple[Conflict, ...]:
        """What has changed since the session read it, in the order of first reading."""
        return await self.workers.run(CancelToken(), lambda: self.freshness.conflicts(session_id))

    async def worked_on(self, session_id: str, limit: int | None = None) -> list[SessionFile]:
        """What the session has read and edited, the most important first (see ledger.py)."""
        noted = self.ledger.files(session_id)

        def look() -> list[SessionFile]:
            tracked = {self._canonical(file.file_path): file for file in self.freshness.tracked(session_id)}
            files: dict[str, SessionFile] = {}
            for one in noted:
                path = self._canonical(one.file_path)
                known = tracked.get(path)
                file = one if known is None else replace(one, state=known.state, reason=known.reason)
                files[path] = joined(files[path], file) if path in files else file
            return most_important_first(files.values())[:limit]

        return await self.workers.run(CancelToken(), look)

    async def line_of(self, session_id: str, file_path: str, old_string: str, roots: Roots | None) -> int | None:
        """Where the text first stands, in a file that the session has read and that lies inside the roots."""
        return await self.workers.run(
            CancelToken(), lambda: line_of(self.fs, self.freshness, session_id, file_path, old_string, roots)
        )

    def unsee(self, session_id: str, file_path: str) -> None:
        """What a request of a closed session noted after all: whoever has the id now has not seen it."""
        for path in self.freshness.paths_of(session_id, file_path):
            self.freshness.forget(session_id, path)

    def reset(self, session_id: str) -> None:
        """Forget what the session has seen and done."""
        self.freshness.close_session(session_id)
        self.ledger.drop_session(session_id)

    def _canonical(self, file_path: str) -> str:
        """A name that no file can have stands for itself."""
        try:
            return self.fs.resolve(file_path) if file_path.startswith("/") else file_path
        except FileOpsError:
            return file_path
