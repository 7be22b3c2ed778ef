"""A file's text as UTF-8 with LF line ends, for searches that are not literal, and the map back to its bytes.

The copy is only searched. What is found becomes splices over the file's own bytes.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable

from msgspec import Struct

from fileops.core.text import return_of
from fileops.model.files import Text


class NormalizedText(Struct, frozen=True):
    """A normalized text. `data` has no BOM and keeps invalid UTF-8; `crlfs` are the newlines in it that were CRLFs."""

    source: Text
    data: bytes
    crlfs: tuple[int, ...]

    def spans_in_source(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Translate ranges of `data` to byte ranges of the source. The ranges ascend and do not overlap."""
        walk = _OffsetMap(self)
        return [(walk.to(start), walk.to(end)) for start, end in spans]


def body_of(text: Text) -> NormalizedText | None:
    """Normalize the text, or return None if it is not valid in its encoding (UTF-16 and UTF-32 only)."""
    fmt = text.format
    content = text.data[len(fmt.bom) :]
    if fmt.encoding != "utf-8":
        try:
            content = content.decode(fmt.encoding, "surrogatepass").encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
    if b"\r\n" not in content:
        return NormalizedText(text, content, ())
    crlfs = tuple(found.start() - n for n, found in enumerate(re.finditer(rb"\r\n", content)))
    return NormalizedText(text, content.replace(b"\r\n", b"\n"), crlfs)


class _OffsetMap:
    """Translates offsets of the body to offsets of the source, in ascending order."""

    def __init__(self, body: NormalizedText) -> None:
        self._body = body
        self._at = 0
        self._source_at = len(body.source.format.bom)

    def to(self, offset: int) -> int:
        body, fmt = self._body, self._body.source.format
        if fmt.encoding == "utf-8":
            return len(fmt.bom) + offset + bisect_left(body.crlfs, offset)
        passed = body.data[self._at : offset].decode("utf-8", "surrogatepass")
        n_returns = bisect_left(body.crlfs, offset) - bisect_left(body.crlfs, self._at)
        self._source_at += len(passed.encode(fmt.encoding, "surrogatepass")) + n_returns * len(return_of(fmt))
        self._at = offset
        return self._source_at
