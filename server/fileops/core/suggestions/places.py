r"""Finds the places that a text which is not in the file most likely meant, as exact parts of the file.

The search has four steps. Words and whole lines of the wanted text that occur in the file vote for the line at which it
would begin. Around the likeliest lines the wanted lines are aligned with those of the file (`alignment.py`). The first
and the last pair of lines decide where the place begins and ends: at whole lines, or inside a line if the caller gave
only a part of it. Finally the similarity of the place is measured, and a place below MIN_SIMILARITY is dropped.

Each step takes time that is at most linear in the file, and the number of wanted lines, votes and candidates is
limited. It is one module because the steps can only be understood together.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from fileops.core.matching.differences import ALL_KINDS, differences_of, unseen
from fileops.core.matching.similarity import fold, ratio_of, unescape
from fileops.core.pausing import Check, check_nothing
from fileops.core.suggestions.alignment import LineKey, align, key_of, likeness_of, similarity_of
from fileops.core.suggestions.columns import columns, indentation
from fileops.core.suggestions.lines import LineTable
from fileops.core.text import to_lf
from fileops.model.edits import DiffersIn

MIN_SIMILARITY = 0.5  # of a suggested place; below, it misleads more than it helps
MAX_PLACES = 3
MAX_TEXT_CHARS = 4 << 20
MAX_TEXT_LINES = 200_000
MAX_OLD_LINES = 200  # of the caller's text
MAX_OLD_CHARS = 20_000
_MIN_END = 0.88  # of the characters of the first pair of lines, and of the last one
_MIN_DOUBT = 0.5  # of the words of two lines; with less in common they are different lines
_MIN_PART_CHARS = 4  # of the end of a line; less occurs everywhere
_RIVAL = 0.75  # of the similarity of the best place: the others are offered if they are about as similar
_MAX_GAP_LINES = 400  # between the two parts of a text with an elided middle
_N_WORDS = 24
_N_LONG_LINES = 8
_MAX_VOTED = 200  # lines with votes whose neighbours are counted too
_N_HITS = 64  # of one word
_N_MISTYPED = 4  # words that the text does not have; both halves of each are looked for
_MIN_MISTYPED_CHARS = 4
_N_CANDIDATES = 6
_N_CANDIDATES_OF_LONG = 3
_LONG_LINES = 60

_LINE_NUMBER = re.compile(r"^ *\d+(?:→|\t)")
_ELISION = re.compile(r"^\W*(?:\.\.\.|…)[^\n]{0,60}$")
_ESCAPED_NEWLINE = re.compile(r"(?<!\\r)\\n(?![\"'`])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[^\W_]{3,}")


class Place(Struct, frozen=True, kw_only=True):
    """Characters [start, end) of the text, in the lines `first_line` to `last_line` (1-based, both included).

    similarity: 0 to 1. is_elided: the caller left out its middle. is_sure: it is known where the place begins and ends;
    else the caller's first or last line may mean a line of the file that differs much, or may be missing there.
    """

    start: int
    end: int
    first_line: int
    last_line: int
    similarity: float
    differs_in: tuple[DiffersIn, ...]
    is_elided: bool = False
    is_sure: bool = True


_Kept = tuple[list[str], list[str]]  # keys of the lines of the new text, from its beginning and from its end


class _Wanted(Struct, frozen=True, kw_only=True):
    """The caller's lines from the first to the last that is not blank.

    copied: what was removed from them. n_before, n_after: the newlines before them and after them. has_blank_first,
    has_blank_last: whether the outermost of the lines that are left out here has blanks, so that it is a whole line.
    """

    keys: tuple[LineKey, ...]
    copied: frozenset[DiffersIn]
    n_before: int
    n_after: int
    has_blank_first: bool
    has_blank_last: bool

    def may_begin_inside(self, index: int) -> bool:
        """Whether this line may begin inside a line of the file."""
        return index == 0 and not self.n_before

    def may_end_inside(self, index: int) -> bool:
        """Whether this line may end inside a line of the file; one with a newline after it ends where its line does."""
        return index == len(self.keys) - 1 and not self.n_after


class _Candidate(Struct, frozen=True, kw_only=True):
    """Lines of the file, 0-based, and their pairs with the wanted lines."""

    score: float
    pairs: tuple[tuple[int, int], ...]
    is_sure: bool = True


def places(lines: LineTable, old: str, new: str, check: Check = check_nothing) -> list[Place]:
    """Return the places that `old` most likely meant, most similar first; [] if there are none.

    lines: of the text with LF line ends. new: the text that should be there. Its first and last lines are often the
    file's, and so show where a place ends whose own first or last line is not found. Raises: the errors of `check`.
    """
    if len(lines.text) > MAX_TEXT_CHARS or len(lines.bodies) > MAX_TEXT_LINES:
        return []
    kept = _to_line_keys(new)
    found: list[Place] = []
    for given, copied in _readings(old):
        if (parts := _around_elision(given)) is not None:
            head, tail = (_parse_wanted(part, copied) for part in parts)
            found += _find_elided(lines, head, tail, kept, check)
        elif (wanted := _parse_wanted(given, copied)) is not None:
            found += _find(lines, wanted, kept, check)
    return _distinct(found)


def without_surrogates(text: str) -> str:
    """Return the text as JSON can carry it."""
    return _SURROGATE.sub("\ufffd", text)


def _to_line_keys(new: str) -> tuple[list[str], list[str]]:
    """Return the keys of the new text's lines, from its beginning and from its end."""
    keys = [fold(line) for line in to_lf(new[:MAX_OLD_CHARS]).split("\n")[:MAX_OLD_LINES] if line.strip()]
    return keys, keys[::-1]


