"""What becomes of a decision if the file has changed while the person decided."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.core.review.changes import changes_of
from fileops.core.review.merge import Decided, Merged, Reopened, merge
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Plan
from fileops.model.errors import NoMatch
from fileops.model.files import Text
from unit.core.review.plans import plan_from, snapshot_of

OLD = b"".join(b"line %d\n" % n for n in range(1, 31))
NEW = OLD.replace(b"line 5\n", b"five\n").replace(b"line 20\n", b"twenty\n")


def accepting(plan: Plan, numbers: Sequence[int]) -> Decided:
    chosen = [changes_of(plan)[number] for number in numbers]
    return Decided(
        asked=plan, splices=tuple(change.splice for change in chosen), change_ids=tuple(change.id for change in chosen)
    )


def typing(plan: Plan, text: str) -> Decided:
    content = Text(data=plan.snapshot.data, format=plan.format)
    return Decided(asked=plan, splices=splices_to_text(content, text))


def cannot_plan() -> Plan:
    raise NoMatch(old_string="line")


def result(outcome: Merged | Reopened, present: bytes) -> bytes:
    return splicing.apply(present, outcome.splices)


def reopened(decided: Decided, present: bytes | None, replanned: bytes | None = None) -> Reopened:
    def replan() -> Plan:
        return cannot_plan() if replanned is None else plan_from(present, replanned)

    outcome = merge(decided, snapshot_of(present), replan)
    assert isinstance(outcome, Reopened)
    return outcome


def test_decision_is_merged_with_a_change_far_away():
    present = OLD.replace(b"line 12\n", b"typed\n")
    outcome = merge(accepting(plan_from(OLD, NEW), [1]), snapshot_of(present), cannot_plan)
    assert isinstance(outcome, Merged)
    assert result(outcome, present) == present.replace(b"line 20\n", b"twenty\n")


def test_decision_that_others_have_made_needs_no_write():
    outcome = merge(accepting(plan_from(OLD, NEW), [0, 1]), snapshot_of(NEW), cannot_plan)
    assert outcome == Merged(splices=())


def test_change_near_an_accepted_one_reopens_without_the_dropped_one():
    present = OLD.replace(b"line 22\n", b"typed\n")
    decided = accepting(plan_from(OLD, NEW), [1])
    outcome = reopened(decided, present, present.replace(b"line 5\n", b"five\n").replace(b"line 20\n", b"twenty\n"))
    assert result(outcome, present) == present.replace(b"line 20\n", b"twenty\n")
    assert outcome.previous.reason == "near"
    assert outcome.previous.change_ids == decided.change_ids
    assert outcome.previous.text == OLD.replace(b"line 20\n", b"twenty\n").decode()
    assert [present[place.start : place.end] for place in outcome.dropped] == [b"line 5\n"]


@pytest.mark.parametrize(
    ("present", "replanned"),
    [
        # The accepted line changed, so it is planned again; the dropped one moved below it, or was touched.
        (
            OLD.replace(b"line 20\n", b"line 20 # typed\nline 5\n").replace(b"line 4\nline 5\n", b"line 4\n"),
            OLD.replace(b"line 20\n", b"twenty # typed\nfive\n").replace(b"line 4\nline 5\n", b"line 4\n"),
        ),
        (
            OLD.replace(b"line 20\n", b"line 20 # typed\n").replace(b"line 5\n", b"line 5 # touched\n"),
            OLD.replace(b"line 20\n", b"twenty # typed\n").replace(b"line 5\n", b"five # touched\n"),
        ),
    ],
)
def test_dropped_change_is_not_proposed_again(present: bytes, replanned: bytes):
    outcome = reopened(accepting(plan_from(OLD, NEW), [1]), present, replanned)
    assert b"five" not in result(outcome, present)


def test_accepted_change_of_a_line_that_changed_is_proposed_again():
    present = OLD.replace(b"line 20\n", b"line 20 # typed\n")
    replanned = NEW.replace(b"twenty\n", b"twenty # typed\n")
    outcome = reopened(accepting(plan_from(OLD, NEW), [1]), present, replanned)
    assert result(outcome, present) == present.replace(b"line 20 #", b"twenty #")


def test_typed_text_is_proposed_again_beside_a_change_of_others():
    present = OLD.replace(b"line 22\n", b"foreign\n")
    wanted = OLD.replace(b"line 20\n", b"twenty and more\n")
    outcome = reopened(typing(plan_from(OLD, NEW), wanted.decode()), present, NEW.replace(b"line 22\n", b"foreign\n"))
    assert result(outcome, present) == present.replace(b"line 20\n", b"twenty and more\n")
    assert outcome.previous.change_ids is None


def test_typed_text_over_a_line_that_changed_is_kept_in_the_previous_decision():
    present = OLD.replace(b"line 20\n", b"foreign\n")
    wanted = OLD.replace(b"line 20\n", b"twenty and more\n")
    outcome = reopened(typing(plan_from(OLD, NEW), wanted.decode()), present)
    assert outcome.splices == ()
    assert outcome.previous.text == wanted.decode()


def test_dropped_change_stays_dropped_when_the_file_changes_twice():
    plan = plan_from(OLD, NEW)
    second = OLD.replace(b"line 20\n", b"line 20 # one\n")
    first = reopened(
        accepting(plan, [1]), second, second.replace(b"line 5\n", b"five\n").replace(b"line 20 ", b"twenty ")
    )
    asked = plan_from(second, result(first, second), first.splices)
    third = second.replace(b"# one", b"# two").replace(b"line 5\n", b"line 5\nnew\n")
    decided = Decided(asked=asked, splices=asked.splices, dropped=first.dropped)
    again = reopened(decided, third, third.replace(b"line 5\n", b"five\n").replace(b"line 20 ", b"twenty "))
    assert result(again, third) == third.replace(b"line 20 ", b"twenty ")


@pytest.mark.parametrize(
    ("old", "present", "reason"), [(OLD, None, "deleted"), (None, OLD, "created")], ids=["deleted", "created"]
)
def test_file_that_appeared_or_went_reopens_without_a_proposal(old: bytes | None, present: bytes | None, reason: str):
    decided = typing(plan_from(old, NEW), "typed\n")
    outcome = reopened(decided, present)
    assert (outcome.splices, outcome.previous.text, outcome.previous.reason) == ((), "typed\n", reason)


def test_another_file_under_the_name_is_proposed_without_the_dropped_change():
    decided = accepting(plan_from(OLD, NEW), [1])
    outcome = merge(decided, snapshot_of(OLD, path="/p/other.py"), lambda: plan_from(OLD, NEW))
    assert isinstance(outcome, Reopened)
    assert outcome.previous.reason == "another_file"
    assert result(outcome, OLD) == OLD.replace(b"line 20\n", b"twenty\n")


# --- games ----------------------------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["same", "x", "y"]), min_size=0, max_size=2)


@given(st.data())
def test_nothing_of_others_is_lost_and_nothing_dropped_comes_back(data: st.DataObject):
    """Agent, person and others change numbered lines; every line of the result has an author who wanted it there."""
    n = data.draw(st.integers(8, 40))
    old = [f"line {at}" for at in range(n)]
    agent = data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=4))
    plan = plan_from(_bytes(old), _bytes([f"agent {at}" if at in agent else line for at, line in enumerate(old)]))
    changes = changes_of(plan)
    accepted = [number for number in range(len(changes)) if data.draw(st.booleans())] or [0]
    decided = accepting(plan, accepted)
    foreign = data.draw(
        st.dictionaries(st.integers(0, n - 1), st.sampled_from(["change", "delete", "insert"]), max_size=3)
    )
    lines: list[str] = []
    for at, line in enumerate(old):
        match foreign.get(at):
            case "change":
                lines.append(f"other {at}")
            case "delete":
                pass
            case "insert":
                lines += [line, f"other {at}"]
            case _:
                lines.append(line)
    present = _bytes(lines)

    def replan() -> Plan:
        return plan_from(
            present,
            _bytes([f"agent {line[5:]}" if line[:4] == "line" and int(line[5:]) in agent else line for line in lines]),
        )

    outcome = merge(decided, snapshot_of(present), replan)
    after = result(outcome, present).decode().split("\n")
    wanted = {row[1:] for number in accepted for row in changes[number].diff.splitlines() if row.startswith("+")}
    assert {line for line in after if line.startswith("agent")} <= wanted
    assert [line for line in after if line.startswith("other")] == [line for line in lines if line.startswith("other")]
    if isinstance(outcome, Merged):
        assert {line for line in after if line.startswith("agent")} == wanted
    else:
        assert outcome.previous.text is not None
        assert wanted <= set(outcome.previous.text.split("\n"))


def _bytes(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
