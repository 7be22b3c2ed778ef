"""Finds where the hunks of a patch apply in a file's current content, and plans the change.

The lines that a hunk keeps or removes must be in the file, at exactly one place: after the previous hunk, in the part
of the file that the hunk's anchors name, and at the end of the file if the hunk says so. A unified diff names a line,
which decides between several places. If the text is not there, but at one other place, that place is used. Nothing is
guessed by similarity.

Lines are compared in those tiers of `core/matching/correction.py` that the original dialect also has: exactly, then
without whitespace at their ends, then with look-alike punctuation as equal. The first tier that finds a place is used,
and the plan names it. In every tier only the lines marked `-` and `+` change; kept lines keep their bytes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.diff.unified import change_of
from fileops.core.legacy_text import require_encodable
from fileops.core.matching.correction import to_plain
from fileops.core.matching.exact import EXACT
from fileops.core.matching.replacement import LineEnds, combine_adjacent, replacement_at
from fileops.core.pausing import Check, check_nothing
from fileops.core.suggestions.suggested_place import suggest_place
from fileops.core.text import encode, newline_of, return_of, split_lines, to_lf
from fileops.model.edits import Edit, HunkLine, PatchHunk, Plan, Splice
from fileops.model.errors import HunkAmbiguous, HunkNotFound, InvalidPatch, NotEncodable
from fileops.model.files import Snapshot, Text, TextFormat
from fileops.model.settings import Limits

MAX_WORK = 500_000_000  # lines of the file × hunks that are searched in it: less than a second
MAX_PLACES = 100_000  # of one hunk; as many lines as a result may contain
_MAX_CODES = 1_000_000  # different lines in the hunks of a file; each is one character of the searched text
_SURROGATE = re.compile("[\ud800-\udfff]")
_OTHER = "\0"  # the character of a line that is in no hunk
_CLOSING = tuple("()[]{}")  # a line that begins with one belongs to the part above it


class _HunkPlace(Struct, frozen=True):
    """Lines [start, end) of the file, 0-based, which a hunk keeps and removes, and how they matched."""

    start: int
    end: int
    match: str


def plan_hunks(
    snapshot: Snapshot,
    fmt: TextFormat,
    hunks: Sequence[PatchHunk],
    *,
    limits: Limits,
    file_path: str | None = None,
    check: Check = check_nothing,
) -> Plan:
    """Plan the hunks of one file, all on the content of the snapshot, which exists.

    The plan has one edit for each hunk. Args and the errors of `check`: as for `core.plan.plan`. Raises: HunkNotFound,
    HunkAmbiguous, NotEncodable, InvalidPatch (a hunk that names no place; too much work).
    """
    text = Text(data=snapshot.data, format=fmt)
    hunks = _without_foreign_returns(hunks, text)
    lines = _HunkLines(text, hunks)
    finder = _Finder(lines, hunks)
    splices: list[Splice] = []
    places: list[_HunkPlace] = []
    reached = 0
    for index, hunk in enumerate(hunks):
        check()
        place = finder.place(index, reached)
        try:
            splices += lines.splices(hunk, place.start)
        except NotEncodable as failure:
            failure.edit_index = index
            raise
        places.append(place)
        reached = place.end
    composed = splicing.effective(snapshot.data, combine_adjacent(snapshot.data, splices, check))
    require_encodable(text, composed, snapshot.encoding)
    return Plan(
        snapshot=snapshot,
        format=fmt,
        splices=composed,
        edits=tuple(to_edit(hunk) for hunk in hunks),
        n_replacements=(1,) * len(hunks),
        matches=tuple(place.match for place in places),
        match_lines=tuple((place.start + 1,) for place in places),
        creates=False,
        change=change_of(
            snapshot.data,
            fmt,
            composed,
            file_path=snapshot.path if file_path is None else file_path,
            operation="modify",
            limits=limits,
            with_snippet=False,
            check=check,
        ),
    )


def to_edit(hunk: PatchHunk) -> Edit:
    """Return the hunk as an edit, for lists of a plan's edits. As an edit it might match at other places."""
    return Edit(old_string=_join(hunk.old_lines), new_string=_join(hunk.new_lines))


def _join(lines: Sequence[str]) -> str:
    return to_lf("".join(f"{line}\n" for line in lines))


