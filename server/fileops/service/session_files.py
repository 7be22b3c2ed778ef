"""Requests about a session's files: record a read, forget a file, list conflicts and files.

Belongs to the event loop; worker threads read the disk.
"""

from collections.abc import Iterable
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.delivery import do_nothing, when_delivered
from fileops.concurrency.path_locks import PathLocks
from fileops.concurrency.workers import SharedWorkers
from fileops.core.matching.exact import find, lines_of
from fileops.core.roots import Roots
from fileops.core.text import detect_format, is_binary
from fileops.model.changes import ChangeSetResult
from fileops.model.digest import CHUNK_BYTES, Hasher
from fileops.model.errors import FileMissing, FileOpsError, ModifiedExternally
from fileops.model.files import ReadProof, Text
from fileops.model.internal_errors import PathMoved
from fileops.model.requests import EditRequest, ReadRequest
from fileops.model.results import Conflict, EditResult, ReadResult, SessionFile, UndoFileOutcome
from fileops.model.rewind import RewindFileOutcome
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem
from fileops.service.activity import ActivityLog, by_relevance, merge
from fileops.service.in_flight import RequestsInFlight
from fileops.service.paths import canonical_path, with_canonical_path
from fileops.service.reading.refused_places import RefusedPlaces
from fileops.service.reading.repeated_reads import RepeatedReads
from fileops.service.sessions import OpenSessions
from fileops.tracking.content_cache import MAX_BASE_BYTES
from fileops.tracking.freshness import Freshness
from fileops.tracking.reports import IsHidden


class SessionFiles(Struct, frozen=True, kw_only=True):
    fs: FileSystem
    freshness: Freshness
    workers: SharedWorkers
    path_locks: PathLocks
    activity: ActivityLog
    is_hidden: IsHidden
    sessions: OpenSessions
    in_flight: RequestsInFlight
    refused: RefusedPlaces
    repeated: RepeatedReads = field(default_factory=RepeatedReads)

    # --- what the tools did ----------------------------------------------------------------------------------

    def note_edit(self, request: EditRequest, outcome: EditResult, at: float) -> None:
        if outcome.edit_id is not None:
            self.activity.note_edit(request.session_id, request.file_path, at)
        elif isinstance(outcome.error, ModifiedExternally) and not request.dry_run:
            self.activity.note_conflict(request.session_id, request.file_path, at)
        if outcome.refused is not None and not request.dry_run:
            self.refused.note(request.session_id, outcome.refused)

    def note_commit(self, request: EditRequest, result: EditResult) -> None:
        """Report the edit to the session later if this answer is not sent. Call it while holding the path's lock.

        The commit has moved the session's base by the session's own text. If the user changed that text, the session
        learns it only from the answer. Without the answer, it has to read the file again.
        """
        session_id, file_path = request.session_id, request.file_path
        if result.modified_by_user:
            self._drop_unless_answered(session_id, file_path)
        when_delivered(do_nothing, partial(self.activity.note_unanswered, session_id, file_path))

    def note_set(self, session_id: SessionName, result: ChangeSetResult, at: float) -> None:
        """Do as `note_edit` and `note_commit`, for a change set. Call it while holding the locks of its paths."""
        for file in result.files:
            if file.edit_id is None:
                continue
            file_path = file.new_path or file.file_path
            self.activity.note_edit(session_id, file_path, at)
            if file.modified_by_user:
                self._drop_unless_answered(session_id, file_path)
            when_delivered(do_nothing, partial(self.activity.note_unanswered, session_id, file_path))

    def note_undo(self, session_id: SessionName, files: Iterable[UndoFileOutcome | RewindFileOutcome]) -> None:
        """Do as `note_commit`, for an undo or a rewind that a session has requested."""
        for file in files:
            if file.edit_id is not None:
                self._drop_unless_answered(session_id, file.file_path)
                when_delivered(do_nothing, partial(self.activity.note_unanswered, session_id, file.file_path))

    def _drop_unless_answered(self, session_id: SessionName, file_path: str) -> None:
        self.in_flight.when_delivered(
            session_id, file_path, do_nothing, partial(self.drop_record, session_id, file_path)
        )

    def take_unanswered(self, session_id: SessionName) -> list[str]:
        """Return the files of applied edits that were not answered, for an answer that says so."""
        files = self.activity.take_unanswered(session_id)

        def give_back() -> None:
            for file_path in files:
                self.activity.note_unanswered(session_id, file_path)

        if files:
            when_delivered(do_nothing, give_back)
        return files

    # --- requests --------------------------------------------------------------------------------------------

    async def forget(self, session_id: SessionName, file_path: str) -> bool:
        """Drop the session's record of a file, so that it has to read the file again. Return whether there was one."""

        def drop() -> bool:
            paths = {*self.freshness.paths_of(session_id, file_path), self._canonical(file_path)}
            tracked = [path for path in paths if self.freshness.is_tracked(session_id, path)]
            for path in tracked:
                self.freshness.forget(session_id, path)
            return bool(tracked)

        async with self.path_locks.acquire(file_path, shared=False):
            await self.in_flight.wait_until_answered(session_id, file_path)
            was_tracked = await self.workers.run(CancelToken(), drop)
        self.activity.forget(session_id, file_path)
        return was_tracked

    async def conflicts(self, session_id: SessionName) -> tuple[Conflict, ...]:
        """Return the files that have changed since the session read them, in the order of first reading."""
        return await self.workers.run(CancelToken(), lambda: self.freshness.conflicts(session_id, self.is_hidden))

    async def list_files(self, session_id: SessionName, limit: int | None = None) -> list[SessionFile]:
        """Return the files that the session has read and edited, most important first (see activity.py)."""
        noted = self.activity.files(session_id)

        def look() -> list[SessionFile]:
            tracked = {self._canonical(file.file_path): file for file in self.freshness.list_tracked(session_id)}
            files: dict[str, SessionFile] = {}
            for one in noted:
                path = self._canonical(one.file_path)
                if self.is_hidden(path, one.file_path):
                    continue
                known = tracked.get(path)
                file = one if known is None else replace(one, state=known.state, reason=known.reason)
                files[path] = merge(files[path], file) if path in files else file
            return by_relevance(files.values())[:limit]

        return await self.workers.run(CancelToken(), look)

    async def find_line(
        self, session_id: SessionName, file_path: str, old_string: str, roots: Roots | None
    ) -> int | None:
        """Return the line of the first occurrence, in a file that the session has read and that is inside the roots."""
        return await self.workers.run(
            CancelToken(), lambda: find_line(self.fs, self.freshness, session_id, file_path, old_string, roots)
        )

    def drop_record(self, session_id: SessionName, file_path: str) -> None:
        """Drop what a closed session's request has recorded: the session that now has the id has not read the file."""
        for path in self.freshness.paths_of(session_id, file_path):
            self.freshness.forget(session_id, path)

    def reset(self, session_id: SessionName) -> None:
        """Forget what the session has seen and done, and what its reads in flight will show it."""
        self.sessions.get(session_id).n_resets += 1
        self.freshness.close_session(session_id)
        self.activity.drop_session(session_id)
        self.refused.drop_session(session_id)
        self.repeated.forget(session_id)

    def _canonical(self, file_path: str) -> str:
        """Return the canonical path; the given one if no file can have it."""
        try:
            return self.fs.resolve(file_path) if file_path.startswith("/") else file_path
        except FileOpsError:
            return file_path


