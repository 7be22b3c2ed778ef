"""A sparse index of the lines of a large file, built by reads as they stream it.

There is one for each content identity (see `LineIndexes`). It always covers a prefix of the file. A read inside that
prefix starts at most one chunk before its first line. Thread-safe.
"""

import threading
from array import array
from bisect import bisect_right

from fileops.core.stamps import is_racy
from fileops.model.bounded import LruDict
from fileops.model.files import Stamp

MAX_POINTS = 1 << 16  # per file: 1 MB of memory; with chunks of 256 kB enough for 16 GB
MAX_FILES = 64

Identity = tuple[int, int, int, int, int]


class LineIndex:
    """Line starts of one file. total_lines: None until a read has reached the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offsets = array("q", [0])
        self._lines = array("q", [1])
        self.total_lines: int | None = None

    def point_before(self, line: int) -> tuple[int, int]:
        """Return (line, byte offset) of the last known line start up to `line`; (1, 0) if no other is known."""
        with self._lock:
            at = bisect_right(self._lines, line) - 1
            return self._lines[at], self._offsets[at]

    def note(self, line: int, offset_bytes: int) -> None:
        """Record that `line` begins at this offset. Points before the last known one are known already."""
        with self._lock:
            if offset_bytes > self._offsets[-1] and len(self._offsets) < MAX_POINTS:
                self._offsets.append(offset_bytes)
                self._lines.append(line)


class LineIndexes:
    """The indexes of the most recently read files, by content identity (from their stamp)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: LruDict[Identity, LineIndex] = LruDict(MAX_FILES)

    def of(self, stamp: Stamp, taken_ns: int) -> LineIndex | None:
        """Return the index; None if the stamp is so recent that other content could get the same one."""
        if is_racy(stamp, taken_ns):
            return None
        identity = (stamp.dev, stamp.ino, stamp.size_bytes, stamp.mtime_ns, stamp.ctime_ns)
        with self._lock:
            index = self._indexes.use(identity)
            if index is None:
                index = LineIndex()
                self._indexes.put(identity, index)
            return index
