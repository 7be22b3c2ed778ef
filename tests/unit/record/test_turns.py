"""Where turns begin and end, and which entries belong to them."""

import pytest
from msgspec.structs import replace

from fileops.model.record import TurnRecord
from fileops.model.sessions import SessionName
from fileops.record.turns import PAUSE_S, TurnRegistry
from support.clock import Clock

A, LABEL = "codex:1", "Codex"


@pytest.fixture
def told() -> list[TurnRecord]:
    return []


@pytest.fixture
def turns(clock: Clock, told: list[TurnRecord]) -> TurnRegistry:
    turns = TurnRegistry(clock)
    turns.on_change = told.append
    return turns


def test_turn_ends_with_the_next_one(turns: TurnRegistry, clock: Clock, told: list[TurnRecord]) -> None:
    first = turns.begin(SessionName(A), LABEL, host_id="p1", title="fix it")
    clock.now = 1010
    second = turns.begin(SessionName(A), LABEL, host_id="p2")
    assert told == [first, replace(first, ended=1010.0), second]
    assert (first.title, second.began, second.ended) == ("fix it", 1010.0, None)


def test_turn_of_the_same_id_is_repeated_only_while_it_is_open(turns: TurnRegistry, told: list[TurnRecord]) -> None:
    turn = turns.begin(SessionName(A), LABEL, host_id="p1")
    assert turns.begin(SessionName(A), LABEL, host_id="p1") is turn
    assert told == [turn]
    turns.end(SessionName(A))
    assert turns.begin(SessionName(A), LABEL, host_id="p1").turn_id != turn.turn_id


def test_turns_without_an_id_are_never_repeated(turns: TurnRegistry) -> None:
    assert turns.begin(SessionName(A), LABEL).turn_id != turns.begin(SessionName(A), LABEL).turn_id


def test_session_that_names_no_turns_is_divided_by_pauses(
    turns: TurnRegistry, clock: Clock, told: list[TurnRecord]
) -> None:
    first = turns.of_entry(SessionName(A), LABEL)
    for _ in range(3):
        clock.now += PAUSE_S - 1
        assert turns.of_entry(SessionName(A), LABEL) is first
    last_entry, clock.now = clock.now, clock.now + PAUSE_S
    second = turns.of_entry(SessionName(A), LABEL)
    assert second.turn_id != first.turn_id
    assert told == [first, replace(first, ended=last_entry), second]


def test_session_that_has_named_a_turn_is_not_divided_by_pauses(turns: TurnRegistry, clock: Clock) -> None:
    turns.of_entry(SessionName(A), LABEL)
    named = turns.begin(SessionName(A), LABEL)
    clock.now += 10 * PAUSE_S
    assert turns.of_entry(SessionName(A), LABEL) is named


def test_entry_after_the_end_of_a_turn_belongs_to_it(turns: TurnRegistry, clock: Clock) -> None:
    turn = turns.begin(SessionName(A), LABEL, host_id="p1")
    clock.now += 10
    turns.end(SessionName(A))
    clock.now += 10 * PAUSE_S
    assert turns.of_entry(SessionName(A), LABEL).turn_id == turn.turn_id
    assert turns.end(SessionName(A)) is None


def test_open_turns_are_those_of_all_sessions_in_the_folder(turns: TurnRegistry, clock: Clock) -> None:
    codex = turns.begin(SessionName(A), LABEL, roots=["/p"])
    claude = turns.begin(SessionName("claude-code:1"), "Claude Code", roots=["/p/sub"])
    turns.begin(SessionName("gemini:1"), "Gemini CLI", roots=["/q"])
    unknown = turns.begin(SessionName("opencode:1"), "opencode")
    assert turns.open_during("/p/a", 1000, 1000) == (codex, unknown)
    assert turns.open_during("/p/sub/a", 1000, 1000) == (codex, claude, unknown)
    clock.now = 1010
    ended = turns.end(SessionName(A))
    assert turns.open_during("/p/a", 1010, 1020) == (ended, unknown)
    assert turns.open_during("/p/a", 1011, 1020) == (unknown,)
    assert turns.open_during("/p/a", 900, 999) == ()


def test_session_that_has_ended_begins_a_new_turn(turns: TurnRegistry, told: list[TurnRecord]) -> None:
    turn = turns.begin(SessionName(A), LABEL)
    turns.forget(SessionName(A))
    assert told[-1] == replace(turn, ended=1000.0)
    assert turns.of_entry(SessionName(A), LABEL).turn_id != turn.turn_id


def test_turns_of_an_earlier_daemon_go_on(turns: TurnRegistry, told: list[TurnRecord]) -> None:
    newest = TurnRecord(turn_id="t-2", session_id=SessionName(A), label=LABEL, began=500.0, title="fix", host_id="p2")
    older = TurnRecord(turn_id="t-1", session_id=SessionName(A), label=LABEL, began=400.0, ended=450.0, host_id="p1")
    turns.resume([newest, older])
    assert told == [replace(newest, ended=500.0)]
    assert turns.of_entry(SessionName(A), LABEL).turn_id == "t-2"
