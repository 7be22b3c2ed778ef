"""What an examination of a failed edit finds of each step."""

import pytest

from fileops.core.pausing import check_nothing
from fileops.core.suggestions.steps import Examination, OwnEdit, examine
from fileops.model.edits import Edit
from fileops.model.internal_errors import OutOfTime
from support.core_models import text_of

CONDITION = "    if a and b:\n        run()\n"
TIMEOUTS = "\n\nother\n\n\n".join(f"    limit = settings.get('timeout', {n})\n" for n in (3, 30))
SOURCE = "one\ntwo\nthree\ntwo\nfive\n"


def examined(*steps: tuple[str, str], own: tuple[OwnEdit, ...] = (), source: str = SOURCE) -> Examination:
    edits = [Edit(old_string=old, new_string=new) for old, new in steps]
    return examine(text_of(source), edits, encoding=None, own_edits=lambda: own, check=check_nothing)


def test_step_that_succeeds_has_its_lines_and_no_failure() -> None:
    found = examined(("three", "3"))
    assert found.is_complete
    assert (found.failures, found.suggestions, found.ranges) == ((), (), (((3, 3),),))


def test_lines_are_those_of_the_file_and_not_of_the_text_after_earlier_steps() -> None:
    found = examined(("one", "one\nand\na half"), ("five", "5"))
    assert found.ranges == (((1, 1),), ((5, 5),))


def test_ambiguous_text_has_all_lines_and_extensions_that_occur_once() -> None:
    found = examined(("two", "2"))
    (failure,) = found.failures
    assert (failure.code, failure.match_lines, failure.n_more) == ("multiple_matches", (2, 4), 0)
    assert [each.kind for each in found.suggestions] == ["unique", "unique"]
    for each in found.suggestions:
        assert each.old_string is not None
        assert SOURCE.count(each.old_string) == 1


def test_overlapping_places_are_all_offered() -> None:
    """Two of three equal lines: a count without overlaps finds one place, a person sees two."""
    source = "grid:\n0\n0\n0\nend\n"
    offered = [each.old_string for each in examined(("0\n0\n", "1\n2\n"), source=source).suggestions]
    assert offered == ["grid:\n0\n0\n", "0\n0\nend\n"]


def test_places_that_differ_in_blanks_only_are_all_offered() -> None:
    source = "if a:\n    go(1)\n    rest()\ngo(1)\nrest()\n"
    found = examined(("  go(1)\n  rest()", "stop()"), source=source).suggestions
    assert [each.old_string for each in found] == ["    go(1)\n    rest()", "go(1)\nrest()"] or [
        each.old_string for each in found
    ] == ["go(1)\nrest()", "    go(1)\n    rest()"]
    assert found[1].note.endswith("which differ from it in blanks only.")


def test_many_places_are_told_apart_by_their_lines() -> None:
    source = "".join(f"def f{number}():\n    return None\n" for number in range(9))
    found = examined(("return None", "return 0"), source=source)
    lines = found.places[0].split("\n")
    assert lines[:3] == ["     1→def f0():", "     2→    return None", "     3→def f1():"]
    assert len(lines) == 18
    assert examined(("two", "2")).places == {}
    same = examined(("x", "y"), source="x\n" * 40)
    assert same.places == {}  # no few lines are there once


def test_step_that_needs_the_text_of_a_failed_one_depends_on_it() -> None:
    found = examined(("absent text", "fresh words"), ("fresh words", "others"))
    assert [failure.after for failure in found.failures] == [None, 0]


def test_new_text_of_the_sessions_own_edit_is_already_there() -> None:
    own = OwnEdit(edit_id="e" * 32, time="14:02", ranges=((3, 3),))
    (found,) = examined(("drei", "three"), own=(own,)).suggestions
    assert (found.kind, found.start_line, found.old_string) == ("already_there", 3, None)
    assert found.note == "Line 3 already has the new text, by your edit eeeeeeee of 14:02."


def test_examination_that_runs_out_of_time_is_not_complete() -> None:
    def check() -> None:
        raise OutOfTime

    edits = [Edit(old_string="three", new_string="3")]
    found = examine(text_of(SOURCE), edits, encoding=None, own_edits=list, check=check)
    assert not found.is_complete
    assert found.ranges == ((),)


@pytest.mark.parametrize(
    ("source", "old", "offered"),
    [
        (CONDITION, "    if a and b\n", ["    if a and b:\n"]),
        (CONDITION, "    if a and b\n        run()", ["    if a and b:\n        run()"]),
        ("x = foo(a); y = bar(c)\n", "x = foo(b)\n", [None]),  # the rest of the line is not meant
        (TIMEOUTS, "limit = settings.get('timeout', 30) ", ["limit = settings.get('timeout', 30)"]),
        (TIMEOUTS, "    limit = settings.get('timeout', 30) \n", ["    limit = settings.get('timeout', 30)\n"]),
        (SOURCE, "onne", ["one"]),
        (SOURCE, "threee\n", ["three\n"]),
        (SOURCE, "fiive\n", ["five\n"]),
        ("first\nsecond\n", "first\nsceond\n", [None]),  # "second" is not left behind
        (
            "a = 1\nreturn\n",
            "a = 1\nretrun\n",
            [
                None,
            ],
        ),
    ],
)
def test_offer_never_cuts_a_line_and_words_outrank_blanks(source: str, old: str, offered: list[str | None]) -> None:
    assert [each.old_string for each in examined((old, "new\n"), source=source).suggestions] == offered


def test_step_depends_on_the_failed_step_that_it_needs_and_not_on_a_later_one() -> None:
    needed, unrelated = ("thhree", "3\nfresh words"), ("absent text", "nothing of it")
    assert afters(needed, unrelated, ("fresh words", "x")) == [None, None, 0]
    assert afters(unrelated, needed, ("fresh words", "x")) == [None, None, 1]
    assert afters(unrelated, ("another text", "fresh words"), ("fresh words", "x")) == [None, None, 1]


@pytest.mark.parametrize("step", [("two", "2"), ("three", "three"), ("nowhere", "x")])
def test_step_that_fails_by_itself_depends_on_no_other(step: tuple[str, str]) -> None:
    assert afters(("absent text", "two and three\nagain nowhere nowhere"), step) == [None, None]


def afters(*steps: tuple[str, str]) -> list[int | None]:
    return [failure.after for failure in examined(*steps).failures]
