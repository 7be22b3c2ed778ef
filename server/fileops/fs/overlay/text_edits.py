"""Translates splices of a document's bytes into the smallest text edits that an editor can make.

Editors count characters and lines, not bytes: a splice that begins or ends inside a character or inside a CRLF is
widened to include it.
"""

from collections.abc import Sequence

from fileops.core.splices import apply_within
from fileops.core.text import newline_of, return_of
from fileops.fs.overlay.text_document import TextDocument, advance, without_bom
from fileops.model.documents import DocumentEdit, DocumentPosition, PositionEncoding
from fileops.model.edits import Splice
from fileops.model.files import TextFormat


def document_edits(
    document: TextDocument, data: bytes, fmt: TextFormat, splices: Sequence[Splice], encoding: PositionEncoding
) -> tuple[DocumentEdit, ...]:
    """Return the edits, in order and without overlap. `data` is the document's text as `encode_document` returns it."""
    at = len(fmt.bom)
    text = document.text[: len(document.text) - len(without_bom(document.text, fmt))]
    position = advance(DocumentPosition(0, 0), text, encoding)
    edits: list[DocumentEdit] = []
    for splice in _widen(data, fmt, splices):
        start = advance(position, _decode(data[at : splice.start], fmt), encoding)
        position = advance(start, _decode(data[splice.start : splice.end], fmt), encoding)
        at = splice.end
        edits.append(DocumentEdit(start, position, _decode(splice.new, fmt)))
    return tuple(edits)


def _decode(data: bytes, fmt: TextFormat) -> str:
    return data.decode(fmt.encoding, "surrogatepass")


def _widen(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> list[Splice]:
    n_bom = len(fmt.bom)
    groups: list[tuple[int, int, list[Splice]]] = []
    for original in splices:
        new = original.new.removeprefix(fmt.bom) if original.start < n_bom else original.new
        splice = Splice(max(original.start, n_bom), max(original.end, n_bom), new)
        start, end = _down(data, fmt, splice.start), _up(data, fmt, splice.end)
        if groups and start < groups[-1][1]:  # both touch one character
            first, reached, members = groups[-1]
            groups[-1] = first, max(end, reached), [*members, splice]
        else:
            groups.append((start, end, [splice]))
    return [Splice(start, end, apply_within(data, members, start, end)) for start, end, members in groups]


def _down(data: bytes, fmt: TextFormat, at: int) -> int:
    while at > len(fmt.bom) and _is_inside(data, fmt, at):
        at -= fmt.unit_bytes
    return at


def _up(data: bytes, fmt: TextFormat, at: int) -> int:
    while at < len(data) and _is_inside(data, fmt, at):
        at += fmt.unit_bytes
    return at


def _is_inside(data: bytes, fmt: TextFormat, at: int) -> bool:
    """Return whether `at` (on a code unit) lies inside a character or a CRLF."""
    unit = fmt.unit_bytes
    after, before = data[at : at + unit], data[at - unit : at]
    if after == newline_of(fmt) and before == return_of(fmt):
        return True
    if unit == 1:
        return bool(after) and after[0] & 0xC0 == 0x80
    if unit == 2 and after:
        high = after[1] if fmt.encoding == "utf-16-le" else after[0]
        high_before = before[1] if fmt.encoding == "utf-16-le" else before[0]
        return 0xDC <= high <= 0xDF and 0xD8 <= high_before <= 0xDB
    return False
