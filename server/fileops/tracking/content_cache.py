"""The last small contents that sessions saw, by digest, so that a refused edit can say what changed since.

A convenience within a bound: nothing is decided by what is or is not in here.
"""

from collections import OrderedDict

from fileops.core import text
from fileops.core.diff import unified
from fileops.model.edits import Splice
from fileops.model.settings import Limits

MAX_CONTENT_BYTES = 256 * 1024  # as large as a file may be that is read whole by default
MAX_ALL_BYTES = 8 * 1024 * 1024
ENTRY_BYTES = 250  # what an entry costs besides its content: a million of tiny ones is no small thing
MAX_DIFF_BYTES = 100_000  # what changed since is a hint; past this one had better read the file


class ContentCache:
    """Not thread-safe: its owner locks."""

    def __init__(self) -> None:
        self._contents: OrderedDict[bytes, bytes] = OrderedDict()
        self._n_bytes = 0

    def keep(self, digest: bytes, content: bytes) -> None:
        if len(content) > MAX_CONTENT_BYTES:
            return
        if digest in self._contents:
            self._contents.move_to_end(digest)
            return
        self._contents[digest] = content
        self._n_bytes += len(content) + ENTRY_BYTES
        while self._n_bytes > MAX_ALL_BYTES:
            self._n_bytes -= len(self._contents.popitem(last=False)[1]) + ENTRY_BYTES

    def __len__(self) -> int:
        return len(self._contents)

    def get(self, digest: bytes | None) -> bytes | None:
        return self._contents.get(digest) if digest is not None else None


def diff_between(old: bytes, new: bytes, file_path: str) -> str | None:
    """Unified diff; None where it would cost or say too much, or where one of both is no text."""
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
    """Equal apart from BOM, encoding and line ends, which an editor's buffer may not have as the file has them."""
    one_text, other_text = (text.to_lf(text.decode(data, text.detect_format(data))) for data in (one, other))
    return one_text == other_text
