"""Cases of problems that are the same after an edit, or are not."""

import pytest

from fileops.core.diagnostics.difference import MAX_LINES, LineEdit, difference, text_edits
from fileops.core.diagnostics.positions import Positions
from fileops.core.diagnostics.report import Compared, Edits, combine, report_problems, report_settled, report_unsettled
from fileops.model.diagnostics import MAX_LISTED, CommittedFile, Problem, Severity
from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.model.sessions import SessionName


def problem(start: int, end: int, message: str = "bad", severity: Severity = "error") -> Problem:
    return Problem(start, end, severity, "", "checker", message)


def edits(before: str, after: str) -> tuple[LineEdit, ...]:
    """Of one splice that replaces all."""
    data = before.encode()
    return text_edits(data, TextFormat(), [Splice(0, len(data), after.encode())])


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        ("x = a\n", "y = 1\nx = a\n", problem(4, 5), problem(10, 11)),
        ("x = a\n", "x = abc\n", problem(4, 5), problem(4, 7)),  # the same beginning, a longer name
        ("f(a)\nb\n", "b\nf(a)\n", problem(2, 3), problem(4, 5)),  # moved within the text that was rewritten
        ("b\nc = a\n", "b\nb\nc = a\n", problem(6, 7, "from line 2"), problem(8, 9, "from line 3")),
    ],
    ids=["moved", "longer", "swapped", "number of a line"],
)
def test_problem_that_an_edit_moved_is_the_same(before: str, after: str, old: Problem, new: Problem) -> None:
    compared = difference([old], [new], edits(before, after))
    assert (compared.introduced, compared.resolved) == ((), ())


@pytest.mark.parametrize(
    "new",
    [problem(4, 5, "worse"), problem(4, 5, severity="warning"), Problem(4, 5, "error", "E1", "checker", "bad")],
    ids=["message", "severity", "code"],
)
def test_problem_that_says_something_else_is_another_one(new: Problem) -> None:
    compared = difference([problem(4, 5)], [new], ())
    assert compared.introduced == (new,)
    assert compared.resolved == (problem(4, 5),)


MESSAGES = [
    ('Type of "x" is "int | str"', 'Type of "x" is "str | int"'),
    ("Type 'string' is no 'number'", "Type 'boolean' is no 'number'"),
    ("no `a` in `B`", "no `a` in `C`"),
]


@pytest.mark.parametrize(("old_message", "new_message"), MESSAGES)
def test_problem_that_only_quotes_something_else_where_nothing_was_written_is_the_same(
    old_message: str, new_message: str
) -> None:
    old, new = problem(14, 15, old_message), problem(15, 16, new_message)
    moved = difference([old], [new], [LineEdit(0, 1, 0, 2)])
    assert (moved.introduced, moved.resolved) == ((), ())
    for edits_beside in ([LineEdit(14, 15, 14, 16)], [LineEdit(0, 1, 0, 1)]):  # it is written there, or was elsewhere
        compared = difference([old], [new], edits_beside)
        assert (compared.introduced, compared.resolved) == ((new,), (old,))


def test_of_problems_that_only_quote_something_else_each_is_matched_once() -> None:
    old, new = problem(4, 5, "no 'a'"), [problem(4, 5, "no 'b'"), problem(4, 5, "no 'c'")]
    compared = difference([old], new, ())
    assert (len(compared.introduced), compared.resolved) == (1, ())


def test_problem_outside_of_the_rewritten_text_does_not_take_the_place_of_a_resolved_one() -> None:
    old, new = problem(0, 1), problem(10, 11)
    compared = difference([old], [new], [LineEdit(0, 1, 0, 1)])
    assert compared.introduced == (new,)
    assert compared.resolved == (old,)


def test_exact_partner_is_matched_before_one_that_only_begins_there() -> None:
    short, long = problem(0, 1), problem(0, 3)
    compared = difference([long, short], [short], ())
    assert compared.introduced == ()
    assert compared.resolved == (long,)


def test_worst_problems_are_listed_first() -> None:
    after = [problem(0, 1, "w", "warning"), problem(5, 6, "e"), problem(2, 3, "e"), problem(1, 2, "h", "hint")]
    assert [each.message for each in difference([], after, ()).introduced] == ["e", "e", "w", "h"]
    assert [each.start for each in difference([], after, ()).introduced[:2]] == [2, 5]


def test_lines_that_a_splice_writes_again_are_not_changed() -> None:
    assert edits("a\nb\nc\nd\n", "a\nX\nc\nY\nd\n") == (LineEdit(2, 3, 2, 3), LineEdit(6, 6, 6, 8))


def test_lines_of_a_long_splice_are_not_compared() -> None:
    before, after = "x\n" + "a\nb\n" * MAX_LINES + "x\n", "y\n" + "a\nb\n" * MAX_LINES + "y\n"
    assert len(edits(before, after)) == 1


def test_position_beyond_the_end_means_the_end() -> None:
    places = Positions("ab\r\ncd")
    assert places.offset(0, 99, "utf-16") == 2
    assert places.offset(9, 0, "utf-16") == 6
    assert places.offset(-1, 3, "utf-16") == 0


def of_file(name: str, edit_id: str = "1", severity: Severity = "warning") -> Edits:
    change = CommittedFile(path=f"/p/{name}", given_path=name, before=b"", after=b"", splices=())
    return Edits(changes=(change,), edit_ids=(edit_id,), session_id=SessionName("s"), severity=severity)


def test_report_has_what_is_severe_enough_and_counts_what_it_does_not_list() -> None:
    """R-DIAG-6"""
    text = "x" * 200
    many = [problem(index, index + 1, severity="warning") for index in range(80)]
    mild = [problem(0, 1, "mild", "information")]
    report = report_settled(of_file("a"), ("checker",), Compared(report_problems([*mild, *many], "a", text)))
    assert report.n_introduced == 80
    assert len(report.introduced or ()) == MAX_LISTED
    assert "mild" not in {each.message for each in report.introduced or ()}


def test_problems_of_edited_files_come_before_those_of_others() -> None:
    found = report_problems([problem(0, 1)], "/p/other", "x") + report_problems([problem(0, 1)], "a", "x")
    assert [each.file_path for each in report_settled(of_file("a"), (), Compared(found)).introduced or ()] == [
        "a",
        "/p/other",
    ]


def test_report_of_several_commits_is_settled_only_if_all_are() -> None:
    one, two = (
        report_settled(of_file("a", "1"), ("x",), Compared()),
        report_unsettled(of_file("b", "2"), "pending", ("y",)),
    )
    both = combine([one, two])
    assert (both.state, both.edit_ids, both.file_paths, both.sources) == ("pending", ("1", "2"), ("a", "b"), ("x", "y"))


def test_report_of_several_settled_commits_has_the_problems_of_all() -> None:
    reports = [
        report_settled(of_file(path, n), ("x",), Compared(report_problems([problem(0, 1, n)], path, "x")))
        for path, n in (("a", "1"), ("b", "2"))
    ]
    both = combine(reports)
    assert (both.state, both.n_introduced, both.n_resolved) == ("settled", 2, 0)
    assert [each.message for each in both.introduced or ()] == ["1", "2"]
