"""Which changes of others are relevant to an edit: the cases of the rule, one by one."""

import pytest

from fileops.core.merge.relevance import MAX_BYTES, Base, Carried, Replanned, carry, replan, shown_after
from fileops.core.plan import plan
from fileops.core.splices import apply
from fileops.core.text import detect_format
from fileops.model.edits import Edit, LineRange, Plan, Relevance, Splice
from fileops.model.files import Snapshot
from support.core_models import LIMITS, snapshot_of


def numbered(n_lines: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, n_lines + 1))


LINES = numbered(20)


def base_of(content: bytes, shown: bytes | None = None) -> Base:
    return Base(content=content, shown=content if shown is None else shown)


def replanned(base: Base | bytes, present: bytes, *edits: Edit) -> Replanned | Relevance:
    def plan_on(snapshot: Snapshot) -> Plan:
        return plan(snapshot, detect_format(snapshot.data), edits, limits=LIMITS)

    return replan(base_of(base) if isinstance(base, bytes) else base, snapshot_of(present), plan_on)


def edit(old: str, new: str, **more: object) -> Edit:
    return Edit(old_string=old, new_string=new, **more)  # pyright: ignore[reportArgumentType]


def result_of(base: Base | bytes, present: bytes, *edits: Edit) -> bytes:
    outcome = replanned(base, present, *edits)
    assert isinstance(outcome, Replanned), outcome
    return apply(present, outcome.plan.splices)


def reason_of(base: Base | bytes, present: bytes, *edits: Edit) -> str:
    outcome = replanned(base, present, *edits)
    assert isinstance(outcome, Relevance)
    return outcome.reason


def without(*numbers: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, 21) if number not in numbers)


def with_line(number: int, text: bytes) -> bytes:
    return LINES.replace(b"line %d\n" % number, text)


TEN = edit("line 10\n", "mine\n")


@pytest.mark.parametrize(
    ("present", "edits"),
    [
        pytest.param(with_line(5, b"line  5\n"), [TEN], id="other lines reformatted"),
        pytest.param(with_line(6, b"x\n"), [TEN], id="four lines above"),
        pytest.param(with_line(14, b"x\n"), [TEN], id="four lines below"),
        pytest.param(with_line(5, b"line 5\nx\n"), [TEN], id="inserted after the fifth line above"),
        pytest.param(with_line(15, b"x\nline 15\n"), [TEN], id="inserted before the fifth line below"),
        pytest.param(b"x\n" + LINES, [TEN], id="inserted at the top"),
        pytest.param(LINES + b"x\n", [TEN], id="appended"),
        pytest.param(without(1, 2, 3), [TEN], id="deleted above"),
        pytest.param(with_line(1, b"x\n"), [TEN, edit("mine\n", "mine 2\n")], id="several steps"),
    ],
)
def test_edit_is_applied_where_no_change_is_near(present: bytes, edits: list[Edit]) -> None:
    expected = plan(snapshot_of(present), detect_format(present), edits, limits=LIMITS)
    assert result_of(LINES, present, *edits) == apply(present, expected.splices)


