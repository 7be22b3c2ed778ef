"""The race of all kinds of clients, briefly, and what its ledger must not let pass. For minutes: python tests/race."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from race.ledger import Event, Ledger, words_of
from race.run import Setting, run

A, B, C = "a000001", "b000001", "c000001"
FILE = "f"


@pytest.mark.timeout(300)
def test_race_of_agents_editors_and_other_programs_loses_nothing() -> None:
    setting = Setting(seconds=8, seed=int(time.time()))
    report = run(setting)
    assert report.faults == [], str(report)
    assert report.count("edit ok disk") > 0
    assert report.count("edit of an agent applied") > 0
    assert report.count("edit modified_externally") > 0
    assert report.n_outside > 0


def event(ledger: Ledger, who: str, began: float, ended: float, **what: Any) -> Event:
    """A write that has happened."""
    made = Event(who, FILE, began, **what)
    ledger.begin(made)
    made.end = ended
    made.state = "sure"
    return made


def start(ledger: Ledger, *words: str) -> None:
    event(ledger, "the start", 0, 0, whole=frozenset(words))


def _lost_edit(ledger: Ledger) -> None:
    start(ledger, A)
    event(ledger, "b", 1, 2, adds=frozenset({B}))
    ledger.judge_text(FILE, A, "end")


def _lost_before_a_rename(ledger: Ledger) -> None:
    """It was gone when the other program read: what that one wrote is no excuse."""
    start(ledger, A)
    event(ledger, "b", 1, 2, adds=frozenset({B}))
    event(ledger, "o", 4, 5, whole=frozenset({A, C}), base_begin=3)
    ledger.judge_text(FILE, f"{A} {C}", "end")


def _lost_to_an_edit_of_before(ledger: Ledger) -> None:
    start(ledger, A)
    event(ledger, "c", 1, 2, adds=frozenset({C}), removes=frozenset({B}))
    event(ledger, "b", 3, 4, adds=frozenset({B}))
    ledger.judge_text(FILE, f"{A} {C}", "end")


def _taken_out_and_back(ledger: Ledger) -> None:
    start(ledger, A, B)
    event(ledger, "c", 1, 2, adds=frozenset({C}), removes=frozenset({B}))
    ledger.judge_text(FILE, f"{A} {B} {C}", "end")


def _written_by_nobody(ledger: Ledger) -> None:
    start(ledger, A)
    ledger.judge_text(FILE, f"{A} {B}", "end")


def _refused_and_made(ledger: Ledger) -> None:
    start(ledger, A)
    event(ledger, "b", 1, 2, adds=frozenset({B})).state = "void"
    ledger.judge_text(FILE, f"{A} {B}", "end")


def _refused_and_read(ledger: Ledger) -> None:
    event(ledger, "b", 1, 2, adds=frozenset({B})).state = "void"
    ledger.judge_written(FILE, B, "read", is_disk=True)


def _twice(ledger: Ledger) -> None:
    start(ledger, A)
    ledger.judge_text(FILE, f"{A} {A}", "end")


def _not_made_in_the_editor(ledger: Ledger) -> None:
    ledger.note_buffer_edit(FILE, frozenset({A}), frozenset({C}))
    ledger.judge_buffer_edit(event(ledger, "b", 1, 2, adds=frozenset({A}), removes=frozenset({B})))


def _made_in_the_editor_all_the_same(ledger: Ledger) -> None:
    ledger.note_buffer_edit(FILE, frozenset({A}), frozenset({B}))
    ledger.judge_refused(event(ledger, "b", 1, 2, adds=frozenset({A}), removes=frozenset({B})), "apply_refused")


@pytest.mark.parametrize(
    "story",
    [
        _lost_edit, _lost_before_a_rename, _lost_to_an_edit_of_before, _taken_out_and_back, _written_by_nobody,
        _refused_and_made, _refused_and_read, _twice, _not_made_in_the_editor, _made_in_the_editor_all_the_same,
    ],
    ids=lambda story: story.__name__.strip("_").replace("_", " "),
)  # fmt: skip
def test_ledger_reports_a_fault(story: Callable[[Ledger], None]) -> None:
    ledger = Ledger()
    story(ledger)
    assert len(ledger.faults) == 1


def test_ledger_accepts_concurrent_operations_in_either_order() -> None:
    for standing in (f"{A} {B}", f"{A} {C}"):
        ledger = Ledger()
        start(ledger, A)
        event(ledger, "b", 1, 4, adds=frozenset({B}))
        event(ledger, "o", 2, 3, whole=words_of(standing), base_begin=2)
        ledger.judge_text(FILE, standing, "end")
        assert ledger.faults == []


def test_read_is_not_compared_with_a_later_write() -> None:
    """A word was taken out, the read did not show it, and an editor has saved it again since."""
    ledger = Ledger()
    start(ledger, A, B)
    event(ledger, "a", 1, 2, removes=frozenset({B}))
    event(ledger, "e", 5, 6, whole=frozenset({A, B}), base_begin=0)
    ledger.judge_absent(FILE, B, "reads", read_began=3)
    assert ledger.faults == []
    ledger.judge_absent(FILE, B, "reads", read_began=7)
    assert len(ledger.faults) == 1


def test_edit_after_an_unseen_write_is_a_fault() -> None:
    ledger = Ledger()
    other = event(ledger, "b", 2, 3, adds=frozenset({B}))
    own = event(ledger, "a", 4, 5, adds=frozenset({A}))
    assert ledger.unseen(own, 1) is other
    assert ledger.unseen(own, 2.5) is None


def test_edit_is_no_fault_if_the_unseen_write_may_have_been_undone_before_it() -> None:
    """The file is then what the session has seen, and where it is open in an editor its content decides."""
    ledger = Ledger()
    event(ledger, "p", 2, 3, adds=frozenset({B}))
    event(ledger, "p", 5, 6, removes=frozenset({B}), changes_back=True).state = "maybe"
    own = event(ledger, "a", 4, 7, adds=frozenset({A}))
    assert ledger.unseen(own, 1) is None


def test_undo_after_an_edit_does_not_excuse_it() -> None:
    ledger = Ledger()
    other = event(ledger, "p", 2, 3, adds=frozenset({B}))
    event(ledger, "p", 8, 9, removes=frozenset({B}), changes_back=True).state = "maybe"
    own = event(ledger, "a", 4, 7, adds=frozenset({A}))
    assert ledger.unseen(own, 1) is other
