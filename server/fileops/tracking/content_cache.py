"""Cache of the contents that sessions have read recently, by digest.

A refused edit shows what has changed since. With `keep_bases` the contents are also the bases from which an edit of a
changed file is rebased; if a base is no longer in the cache, the file has to be read again.
"""

from fileops.core import text
from fileops.core.diff import unified
from fileops.model.bounded import LruDict
from fileops.model.edits import Splice
from fileops.model.settings import Limits

MAX_CONTENT_BYTES = 256 * 1024  # the largest file that is read as a whole by default
MAX_ALL_BYTES = 8 * 1024 * 1024
MAX_BASE_BYTES = 1 << 20  # as `MAX_BYTES` of core/merge/relevance.py, which compares them
MAX_ALL_BASES_BYTES = 64 << 20
ENTRY_BYTES = 250  # of an entry besides its content
MAX_DIFF_BYTES = 100_000  # beyond this, reading the file again is better than a diff


class ContentCache:
    """Not thread-safe: its owner locks."""

    def __init__(self) -> None:
        self._max_bytes = MAX_CONTENT_BYTES
        self._contents: LruDict[bytes, bytes] = LruDict(MAX_ALL_BYTES, lambda content: len(content) + ENTRY_BYTES)

    def keep_bases(self) -> None:
        """Keep larger contents from now on, and more of them."""
        self._max_bytes = MAX_BASE_BYTES
        self._contents.max_cost = MAX_ALL_BASES_BYTES

    def keep(self, digest: bytes, content: bytes) -> None:
        if len(content) > self._max_bytes:
            return
        if self._contents.use(digest) is None:
            self._contents.put(digest, content)

    def __len__(self) -> int:
        return len(self._contents)

    def get(self, digest: bytes | None) -> bytes | None:
        return self._contents.use(digest) if digest is not None else None


def diff_between(old: bytes, new: bytes, file_path: str) -> str | None:
    """Return a unified diff; None if it is too expensive or too long, or if one of the two is not text."""
    fmt = text.detect_format(old)
    if len(new) > 2 * MAX_CONTENT_BYTES or fmt != text.detect_format(new):
        return None
    if text.is_binary(old, fmt) or text.is_binary(new, fmt):
        return None
    whole = Splice(0, len(old), new)
    change = unified.change_of(
        old, fmt, (whole,), file_path=file_path, operation="modify", limits=Limits(), max_diff_bytes=MAX_DIFF_BYTES
    )
    return None if change.truncated else change.unified


def is_same_text(one: bytes, other: bytes) -> bool:
    """Return whether the texts are equal apart from BOM, encoding and line ends, which an editor may not keep."""
    one_text, other_text = (text.to_lf(text.decode(data, text.detect_format(data))) for data in (one, other))
    return one_text == other_text