def _without_foreign_returns(hunks: Sequence[PatchHunk], text: Text) -> Sequence[PatchHunk]:
    """Return the hunks without carriage returns if they come from a copy with CRLF, and this file has none."""
    if return_of(text.format) in text.data:
        return hunks
    if not any(line.text.endswith("\r") for hunk in hunks for line in hunk.lines if line.kind != "+"):
        return hunks
    return [
        replace(
            hunk,
            lines=tuple(
                HunkLine(kind=line.kind, text=line.text.removesuffix("\r"), no_newline=line.no_newline)
                for line in hunk.lines
            ),
        )
        for hunk in hunks
    ]


class _HunkLines:
    """The lines of a file, and how the lines of hunks are written in it.

    bodies: the decoded lines without their ends. starts: the offset of each line, and that of the end. has_returns:
    whether a hunk says where there are carriage returns; then they belong to the lines, else a line ends as its
    neighbours do. tells_end: whether the hunks say if the last line has a newline.
    """

    def __init__(self, text: Text, hunks: Sequence[PatchHunk]) -> None:
        fmt, texts = text.format, [line.text for hunk in hunks for line in hunk.lines]
        has_bom = fmt.encoding == "utf-8" and any(line.startswith("\ufeff") for line in texts)
        n_bom = 0 if has_bom else len(fmt.bom)
        newline, carriage_return = newline_of(fmt), return_of(fmt)
        self.text = text
        self.has_returns = any(line.endswith("\r") for line in texts)
        self.tells_end = any(hunk.old_start is not None for hunk in hunks)
        self.starts = [n_bom]
        self.bodies: list[str] = []
        self.has_crlf: list[bool] = []
        self.ends_in_newline = True
        for line in split_lines(text.data[n_bom:], fmt):
            self.starts.append(self.starts[-1] + len(line))
            self.ends_in_newline = line.endswith(newline)
            body = line.removesuffix(newline) if self.ends_in_newline else line
            is_crlf = self.ends_in_newline and body.endswith(carriage_return)
            self.has_crlf.append(is_crlf)
            if is_crlf and not self.has_returns:
                body = body.removesuffix(carriage_return)
            self.bodies.append(_decode(body, fmt))
        self._needs_newline = not self.ends_in_newline
        self._line_ends = LineEnds(text)

    def __len__(self) -> int:
        return len(self.bodies)

    def splices(self, hunk: PatchHunk, start: int) -> Iterator[Splice]:
        """Return the changes of a hunk whose old lines begin at line `start`. Hunks ascend. Raises: NotEncodable."""
        at = begin = start
        added: list[str] = []
        for line in (*hunk.lines, HunkLine(kind=" ", text="")):
            if line.kind == "+":
                added.append(line.text if line.no_newline else f"{line.text}\n")
                continue
            if line.kind == " ":
                if added or at > begin:
                    yield self._splice(begin, at, "".join(added))
                added, begin = [], at + 1
            at += 1

    def _splice(self, begin: int, end: int, new: str) -> Splice:
        start, stop = self.starts[begin], self.starts[end]
        if end == len(self):
            if begin == end and self._needs_newline:
                new = f"\n{new}"  # the last line gets the newline that it lacks
            self._needs_newline = False
        as_given = encode(new, self.text.format)  # refuses lone surrogates, which `replacement_at` takes as bytes
        if self.has_returns:
            return Splice(start, stop, as_given)
        return Splice(start, stop, replacement_at(self._line_ends, start, stop, new))


def _decode(body: bytes, fmt: TextFormat) -> str:
    """Return a line as text that equals a patch's line only if its bytes do.

    Bytes that are not text become surrogates.
    """
    if fmt.encoding == "utf-8":
        return body.decode("utf-8", "surrogateescape")
    try:
        return body.decode(fmt.encoding, "surrogatepass")
    except UnicodeDecodeError:
        return "\udc00"


