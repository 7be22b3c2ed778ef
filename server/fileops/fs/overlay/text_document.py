"""TextDocument: the text of an open document, an immutable value to which LSP's incremental changes apply.

Lines end at LF, CRLF and CR and nowhere else (LSP 3.17, "Text Documents"): form feeds, U+0085 and U+2028 are
content. The text is kept in chunks of a few thousand characters, so that a keystroke costs a chunk and not
the document. Offsets are code points; positions count units of the negotiated encoding.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from fileops.core.text import n_units
from fileops.model.documents import DocumentPosition, PositionEncoding
from fileops.model.files import TextFormat

CHUNK_CHARS = 4096  # a keystroke rebuilds one; 1 MB is 256 of them
_BREAK = re.compile(r"\r\n|\n|\r")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Chunk:
    """A piece of the text that never begins or ends inside a CRLF or a surrogate pair."""

    __slots__ = ("_units", "n_breaks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._units: tuple[PositionEncoding, int] | None = None
        self.n_breaks = text.count("\n") + (text.count("\r") - text.count("\r\n") if "\r" in text else 0)

    def n_units(self, encoding: PositionEncoding) -> int:
        if self._units is None or self._units[0] != encoding:
            self._units = encoding, n_units(self.text, encoding)
        return self._units[1]


class TextDocument:
    """Immutable: `splice` returns another one, which shares all chunks but the touched ones."""

    __slots__ = ("_breaks", "_chunks", "_ends", "_text")

    def __init__(self, text: str) -> None:
        self._take(_chunks_of(text))

    def _take(self, chunks: Sequence[_Chunk]) -> None:
        self._chunks = tuple(chunks)
        self._ends = list(accumulate(len(chunk.text) for chunk in chunks))
        self._breaks = list(accumulate(chunk.n_breaks for chunk in chunks))
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The whole text, joined when it is first used."""
        if self._text is None:
            self._text = "".join(chunk.text for chunk in self._chunks)
        return self._text

    @property
    def n_chars(self) -> int:
        return self._ends[-1] if self._ends else 0

    def has_range(self, start: DocumentPosition, end: DocumentPosition) -> bool:
        """Return whether an editor that shows this text may send such a range.

        The line after the last one is allowed, because Neovim ends every text with a line feed. A range from the first
        character may end anywhere, because some clients replace a whole text in this way.
        """
        n_lines = (self._breaks[-1] if self._breaks else 0) + 1
        if start == DocumentPosition(0, 0):
            return start <= end
        return 0 <= start.line <= end.line <= n_lines and start <= end and min(start.character, end.character) >= 0

    def offsets_of(self, start: DocumentPosition, end: DocumentPosition, encoding: PositionEncoding) -> tuple[int, int]:
        """Return the code points of a range, even of a reversed one.

        A position past the end of its line or of the text means that end.
        """
        if end < start:
            start, end = end, start
        return self.offset_at(start, encoding), self.offset_at(end, encoding)

    def splice(self, start: int, end: int, new: str) -> "TextDocument":
        """Replace the code points [start, end)."""
        first = min(bisect_right(self._ends, start), max(len(self._chunks) - 1, 0))
        last = min(bisect_left(self._ends, end, lo=first), max(len(self._chunks) - 1, 0))
        middle = new
        if self._chunks:
            head, tail = self._chunks[first].text, self._chunks[last].text
            middle = head[: start - self._begin(first)] + new + tail[end - self._begin(last) :]
            last += 1
        while first and _may_join(self._chunks[first - 1].text, middle):
            first -= 1
            middle = self._chunks[first].text + middle
        while last < len(self._chunks) and _may_join(middle, self._chunks[last].text):
            middle += self._chunks[last].text
            last += 1
        result = TextDocument.__new__(TextDocument)
        result._take((*self._chunks[:first], *_chunks_of(middle), *self._chunks[last:]))  # noqa: SLF001
        return result

    def offset_at(self, position: DocumentPosition, encoding: PositionEncoding) -> int:
        """Return the offset of a position, rounded down to a whole character; negative positions are zero."""
        at, offset = self._line_start(position.line)
        if at == len(self._chunks):
            return self.n_chars
        wanted = max(position.character, 0)
        while True:
            chunk = self._chunks[at]
            if not offset and not chunk.n_breaks and at < len(self._chunks) - 1:
                units = chunk.n_units(encoding)  # a chunk inside a very long line
                if wanted > units:
                    wanted -= units
                    at += 1
                    continue
            text = chunk.text
            line_break = _BREAK.search(text, offset) if chunk.n_breaks else None
            piece = text[offset : line_break.start() if line_break else len(text)]
            units = n_units(piece, encoding)
            if wanted <= units or line_break or at == len(self._chunks) - 1:
                return self._begin(at) + offset + _chars_in(piece, min(wanted, units), encoding)
            wanted -= units
            at, offset = at + 1, 0

    def _line_start(self, line: int) -> tuple[int, int]:
        """Return the chunk and the offset in it at which a line begins; past the last chunk without such a line."""
        if line <= 0:
            return 0, 0
        at = bisect_left(self._breaks, line)
        if at == len(self._chunks):
            return at, 0
        n_before = self._breaks[at - 1] if at else 0
        text = self._chunks[at].text
        end = 0
        for _ in range(line - n_before):
            line_break = _BREAK.search(text, end)
            assert line_break is not None
            end = line_break.end()
        return at, end

    def _begin(self, chunk: int) -> int:
        return self._ends[chunk - 1] if chunk else 0


