"""Requests about the files of a session: record a read, forget a file, list conflicts and files.

Belongs to the event loop; the disk is read in worker threads.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.path_locks import PathLocks
from fileops.concurrency.workers import SharedWorkers
from fileops.core.matching.exact import find, lines_of
from fileops.core.roots import Roots
from fileops.core.text import detect_format, is_binary
from fileops.model.digest import CHUNK_BYTES, Hasher
from fileops.model.errors import FileMissing, FileOpsError, ModifiedExternally
from fileops.model.files import Text
from fileops.model.internal_errors import PathMoved
from fileops.model.requests import EditRequest, ReadRequest
from fileops.model.results import EditResult, ReadResult
from fileops.ports import FileSystem
from fileops.service.activity import ActivityLog, SessionFile, by_relevance, merged
from fileops.service.paths import canonical_path, with_canonical_path
from fileops.tracking.content_cache import MAX_BASE_BYTES
from fileops.tracking.freshness import Freshness
from fileops.tracking.reports import Conflict, IsHidden


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFiles:
    fs: FileSystem
    freshness: Freshness
    workers: SharedWorkers
    path_locks: PathLocks
    ledger: ActivityLog
    is_hidden: IsHidden

    # --- what the tools did ----------------------------------------------------------------------------------

    def note_edit(self, request: EditRequest, outcome: EditResult, at: float) -> None:
        if outcome.edit_id is not None:
            self.ledger.note_edit(request.session_id, request.file_path, at)
        elif isinstance(outcome.error, ModifiedExternally) and not request.dry_run:
            self.ledger.note_conflict(request.session_id, request.file_path, at)

    # --- requests --------------------------------------------------------------------------------------------

    async def record_read(self, request: ReadRequest, roots: Roots | None) -> ReadResult:
        """Record that the agent has seen the whole present file by other means."""
        token = CancelToken()
        async with self.path_locks.acquire(request.file_path, shared=True):
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

        async with self.path_locks.acquire(file_path, shared=False):
            was_seen = await self.workers.run(CancelToken(), drop)
        self.ledger.forget(session_id, file_path)
        return was_seen

    async def conflicts(self, session_id: str) -> tuple[Conflict, ...]:
        """What has changed since the session read it, in the order of first reading."""
        return await self.workers.run(CancelToken(), lambda: self.freshness.conflicts(session_id, self.is_hidden))

    async def list_files(self, session_id: str, limit: int | None = None) -> list[SessionFile]:
        """What the session has read and edited, the most important first (see ledger.py)."""
        noted = self.ledger.files(session_id)

        def look() -> list[SessionFile]:
            tracked = {self._canonical(file.file_path): file for file in self.freshness.tracked(session_id)}
            files: dict[str, SessionFile] = {}
            for one in noted:
                path = self._canonical(one.file_path)
                if self.is_hidden(path, one.file_path):
                    continue
                known = tracked.get(path)
                file = one if known is None else replace(one, state=known.state, reason=known.reason)
                files[path] = merged(files[path], file) if path in files else file
            return by_relevance(files.values())[:limit]

        return await self.workers.run(CancelToken(), look)

    async def find_line(self, session_id: str, file_path: str, old_string: str, roots: Roots | None) -> int | None:
        """The line of the first occurrence, in a file that the session has read and that is inside the roots."""
        return await self.workers.run(
            CancelToken(), lambda: find_line(self.fs, self.freshness, session_id, file_path, old_string, roots)
        )

    def unsee(self, session_id: str, file_path: str) -> None:
        """Drop what a request of a closed session has recorded: the session that has the id now has not read it."""
        for path in self.freshness.paths_of(session_id, file_path):
            self.freshness.forget(session_id, path)

    def reset(self, session_id: str) -> None:
        """Forget what the session has seen and done."""
        self.freshness.close_session(session_id)
        self.ledger.drop_session(session_id)

    def _canonical(self, file_path: str) -> str:
        """The canonical path; the given one if no file can have it."""
        try:
            return self.fs.resolve(file_path) if file_path.startswith("/") else file_path
        except FileOpsError:
            return file_path


def record_read(
    fs: FileSystem, freshness: Freshness, request: ReadRequest, roots: Roots | None, token: CancelToken
) -> ReadResult:
    """Record the whole present content as read, without an output. Raises: Cancelled."""

    def work(path: str) -> ReadResult:
        try:
            return _record(fs, freshness, request, path, token)
        except FileMissing:
            freshness.note_missing(request.session_id, path)
            raise

    try:
        return with_canonical_path(fs, request.file_path, roots, token, work)
    except FileOpsError as error:
        return ReadResult(output="", error=error)


def _record(fs: FileSystem, freshness: Freshness, request: ReadRequest, path: str, token: CancelToken) -> ReadResult:
    with fs.open(path) as stream:
        digest, first = Hasher(), stream.read(MAX_BASE_BYTES)
        digest.update(first)
        second = stream.read(CHUNK_BYTES)
        digest.update(second)
        digest.update_from(stream.read, token.check)
        stamp = stream.stamp
        freshness.note_read(
            request.session_id, request.file_path, path, stamp, stream.taken_ns, digest.digest(),
            source=stream.source, version=stream.version, content=None if second else first,
            is_whole=True,
        )  # fmt: skip
        return ReadResult(output="", size_bytes=stamp.size_bytes, mtime_ns=stamp.mtime_ns, source=stream.source)


MAX_SEARCHED_BYTES = 4_000_000  # it is asked while arguments stream in: many times for one call


def find_line(
    fs: FileSystem, freshness: Freshness, session_id: str, file_path: str, old_string: str, roots: Roots | None
) -> int | None:
    """1-based line of the first occurrence; None where there is none, or the session may not know of it."""
    try:
        path = canonical_path(fs, file_path, roots)
        if not freshness.is_tracked(session_id, path):
            return None
        stamp = fs.stat(path)
        if stamp is None or stamp.size_bytes > MAX_SEARCHED_BYTES:
            return None
        data = fs.read(path).data
    except (FileOpsError, PathMoved):
        return None
    fmt = detect_format(data)
    if is_binary(data, fmt):
        return None
    text = Text(data=data, format=fmt)
    starts = find(text, old_string).starts
    return lines_of(text, starts[:1])[0] if starts else None
