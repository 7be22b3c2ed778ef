"""What was typed in a document since one of its texts, as splices: no comparison of the two texts is as certain.

An editor may also report the reload of a file, which it has compared itself. So a change that may be the result of a
comparison is not known: one that replaces lines by lines, or whose lines could as well be inserted or deleted beside
the place that the editor names.
"""

import re
from collections.abc import Sequence

from fileops.core.splices import compose_all, effective
from fileops.fs.overlay.text_document import TextDocument, encode_document, without_bom
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

MAX_CHANGES = 2_000  # since the last text; then the change is compared
_UNITS = "utf-32-le"  # of the journal: a character has 4 bytes, so splices of bytes are splices of characters
_UNIT_BYTES = 4
_FIRST = re.compile(r"\s*\S[^\r\n]*")  # line that is not blank, and the blanks before it
_LAST = re.compile(r"[^\r\n]*\S\s*\Z")  # and the blanks after it

Change = tuple[int, int, str]  # code points [start, end) of the text before, and the text in their place


class TypedText:
    """The changes since a text, oldest first. Mutable: the owner's lock guards it. None: they are not known.

    doubtful: a later text. Unless the editor now reports that it saved this text, it reloaded it from the file, and
    nothing was typed up to there.
    """

    __slots__ = ("changes", "doubtful", "since")

    def __init__(self, since: TextDocument) -> None:
        self.since = since
        self.changes: list[Change] | None = []
        self.doubtful: TextDocument | None = None

    def add(self, changes: Sequence[Change] | None) -> None:
        if self.doubtful is not None:
            self.since, self.changes, self.doubtful = self.doubtful, [], None
        if changes is None or self.changes is None or len(self.changes) + len(changes) > MAX_CHANGES:
            self.changes = None
        else:
            self.changes += changes


def is_certain(before: TextDocument, start: int, end: int, new: str, *, has_lines: bool) -> bool:
    """Return whether a change can only have been made at this place.

    start, end: code points. has_lines: whether there is a line break between them.
    """
    adds_lines = "\n" in new or "\r" in new
    if has_lines and adds_lines:
        return False
    if not has_lines and not adds_lines:
        return True
    text = before.text
    lines = new if adds_lines else text[start:end]
    first, last = _FIRST.match(lines), _LAST.search(lines)
    is_also_below = first is not None and text.startswith(first.group(), end)
    is_also_above = last is not None and text.endswith(last.group(), 0, start)
    return not is_also_below and not is_also_above


def byte_splices(before: TextDocument, changes: Sequence[Change], fmt: TextFormat) -> tuple[Splice, ...] | None:
    """Return the changes as splices over the document as a file of this format; None if that is impossible."""
    steps = [
        (Splice(start * _UNIT_BYTES, end * _UNIT_BYTES, new.encode(_UNITS, "surrogatepass")),)
        for start, end, new in changes
    ]
    text, data = before.text, encode_document(before.text, fmt)
    n_hidden = len(text) - len(without_bom(text, fmt))
    found: list[Splice] = []
    at, reached = n_hidden, len(fmt.bom)
    for splice in compose_all(steps):
        start, end = splice.start // _UNIT_BYTES, splice.end // _UNIT_BYTES
        if start < n_hidden:
            return None
        first = reached + len(text[at:start].encode(fmt.encoding, "surrogatepass"))
        last = first + len(text[start:end].encode(fmt.encoding, "surrogatepass"))
        new = splice.new.decode(_UNITS, "surrogatepass").encode(fmt.encoding, "surrogatepass")
        found.append(Splice(first, last, new))
        at, reached = end, last
    return effective(data, found)
