"""Where in a line of the file the first or last line of a wanted text begins and ends.

A text of several lines begins somewhere in a line and reaches to its end, and ends likewise; a text of one line may be
any part of one. Where the lines differ, their tokens are aligned.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import islice

from fileops.core.matching.similarity import fold, ratio_of

_MAX_LINE_TOKENS = 400
_MAX_TOKEN_SHIFT = 3  # between runs of common tokens: a token that was added or left out
_TOKEN = re.compile(r"\w+|[^\w\s]")


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def columns(
    wanted: str, line: str, *, keeps_blanks: bool, is_whole_start: bool = False, is_whole_end: bool = False
) -> tuple[int, int]:
    """Return which columns of a line the caller's line means: all of it, or a part.

    keeps_blanks: whether a line that is given without its indentation begins after it. is_whole_start, is_whole_end:
    the part reaches to that end of the line, as it does in a text of several lines.
    """
    body_start, body_end = indentation(line), len(line.rstrip(" \t"))
    wanted_body = wanted.strip()
    begins_at_body = 0 if wanted[:1] in {" ", "\t"} or not keeps_blanks else body_start
    ends_at_body = len(line) if wanted[-1:] in {" ", "\t"} else body_end
    if fold(wanted_body) == fold(line):
        return begins_at_body, ends_at_body
    at = line.rfind(wanted_body) if is_whole_end else line.find(wanted_body)
    if wanted_body and at >= 0:
        return (begins_at_body if at == body_start else at), at + len(wanted_body)
    theirs = [found.span() for found in islice(_TOKEN.finditer(line), _MAX_LINE_TOKENS)]
    ours = [found.span() for found in islice(_TOKEN.finditer(wanted_body), _MAX_LINE_TOKENS)]
    if not theirs or not ours:
        return begins_at_body, ends_at_body
    first, last = _token_range(_Tokens(wanted_body, ours), _Tokens(line, theirs))
    begin, end = theirs[first][0], theirs[last][1]
    if begin == body_start:
        begin = begins_at_body
    return (0 if is_whole_start else begin), (len(line) if is_whole_end else ends_at_body if end == body_end else end)


class _Tokens:
    """The tokens of a line, by their places."""

    def __init__(self, line: str, spans: Sequence[tuple[int, int]]) -> None:
        self._line, self._spans = line, spans
        self.keys = [fold(line[start:end]) for start, end in spans]

    def __len__(self) -> int:
        return len(self._spans)

    def text(self, first: int, stop: int) -> str:
        return self._line[self._spans[first][0] : self._spans[stop - 1][1]] if first < stop else ""


def _token_range(ours: _Tokens, theirs: _Tokens) -> tuple[int, int]:
    """Return the first and the last token of a line that correspond to the wanted ones.

    The longest run of tokens that both have says where the wanted ones lie. What is before the first common token, and
    after the last one, is as long as it makes the two most similar.
    """
    blocks = SequenceMatcher(None, ours.keys, theirs.keys, autojunk=False).get_matching_blocks()[:-1]
    if not blocks:
        return 0, len(theirs) - 1
    longest = max(blocks, key=lambda block: block.size)
    shift = longest.b - longest.a
    near = [block for block in blocks if abs(block.b - block.a - shift) <= _MAX_TOKEN_SHIFT]
    first, n_before = near[0].b, near[0].a
    if n_before:
        begins = range(max(0, first - n_before - 2), first)
        lead = ours.text(0, n_before)
        first = max(
            begins, key=lambda at: (ratio_of(lead, theirs.text(at, first)), -abs(first - n_before - at)), default=first
        )
    last, n_after = near[-1].b + near[-1].size - 1, len(ours) - near[-1].a - near[-1].size
    if n_after:
        ends = range(last + 1, min(len(theirs), last + n_after + 3))
        tail, begin = ours.text(len(ours) - n_after, len(ours)), last + 1
        last = max(
            ends, key=lambda at: (ratio_of(tail, theirs.text(begin, at + 1)), -abs(last + n_after - at)), default=last
        )
    return first, last