TWINS = b"head\n" + b"twin\n" + numbered(10) + b"twin\n" + b"tail\n"
BLOCK = b"def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("base", "present", "edits", "reason"),
    [
        pytest.param(LINES, with_line(10, b"x\n"), [TEN], "no_match_now", id="the line itself"),
        pytest.param(LINES, with_line(10, b"x line 10\n"), [edit("line 10", "mine")], "near", id="beside it"),
        pytest.param(LINES, with_line(9, b"x\n"), [TEN], "near", id="the line above"),
        pytest.param(LINES, with_line(8, b"x\n"), [TEN], "near", id="two lines above"),
        pytest.param(LINES, with_line(7, b"x\n"), [TEN], "near", id="three lines above"),
        pytest.param(LINES, with_line(13, b"x\n"), [TEN], "near", id="three lines below"),
        pytest.param(LINES, without(7), [TEN], "near", id="deleted three lines above"),
        pytest.param(LINES, with_line(7, b"line 7\nx\n"), [TEN], "near", id="inserted after the third line above"),
        pytest.param(LINES, with_line(7, b"x\nline 7\n"), [TEN], "near", id="inserted before the third line above"),
        pytest.param(LINES, with_line(13, b"x\nline 13\n"), [TEN], "near", id="inserted before the third line below"),
        pytest.param(
            LINES, with_line(13, b"line 13\nx\n"), [TEN], "near", id="inserted after the third line below"
        ),
        pytest.param(
            LINES, with_line(10, b"line 10\nx\n"), [edit("line 10\n", "a\n"), edit("line 11\n", "b\n")], "near",
            id="inserted between two edited lines",
        ),
        pytest.param(LINES, LINES + b"x\n", [edit("line 20\n", "line 20\ny\n")], "near", id="both appended"),
        pytest.param(LINES, b"x\n" + LINES, [edit("line 1\n", "y\nline 1\n")], "near", id="both put at the top"),
        pytest.param(LINES, LINES + b"line 10\n", [TEN], "count", id="a twin came in"),
        pytest.param(TWINS, TWINS.replace(b"twin\ntail", b"tail"), [edit("twin", "mine")], "count", id="a twin went"),
        pytest.param(
            LINES, without(5).replace(b"line 15\n", b"line 15\nline 5\n"), [edit("line 5\n", "mine\n")], "elsewhere",
            id="moved line",
        ),
        pytest.param(
            BLOCK + numbered(12), numbered(12) + BLOCK, [edit("return 1", "return 2")], "elsewhere", id="moved block"
        ),
        pytest.param(LINES, LINES + b"new 5\n", [edit("new 5", "x")], "no_match_then", id="words not read"),
        pytest.param(
            numbered(9) + TWINS, b"twin\n" + numbered(9) + TWINS, [edit("twin", "mine", replace_all=True)], "elsewhere",
            id="replace_all with a new occurrence",
        ),
        pytest.param(
            TWINS, TWINS.replace(b"twin\ntail", b"twine\ntail"), [edit("twin", "mine", replace_all=True)], "near",
            id="replace_all with a changed occurrence",
        ),
        pytest.param(
            TWINS, TWINS + b"twin\n", [edit("twin", "mine", expected_replacements=2)], "count", id="expected number"
        ),
        pytest.param(LINES, LINES.replace(b"\n", b"\r\n"), [TEN], "format", id="LF to CRLF"),
        pytest.param(LINES, with_line(1, b"line 1\r\n"), [TEN], "format", id="one CRLF"),
        pytest.param(LINES, b"\xef\xbb\xbf" + LINES, [TEN], "format", id="BOM"),
        pytest.param(
            LINES, b"\xff\xfe" + LINES.decode().encode("utf-16-le"), [TEN], "format", id="another encoding"
        ),
        pytest.param(LINES, LINES + b"\0\n", [TEN], "format", id="binary"),
        pytest.param(LINES, LINES + b"x" * MAX_BYTES + b"\n", [TEN], "too_large", id="too large"),
        pytest.param(LINES, with_line(1, b"x\n"), [TEN, edit("no such", "x")], "no_match_then", id="a step fails"),
    ],
)  # fmt: skip
def test_edit_is_refused_where_a_change_is_relevant(
    base: bytes, present: bytes, edits: list[Edit], reason: str
) -> None:
    assert reason_of(base, present, *edits) == reason


def test_edit_without_a_cached_base_is_refused() -> None:
    assert reason_of(Base(content=None, shown=None), LINES, TEN) == "no_base"
    assert reason_of(Base(content=LINES, shown=None), LINES, TEN) == "no_base"


def test_ranges_are_those_of_the_present_content() -> None:
    present = b"new\n" + without(5, 16).replace(b"line 18\n", b"x\ny\n")
    outcome = replanned(LINES, present, TEN)
    assert isinstance(outcome, Replanned)
    assert [(lines.start_line, lines.end_line) for lines in outcome.ranges] == [(1, 1), (6, 6), (16, 16), (17, 18)]


def test_ranges_of_a_deletion_at_the_end_are_within_the_file() -> None:
    outcome = replanned(LINES, without(20), TEN)
    assert isinstance(outcome, Replanned) and outcome.ranges == (LineRange(start_line=19, end_line=19),)


def test_equal_inserted_lines_are_relevant_at_each_possible_place() -> None:
    """A blank line among blank lines: which of them is new cannot be known."""
    blanks = b"head\n" + b"\n" * 8 + b"tail\n"
    longer = b"head\n" + b"\n" * 9 + b"tail\n"
    assert reason_of(blanks, longer, edit("head", "mine")) == "near"
    assert reason_of(blanks, longer, edit("tail", "mine")) == "near"
    assert reason_of(blanks, blanks.replace(b"tail", b"x"), edit("head\n\n", "head\n\n\n")) == "near"
    assert reason_of(longer, blanks, edit("head", "mine")) == "near"
    assert reason_of(longer, longer.replace(b"head\n\n", b"head\nnew\n"), edit("tail", "mine")) == "near"
    assert reason_of(longer, blanks, edit("tail", "mine")) == "near"