def read_unshown(
    fs: FileSystem, freshness: Freshness, request: ReadRequest, roots: Roots | None, token: CancelToken
) -> ReadResult:
    """Read the whole current content without output, so that it counts as read. Raises: Cancelled."""

    def work(path: str) -> ReadResult:
        try:
            return _read_whole(fs, request, path, token)
        except FileMissing:
            freshness.note_missing(request.session_id, path)
            raise

    try:
        return with_canonical_path(fs, request.file_path, roots, token, work)
    except FileOpsError as error:
        return ReadResult(output="", error=error)


def _read_whole(fs: FileSystem, request: ReadRequest, path: str, token: CancelToken) -> ReadResult:
    with fs.open(path) as stream:
        digest, first = Hasher(), stream.read(MAX_BASE_BYTES)
        digest.update(first)
        second = stream.read(CHUNK_BYTES)
        digest.update(second)
        digest.update_from(stream.read, token.check)
        stamp = stream.stamp
        read_proof = ReadProof(
            session_id=request.session_id,
            given_path=request.file_path,
            path=path,
            stamp=stamp,
            taken_ns=stream.taken_ns,
            digest=digest.digest(),
            source=stream.source,
            version=stream.version,
            content=None if second else first,
            is_whole=True,
        )
        return ReadResult(
            output="", size_bytes=stamp.size_bytes, mtime_ns=stamp.mtime_ns, source=stream.source, read_proof=read_proof
        )


MAX_SEARCHED_BYTES = 4_000_000  # asked many times during one call, as its arguments stream in


def find_line(
    fs: FileSystem, freshness: Freshness, session_id: SessionName, file_path: str, old_string: str, roots: Roots | None
) -> int | None:
    """Return the 1-based line of the first occurrence; None if there is none, or the session may not know it."""
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
