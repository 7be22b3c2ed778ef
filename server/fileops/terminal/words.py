"""The words in which two lines differ, and long lines shortened to these words and what is around them. Pure."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from fileops.core.text import CUT_END

MAX_COMPARED = 500_000  # pairs of words; with more, all between the equal ends counts as changed
LEAST_EQUAL = 0.3  # of the characters; lines with less in common are two different lines
AROUND = 40  # characters of equal text shown beside a changed word of a long line
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class LinePart(NamedTuple):
    """A part of a line. is_changed: the other line does not have it."""

    text: str
    is_changed: bool


def divide_by_words(old: str, new: str) -> tuple[list[LinePart], list[LinePart]]:
    """Divide both lines into runs. Nothing is marked in lines that have little in common.

    If both are cut (core/text.py), they end at different places of the same text if they differ before.
    """
    old_cut, new_cut = CUT_END.search(old), CUT_END.search(new)
    if old_cut is not None and new_cut is not None:
        removed, added = divide_by_words(old[: old_cut.start()], new[: new_cut.start()])
        differ_before = any(run.is_changed for run in (*removed[:-1], *added[:-1]))
        return (
            _with_cut(removed, old_cut.group(), differ_before=differ_before),
            _with_cut(added, new_cut.group(), differ_before=differ_before),
        )
    before, after = _WORD.findall(old), _WORD.findall(new)
    n_start = _n_equal(before, after)
    n_end = _n_equal(before[n_start:][::-1], after[n_start:][::-1])
    rest, other = before[n_start : len(before) - n_end], after[n_start : len(after) - n_end]
    blocks = [(0, 0, n_start)]
    if len(rest) * len(other) <= MAX_COMPARED:
        matcher = SequenceMatcher(None, rest, other, autojunk=False)
        blocks += [(n_start + a, n_start + b, n) for a, b, n in matcher.get_matching_blocks()[:-1]]
    blocks.append((len(before) - n_end, len(after) - n_end, n_end))
    n_chars = sum(len("".join(before[a : a + n]).strip()) for a, _, n in blocks)
    if n_chars < LEAST_EQUAL * max(len(old), len(new)):
        return [LinePart(old, is_changed=False)], [LinePart(new, is_changed=False)]
    return (
        list(_runs(before, [(a, n) for a, _, n in blocks])),
        list(_runs(after, [(b, n) for _, b, n in blocks])),
    )


def _with_cut(runs: Sequence[LinePart], notice: str, *, differ_before: bool) -> list[LinePart]:
    kept, end = list(runs), notice
    while kept and (not kept[-1].is_changed or (differ_before and end == notice)):
        end = kept.pop().text + end
    return [*kept, LinePart(end, is_changed=False)]


def shorten(runs: Sequence[LinePart]) -> list[LinePart]:
    """Replace what is far from any changed word by an ellipsis, if there is a changed word."""
    if not any(run.is_changed for run in runs):
        return list(runs)
    last = len(runs) - 1
    return [
        run if run.is_changed else LinePart(_shorten(run.text, is_first=n == 0, is_last=n == last), is_changed=False)
        for n, run in enumerate(runs)
    ]


def _shorten(text: str, *, is_first: bool, is_last: bool) -> str:
    head = "" if is_first else text[:AROUND]
    tail = "" if is_last else text[len(text) - AROUND :]
    return text if len(text) <= len(head) + len(tail) + 1 else f"{head}…{tail}"


def _n_equal(words: Sequence[str], others: Sequence[str]) -> int:
    """How many words are equal at the start of both."""
    pairs = enumerate(zip(words, others, strict=False))
    return next((n for n, (word, other) in pairs if word != other), min(len(words), len(others)))


def _runs(words: Sequence[str], equal: Sequence[tuple[int, int]]) -> Iterator[LinePart]:
    """Args: equal: the first word of each equal part, and how many words it has."""
    at = 0
    for start, n_words in equal:
        if start > at:
            yield LinePart("".join(words[at:start]), is_changed=True)
        if n_words:
            yield LinePart("".join(words[start : start + n_words]), is_changed=False)
        at = start + n_words
