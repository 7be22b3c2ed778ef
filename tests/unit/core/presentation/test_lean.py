"""Lean answers: one line for a landed edit, its text only where it may not be what the model expects."""

import pytest

from fileops.core.plan import plan
from fileops.core.presentation.lean import changed_text, edited_text, failed_text
from fileops.core.text import detect_format
from fileops.model.edits import Edit, LineRange, Rebased
from fileops.model.errors import MultipleMatches, NoMatch
from fileops.model.results import ChangeNotice, EditResult
from support.core_models import LIMITS, snapshot_of

LINES = b"".join(b"line %d\n" % number for number in range(1, 31))


def result_of(data: bytes, *edits: Edit, is_multi: bool = False, rebased: Rebased | None = None) -> EditResult:
    snapshot = snapshot_of(data)
    made = plan(snapshot, detect_format(data), edits, limits=LIMITS, correction=True)
    return EditResult(
        output="the specified text",
        change=made.change,
        edits=made.edits,
        is_multi=is_multi,
        n_replaced=made.n_replacements,
        matches=made.matches,
        rebased=rebased,
    )


def edit(old: str, new: str, *, replace_all: bool = False) -> Edit:
    return Edit(old_string=old, new_string=new, replace_all=replace_all)


@pytest.mark.parametrize(
    ("edits", "is_multi", "text"),
    [
        ([edit("line 7\n", "x\n")], False, "The file has been updated: line 7."),
        ([edit("line 7\n", "x\ny\n")], False, "The file has been updated: lines 7-8."),
        ([edit("line 7\n", "")], False, "The file has been updated: line 7."),
        ([edit("line 7\n", "line 7\nx\n")], False, "The file has been updated: line 8."),
        ([edit("line 1", "L1", replace_all=True)], False,
         "The file has been updated at 11 places: lines 1 and 10-19."),
        ([edit("line 7\n", "x\n"), edit("line 20\n", "y\n")], True, "Applied 2 edits: lines 7 and 20."),
        ([edit(f"line {n}\n", "x\n") for n in range(2, 31, 4)], True,
         "Applied 8 edits: lines 2, 6, 10, 14, 18 and 3 more places."),
    ],
)  # fmt: skip
def test_edit_is_told_in_one_line(edits: list[Edit], is_multi: bool, text: str) -> None:
    assert edited_text(result_of(LINES, *edits, is_multi=is_multi), "/w/a", tells_others=True) == text


def test_lines_are_shown_if_others_changed_the_file() -> None:
    rebased = Rebased(changed_by="external", ranges=(LineRange(start_line=3, end_line=4),), diff=None, shown=LINES)
    result = result_of(LINES, edit("line 2\n", "x\n"), rebased=rebased)
    shown = "     1→line 1\n     2→x\n     3→line 3\n     4→line 4\n     5→line 5"
    told = "The file has been updated: line 2. Others have changed lines 3-4 since you read it; that is kept."
    assert edited_text(result, "/w/a", tells_others=True) == f"{told}\n{shown}"
    assert edited_text(result, "/w/a", tells_others=False) == f"The file has been updated: line 2.\n{shown}"


def test_corrected_text_is_shown_and_what_was_taken_as_meant_is_said() -> None:
    result = result_of(b"if a:\n\tgo()\n", edit("    go()\n", "    stop()\n"))
    text = edited_text(result, "/w/a", tells_others=True) or ""
    assert text.startswith("The file has been updated: line 2.\nNote: old_string matched after a uniform change")
    assert text.endswith("     1→if a:\n     2→\tstop()")


def test_long_line_is_cut_around_the_change() -> None:
    rebased = Rebased(changed_by="external", ranges=(), diff=None, shown=b"")
    data = b"a" * 500 + b" here " + b"b" * 500 + b"\n"
    text = edited_text(result_of(data, edit(" here ", " there "), rebased=rebased), "/w/a", tells_others=False)
    assert text is not None
    line = text.split("\n")[1]
    assert " there " in line and len(line) < 220
    assert line.startswith("     1→…a") and line.endswith("b…")
    longer = edit("x" * 500, "x" * 510)  # the end of the old text is no unchanged one, as its beginning was
    text = edited_text(result_of(b"x" * 500 + b"\n", longer, rebased=rebased), "/w/a", tells_others=False)
    assert text is not None
    assert text.split("\n")[1] == "     1→…" + "x" * 70


@pytest.mark.parametrize(
    "result",
    [
        EditResult(output="made", created=True, edits=(edit("", "x"),)),
        EditResult(output="written"),
        EditResult(output="changed", modified_by_user=True, edits=(edit("a", "b"),)),
        EditResult(output="formatted", processed_by=("formatter",), edits=(edit("a", "b"),)),
        EditResult(output="not made", dry_run=True, edits=(edit("a", "b"),)),
    ],
)
def test_other_results_keep_the_specified_text(result: EditResult) -> None:
    assert edited_text(result, "/w/a", tells_others=True) is None


def test_failure_does_not_repeat_the_text_of_the_caller() -> None:
    error = NoMatch(old_string="a\nb")
    given = "<tool_use_error>String to replace not found in file.\nString: a\nb</tool_use_error>"
    assert failed_text(given, error) == "<tool_use_error>String to replace not found in file.</tool_use_error>"
    assert "String:" not in failed_text("Found\nString: a", MultipleMatches(old_string="a", n_matches=2, lines=(1, 2)))


def test_change_is_shown_only_where_the_shown_lines_do_not_have_it() -> None:
    diff = (
        "@@ -1,4 +1,4 @@\n line 1\n-line 2\n+x\n line 3\n line 4\n@@ -20,3 +20,4 @@\n line 20\n+y\n line 21\n line 22"
    )
    notice = ChangeNotice(file_path="/w/a", changed_by="external", kind="modified", diff=diff)
    near = LineRange(start_line=1, end_line=6)
    changed = "Changed by another program or a command of yours."
    assert changed_text(notice, [near]) == f"{changed} Elsewhere in it:\n@@ line 21\n+y"
    far = LineRange(start_line=18, end_line=24)
    assert changed_text(notice, [near, far]) == changed
    session = ChangeNotice(file_path="/w/a", changed_by="other-1", kind="edited", diff=diff, n_more=3)
    assert changed_text(session, [near, far]) == "Changed by other-1.\n… and 3 more lines; Read the file."
