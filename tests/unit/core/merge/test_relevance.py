"""Which changes of others are relevant to an edit: the cases of the rule, one by one."""

import pytest

from fileops.core.merge.relevance import (
    MAX_BYTES,
    Base,
    Carried,
    Leg,
    Replanned,
    carry,
    carry_shown,
    line_splices,
    replan,
)
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


def replanned(base: Base | bytes, present: bytes, *edits: Edit) -> Replanned | Carried | Relevance:
    def plan_on(snapshot: Snapshot) -> Plan:
        return plan(snapshot, detect_format(snapshot.data), edits, limits=LIMITS)

    return replan(base_of(base) if isinstance(base, bytes) else base, snapshot_of(present), plan_on)


def edit(old: str, new: str, **more: object) -> Edit:
    return Edit(old_string=old, new_string=new, **more)  # pyrefly: ignore[bad-argument-type]


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
        pytest.param(with_line(8, b"x\n"), [TEN], id="two lines above"),
        pytest.param(with_line(12, b"x\n"), [TEN], id="two lines below"),
        pytest.param(without(8), [TEN], id="deleted two lines above"),
        pytest.param(with_line(9, b"x\nline 9\n"), [TEN], id="inserted before the line above"),
        pytest.param(with_line(11, b"line 11\nx\n"), [TEN], id="inserted after the line below"),
        pytest.param(LINES.replace(b"\n", b"\r\n"), [TEN], id="LF to CRLF"),
        pytest.param(with_line(1, b"line 1\r\n"), [TEN], id="one CRLF"),
        pytest.param(LINES.replace(b"line", b"  line"), [edit("line 10\n", "mine\n")], id="all re-indented"),
        pytest.param(LINES.replace(b"\n", b" \n"), [edit("line 10", "mine")], id="blanks at line ends"),
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
        pytest.param(LINES, with_line(11, b"x\n"), [TEN], "near", id="the line below"),
        pytest.param(LINES, without(9), [TEN], "near", id="deleted directly above"),
        pytest.param(LINES, with_line(10, b"x\nline 10\n"), [TEN], "near", id="inserted directly above"),
        pytest.param(LINES, with_line(10, b"line 10\nx\n"), [TEN], "near", id="inserted directly below"),
        pytest.param(
            LINES, with_line(10, b"x\nline 10\n"), [edit("line 10\n", "line 10\ny\n")], "near",
            id="inserted above the line to which one is added",
        ),
        pytest.param(
            LINES.replace(b"line 11\n", b"\nline 11\n"), LINES.replace(b"line 11\n", b"\nx\n"), [TEN], "near",
            id="the next line that is not blank",
        ),
        pytest.param(
            LINES, with_line(8, b"line 8\nnew\n"), [edit("line 10\n", "line 10\nnew\n")], "near",
            id="the same line was added two lines above",
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
    assert reason_of(blanks, longer + b"x\n", edit("head", "mine")) == "near"
    assert reason_of(blanks, longer + b"x\n", edit("tail", "mine")) == "near"
    assert reason_of(blanks, blanks.replace(b"tail", b"x"), edit("head\n\n", "head\n\n\n")) == "near"
    assert reason_of(longer, blanks + b"x\n", edit("head", "mine")) == "near"
    assert reason_of(longer, longer.replace(b"head\n\n", b"head\nnew\n"), edit("tail", "mine")) == "near"
    assert reason_of(longer, blanks + b"x\n", edit("tail", "mine")) == "near"


def test_change_of_blank_lines_alone_is_not_relevant() -> None:
    blanks = b"head\n" + b"\n" * 8 + b"tail\n"
    assert result_of(blanks, blanks.replace(b"\n\n", b"\n"), edit("tail", "mine")).endswith(b"mine\n")


@pytest.mark.parametrize(("n_between", "reason"), [(0, "near"), (1, None)])
def test_equal_inserted_lines_are_relevant_up_to_the_last(n_between: int, reason: str | None) -> None:
    between = [b"%d\n" % number for number in range(n_between)]
    for order in (1, -1):
        base, present = (b"".join([b"edge\n", *[b"-\n"] * n, *between, b"end\n"][::order]) for n in (8, 9))
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
    assert reason_of(unseen, with_line(5, b"theirs\n"), edit("line 6", "mine")) == "near"
    assert reason_of(unseen, with_line(5, b"theirs\n"), edit("theirs", "mine")) == "no_match_then"
    assert b"mine" in result_of(unseen, with_line(5, b"theirs\n"), TEN)
    assert b"mine" in result_of(base_of(with_line(5, b"theirs\n")), with_line(5, b"theirs\n"), edit("line 6", "mine"))


def test_ranges_name_unseen_changes_too() -> None:
    unseen = base_of(with_line(5, b"theirs\n"), shown=LINES)
    outcome = replanned(unseen, with_line(5, b"theirs\n").replace(b"line 20\n", b"x\n"), TEN)
    assert isinstance(outcome, Replanned)
    assert [(lines.start_line, lines.end_line) for lines in outcome.ranges] == [(5, 5), (20, 20)]


def test_unseen_deletion_is_relevant_to_both_neighbours() -> None:
    unseen = base_of(without(5), shown=LINES)
    assert reason_of(unseen, without(5), edit("line 6\n", "mine\n")) == "near"
    assert reason_of(unseen, without(5), edit("line 4\n", "mine\n")) == "near"
    assert b"mine" in result_of(unseen, without(5), edit("line 10", "mine"))


def test_own_edit_is_seen_and_changes_of_others_stay_unseen() -> None:
    present = with_line(5, b"theirs\n")
    at = present.index(b"line 10")
    assert carry_shown(LINES, present, [Splice(at, at + 7, b"mine")]) == with_line(10, b"mine\n")


def test_own_edit_of_an_unseen_line_leaves_it_unseen() -> None:
    present = with_line(10, b"theirs\n")
    at = present.index(b"theirs")
    assert carry_shown(LINES, present, [Splice(0, 4, b"mine"), Splice(at, at + 6, b"mine")]) == LINES


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


# --- the same place ------------------------------------------------------------------------------------------------

FUNCTIONS = b"def f():\n    a = 1\n    b = 2\n    c = 3\n\ndef g():\n    d = 4\n    e = 5\n    f = 6\n"


@pytest.mark.parametrize(
    ("present", "reason"),
    [
        pytest.param(FUNCTIONS.replace(b"a = 1", b"a = 9"), "near", id="the line above"),
        pytest.param(FUNCTIONS.replace(b"def g", b"def h"), None, id="another function"),
        pytest.param(FUNCTIONS.replace(b"def f():\n", b"def f(x):\n"), "elsewhere", id="the enclosing line"),
        pytest.param(
            FUNCTIONS.replace(b"    b = 2\n", b"").replace(b"    d = 4\n", b"    a = 1\n    b = 2\n"),
            "elsewhere", id="the same words in another function",
        ),
        pytest.param(FUNCTIONS[45:] + b"\n" + FUNCTIONS[:44], None, id="the whole function moved"),
        pytest.param(
            FUNCTIONS[45:] + b"\n" + FUNCTIONS[:44].replace(b"c = 3", b"c = 4"), "near", id="it moved and changed"
        ),
        pytest.param(FUNCTIONS.replace(b"    ", b"\t"), None, id="re-indented"),
    ],
)  # fmt: skip
def test_place_is_the_same_if_neighbours_and_enclosing_lines_are(present: bytes, reason: str | None) -> None:
    outcome = replanned(FUNCTIONS, present, edit("b = 2", "b = 7"))
    assert (outcome.reason if isinstance(outcome, Relevance) else None) == reason
    if isinstance(outcome, Replanned):
        assert apply(present, outcome.plan.splices) == present.replace(b"b = 2", b"b = 7")


def test_same_line_in_another_section_is_another_place() -> None:
    base = b"[a]\nhosts = 1\nlimit = 5\nport = 1\n[b]\nhosts = 1\nlimit = 6\nport = 1\n"
    swapped = base.replace(b"= 5", b"= X").replace(b"= 6", b"= 5").replace(b"= X", b"= 6")
    assert isinstance(replanned(base, swapped, edit("limit = 5", "limit = 9")), Relevance)


def test_comment_above_is_no_heading() -> None:
    present = b"# typed above\n" + FUNCTIONS
    assert isinstance(replanned(FUNCTIONS, present, edit("b = 2", "b = 7")), Replanned)
    text = b"# One\n\nhosts\nlimit\nport\n\n# Two\n\nhosts\nlevel\nport\n"
    swapped = text.replace(b"limit", b"X").replace(b"level", b"limit").replace(b"X", b"level")
    assert isinstance(replanned(text, swapped, edit("limit", "limits")), Relevance)


def test_quote_with_the_indentation_of_before_is_carried_over_a_formatter() -> None:
    present = FUNCTIONS.replace(b"    ", b"  ")
    outcome = replanned(FUNCTIONS, present, edit("    a = 1\n    b = 2\n", "    a = 1\n    if a:\n    b = 7\n"))
    assert isinstance(outcome, Carried)
    assert apply(present, outcome.splices) == present.replace(b"  b = 2\n", b"  if a:\n  b = 7\n")


def test_indentation_without_a_certain_counterpart_is_refused() -> None:
    present = FUNCTIONS.replace(b"    ", b"  ")
    new = "    a = 1\n    if a:\n        b = 7\n"  # no line of the file was indented so far
    assert reason_of(FUNCTIONS, present, edit("    a = 1\n    b = 2\n", new)) == "no_match_now"
    uneven = FUNCTIONS.replace(b"    a", b"  a").replace(b"    ", b"\t")
    assert reason_of(FUNCTIONS, uneven, edit("    a = 1\n    b = 2\n", "    b = 7\n")) == "no_match_now"


# --- known changes -------------------------------------------------------------------------------------------------


def planned(snapshot: Snapshot, *edits: Edit) -> Plan:
    return plan(snapshot, detect_format(snapshot.data), edits, limits=LIMITS)


def known_outcome(present: bytes, *edits: Edit) -> Replanned | Carried | Relevance:
    """Of edits over a change of lines that is known."""
    known = line_splices(LINES, (Splice(0, len(LINES), present),))
    legs = [Leg(after=present, known=known)]
    return replan(base_of(LINES), snapshot_of(present), lambda snapshot: planned(snapshot, *edits), legs)


@pytest.mark.parametrize(
    ("present", "reason"),
    [
        pytest.param(with_line(9, b"x\n"), None, id="the line above"),
        pytest.param(with_line(10, b"x\nline 10\n"), None, id="inserted directly above"),
        pytest.param(with_line(10, b"line 10\nx\n"), None, id="inserted directly below"),
        pytest.param(with_line(11, b""), None, id="deleted directly below"),
        pytest.param(with_line(10, b"x\n"), "no_match_now", id="the line itself"),
        pytest.param(with_line(10, b"x line 10\n"), "near", id="within the line"),
        pytest.param(with_line(10, b"mine\nline 10\n"), "near", id="the same line was added"),
        pytest.param(with_line(10, b"x\n") + b"line 10\n", "near", id="moved"),
    ],
)
def test_known_change_is_relevant_only_where_it_overlaps(present: bytes, reason: str | None) -> None:
    outcome = known_outcome(present, edit("line 10", "mine"))
    assert (outcome.reason if isinstance(outcome, Relevance) else None) == reason
    if isinstance(outcome, Replanned):
        assert apply(present, outcome.plan.splices) == present.replace(b"line 10", b"mine")


def test_change_of_a_session_and_one_of_a_program_are_followed_one_after_the_other() -> None:
    """Compared as one change, the new line above leaves a doubt."""
    between = with_line(10, b"x\nline 10\n")
    present = between.replace(b"line 15\n", b"other\n")
    assert reason_of(LINES, present, TEN) == "near"
    known = line_splices(LINES, (Splice(0, len(LINES), between),))
    legs = [Leg(after=between, known=known), Leg(after=present, known=None)]
    outcome = replan(base_of(LINES), snapshot_of(present), lambda snapshot: planned(snapshot, TEN), legs)
    assert isinstance(outcome, Replanned)
    assert apply(present, outcome.plan.splices) == present.replace(b"line 10\n", b"mine\n")


def test_edit_is_carried_to_its_place_beside_a_twin_that_another_session_added() -> None:
    outcome = known_outcome(LINES + b"line 10\n", TEN)
    assert isinstance(outcome, Carried)
    assert apply(LINES + b"line 10\n", outcome.splices) == with_line(10, b"mine\n") + b"line 10\n"


@pytest.mark.parametrize("at", [b"line 10\n", b"line 11\n"], ids=["above", "below"])
def test_equal_line_that_a_session_adds_directly_beside_is_at_its_own_place(at: bytes) -> None:
    start = LINES.index(at)
    added = (Splice(start, start, b"line 10\n"),)
    present = apply(LINES, added)
    known = line_splices(LINES, added)
    outcome = replan(
        base_of(LINES), snapshot_of(present), lambda snapshot: planned(snapshot, TEN), [Leg(after=present, known=known)]
    )
    assert isinstance(outcome, Carried)
    mine = b"line 10\nmine\n" if at == b"line 10\n" else b"mine\nline 10\n"
    assert apply(present, outcome.splices) == with_line(10, mine)


def test_block_that_moved_is_not_told_from_another_by_its_last_line_alone() -> None:
    """The lines directly beside the edit must be in the block: a brace that is gone is a change directly below."""
    old = b"f() {\n    a = 1\n    b = 2\n}\n\ng() {\n    c = 3\n}\n"
    mine = edit("    b = 2\n", "    b = 7\n")
    assert reason_of(old, old.replace(b"b = 2\n}\n", b"b = 2\n"), mine) == "near"


def test_what_was_not_shown_leads_from_the_view_after_the_edit_to_the_file() -> None:
    present = with_line(9, b"x\ny\n")
    outcome = known_outcome(present, TEN)
    assert isinstance(outcome, Replanned) and outcome.unseen is not None
    view, file = with_line(10, b"mine\n"), apply(present, outcome.plan.splices)
    assert apply(view, outcome.unseen) == file