class _Finder:
    """Finds the places of all of a file's hunks.

    In each tier the file's lines are one text with a character for each.
    """

    def __init__(self, lines: _HunkLines, hunks: Sequence[PatchHunk]) -> None:
        self._lines = lines
        self._hunks = hunks
        self._work = 0
        self._scope_ends: dict[int, int] = {}
        self._tiers: tuple[tuple[str, Callable[[], _Coded]], ...] = (
            (EXACT, lambda: self._exact),
            ("trailing_blanks", lambda: self._without_blanks),
            ("lookalikes", lambda: self._plain),
        )

    def place(self, index: int, reached: int) -> _HunkPlace:
        """Return the only place of a hunk from line `reached` on.

        Raises: HunkNotFound, HunkAmbiguous, InvalidPatch.
        """
        hunk = self._hunks[index]
        self._work += len(self._lines)
        if self._work > MAX_WORK:
            raise InvalidPatch(line=hunk.at, reason="the file has too many lines for so many hunks; send fewer at once")
        if not any(line.kind != "+" for line in hunk.lines):
            return self._place_of_addition(hunk)
        n_lines, anchors_found = len(hunk.old_lines), 0
        for match, tier in self._tiers:
            coded = tier()
            regions, n_found = self._regions(coded, hunk.anchors, reached)
            anchors_found = max(anchors_found, n_found)
            starts = self._starts(coded, index, hunk, regions)
            if len(starts) == 1:
                place = _HunkPlace(starts[0], starts[0] + n_lines, match)
                return (
                    place
                    if match != EXACT or not self._differs_in_ends(place)
                    else _HunkPlace(place.start, place.end, "newline")
                )
            if starts:
                raise HunkAmbiguous(
                    old_string=_join(hunk.old_lines),
                    n_matches=len(starts),
                    lines=tuple(start + 1 for start in starts),
                    edit_index=index,
                    patch_line=hunk.at,
                )
        raise self._not_found(index, hunk, anchors_found)

    # --- places ------------------------------------------------------------------------------------------------

    def _place_of_addition(self, hunk: PatchHunk) -> _HunkPlace:
        """Return the end of the file, where the dialect puts lines without context.

        A unified diff does not mean that.
        """
        n_lines = len(self._lines)
        if hunk.old_start is not None and n_lines:
            raise InvalidPatch(
                line=hunk.at, reason="the hunk only adds lines and has no context; make the diff with context lines"
            )
        return _HunkPlace(n_lines, n_lines, EXACT)

    def _starts(
        self, coded: "_Coded", index: int, hunk: PatchHunk, regions: Sequence[tuple[int, int]]
    ) -> tuple[int, ...]:
        """Return the lines on which the hunk's old lines begin, in the narrowest part of the file that has any."""
        pattern = coded.patterns[index]
        if not pattern or not regions:
            return ()
        first, end = regions[0][0], len(self._lines)
        if hunk.is_at_end:
            at = end - len(pattern)
            return (at,) if at >= first and coded.text.startswith(pattern, at) else ()
        if hunk.old_start is not None:
            stated = hunk.old_start - 1
            if stated >= first and coded.text.startswith(pattern, stated):
                return (stated,)
        found = tuple(_positions(coded.text, pattern, first))
        self._work += 8 * len(found)
        if len(found) <= 1 or not hunk.anchors:
            return found
        is_inside = _make_covers(regions)
        return tuple(start for start in found if is_inside(start, start + len(pattern))) or found

    def _regions(self, coded: "_Coded", anchors: Sequence[str], reached: int) -> tuple[list[tuple[int, int]], int]:
        """Return the parts [start, end) of the file that the anchors name, and how many anchors were found.

        A part begins at its anchor and has the lines below it that are indented more. Each further anchor is searched
        for in the parts of the previous one, or anywhere below it.
        """
        regions = [(reached, len(self._lines))]
        for number, anchor in enumerate(anchors):
            positions = coded.anchors.get(coded.normalized(anchor.strip()), ())
            first = regions[0][0]
            below = positions[bisect_left(positions, first) :]
            self._work += len(below)
            is_inside = _make_covers(regions)
            inside = [at for at in below if is_inside(at, at + 1)]
            regions = [(at, self._scope_end(at)) for at in inside or below]
            if not regions:
                return [], number
        return regions, len(anchors)

    def _scope_end(self, at: int) -> int:
        """Return the line after the last one below line `at` that is indented more, or closes a bracket."""
        if at in self._scope_ends:
            return self._scope_ends[at]
        decoded = self._lines.bodies
        indent = _indent(decoded[at])
        end = at + 1
        while end < len(decoded):
            line = decoded[end]
            is_inside = line.startswith(indent) and _indent(line) != indent
            if line.strip() and not is_inside and not line.lstrip(" \t").startswith(_CLOSING):
                break
            end += 1
        self._work += end - at
        self._scope_ends[at] = end
        return end

    def _differs_in_ends(self, place: _HunkPlace) -> bool:
        """Return whether the file has CRLF at the place, and the patch does not say so."""
        return not self._lines.has_returns and any(self._lines.has_crlf[place.start : place.end])

    def _not_found(self, index: int, hunk: PatchHunk, anchors_found: int) -> HunkNotFound:
        anchor = hunk.anchors[anchors_found] if anchors_found < len(hunk.anchors) else None
        old = _join(hunk.old_lines) if anchor is None else anchor
        elsewhere = () if anchor is not None else tuple(_positions(self._exact.text, self._exact.patterns[index], 0))
        return HunkNotFound(
            old_string=old,
            edit_index=index,
            patch_line=hunk.at,
            anchor=anchor,
            elsewhere=tuple(start + 1 for start in elsewhere),
            wants_end=hunk.is_at_end,
            suggested_place=None if elsewhere else suggest_place(self._lines.text, old),
        )

    # --- tiers -------------------------------------------------------------------------------------------------

    @cached_property
    def _exact(self) -> "_Coded":
        return _Coded(self._lines, self._hunks, lambda line: line)

    @cached_property
    def _without_blanks(self) -> "_Coded":
        return _Coded(self._lines, self._hunks, lambda line: line.rstrip(" \t\r"))

    @cached_property
    def _plain(self) -> "_Coded":
        return _Coded(self._lines, self._hunks, lambda line: to_plain(line).rstrip(" \t\r"))


