"""Splices over a document's bytes as the smallest text edits that an editor takes.

An editor knows characters and lines, not bytes: a splice that begins or ends inside a character or inside a CRLF
is widened to hold it whole.
"""

from collections.abc import Sequence

from fileops.core.text import newline_of, return_of
from fileops.fs.overlay.text_document import TextDocument, advanced
from fileops.model.documents import DocumentEdit, Position, PositionEncoding
from fileops.model.edits import Splice
from fileops.model.files import TextFormat


def encode_document(text: str, fmt: TextFormat) -> bytes:
    """The text as a file of this format, BOM included. Lone surrogates, which JSON can bring, are kept."""
    return fmt.bom + _without_bom(text, fmt).encode(fmt.encoding, "surrogatepass")


def document_edits(
    document: TextDocument, data: bytes, fmt: TextFormat, splices: Sequence[Splice], encoding: PositionEncoding
) -> tuple[DocumentEdit, ...]:
    """data: `encode_document` of the document's text. The edits are in order and do not overlap."""
    at = len(fmt.bom)
    text = document.text[: len(document.text) - len(_without_bom(document.text, fmt))]
    position = advanced(Position(0, 0), text, encoding)
    edits: list[DocumentEdit] = []
    for splice in _widened(data, fmt, splices):
        start = advanced(position, _decoded(data[at : splice.start], fmt), encoding)
        position = advanced(start, _decoded(data[splice.start : splice.end], fmt), encoding)
        at = splice.end
        edits.append(DocumentEdit(start, position, _decoded(splice.new, fmt)))
    return tuple(edits)


def _without_bom(text: str, fmt: TextFormat) -> str:
    return text[1:] if fmt.bom and text.startswith("\ufeff") else text


def _decoded(data: bytes, fmt: TextFormat) -> str:
    return data.decode(fmt.encoding, "surrogatepass")


def _widened(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> list[Splice]:
    n_bom = len(fmt.bom)
    groups: list[tuple[int, int, list[Splice]]] = []
    for given in splices:
        new = given.new.removeprefix(fmt.bom) if given.start < n_bom else given.new
        splice = Splice(max(given.start, n_bom), max(given.end, n_bom), new)
        start, end = _down(data, fmt, splice.start), _up(data, fmt, splice.end)
        if groups and start < groups[-1][1]:  # both touch one character
            first, reached, members = groups[-1]
            groups[-1] = first, max(end, reached), [*members, splice]
        else:
            groups.append((start, end, [splice]))
    return [Splice(start, end, _part_after(data, start, end, members)) for start, end, members in groups]


def _part_after(data: bytes, start: int, end: int, splices: Sequence[Splice]) -> bytes:
    pieces: list[bytes] = []
    at = start
    for splice in splices:
        pieces += (data[at : splice.start], splice.new)
        at = splice.end
    return b"".join((*pieces, data[at:end]))


def _down(data: bytes, fmt: TextFormat, at: int) -> int:
    while at > len(fmt.bom) and _is_inside(data, fmt, at):
        at -= fmt.unit_bytes
    return at


def _up(data: bytes, fmt: TextFormat, at: int) -> int:
    while at < len(data) and _is_inside(data, fmt, at):
        at += fmt.unit_bytes
    return at


def _is_inside(data: bytes, fmt: TextFormat, at: int) -> bool:
    """Whether `at` (on a code unit) lies inside a character or a CRLF."""
    unit = fmt.unit_bytes
    here, before = data[at : at + unit], data[at - unit : at]
    if here == newline_of(fmt) and before == return_of(fmt):
        return True
    if unit == 1:
        return bool(here) and here[0] & 0xC0 == 0x80
    if unit == 2 and here:
        high = here[1] if fmt.encoding == "utf-16-le" else here[0]
        high_before = before[1] if fmt.encoding == "utf-16-le" else before[0]
        return 0xDC <= high <= 0xDF and 0xD8 <= high_before <= 0xDB
    return False
