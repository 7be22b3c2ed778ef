"""What the service does with a Freshness, in a few words: an agent's session that reads and edits files."""

import time
from dataclasses import dataclass

from contract.recording import RecordingHooks
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.errors import FileMissing
from fileops.model.files import Committed, ReadProof
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem
from fileops.tracking.freshness import Freshness


class WallClock:
    def time_ns(self) -> int:
        return time.time_ns()


@dataclass(frozen=True)
class AgentSession:
    freshness: Freshness
    fs: FileSystem
    id: str = "a"

    def read(self, given_path: str, *, n_bytes: int = -1) -> bytes:
        """n_bytes: only the start of the file, so that its whole content is not known."""
        path = self.fs.resolve(given_path)
        try:
            with self.fs.open(path) as stream:
                data = stream.read(1 << 30)
                is_whole = n_bytes < 0
                read_proof = ReadProof(
                    session_id=SessionName(self.id),
                    given_path=given_path,
                    path=path,
                    stamp=stream.stamp,
                    taken_ns=stream.taken_ns,
                    digest=content_digest(data) if is_whole else None,
                    source=stream.source,
                    version=stream.version,
                    content=data if is_whole else None,
                )
                self.freshness.note_read(read_proof)
        except FileMissing:
            self.freshness.note_missing(SessionName(self.id), path)
            raise
        return data if is_whole else data[:n_bytes]

    def require_fresh(self, given_path: str, *, dry_run: bool = False) -> None:
        snapshot = self.fs.read(self.fs.resolve(given_path))
        self.freshness.require_fresh(SessionName(self.id), snapshot, dry_run=dry_run)

    def write(self, given_path: str, data: bytes) -> Committed:
        """The whole content again; creates the file where it is missing."""
        snapshot = self.fs.read(self.fs.resolve(given_path))
        if snapshot.exists:
            self.freshness.require_fresh(SessionName(self.id), snapshot)
        return self.fs.replace(snapshot, [Splice(0, len(snapshot.data), data)], _Noting(self, given_path))

    def remove(self, given_path: str) -> Committed:
        return self.fs.remove(self.fs.read(self.fs.resolve(given_path)), _Noting(self, given_path))


class _Noting(RecordingHooks):
    def __init__(self, session: AgentSession, given_path: str) -> None:
        super().__init__()
        self._session = session
        self._given_path = given_path

    def after(self, committed: Committed) -> None:
        self._session.freshness.note_write(SessionName(self._session.id), self._given_path, committed)
