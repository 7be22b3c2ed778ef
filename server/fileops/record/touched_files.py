"""The files that may have changed and are to be read, and what is known of when each did."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fileops.model.record import Found, GapKind
from fileops.record.folder import Edge, FolderRecording

DEBOUNCE_S = 0.05
_UNREAD_PAUSES_S = (0.25, 30.0)  # first and longest pause before an unreadable file is retried


class Touch(Struct):
    """A file that may have changed. began: when that was noticed. since: the last edge of a command before that.

    known_at: the time of that edge. earliest: a time at which it had not changed yet, or 0.0 if none is known. The
    thread may notice a change long after it was made, even after its save was reported. n_writes: how many times a
    writer has finished since; None if unknown. n_counted: those of them that count for the change before already.
    is_beside_git: whether git may have written it: see Entry.
    """

    began: float
    earliest: float
    known_at: float
    since: int
    found: Found = "event"
    gap: GapKind | None = None
    is_complete: bool = False
    n_writes: int | None = 0
    n_counted: int = 0
    is_beside_git: bool = False


class TouchedFiles:
    """See the module. Belongs to the recorder's thread.

    read_edge: everything written before it has been touched. folder_of: the innermost recorded folder of a path.
    """

    def __init__(self, folder_of: Callable[[str], FolderRecording | None], now: Callable[[], float]) -> None:
        self._folder_of, self._now = folder_of, now
        self.read_edge = Edge(0, now())
        self._touched: dict[str, Touch] = {}
        self._unread: dict[str, Touch] = {}  # unreadable files, with their first touch
        self._was_unread: set[str] = set()  # those of them that are touched again
        self._unread_pause_s, self._unread_at = _UNREAD_PAUSES_S[0], 0.0

    def __contains__(self, path: str) -> bool:
        return path in self._touched

    @property
    def paths(self) -> list[str]:
        return list(self._touched)

    def list_due(self) -> list[str]:
        """Return the files that their writers closed, or that were touched a while ago."""
        now = self._now()
        return [path for path, touch in self._touched.items() if touch.is_complete or now - touch.began >= DEBOUNCE_S]

    def list_due_times(self) -> list[float]:
        """Return when there is something to read."""
        times = [self._now() + DEBOUNCE_S] if self._touched else []
        return [*times, self._unread_at] if self._unread else times

    def touch(
        self, path: str, *, found: Found = "event", gap: GapKind | None = None, is_complete: bool = False
    ) -> Touch:
        """Note that a file may have changed."""
        touch = self._touched.get(path)
        if touch is None:
            touch = self._unread.pop(path, None)
            if touch is None:
                touch = self.new_touch(path, found, gap)
            else:
                self._was_unread.add(path)
            self._touched[path] = touch
        touch.is_complete = touch.is_complete or is_complete
        return touch

    def new_touch(self, path: str, found: Found = "event", gap: GapKind | None = None) -> Touch:
        """Return what is known of a change that is noticed now."""
        folder = self._folder_of(path)
        edge = self.read_edge if folder is None else folder.certain_edge(path, self.read_edge, found)
        since, known_at = 0 if gap == "away" else edge.number, edge.time
        is_counted = found == "event"
        if folder is not None and (folder.needs_comparison or folder.is_in_unlisted(path)):
            is_counted = False
        n_writes = 0 if is_counted else None
        earliest = self.read_edge.time if is_counted else 0.0
        if folder is not None and path not in folder.files:  # it may be one that could not be read, under another name
            for unread in (self._touched[other] for other in self._was_unread if self._folder_of(other) is folder):
                since, known_at = min(since, unread.since), min(known_at, unread.known_at)
                earliest, n_writes = min(earliest, unread.earliest), None
        return Touch(self._now(), earliest, known_at, since, found, gap, n_writes=n_writes)

    def get(self, path: str) -> Touch | None:
        return self._touched.get(path)

    def take(self, path: str) -> Touch | None:
        """Remove a file, because it is read now."""
        self._was_unread.discard(path)
        return self._touched.pop(path, None)

    def put_back(self, path: str, touch: Touch) -> None:
        """Have a file read again."""
        self._touched[path] = touch

    def note_loss(self, folder: FolderRecording) -> None:
        """Note that events of a folder were lost, so how often its touched files were written is not known."""
        folder.note_loss(self.read_edge)
        for touched in (self._touched, self._unread):
            for path, touch in touched.items():
                if folder.contains(path):
                    touch.n_writes = None

    def drop_left(self) -> None:
        """Forget the files that are in no recorded folder any more."""
        for touched in (self._touched, self._unread):
            for path in [path for path in touched if self._folder_of(path) is None]:
                del touched[path]
        self._was_unread &= self._touched.keys()

    # --- files that cannot be read -----------------------------------------------------------------------------

    def note_unread(self, path: str, touch: Touch) -> None:
        """Note that a file could not be read. It counts as neither deleted nor changed, and is retried."""
        if not self._unread:
            self._unread_pause_s = _UNREAD_PAUSES_S[0]
            self._unread_at = self._now() + self._unread_pause_s
        self._unread[path] = touch

    def has_unread(self, folder: FolderRecording) -> bool:
        return any(self._folder_of(path) is folder for path in self._unread)

    def retry_unread(self, *, is_whole: bool) -> bool:
        """Touch the files again that could not be read. Returns whether it was time to try again.

        Args: is_whole: whether all folders could be listed, so that there is nothing else to try again.
        """
        now = self._now()
        if now < self._unread_at or (is_whole and not self._unread):
            return False
        self._unread_pause_s = min(self._unread_pause_s * 2, _UNREAD_PAUSES_S[1])
        self._unread_at = now + self._unread_pause_s
        for path in tuple(self._unread):
            self.touch(path, is_complete=True)
        return True


def join_touches(touch: Touch, other: Touch | None) -> Touch:
    """Return what is known of writes under two names of one file."""
    if other is None:
        return touch
    is_counted = touch.n_writes is not None and other.n_writes is not None
    return replace(
        touch,
        began=min(touch.began, other.began),
        earliest=min(touch.earliest, other.earliest),
        known_at=min(touch.known_at, other.known_at),
        since=min(touch.since, other.since),
        n_writes=(touch.n_writes or 0) + (other.n_writes or 0) if is_counted else None,
        is_beside_git=touch.is_beside_git or other.is_beside_git,
    )
