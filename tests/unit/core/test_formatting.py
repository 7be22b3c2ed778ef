"""What a formatter made of a text, restricted to the lines that an edit changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.formatting import Replacement, apply_changes, find_changed_lines, indentation_of

TEXT = "a  b\nc  d\ne  f\n"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([(0, 4, "a b"), (5, 9, "c d"), (10, 14, "e f")], "a  b\nc d\ne  f\n"),
        ([(0, 15, "a b\nc d\ne f\n")], TEXT),  # one change that reaches beyond the line
        ([(5, 10, "c d\n\n")], "a  b\nc d\n\ne  f\n"),
        ([(5, 6, "C"), (8, 9, "D")], "a  b\nC  D\ne  f\n"),  # two in one line
        ([(5, 10, "")], "a  b\ne  f\n"),
        ([(5, 10, "c d ")], TEXT),  # would be joined with the next line
        ([(4, 5, " ")], TEXT),  # would be joined with the line before
        ([(0, 15, "a  b\nc d\ne  f\n")], "a  b\nc d\ne  f\n"),  # the whole text, of which one line differs
    ],
)
def test_change_counts_that_lies_in_the_changed_line(made: list[Replacement], expected: str) -> None:
    assert apply_changes(TEXT, [(1, 2)], [made]) == expected


def test_replacements_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_changes(TEXT, [(0, 3)], [[(0, 4, "x"), (3, 9, "y")]])


@given(data=st.data(), text=st.text("ab \n", max_size=60))
def test_lines_outside_of_the_ranges_stay(data: st.DataObject, text: str) -> None:
    """Whatever a formatter replaces: the lines before, between and after the ranges are there, in their order."""
    n_lines = text.count("\n") + 1
    bounds = sorted(data.draw(st.sets(st.integers(0, n_lines), max_size=4)))
    ranges = list(zip(bounds[::2], bounds[1::2], strict=False))
    made: list[list[Replacement]] = []
    for _ in ranges:
        at = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
        new_texts = st.text("abc \n", max_size=8)
        made.append([(start, end, data.draw(new_texts)) for start, end in zip(at[::2], at[1::2], strict=False)])
    result = apply_changes(text, ranges, made).split("\n")
    lines, at = text.split("\n"), 0
    edges = zip([(0, 0), *ranges], [*ranges, (n_lines, 0)], strict=True)
    kept = [lines[end_before:start] for (_, end_before), (start, _) in edges]
    assert result[: len(kept[0])] == kept[0]
    assert result[len(result) - len(kept[-1]) :] == kept[-1]
    for part in kept:
        while result[at : at + len(part)] != part:
            at += 1
            assert at <= len(result)
        at += len(part)


def test_changed_lines_are_those_that_were_not_there() -> None:
    assert find_changed_lines("a\nb\nc\n", "a\nB\nB\nc\n") == [(1, 3)]
    assert find_changed_lines("a\nb\n", "a\n") == []
    assert find_changed_lines(None, "a\nb") == [(0, 2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n", (4, True)),
        ("a\n  b\n    c\n", (2, True)),
        ("a\n b\n", (1, True)),
        ("a\n\tb\n", (4, False)),
        ("", (4, True)),
    ],
)
def test_indentation_is_that_of_the_text(text: str, expected: tuple[int, bool]) -> None:
    assert indentation_of(text) == expected
