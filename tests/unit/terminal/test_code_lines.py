"""Lines of code at a terminal: what continues a long one is below its text, and never below its number or its sign."""

from collections.abc import Iterable

import pytest

from fileops.platform.page import Line, cells, fit_lines
from fileops.terminal.record_lines import blame_lines, diff_lines
from fileops_client.values import Author, BlamedLines

LONG = "".join(f"{n:04}" for n in range(60))  # in each column another digit


def _rows(lines: Iterable[Line], width: int) -> list[str]:
    return ["".join(text for text, _ in line) for line in fit_lines(list(lines), width)[0]]


def _blamed(text: str, label: str = "Codex") -> list[Line]:
    by = Author(kind="session", session_id="codex:1", label=label)
    part = BlamedLines(first_line=1, n_lines=1, entry_id="e-3c9d12ab0000", by=by, time=0.0)
    return list(blame_lines([part], [text]))


def _diff(*lines: str, width: int) -> list[Line]:
    n_old, n_new = (sum(line[:1] in {" ", sign} for line in lines) for sign in "-+")
    return list(diff_lines("\n".join([f"@@ -1,{n_old} +1,{n_new} @@", *lines]), "/p", width))[1:]


@pytest.mark.parametrize("width", [80, 200])
def test_long_line_of_blame_is_continued_below_its_text(width: int) -> None:
    rows = _rows(_blamed(LONG), width)
    text = rows[0].index("   1) ") + len("   1) ")
    assert len(rows) > 1 and all(len(row) == width for row in rows[:-1])
    assert {row[:text].strip() for row in rows[1:]} == {""}
    assert "".join(row[text:] for row in rows) == LONG


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("sign", [" ", "-", "+"])
def test_long_line_of_a_diff_is_continued_beside_its_sign(sign: str, width: int) -> None:
    rows = _rows(_diff(sign + LONG, width=width), width)
    assert len(rows) > 1 and all(len(row) == width for row in rows[:-1])
    assert [row[0] for row in rows] == [sign] + [" "] * (len(rows) - 1)
    assert "".join(row[1:] for row in rows) == LONG


def test_line_that_fits_is_as_it_is() -> None:
    assert _rows(_diff("+" + LONG[:79], width=80), 80) == ["+" + LONG[:79]]
    assert _rows(_blamed("short  \t x"), 80)[0].endswith("   1) short       x".replace("       ", " " * 7))


def test_wide_characters_count_as_two_columns_and_are_not_divided() -> None:
    """Of 79 columns beside the sign, 39 wide characters fill 78."""
    rows = _rows(_diff("+" + "漢" * 50, width=80), 80)
    assert [len(row) for row in rows] == [40, 12]
    assert [cells(row) for row in rows] == [79, 23]


def test_mark_above_a_letter_is_not_divided_from_it() -> None:
    rows = _rows(_diff("+" + "x" * 78 + "e\u0301" + "y", width=80), 80)
    assert rows == ["+" + "x" * 78 + "e\u0301", " y"]


def test_tab_is_as_wide_in_a_line_that_is_continued_as_in_one_that_fits() -> None:
    rows = _rows(_diff("+\t" + LONG[:100], width=80), 80)
    assert rows == ["+    " + LONG[:75], " " + LONG[75:100]]


def test_changed_words_keep_their_marks_over_the_end_of_a_row() -> None:
    old, new = _diff(f"-{LONG[:70]} before", f"+{LONG[:70]} afterwards", width=80)
    fitted = fit_lines([new], 80)[0]
    assert len(fitted) == 2 and len(fit_lines([old], 80)[0]) == 1
    marked = "".join(text for line in fitted for text, style in line if style == "added-word")
    assert marked == "afterwards"


def test_author_that_leaves_no_room_does_not_move_the_text_to_the_edge() -> None:
    rows = _rows(_blamed(LONG, label="Claude Code · python manage.py migrate --all"), 80)
    assert len(rows) < 6 and "".join(row.lstrip() for row in rows).endswith(LONG)


def test_line_for_a_program_is_not_broken() -> None:
    whole = list(diff_lines(f"@@ -1,0 +1,1 @@\n+{LONG}", "/p", None))[1]
    assert "".join(text for text, _ in whole) == f"+{LONG}"