def _readings(old: str) -> list[tuple[list[str], frozenset[DiffersIn]]]:
    r"""Return the caller's lines, and what was removed from them: copied line numbers, or escapes that were added.

    A text in one line with `\n` in it has two readings: with all escapes removed, and with those of line ends alone,
    if the text of the file itself has the others.
    """
    seen = without_surrogates(to_lf(old[:MAX_OLD_CHARS]))
    if "\n" in seen or r"\n" not in seen:
        return [_without_numbers(seen.split("\n"), set())]
    texts = dict.fromkeys((unescape(seen), _ESCAPED_NEWLINE.sub("\n", seen)))
    return [_without_numbers(text.split("\n"), {"escapes"}) for text in texts]


def _without_numbers(lines: list[str], copied: set[DiffersIn]) -> tuple[list[str], frozenset[DiffersIn]]:
    numbered = [bool(_LINE_NUMBER.match(line)) for line in lines if line]
    if numbered and all(numbered):
        lines = [_LINE_NUMBER.sub("", line) for line in lines]
        copied.add("line_numbers")
    return lines, frozenset(copied)


def _parse_wanted(lines: Sequence[str], copied: frozenset[DiffersIn]) -> _Wanted | None:
    """Return None if there is only whitespace."""
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    last = next(index for index in range(len(lines) - 1, -1, -1) if lines[index].strip())
    last = min(last, first + MAX_OLD_LINES - 1)
    n_before, n_after = first, len(lines) - 1 - last
    keys = tuple(
        key_of(
            line,
            may_be_part=(index == first and not n_before) or (index == last and not n_after),
        )
        for index, line in enumerate(lines[first : last + 1], first)
    )
    return _Wanted(
        keys=keys,
        copied=copied,
        n_before=n_before,
        n_after=n_after,
        has_blank_first=n_before > 0 and bool(lines[0]),
        has_blank_last=n_after > 0 and bool(lines[-1]),
    )


# --- candidates ---------------------------------------------------------------------------------------------------


