"""What was replaced in a settings file's text, so that it can be put back when the file has changed elsewhere since."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

# Changes this close together are put back together: a lone comma could not be found again.
MAX_GAP = 200
# A text of at least this length is not in a settings file by chance, as `}` or `true` might be.
MIN_LENGTH = 16


@dataclass(frozen=True)
class TextSplice:
    """`new` begins at `start` of the new text, in characters, and stands there instead of `old`."""

    start: int
    new: str
    old: str


def splices_between(before: str, after: str) -> list[TextSplice]:
    """Return what leads from `after` back to `before`."""
    splices: list[TextSplice] = []
    for splice in find_changed_lines(before, after):
        last = splices[-1] if splices else None
        if last is None or splice.start - (end := last.start + len(last.new)) > MAX_GAP:
            splices.append(splice)
        else:
            between = after[end : splice.start]
            splices[-1] = TextSplice(last.start, last.new + between + splice.new, last.old + between + splice.old)
    return splices


def find_changed_lines(before: str, after: str) -> Iterator[TextSplice]:
    """Yield what differs in each run of changed lines, without what both have at its ends."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    n_head = _n_common(old, new)
    n_tail = _n_common(old[n_head:][::-1], new[n_head:][::-1])
    old_lines, new_lines = old[n_head : len(old) - n_tail], new[n_head : len(new) - n_tail]
    starts = list(accumulate((len(line) for line in new_lines), initial=sum(map(len, new[:n_head]))))
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            text = "".join(new_lines[new_start:new_end])
            yield _trim(starts[new_start], text, "".join(old_lines[old_start:old_end]))


def reverse_in(text: str, splices: Sequence[TextSplice]) -> str | None:
    """Return the text with all splices reversed, each where it was or at the one place where its text now is.

    None if one of them cannot be found.
    """
    is_moved = not all(text.startswith(splice.new, splice.start) for splice in splices)
    for splice in reversed(splices):
        start = splice.start
        if is_moved:
            if len(splice.new) < MIN_LENGTH or text.count(splice.new) != 1:
                return None
            start = text.index(splice.new)
        text = text[:start] + splice.old + text[start + len(splice.new) :]
    return text


def _trim(start: int, new: str, old: str) -> TextSplice:
    n_head = _n_common(old, new)
    n_tail = _n_common(old[n_head:][::-1], new[n_head:][::-1])
    return TextSplice(start + n_head, new[n_head : len(new) - n_tail], old[n_head : len(old) - n_tail])


def _n_common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
