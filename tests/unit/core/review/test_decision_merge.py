"""What becomes of a decision if the file has changed while the person decided."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.core.review.changes import changes_of
from fileops.core.review.decision_merge import Decided, Merged, Reopened, merge
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Plan
from fileops.model.errors import NoMatch
from fileops.model.files import Text
from unit.core.review.plans import plan_from, snapshot_of

OLD = b"".join(b"line %d\n" % n for n in range(1, 31))
NEW = OLD.replace(b"line 5\n", b"five\n").replace(b"line 20\n", b"twenty\n")


def accepting(plan: Plan, numbers: Sequence[int]) -> Decided:
    changes = changes_of(plan)
    chosen = [changes[number] for number in numbers]
    return Decided(
        asked=plan, splices=tuple(change.splice for change in chosen), change_ids=tuple(change.id for change in chosen)
    )


def typing(plan: Plan, text: str) -> Decided:
    content = Text(data=plan.snapshot.data, format=plan.format)
    return Decided(asked=plan, splices=splices_to_text(content, text))


def approving(plan: Plan) -> Decided:
    return Decided(asked=plan, splices=plan.splices)


def cannot_plan() -> Plan:
    raise NoMatch(old_string="line")


def result(outcome: Merged | Reopened, present: bytes) -> bytes:
    return splicing.apply(present, outcome.splices)


def reopened(decided: Decided, present: bytes | None, replan: Callable[[], Plan] | None = None) -> Reopened:
    outcome = merge(decided, snapshot_of(present), replan)
    assert isinstance(outcome, Reopened)
    return outcome


def test_decision_is_merged_with_a_change_far_away():
    present = OLD.replace(b"line 12\n", b"typed\n")
    outcome = merge(accepting(plan_from(OLD, NEW), [1]), snapshot_of(present), None)
    assert isinstance(outcome, Merged)
    assert result(outcome, present) == present.replace(b"line 20\n", b"twenty\n")


def test_decision_that_others_have_made_needs_no_write():
    outcome = merge(accepting(plan_from(OLD, NEW), [0, 1]), snapshot_of(NEW), None)
    assert outcome == Merged(splices=())


def test_change_near_an_accepted_one_reopens_without_the_dropped_one():
    present = OLD.replace(b"line 22\n", b"typed\n")
    decided = accepting(plan_from(OLD, NEW), [1])
    outcome = reopened(decided, present)
    assert result(outcome, present) == present.replace(b"line 20\n", b"twenty\n")
    assert outcome.previous.reason == "near"
    assert outcome.previous.change_ids == decided.change_ids
    assert outcome.previous.text == OLD.replace(b"line 20\n", b"twenty\n").decode()


@pytest.mark.parametrize(
    "present",
    [
        # The accepted line was touched; the dropped one moved below it, or was touched, too.
        OLD.replace(b"line 20\n", b"line 20 # typed\nline 5\n").replace(b"line 4\nline 5\n", b"line 4\n"),
        OLD.replace(b"line 20\n", b"line 20 # typed\n").replace(b"line 5\n", b"line 5 # touched\n"),
    ],
    ids=["moved", "touched"],
)
def test_accepted_change_of_a_line_that_was_touched_is_proposed_again_without_the_dropped_one(present: bytes):
    outcome = reopened(accepting(plan_from(OLD, NEW), [1]), present)
    assert result(outcome, present) == present.replace(b"line 20 #", b"twenty #")


def test_request_that_was_approved_as_a_whole_is_planned_again():
    """Both sides have changed the same word, of which the request may know another occurrence."""
    present = OLD.replace(b"line 20\n", b"row 20\n")
    again = present.replace(b"line 5\n", b"five\n").replace(b"row 20\n", b"row twenty\n")
    outcome = reopened(approving(plan_from(OLD, NEW)), present, lambda: plan_from(present, again))
    assert result(outcome, present) == again


def test_rest_of_a_request_that_cannot_be_made_any_more_is_proposed():
    present = OLD.replace(b"line 20\n", b"row 20\n")
    outcome = reopened(approving(plan_from(OLD, NEW)), present, cannot_plan)
    assert result(outcome, present) == present.replace(b"line 5\n", b"five\n")


def test_request_of_which_all_can_be_carried_over_is_not_planned_again():
    """So it is proposed at the places that its user was shown, also where the request would fit others now."""
    present = OLD.replace(b"line 22\n", b"line 5\n")
    outcome = reopened(approving(plan_from(OLD, NEW)), present, lambda: plan_from(present, present + b"elsewhere\n"))
    assert result(outcome, present) == NEW.replace(b"line 22\n", b"line 5\n")


def test_one_change_of_many_that_cannot_be_made_leaves_the_others_in_the_proposal():
    old = b"".join(b"word%d\nbetween\n" % n for n in range(200))
    new = b"".join(b"agent%d\nbetween\n" % n for n in range(200))
    present = old.replace(b"word77\n", b"theirs\n")
    outcome = reopened(typing(plan_from(old, new), new.decode().replace("agent3\n", "typed\n")), present)
    wanted = new.replace(b"agent3\n", b"typed\n").replace(b"agent77\n", b"theirs\n")
    assert result(outcome, present) == wanted


def test_most_of_many_changes_that_cannot_be_made_are_left_out_after_a_bounded_time():
    old = b"".join(b"word%d\nbetween\n" % n for n in range(200))
    new = b"".join(b"agent%d\nbetween\n" % n for n in range(200))
    present = b"word0\n" + old[6:].replace(b"word", b"theirs")
    outcome = reopened(accepting(plan_from(old, new), range(199)), present)
    assert result(outcome, present) == present.replace(b"word0\n", b"agent0\n")


def test_typed_text_is_proposed_again_beside_a_change_of_others():
    present = OLD.replace(b"line 22\n", b"foreign\n")
    wanted = OLD.replace(b"line 20\n", b"twenty and more\n")
    outcome = reopened(typing(plan_from(OLD, NEW), wanted.decode()), present)
    assert result(outcome, present) == present.replace(b"line 20\n", b"twenty and more\n")
    assert outcome.previous.change_ids is None


@pytest.mark.parametrize(("bom", "after"), [(b"", 0), (b"", 20), (b"", 30), (b"\xef\xbb\xbf", 20)])
def test_new_lines_at_one_place_are_proposed_above_those_of_others(bom: bytes, after: int):
    lines = OLD.splitlines(keepends=True)
    head, tail = bom + b"".join(lines[:after]), b"".join(lines[after:])
    present = head + b"theirs\nand more\n" + tail
    outcome = reopened(typing(plan_from(bom + OLD, NEW), (head + b"mine\n" + tail).decode("utf-8-sig")), present)
    assert result(outcome, present) == head + b"mine\ntheirs\nand more\n" + tail


@pytest.mark.parametrize(
    ("wanted", "present"),
    [
        (OLD.replace(b"line 20\n", b"line 20\nmine\n"), OLD.replace(b"line 19\nline 20\nline 21\n", b"")),
        (OLD.replace(b"line 20\n", b"line 20\nmine\n"), OLD.replace(b"line 20\nline 21\n", b"theirs\n")),
        (OLD + b"mine", OLD + b"theirs\n"),  # without a line end: it would be one word with theirs
        (OLD + b"mine\n", OLD.removesuffix(b"\n") + b"theirs"),
        (b"\xef\xbb\xbfmine\n" + OLD, b"theirs\n" + OLD),
    ],
    ids=["deleted around", "replaced around", "no line end", "no line end above", "no encoding mark"],
)
def test_new_lines_that_have_no_place_any_more_are_in_the_previous_decision(wanted: bytes, present: bytes):
    old = b"\xef\xbb\xbf" + OLD if wanted.startswith(b"\xef") else OLD
    outcome = reopened(typing(plan_from(old, NEW), wanted.decode("utf-8-sig")), present)
    assert outcome.splices == ()
    assert outcome.previous.text == wanted.decode("utf-8-sig")


def test_typed_text_over_a_line_that_changed_is_kept_in_the_previous_decision():
    present = OLD.replace(b"line 20\n", b"foreign\n")
    wanted = OLD.replace(b"line 20\n", b"twenty and more\n")
    outcome = reopened(typing(plan_from(OLD, NEW), wanted.decode()), present)
    assert outcome.splices == ()
    assert outcome.previous.text == wanted.decode()


@pytest.mark.parametrize(
    ("old", "present", "reason"), [(OLD, None, "deleted"), (None, OLD, "created")], ids=["deleted", "created"]
)
def test_file_that_appeared_or_went_reopens_without_a_proposal(old: bytes | None, present: bytes | None, reason: str):
    decided = typing(plan_from(old, NEW), "typed\n")
    outcome = reopened(decided, present)
    assert (outcome.splices, outcome.previous.text, outcome.previous.reason) == ((), "typed\n", reason)


def test_another_file_under_the_name_is_proposed_without_the_dropped_change():
    decided = accepting(plan_from(OLD, NEW), [1])
    outcome = merge(decided, snapshot_of(OLD, path="/p/other.py"), None)
    assert isinstance(outcome, Reopened)
    assert outcome.previous.reason == "another_file"
    assert result(outcome, OLD) == OLD.replace(b"line 20\n", b"twenty\n")


# --- games ----------------------------------------------------------------------------------------------------------


def other_lines(lines: Sequence[str], data: st.DataObject, mark: str) -> list[str]:
    """What others make of the lines."""
    foreign = data.draw(
        st.dictionaries(st.integers(0, len(lines) - 1), st.sampled_from(["change", "delete", "insert"]), max_size=3)
    )
    result: list[str] = []
    for at, line in enumerate(lines):
        match foreign.get(at):
            case "change":
                result.append(f"other{mark}{at}")
            case "delete":
                pass
            case "insert":
                result += [line, f"other{mark}{at}"]
            case _:
                result.append(line)
    return result


@given(st.data())
def test_nothing_of_others_is_lost_and_nothing_dropped_comes_back(data: st.DataObject):
    """Agent, person and others change lines, in some rounds; every line has an author who wanted it there."""
    old = [f"line{at}" for at in range(data.draw(st.integers(8, 40)))]
    agent = data.draw(st.sets(st.integers(0, len(old) - 1), min_size=1, max_size=4))
    plan = plan_from(_bytes(old), _bytes([f"agent{at}" if at in agent else line for at, line in enumerate(old)]))
    for round_no in range(3):
        was, shown = _lines(plan.snapshot.data), _lines(splicing.apply(plan.snapshot.data, plan.splices))
        changes = changes_of(plan)
        if changes and data.draw(st.booleans()):
            decided = accepting(plan, [n for n in range(len(changes)) if data.draw(st.booleans())] or [0])
        else:
            shown.insert(data.draw(st.integers(0, len(shown))), f"typed{round_no}x")
            decided = typing(plan, _bytes(shown).decode())
        wanted = _lines(splicing.apply(plan.snapshot.data, decided.splices))
        now = other_lines(was, data, f"{'abc'[round_no]}")
        present = _bytes(now)
        outcome = merge(decided, snapshot_of(present), None)
        after = _lines(result(outcome, present))
        added, removed = {*wanted} - {*was}, {*was} - {*wanted}
        assert {*after} - {*now} <= added
        assert {*now} - {*after} <= removed
        if isinstance(outcome, Merged):
            assert added <= {*after}
            return
        assert outcome.previous.text == _bytes(wanted).decode()
        plan = plan_from(present, result(outcome, present), outcome.splices)


def _bytes(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _lines(data: bytes) -> list[str]:
    return data.decode().splitlines()
