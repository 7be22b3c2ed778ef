"""Which commands are open, and which may still have a program that writes."""

import pytest
from msgspec.structs import replace

from fileops.model.record import Command
from fileops.model.sessions import SessionName
from fileops.record.brackets import LINGERING_S, MAX_OPEN, MAX_OPEN_S, REMEMBERED_S, Brackets
from support.clock import Clock


@pytest.fixture
def told() -> list[Command]:
    return []


@pytest.fixture
def brackets(clock: Clock, told: list[Command]) -> Brackets:
    brackets = Brackets(clock)
    brackets.on_change = told.append
    return brackets


def begin(brackets: Brackets, session_id: str = "codex:1", host_id: str | None = None) -> Command:
    return brackets.begin(SessionName(session_id), "Codex · make", ["/p"], host_id=host_id)


def test_command_is_open_from_its_begin_to_its_end(brackets: Brackets, clock: Clock, told: list[Command]) -> None:
    command = begin(brackets, host_id="call-1")
    assert brackets.open == (command,)
    clock.now = 1005
    ended = brackets.end(SessionName("codex:1"), "call-1")
    assert ended == replace(command, ended=1005.0)
    assert brackets.open == ()
    assert told == [command, ended]


@pytest.mark.parametrize(
    ("began", "ended", "is_open"),
    [(990, 999, False), (990, 1000, True), (1003, 1004, True), (1010, 1020, True), (1011, 1020, False)],
)
def test_command_that_has_ended_was_open_within_its_times(
    brackets: Brackets, clock: Clock, began: float, ended: float, *, is_open: bool
) -> None:
    begin(brackets)
    clock.now = 1010
    brackets.end(SessionName("codex:1"), None)
    assert bool(brackets.open_during("/p/a.py", began, ended)) is is_open


def test_command_is_open_for_the_files_of_its_roots_only(brackets: Brackets) -> None:
    begin(brackets)
    assert [bool(brackets.open_during(path, 1000, 1000)) for path in ("/p/a", "/p", "/pp/a", "/q")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_parallel_commands_end_by_their_ids_and_the_newest_without_one(brackets: Brackets) -> None:
    first, second, third = (begin(brackets, host_id=host_id) for host_id in ("1", "2", None))
    other = begin(brackets, "gemini:1")
    brackets.end(SessionName("codex:1"), "1")
    assert brackets.open == (second, third, other)
    brackets.end(SessionName("codex:1"), None)
    assert brackets.open == (second, other)
    assert brackets.end(SessionName("codex:1"), "1") is None
    assert brackets.get(first.command_id) is not None


def test_begin_that_is_repeated_is_the_same_command_until_it_has_ended(brackets: Brackets) -> None:
    command = begin(brackets, host_id="1")
    assert begin(brackets, host_id="1") is command
    brackets.end(SessionName("codex:1"), "1")
    assert begin(brackets, host_id="1").command_id != command.command_id


def test_end_of_all_ends_the_commands_of_this_session_as_lost(brackets: Brackets, told: list[Command]) -> None:
    begin(brackets)
    other = begin(brackets, "gemini:1")
    told.clear()
    assert [command.is_lost for command in brackets.end_all(SessionName("codex:1"))] == [True]
    assert brackets.open == (other,)
    assert len(told) == 1


def test_command_without_an_end_ends_after_two_hours(brackets: Brackets, clock: Clock, told: list[Command]) -> None:
    begin(brackets)
    assert brackets.open_during("/p/a", 1000 + MAX_OPEN_S, 1000 + MAX_OPEN_S)
    assert not brackets.open_during("/p/a", 1001 + MAX_OPEN_S, 1001 + MAX_OPEN_S)
    clock.now += MAX_OPEN_S
    assert brackets.open == ()
    brackets.expire()
    assert told[-1].is_lost


def test_command_that_has_ended_is_forgotten_after_a_while(brackets: Brackets, clock: Clock) -> None:
    command = begin(brackets)
    brackets.end(SessionName("codex:1"), None)
    clock.now += REMEMBERED_S
    brackets.expire()
    assert brackets.get(command.command_id) is None


def test_command_lingers_only_if_it_is_in_the_background_or_lost(brackets: Brackets) -> None:
    begin(brackets, "plain:1")
    brackets.end(SessionName("plain:1"), None)
    begin(brackets, "background:1")
    brackets.end(SessionName("background:1"), None, is_background=True)
    begin(brackets, "lost:1")
    brackets.end_all(SessionName("lost:1"))
    begin(brackets, "open:1")
    for began, sessions in (
        (900.0, ["background:1", "lost:1"]),
        (1000 + LINGERING_S, ["background:1", "lost:1"]),
        (1000.1 + LINGERING_S, []),
    ):
        assert [command.session_id for command in brackets.lingering("/p/a", began)] == sessions
    assert brackets.lingering("/q/a", 1000) == ()


def test_commands_without_an_end_are_bounded(brackets: Brackets) -> None:
    commands = [begin(brackets, host_id=str(n)) for n in range(MAX_OPEN + 1)]
    assert brackets.open == tuple(commands[1:])


def test_clock_that_goes_back_ends_no_command_before_its_begin(brackets: Brackets, clock: Clock) -> None:
    command = begin(brackets)
    clock.now = 900
    ended = brackets.end(SessionName("codex:1"), None)
    assert ended is not None
    assert ended.ended == command.began
