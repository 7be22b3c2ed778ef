"""The smallest decidable parts of a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.core.review import changes as module
from fileops.core.review.changes import changes_of
from fileops.core.text import detect_format, split_lines
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Plan
from fileops.model.files import Text
from unit.core.review.plans import plan_from

NO_NEWLINE = "\\ No newline at end of file\n"


def test_changes_one_unchanged_line_apart_are_two():
    plan = plan_from(b"a\nb\nc\nd\n", b"A\nb\nC\nd\n")
    first, second = changes_of(plan)
    assert (first.old_start, first.old_lines, first.new_start, first.new_lines) == (1, 1, 1, 1)
    assert (second.old_start, second.old_lines, second.new_start, second.new_lines) == (3, 1, 3, 1)
    assert second.diff == "@@ -3 +3 @@\n-c\n+C\n"


def test_changes_of_neighbouring_lines_are_one():
    data = b"a\nb\nc\n"
    plan = plan_from(data, b"A\nB\nc\n")
    assert [(change.old_start, change.old_lines) for change in changes_of(plan)] == [(1, 2)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\nc\n", b"a\nb\nc\n", (1, 0, 2, 1, "@@ -1,0 +2 @@\n+b\n")),
        (b"a\nb\nc\n", b"a\nc\n", (2, 1, 1, 0, "@@ -2 +1,0 @@\n-b\n")),
        (b"", b"x\n", (0, 0, 1, 1, "@@ -0,0 +1 @@\n+x\n")),
        (b"a\nb", b"a\nB", (2, 1, 2, 1, f"@@ -2 +2 @@\n-b\n{NO_NEWLINE}+B\n{NO_NEWLINE}")),
    ],
)  # fmt: skip
def test_change_names_its_lines(old: bytes, new: bytes, expected: tuple[object, ...]):
    (change,) = changes_of(plan_from(old, new))
    found = (change.old_start, change.old_lines, change.new_start, change.new_lines, change.diff)
    assert found == expected


def test_equal_changes_have_different_ids():
    one, other = changes_of(plan_from(b"x\nm\nx\n", b"y\nm\ny\n"))
    assert one.id != other.id


def test_changes_after_the_limit_are_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_CHANGES", 3)
    old, new = b"".join(b"%d\nm\n" % n for n in range(9)), b"".join(b"%d!\nm\n" % n for n in range(9))
    plan = plan_from(old, new)
    changes = changes_of(plan)
    assert [(change.old_start, change.old_lines, change.new_lines) for change in changes] == [
        (1, 1, 1), (3, 1, 1), (5, 13, 13),
    ]  # fmt: skip
    assert splicing.apply(old, [change.splice for change in changes]) == new


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "a b", "ä", "x\r"]), max_size=12)


@given(LINES, LINES, st.booleans(), st.booleans(), st.sampled_from(["utf-8", "utf-16-le"]))
def test_all_changes_together_are_the_plan(
    old: list[str], new: list[str], old_ends: bool, new_ends: bool, encoding: str
):
    plan = _plan("\n".join(old) + "\n" * old_ends, "\n".join(new) + "\n" * new_ends, encoding)
    changes = changes_of(plan)
    data = plan.snapshot.data
    assert splicing.apply(data, [change.splice for change in changes]) == splicing.apply(data, plan.splices)
    assert len({change.id for change in changes}) == len(changes)


@given(LINES, LINES, st.data())
def test_some_changes_leave_the_lines_of_the_others(old: list[str], new: list[str], data: st.DataObject):
    plan = _plan("\n".join(old), "\n".join(new), "utf-8")
    changes = changes_of(plan)
    chosen = [change for change in changes if data.draw(st.booleans())]
    before = plan.snapshot.data
    after = splicing.apply(before, [change.splice for change in chosen])
    n_lines = sum(change.new_lines - change.old_lines for change in chosen)
    assert len(split_lines(after, plan.format)) == len(split_lines(before, plan.format)) + n_lines
    for change in changes:
        if change not in chosen and change.old_lines:
            assert before[change.splice.start : change.splice.end] in after


def _plan(old: str, new: str, encoding: str) -> Plan:
    bom = "\ufeff" if encoding != "utf-8" else ""
    data = (bom + old).encode(encoding)
    splices = splices_to_text(Text(data=data, format=detect_format(data)), new)
    return plan_from(data, splicing.apply(data, splices), splices)
