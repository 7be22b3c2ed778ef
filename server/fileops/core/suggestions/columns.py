"""Finds where in a line of the file the first or last line of a wanted text begins and ends.

A text of several lines begins somewhere in a line and reaches to the line's end, and it ends likewise. A text of one
line may be any part of a line. If the lines differ, their tokens are aligned.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import islice

from msgspec import Struct

from fileops.core.matching.similarity import fold, ratio_of, with_plain_quotes

_MAX_LINE_TOKENS = 400
_MAX_TOKEN_SHIFT = 3  # between runs of common tokens: a token that was added or left out
_MIN_MISTYPED = 0.6  # of the characters of tokens before the first common one, or after the last one
_TOKEN = re.compile(r"\w+|[^\w\s]")


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


class Columns(Struct, frozen=True):
    """Characters [begin, end) of a line, and which of the two is certain."""

    begin: int
    end: int
    is_begin_sure: bool = True
    is_end_sure: bool = True


def columns(
    wanted: str, line: str, *, keeps_blanks: bool, is_whole_start: bool = False, is_whole_end: bool = False
) -> Columns:
    """Return which columns of a line the caller's line means: all of it, or a part.

    An end of a part is certain if the caller's tokens there are in the line, or are mistyped ones of the line, or if it
    is the end of the line.

    keeps_blanks: whether a line that is given without its indentation begins after it. is_whole_start, is_whole_end:
    the part reaches to that end of the line, as it does in a text of several lines.
    """
    body_start, body_end = indentation(line), len(line.rstrip(" \t"))
    wanted_body = wanted.strip()
    begins_at_body = 0 if wanted[:1] in {" ", "\t"} or not keeps_blanks else body_start
    ends_at_body = len(line) if wanted[-1:] in {" ", "\t"} else body_end
    if fold(wanted_body) == fold(line):
        return Columns(begins_at_body, ends_at_body)
    at = line.rfind(wanted_body) if is_whole_end else line.find(wanted_body)
    if wanted_body and at >= 0:
        return Columns(begins_at_body if at == body_start else at, at + len(wanted_body))
    theirs = [found.span() for found in islice(_TOKEN.finditer(line), _MAX_LINE_TOKENS)]
    ours = [found.span() for found in islice(_TOKEN.finditer(wanted_body), _MAX_LINE_TOKENS)]
    if not theirs or not ours:
        return Columns(begins_at_body, ends_at_body, is_begin_sure=is_whole_start, is_end_sure=is_whole_end)
    found = _token_range(_Tokens(wanted_body, ours), _Tokens(line, theirs))
    begin, end = theirs[found.first][0], theirs[found.last][1]
    return Columns(
        begin=0 if is_whole_start else begins_at_body if begin == body_start else begin,
        end=len(line) if is_whole_end else ends_at_body if end == body_end else end,
        is_begin_sure=is_whole_start or begin == body_start or found.is_first_sure,
        is_end_sure=is_whole_end or end == body_end or found.is_last_sure,
    )


class _Tokens:
    """The tokens of a line, by their places."""

    def __init__(self, line: str, spans: Sequence[tuple[int, int]]) -> None:
        self._line, self._spans = with_plain_quotes(line).replace('"', "'"), spans
        self.keys = [fold(line[start:end]) for start, end in spans]

    def __len__(self) -> int:
        return len(self._spans)

    def text(self, first: int, stop: int) -> str:
        return self._line[self._spans[first][0] : self._spans[stop - 1][1]] if first < stop else ""


class _TokenRange(Struct, frozen=True):
    """The first and the last token of a part of a line, and whether these are certain."""

    first: int
    last: int
    is_first_sure: bool = True
    is_last_sure: bool = True


def _token_range(ours: _Tokens, theirs: _Tokens) -> _TokenRange:
    """Return which tokens of a line correspond to the wanted ones.

    The longest run of common tokens shows where the wanted ones lie. The part before the first common token, and the
    part after the last one, have the length that makes the two most similar.
    """
    blocks = SequenceMatcher(None, ours.keys, theirs.keys, autojunk=False).get_matching_blocks()[:-1]
    if not blocks:
        is_typed = ratio_of(ours.text(0, len(ours)), theirs.text(0, len(theirs))) >= _MIN_MISTYPED
        return _TokenRange(0, len(theirs) - 1, is_typed, is_typed)
    longest = max(blocks, key=lambda block: block.size)
    shift = longest.b - longest.a
    near = [block for block in blocks if abs(block.b - block.a - shift) <= _MAX_TOKEN_SHIFT]
    first, n_before = near[0].b, near[0].a
    is_first_sure = is_last_sure = True
    if n_before:
        lead, stop = ours.text(0, n_before), first
        begins = [(ratio_of(lead, theirs.text(at, stop)), at) for at in range(max(0, stop - n_before - 2), stop)]
        nearest = stop - n_before
        likeness, first = max(begins, key=lambda found: (found[0], -abs(nearest - found[1])), default=(0.0, stop))
        is_first_sure = likeness >= _MIN_MISTYPED
    last, n_after = near[-1].b + near[-1].size - 1, len(ours) - near[-1].a - near[-1].size
    if n_after:
        tail, begin = ours.text(len(ours) - n_after, len(ours)), last + 1
        ends = [
            (ratio_of(tail, theirs.text(begin, at + 1)), at)
            for at in range(begin, min(len(theirs), last + n_after + 3))
        ]
        nearest = last + n_after
        likeness, last = max(ends, key=lambda found: (found[0], -abs(nearest - found[1])), default=(0.0, last))
        is_last_sure = likeness >= _MIN_MISTYPED
    return _TokenRange(first, last, is_first_sure, is_last_sure)