def _find(lines: LineTable, wanted: _Wanted, kept: _Kept, check: Check) -> list[Place]:
    keys = wanted.keys
    slack = min(2 + len(keys) // 4, 8) if len(keys) > 1 else 0
    known: dict[int, LineKey] = {}

    def key_at(line: int) -> LineKey:
        if line not in known:
            known[line] = key_of(lines.bodies[line][:MAX_OLD_CHARS])
        return known[line]

    found: list[_Candidate] = []
    for begin in _likely_lines(lines, keys, slack, check):
        check()
        low = max(0, begin - slack)
        high = min(lines.n_lines, begin + len(keys) + slack)
        alignment = align(keys, [key_at(line) for line in range(low, high)], begin - low, slack)
        if alignment.pairs:
            pairs = tuple((i, low + j) for i, j in alignment.pairs)
            if any(len(lines.bodies[line]) > MAX_OLD_CHARS for _, line in pairs):
                continue  # such a line cannot be offered, and searching a part of it is slow
            found.append(_Candidate(score=alignment.score, pairs=pairs))
    found.sort(key=lambda candidate: (-candidate.score, candidate.pairs[0][1]))
    placed = [_to_place(lines, wanted, _trim(lines, wanted, kept, candidate)) for candidate in found]
    return [place for place in placed if place.similarity >= MIN_SIMILARITY]


def _likely_lines(lines: LineTable, keys: Sequence[LineKey], slack: int, check: Check) -> list[int]:
    """Return the lines at which the wanted text may begin, the likeliest first."""
    votes: dict[int, float] = defaultdict(float)
    text = lines.text
    by_length = sorted(range(len(keys)), key=lambda index: -len(keys[index].text.strip()))
    for index in by_length[:_N_LONG_LINES]:
        piece = keys[index].text.strip()
        if len(piece) > 3 or "\ufffd" in piece:
            check()
            hits = _hits(text, piece)
            for hit in hits:
                votes[lines.line_at(hit) - index] += len(piece) / len(hits) ** 0.5
    lowered = text.lower()
    if len(lowered) != len(text):  # a few characters have longer lower-case forms
        lowered = text
    words: dict[str, list[int]] = {}
    for index, key in enumerate(keys):
        for word in _WORD.findall(key.text.lower() if lowered is not text else key.text):
            words.setdefault(word, []).append(index)
    n_mistyped = 0
    for word in sorted(words, key=lambda word: -len(word))[:_N_WORDS]:
        check()
        pieces = {word: _hits(lowered, word)}
        if not pieces[word] and len(word) >= _MIN_MISTYPED_CHARS and n_mistyped < _N_MISTYPED:
            n_mistyped += 1
            half = len(word) // 2
            pieces = {piece: _hits(lowered, piece) for piece in (word[:half], word[half:])}
        for piece, hits in pieces.items():
            for hit in hits:
                line = lines.line_at(hit)
                for index in words[word][:4]:
                    votes[line - index] += len(piece) / len(hits)
    if not votes:
        for token in {token for key in keys for token in key.parts if not token.isspace()}:
            hits = _hits(lowered, token)
            for hit in hits:
                votes[lines.line_at(hit)] += 1 / len(hits)
    return _peaks(votes, slack, _N_CANDIDATES if len(keys) <= _LONG_LINES else _N_CANDIDATES_OF_LONG)


def _hits(text: str, piece: str) -> list[int]:
    hits: list[int] = []
    at = text.find(piece)
    while at >= 0 and len(hits) < _N_HITS:
        hits.append(at)
        at = text.find(piece, at + len(piece))
    return hits


def _peaks(votes: dict[int, float], slack: int, n_peaks: int) -> list[int]:
    """Return the lines with the most votes at and around them; those near a better one are part of it."""
    scores = {
        line: sum(votes.get(line + step, 0.0) * (1 - abs(step) / (slack + 1)) for step in range(-slack, slack + 1))
        for line in sorted(votes, key=lambda line: -votes[line])[:_MAX_VOTED]
    }
    peaks: list[int] = []
    for line in sorted(scores, key=lambda line: (-scores[line], line)):
        if all(abs(line - peak) > slack for peak in peaks):
            peaks.append(line)
            if len(peaks) == n_peaks:
                break
    return [max(0, line) for line in peaks]


# --- from lines to an exact part of the file ---------------------------------------------------------------------


def _trim(lines: LineTable, wanted: _Wanted, kept: _Kept, candidate: _Candidate) -> _Candidate:
    """Decide which lines at the ends of a candidate belong to the place, and whether that is certain.

    A first or last pair whose lines have little in common is dropped: the file does not have the caller's line. A line
    of the file beside the place that the new text begins or ends with belongs to it: the caller gave it wrongly, and
    keeps it.
    """
    keys, pairs = wanted.keys, list(candidate.pairs)
    for at, kept_lines in ((0, kept[0]), (-1, kept[1])):
        while len(pairs) > 1:
            line_index, there_index = pairs[at]
            line, there = keys[line_index], key_of(lines.bodies[there_index][:MAX_OLD_CHARS])
            after = pairs[1 if at == 0 else -2]
            is_next = after[0] - line_index == after[1] - there_index
            n_dropped = len(candidate.pairs) - len(pairs)
            is_equal = line.key == there.key and (bool(line.key) or is_next)
            if is_equal or there.key in kept_lines[: n_dropped + 1]:
                break
            if is_next and _are_same_line(wanted, line_index, there):
                break
            del pairs[at]
    while pairs[0][0] > 0 and pairs[0][1] > 0 and _is_kept(lines.bodies[pairs[0][1] - 1], kept[0][: pairs[0][0]]):
        pairs.insert(0, (pairs[0][0] - 1, pairs[0][1] - 1))
    while pairs[-1][0] + 1 < len(keys) and pairs[-1][1] + 1 < lines.n_lines:
        wanted_next, there_next = pairs[-1][0] + 1, pairs[-1][1] + 1
        are_blank = not keys[wanted_next].key and not lines.bodies[there_next].strip()
        if not are_blank and not _is_kept(lines.bodies[there_next], kept[1][: len(keys) - wanted_next]):
            break
        pairs.append((wanted_next, there_next))
    is_sure = not _has_doubtful_end(lines, wanted, pairs)
    if len(pairs) == 1 and is_sure:
        there = key_of(lines.bodies[pairs[0][1]][:MAX_OLD_CHARS])
        is_sure = _are_same_line(wanted, pairs[0][0], there) or _is_kept(there.text, kept[0] + kept[1])
    return _Candidate(score=candidate.score, pairs=tuple(pairs), is_sure=is_sure)


def _has_doubtful_end(lines: LineTable, wanted: _Wanted, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether the wanted line before the first pair, or after the last one, may mean the line of the file there."""
    (first_wanted, first), (last_wanted, last) = pairs[0], pairs[-1]
    beside = [(first_wanted - 1, first - 1)] if first_wanted and first else []
    if last_wanted + 1 < len(wanted.keys) and last + 1 < lines.n_lines:
        beside.append((last_wanted + 1, last + 1))
    return any(
        _may_be_same_line(wanted, i, key_of(lines.bodies[j][:MAX_OLD_CHARS]))
        for i, j in beside
        if wanted.keys[i].key and lines.bodies[j].strip()
    )


def _may_be_same_line(wanted: _Wanted, index: int, there: LineKey) -> bool:
    line = wanted.keys[index]
    if likeness_of(line, there) >= _MIN_DOUBT or (line.may_be_part and len(line.key) < _MIN_PART_CHARS):
        return True
    if line.is_short and there.is_short and ratio_of(line.key, there.key) >= _MIN_DOUBT:
        return True
    return line.may_be_part and ratio_of(line.key, _part_for(wanted, index, there)) >= _MIN_DOUBT


def _part_for(wanted: _Wanted, index: int, there: LineKey) -> str:
    """The key of the end of a line, as long as the wanted line that may begin inside it, or of its beginning."""
    n_chars = len(wanted.keys[index].key)
    return there.key[-n_chars:] if wanted.may_begin_inside(index) else there.key[:n_chars]


def _are_same_line(wanted: _Wanted, index: int, there: LineKey) -> bool:
    """Whether a first or last wanted line certainly means this line of the file, or a part of it.

    A line that begins the wanted text may be the end of its line, one that ends it the beginning, and one that does
    both any part.
    """
    line = wanted.keys[index]
    if line.key == there.key or ratio_of(line.text.strip(), there.text.strip()) >= _MIN_END:
        return True
    may_begin_inside, may_end_inside = wanted.may_begin_inside(index), wanted.may_end_inside(index)
    if not (may_begin_inside or may_end_inside) or len(line.key) < _MIN_PART_CHARS:
        return False
    if may_begin_inside and may_end_inside:
        return True
    return ratio_of(line.key, _part_for(wanted, index, there)) >= _MIN_END


def _is_kept(line: str, kept_lines: Sequence[str]) -> bool:
    return bool(line.strip()) and fold(line) in kept_lines


def _to_place(lines: LineTable, wanted: _Wanted, candidate: _Candidate) -> Place:
    keys, pairs = wanted.keys, candidate.pairs
    (first_wanted, first), (last_wanted, last) = pairs[0], pairs[-1]
    first_text, last_text = lines.bodies[first], lines.bodies[last]
    is_dedented = any(indentation(keys[i].text) != indentation(lines.bodies[j]) for i, j in pairs[1:])
    begin, end, is_sure = 0, len(last_text), candidate.is_sure
    is_one_line = first == last
    if wanted.may_begin_inside(first_wanted):
        found = columns(
            keys[first_wanted].text,
            first_text,
            keeps_blanks=not is_dedented,
            is_whole_end=not is_one_line or wanted.n_after > 0,
        )
        begin, is_sure = found.begin, is_sure and found.is_begin_sure
    if wanted.may_end_inside(last_wanted):
        found = columns(
            keys[last_wanted].text,
            last_text,
            keeps_blanks=not is_dedented,
            is_whole_start=not is_one_line or wanted.n_before > 0,
        )
        end, is_sure = found.end, is_sure and found.is_end_sure
    start_at, end_at = lines.start(first) + begin, lines.start(last) + max(end, begin if is_one_line else 0)
    there = _there(lines, candidate.pairs, begin, end)
    renumbered = [(i, j - first) for i, j in pairs]
    similarity = similarity_of(keys, there, renumbered)
    kinds = {*differences_of(_texts(keys, there, renumbered)), *wanted.copied} or {unseen([key.text for key in there])}
    if begin == 0:
        start_at = _with_newlines_before(lines, first, wanted.n_before, wanted.has_blank_first)
    if end == len(last_text):
        end_at = _with_newlines_after(lines, last, wanted.n_after, wanted.has_blank_last)
    return Place(
        start=start_at,
        end=end_at,
        first_line=lines.line_at(start_at) + 1,
        last_line=lines.line_at(max(start_at, end_at - 1)) + 1,
        similarity=round(similarity, 3),
        differs_in=tuple(kind for kind in ALL_KINDS if kind in kinds),
        is_sure=is_sure,
    )


def _with_newlines_before(lines: LineTable, line: int, n: int, takes_blanks: bool) -> int:
    """Return where a place begins that has `n` newlines before this line, as far as only blank lines are there."""
    at = lines.start(line)
    while n and at:
        at, n, line = at - 1, n - 1, line - 1
        if (n or takes_blanks) and not lines.bodies[line].strip():
            at = lines.start(line)
        elif n:
            break
    return at


def _with_newlines_after(lines: LineTable, line: int, n: int, takes_blanks: bool) -> int:
    """Return where a place ends that has `n` newlines after this line, as far as only blank lines are there."""
    at = lines.end(line)
    while n and at < len(lines.text):
        at, n, line = at + 1, n - 1, line + 1
        if (n or takes_blanks) and not lines.bodies[line].strip():
            at = lines.end(line)
        elif n:
            break
    return at


def _there(lines: LineTable, pairs: Sequence[tuple[int, int]], begin: int, end: int) -> list[LineKey]:
    """The lines of a place, its first and last one as far as they belong to it."""
    first, last = pairs[0][1], pairs[-1][1]
    bodies = lines.bodies[first : last + 1]
    bodies[-1] = bodies[-1][:end]
    bodies[0] = bodies[0][begin:]
    return [key_of(body[:MAX_OLD_CHARS]) for body in bodies]


def _texts(
    keys: Sequence[LineKey], there: Sequence[LineKey], pairs: Sequence[tuple[int, int]]
) -> list[tuple[str, str]]:
    used, paired = {j for _, j in pairs}, {i for i, _ in pairs}
    return [
        *((keys[i].text, there[j].text) for i, j in pairs),
        *((key.text, "") for i, key in enumerate(keys) if i not in paired),
        *(("", key.text) for j, key in enumerate(there) if j not in used),
    ]


# --- choice -------------------------------------------------------------------------------------------------------


def _distinct(found: list[Place]) -> list[Place]:
    """Return the best places: none that overlap, and none that is much less similar than the best.

    Words outrank whitespace: if a place has the wanted words, those with other words are not meant.
    """
    best: list[Place] = []
    for place in sorted(found, key=lambda place: (_has_other_words(place), -place.similarity, place.start)):
        is_apart = all(place.end <= other.start or other.end <= place.start for other in best)
        if not is_apart or (best and _has_other_words(place) and not _has_other_words(best[0])):
            continue
        if not best or place.similarity >= _RIVAL * best[0].similarity:
            best.append(place)
    return best[:MAX_PLACES]


def _has_other_words(place: Place) -> bool:
    return "words" in place.differs_in


# --- an elided middle ---------------------------------------------------------------------------------------------


def _around_elision(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return what is before and after a line that replaces others ("...", "# ... rest of it"); None without one."""
    at = [index for index, line in enumerate(lines) if _ELISION.match(line)]
    return (lines[: at[0]], lines[at[0] + 1 :]) if len(at) == 1 else None


def _find_elided(
    lines: LineTable, head: _Wanted | None, tail: _Wanted | None, kept: _Kept, check: Check
) -> list[Place]:
    """Return the places from a head to the next tail.

    The part with more text is searched; of the other one, which is often a bracket and a blank, the next lines that
    look the same are taken.
    """
    if head is None or tail is None:
        return []
    n_head, n_tail = (sum(len(key.key) for key in part.keys) for part in (head, tail))
    joined: list[Place] = []
    for anchor in _find(lines, head if n_head >= n_tail else tail, kept, check):
        if n_head >= n_tail:
            other = _next_equal(lines, tail, range(anchor.last_line, anchor.last_line + _MAX_GAP_LINES))
        else:
            low = anchor.first_line - 1 - len(head.keys)
            other = _next_equal(lines, head, range(low, low - _MAX_GAP_LINES, -1))
        if other is not None:
            first, last = (anchor, other) if n_head >= n_tail else (other, anchor)
            kinds = {*anchor.differs_in, *other.differs_in, "words"}
            joined.append(
                Place(
                    start=first.start,
                    end=last.end,
                    first_line=first.first_line,
                    last_line=last.last_line,
                    similarity=anchor.similarity,
                    differs_in=tuple(kind for kind in ALL_KINDS if kind in kinds),
                    is_elided=True,
                )
            )
    return joined


def _next_equal(lines: LineTable, wanted: _Wanted, begins: range) -> Place | None:
    """Return the first place, at the given lines in their order, whose lines look the same as the wanted ones."""
    keys, last = wanted.keys, len(wanted.keys) - 1
    for begin in begins:
        if begin < 0 or begin + last >= lines.n_lines:
            continue
        if all(key.key == fold(lines.bodies[begin + i]) for i, key in enumerate(keys)):
            pairs = tuple((i, begin + i) for i in range(len(keys)))
            return _to_place(lines, wanted, _Candidate(score=0.0, pairs=pairs))
    return None