@pytest.mark.parametrize(("n_between", "reason"), [(3, "near"), (4, None)])
def test_equal_inserted_lines_are_relevant_up_to_the_last(n_between: int, reason: str | None) -> None:
    between = [b"%d\n" % number for number in range(n_between)]
    for order in (1, -1):
        base, present = (b"".join([b"edge\n", *[b"\n"] * n, *between, b"end\n"][::order]) for n in (8, 9))
        outcome = replanned(base, present, edit("end", "mine"))
        assert (outcome.reason if isinstance(outcome, Relevance) else None) == reason


def test_very_long_repetition_is_relevant_as_a_whole() -> None:
    """It would take too long to find out which of its lines may have been deleted."""
    block = numbered(400)
    base = b"head\n" + block * 3 + b"end\n"
    assert reason_of(base, b"head\n" + block * 2 + b"end\n", edit("head", "mine")) == "near"
    assert reason_of(base, b"head\n" + block * 2 + b"end\n", edit("end", "mine")) == "near"


def test_change_that_may_have_been_made_further_down_is_relevant_there() -> None:
    """Line 1 deleted and line 5 changed, or also: line 5 deleted, and an equal line inserted above the edit."""
    base, present = b"a\nc\nc\nc\nc\na\na\na\nc\n", b"c\nc\nc\na\na\na\na\nc\n"
    assert reason_of(base, present, edit("a\na\nc\n", "a\na\nb\n")) == "near"


def test_unseen_change_is_relevant_until_it_is_shown() -> None:
    unseen = base_of(with_line(5, b"theirs\n"), shown=LINES)
    assert reason_of(unseen, with_line(5, b"theirs\n"), edit("line 7", "mine")) == "near"
    assert reason_of(unseen, with_line(5, b"theirs\n"), edit("theirs", "mine")) == "near"
    assert b"mine" in result_of(unseen, with_line(5, b"theirs\n"), TEN)
    assert b"mine" in result_of(base_of(with_line(5, b"theirs\n")), with_line(5, b"theirs\n"), edit("line 7", "mine"))


def test_ranges_name_unseen_changes_too() -> None:
    unseen = base_of(with_line(5, b"theirs\n"), shown=LINES)
    outcome = replanned(unseen, with_line(5, b"theirs\n").replace(b"line 20\n", b"x\n"), TEN)
    assert isinstance(outcome, Replanned)
    assert [(lines.start_line, lines.end_line) for lines in outcome.ranges] == [(5, 5), (20, 20)]


def test_unseen_deletion_is_relevant_to_both_neighbours() -> None:
    unseen = base_of(without(5), shown=LINES)
    assert reason_of(unseen, without(5), edit("line 8", "mine")) == "near"
    assert reason_of(unseen, without(5), edit("line 2\n", "mine\n")) == "near"
    assert b"mine" in result_of(unseen, without(5), edit("line 10", "mine"))


def test_own_edit_is_seen_and_changes_of_others_stay_unseen() -> None:
    present = with_line(5, b"theirs\n")
    at = present.index(b"line 10")
    assert shown_after(LINES, present, [Splice(at, at + 7, b"mine")]) == with_line(10, b"mine\n")


def test_own_edit_of_an_unseen_line_leaves_it_unseen() -> None:
    present = with_line(10, b"theirs\n")
    at = present.index(b"theirs")
    assert shown_after(LINES, present, [Splice(0, 4, b"mine"), Splice(at, at + 6, b"mine")]) == LINES


@pytest.mark.parametrize(
    ("margin_lines", "number", "is_carried"),
    [(0, 10, False), (0, 9, True), (0, 11, True), (1, 9, False), (1, 8, True), (3, 7, False), (3, 6, True)],
)
def test_margin_is_the_distance_at_which_a_change_is_near(margin_lines: int, number: int, is_carried: bool) -> None:
    start = LINES.index(b"line 10\n")
    present = with_line(number, b"theirs\n")
    carried = carry(base_of(LINES), present, [Splice(start, start + 4, b"mine")], margin_lines=margin_lines)
    assert isinstance(carried, Carried) == is_carried
    if isinstance(carried, Carried):
        assert apply(present, carried.splices) == present.replace(b"line 10\n", b"mine 10\n")


def test_text_that_others_inserted_in_part_is_not_inserted_again() -> None:
    """Only blank lines are between the two: it may be the same addition, made twice."""
    base, present = b"a\n\n\n\n\nb\n", b"a\n\n\n\n\none two\nb\n"
    carried = carry(base_of(base), present, [Splice(2, 2, b"one two three\n")], margin_lines=0)
    assert isinstance(carried, Relevance) and carried.reason == "elsewhere"
