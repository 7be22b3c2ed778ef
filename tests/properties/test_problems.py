"""Problems before and after an edit: what was moved is the same, what is new is introduced, and each counts once."""

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from fileops.core.diagnostics.difference import difference, text_edits
from fileops.core.diagnostics.positions import Positions
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model.diagnostics import Problem
from fileops.model.edits import Splice

WORDS = st.sampled_from(["alpha", "beta", "gamma", "é", "𝄞x", "_"])
LINES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
TEXTS = st.lists(LINES, min_size=1, max_size=12).map(lambda lines: "\n".join(lines) + "\n")
WRITINGS = st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")])


def problem(start: int, end: int, message: str = "bad") -> Problem:
    return Problem(start, end, "error", "E1", "checker", message)


def problems_in(text: str, word: str = "alpha") -> list[Problem]:
    """What a checker says that finds a word bad, wherever it stands."""
    found: list[Problem] = []
    at = text.find(word)
    while at >= 0:
        found.append(problem(at, at + len(word)))
        at = text.find(word, at + 1)
    return found


@given(TEXTS, st.integers(0, 11), LINES, WRITINGS)
def test_problems_beside_an_edit_of_one_line_are_the_same_problems(
    text: str, at_line: int, new_line: str, writing: tuple[str, bytes]
) -> None:
    encoding, bom = writing
    lines = text.splitlines(keepends=True)
    index = at_line % len(lines)
    start = len("".join(lines[:index]))
    after = "".join((*lines[:index], new_line + "\n", *lines[index + 1 :]))
    data = bom + text.encode(encoding)
    offset = len(bom) + len(text[:start].encode(encoding))
    splice = Splice(offset, offset + len(lines[index].encode(encoding)), f"{new_line}\n".encode(encoding))
    assert apply(data, [splice]) == bom + after.encode(encoding)
    edits = text_edits(data, detect_format(data), [splice])
    compared = difference(problems_in(text), problems_in(after), edits)
    more = new_line.count("alpha") - lines[index].count("alpha")
    assert len(compared.introduced) == max(more, 0)
    assert len(compared.resolved) == max(-more, 0)
    assert all(start <= each.start < start + len(new_line) + 1 for each in compared.introduced)


@given(st.data(), TEXTS, TEXTS)
def test_each_problem_is_matched_once_or_listed(data: st.DataObject, old: str, new: str) -> None:
    def some(text: str) -> list[Problem]:
        places = st.integers(0, len(text))
        pairs = data.draw(st.lists(st.tuples(places, places, st.sampled_from(["bad", "worse"])), max_size=6))
        return [problem(min(a, b), max(a, b), message) for a, b, message in pairs]

    before, after = some(old), some(new)
    edits = text_edits(old.encode(), detect_format(b""), [Splice(0, len(old.encode()), new.encode())])
    compared = difference(before, after, edits)
    assert len(before) - len(compared.resolved) == len(after) - len(compared.introduced)
    for message in ("bad", "worse"):
        n_before, n_after = (sum(each.message == message for each in found) for found in (before, after))
        n_added = sum(each.message == message for each in compared.introduced)
        n_gone = sum(each.message == message for each in compared.resolved)
        assert n_before - n_gone == n_after - n_added >= 0


@given(TEXTS)
def test_problems_of_an_unchanged_text_are_neither_introduced_nor_resolved(text: str) -> None:
    compared = difference(problems_in(text), list(reversed(problems_in(text))), ())
    assert not compared.introduced
    assert not compared.resolved


@given(
    st.text(st.sampled_from("ab\n\ré𝄞"), max_size=40),
    st.integers(0, 40),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_position_of_each_offset_leads_back_to_it(text: str, at: int, encoding: str) -> None:
    at = min(at, len(text))
    if at and text[at - 1 : at + 1] == "\r\n":
        return  # between CR and LF there is no position
    breaks = [0]
    for index, char in enumerate(text):
        if char == "\n" or (char == "\r" and text[index + 1 : index + 2] != "\n"):
            breaks.append(index + 1)
    line = bisect_right(breaks, at) - 1
    head = text[breaks[line] : at]
    units = {"utf-8": len(head.encode()), "utf-16": len(head.encode("utf-16-le")) // 2, "utf-32": len(head)}[encoding]
    places = Positions(text)
    if encoding == "utf-8":
        assert places.offset(line, units, "utf-8") == at
    elif encoding == "utf-16":
        assert places.offset(line, units, "utf-16") == at
    else:
        assert places.offset(line, units, "utf-32") == at
    shown_line, column = places.line_and_column(at)
    assert (shown_line, column) == (text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1)
