"""The words in which two lines differ."""

from fileops.core.text import cut
from fileops.terminal.words import divide_by_words, shorten

VALUES = ", ".join(f"value {number}" for number in range(300))


def test_long_lines_that_are_cut_show_only_the_words_that_differ() -> None:
    """They are cut at different places of the text behind these words."""
    lines = [cut(line, 1_000) for line in (VALUES, VALUES.replace("value 50", "value fifty and more"))]
    for one, other in (lines, lines[::-1]):
        shown = [shorten(runs) for runs in divide_by_words(one, other)]
        assert all(len("".join(run.text for run in runs)) < 200 for runs in shown)
        assert {run.text for runs in shown for run in runs if run.is_changed} == {"50", "fifty and more"}
    removed, added = divide_by_words(cut(VALUES, 1_000), cut(VALUES.replace("value 50, ", ""), 1_000))
    assert [run.text for run in (*removed, *added) if run.is_changed] == ["50, value "]


def test_words_at_the_cut_of_long_lines_are_marked_if_nothing_else_differs() -> None:
    lines = [cut("same " * 20 + word + "x" * 50, 103) for word in ("one", "two")]
    assert [runs[1] for runs in divide_by_words(*lines)] == [("one", True), ("two", True)]
    assert divide_by_words(*[cut("x" * 50, 0)] * 2)[0][-1].text == cut("x" * 50, 0)