class _Coded:
    """A file as a text of one character for each line, in which a hunk's old lines are searched as a text.

    All lines that no hunk has share one character, which no pattern has. patterns: of each hunk. anchors: the lines
    of the file, 0-based, that read like an anchor of a hunk, blanks at both ends aside.
    """

    def __init__(self, lines: _HunkLines, hunks: Sequence[PatchHunk], normalized: Callable[[str], str]) -> None:
        self.normalized = normalized
        codes: dict[str, str] = {}
        self.patterns: list[str] = []
        for hunk in hunks:
            keys = [self._key(line.text, line.no_newline) for line in hunk.lines if line.kind != "+"]
            for key in keys:
                if key not in codes:
                    codes[key] = _character(len(codes) + 1, hunk)
            self.patterns.append("".join(map(codes.__getitem__, keys)))
        characters = [codes.get(normalized(body), _OTHER) for body in lines.bodies]
        if characters and lines.tells_end and not lines.ends_in_newline:
            characters[-1] = codes.get(self._key(lines.bodies[-1], lacks_newline=True), _OTHER)
        self.text = "".join(characters)
        wanted = {normalized(anchor.strip()) for hunk in hunks for anchor in hunk.anchors}
        self.anchors: dict[str, list[int]] = {}
        for index, body in enumerate(lines.bodies if wanted else ()):
            if (key := normalized(body.strip())) in wanted:
                self.anchors.setdefault(key, []).append(index)

    def _key(self, line: str, lacks_newline: bool) -> str:
        r"""Return what equal lines have in common. A "\n" in it separates it from all other lines."""
        if _SURROGATE.search(line):
            return f"\n{line}"
        return f"{self.normalized(line)}\n" if lacks_newline else self.normalized(line)


def _character(number: int, hunk: PatchHunk) -> str:
    """The character for the number-th different line. Surrogates are left out. Raises: InvalidPatch."""
    if number > _MAX_CODES:
        raise InvalidPatch(line=hunk.at, reason="the hunks of this file have too many different lines")
    return chr(number if number < 0xD800 else number + 0x800)


def _make_covers(regions: Sequence[tuple[int, int]]) -> Callable[[int, int], bool]:
    """Return whether lines [start, end) are in one of the regions, which are ordered by their beginnings."""
    starts = [start for start, _ in regions]
    ends = list(accumulate((end for _, end in regions), max))  # the furthest end of any region up to here

    def is_inside(start: int, end: int) -> bool:
        index = bisect_right(starts, start) - 1
        return index >= 0 and ends[index] >= end

    return is_inside


def _positions(text: str, pattern: str, at: int) -> Iterator[int]:
    """Return every position of the pattern, overlaps included, at most MAX_PLACES of them."""
    n_found = 0
    while pattern and n_found < MAX_PLACES and (at := text.find(pattern, at)) >= 0:
        yield at
        n_found += 1
        at += 1


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