def encode_document(text: str, fmt: TextFormat) -> bytes:
    """Encode a text as a file of this format, BOM included. Lone surrogates, which JSON can contain, are kept."""
    return fmt.bom + without_bom(text, fmt).encode(fmt.encoding, "surrogatepass")


def without_bom(text: str, fmt: TextFormat) -> str:
    return text[1:] if fmt.bom and text.startswith("\ufeff") else text


def advance(position: DocumentPosition, text: str, encoding: PositionEncoding) -> DocumentPosition:
    """Return the position after a text at `position` that neither begins nor ends inside a CRLF."""
    n_breaks = _Chunk(text).n_breaks
    if not n_breaks:
        return DocumentPosition(position.line, position.character + n_units(text, encoding))
    last = text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]
    return DocumentPosition(position.line + n_breaks, n_units(last, encoding))


def _chars_in(text: str, units: int, encoding: PositionEncoding) -> int:
    """Return how many whole characters the first `units` units contain."""
    if encoding == "utf-32" or text.isascii():
        return units
    if encoding == "utf-16":
        raw = text.encode("utf-16-le", "surrogatepass")
        if 0 < units < len(raw) // 2 and _is_inside_pair(raw, units):
            units -= 1
        return len(raw[: units * 2].decode("utf-16-le", "surrogatepass"))
    raw = text.encode("utf-8", "surrogatepass")
    while 0 < units < len(raw) and raw[units] & 0xC0 == 0x80:
        units -= 1
    return len(raw[:units].decode("utf-8", "surrogatepass"))


def _is_inside_pair(raw: bytes, units: int) -> bool:
    return raw[units * 2 - 1] & 0xFC == 0xD8 and raw[units * 2 + 1] & 0xFC == 0xDC


def _chunks_of(text: str) -> list[_Chunk]:
    if not text.isascii() and _SURROGATE.search(text):  # two halves that changes brought together are one character
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return [_Chunk(piece) for piece in _pieces_of(text)]


def _pieces_of(text: str) -> Iterable[str]:
    if len(text) <= 2 * CHUNK_CHARS:
        return (text,) if text else ()
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = start + CHUNK_CHARS
        if len(text) - end < CHUNK_CHARS // 2:
            end = len(text)
        elif _is_glued(text[end - 1], text[end]):
            end += 1
        pieces.append(text[start:end])
        start = end
    return pieces


def _may_join(left: str, right: str) -> bool:
    """Return whether two adjacent chunks must be one, or are small enough to become one."""
    if not left or not right:
        return True
    return len(left) + len(right) <= CHUNK_CHARS // 2 or _is_glued(left[-1], right[0])


def _is_glued(last: str, first: str) -> bool:
    return (last == "\r" and first == "\n") or ("\ud800" <= last <= "\udbff" and "\udc00" <= first <= "\udfff")
