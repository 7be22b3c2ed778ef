"""Which commands are open, and which may still have a program that writes."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.record import CommandRecord
from fileops.model.sessions import SessionName
from fileops.record.command_windows import LINGERING_S, MAX_OPEN, MAX_OPEN_S, REMEMBERED_S, CommandWindows, covers
from support.clock import Clock


@pytest.fixture
def told() -> list[CommandRecord]:
    return []


@pytest.fixture
def windows(clock: Clock, told: list[CommandRecord]) -> CommandWindows:
    windows = CommandWindows(clock, clock)
    windows.on_change = told.append
    return windows


def begin(windows: CommandWindows, session_id: str = "codex:1", host_id: str | None = None) -> CommandRecord:
    return windows.begin(SessionName(session_id), "Codex · make", ["/p"], host_id=host_id)


def test_command_is_open_from_its_begin_to_its_end(
    windows: CommandWindows, clock: Clock, told: list[CommandRecord]
) -> None:
    command = begin(windows, host_id="call-1")
    assert windows.open == (command,)
    clock.now = 1005
    ended = windows.end(SessionName("codex:1"), "call-1")
    assert ended == replace(command, ended=1005.0)
    assert windows.open == ()
    assert told == [command, ended]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(0, 0, []), (0, 1, ["c"]), (1, 1, ["c"]), (1, 2, ["c"]), (2, 2, []), (0, 2, ["c"])],
)
def test_command_was_open_between_edges(windows: CommandWindows, since: int, until: int, expected: list[str]) -> None:
    """Its begin is edge 1, its end edge 2. It is the only candidate if no time between is outside of it."""
    begin(windows)
    windows.end(SessionName("codex:1"), None)
    found = windows.open_between("/p/a.py", "/p", since, until)
    assert ["c" for _ in found.commands] == expected
    assert found.is_certain is ((since, until) == (1, 1) or not expected)


def test_time_within_one_of_two_commands_is_certain(windows: CommandWindows) -> None:
    outer, inner = begin(windows), begin(windows, "gemini:1")
    windows.end(SessionName("gemini:1"), None)
    found = windows.open_between("/p/a.py", "/p", 1, 3)
    assert [command.command_id for command in found.commands] == [outer.command_id, inner.command_id]
    assert found.is_certain


def test_command_is_open_for_the_files_of_its_roots_only(windows: CommandWindows) -> None:
    begin(windows)
    assert [bool(windows.open_between(path, "/p", 1, 1).commands) for path in ("/p/a", "/p", "/pp/a", "/q")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_parallel_commands_end_by_their_ids_and_the_newest_without_one(windows: CommandWindows) -> None:
    first, second, third = (begin(windows, host_id=host_id) for host_id in ("1", "2", None))
    other = begin(windows, "gemini:1")
    windows.end(SessionName("codex:1"), "1")
    assert windows.open == (second, third, other)
    windows.end(SessionName("codex:1"), None)
    assert windows.open == (second, other)
    assert windows.end(SessionName("codex:1"), "1") is None
    assert windows.get(first.command_id) is not None


def test_begin_that_is_repeated_is_the_same_command_until_it_has_ended(windows: CommandWindows) -> None:
    command = begin(windows, host_id="1")
    assert begin(windows, host_id="1") is command
    windows.end(SessionName("codex:1"), "1")
    assert begin(windows, host_id="1").command_id != command.command_id


def test_end_of_all_ends_the_commands_of_this_session_as_lost(
    windows: CommandWindows, told: list[CommandRecord]
) -> None:
    begin(windows)
    other = begin(windows, "gemini:1")
    told.clear()
    assert [command.is_lost for command in windows.end_all(SessionName("codex:1"))] == [True]
    assert windows.open == (other,)
    assert len(told) == 1


def test_command_without_an_end_ends_after_two_hours(
    windows: CommandWindows, clock: Clock, told: list[CommandRecord]
) -> None:
    begin(windows)
    clock.now += MAX_OPEN_S - 1
    assert windows.open_between("/p/a", "/p", 1, 1).commands
    clock.now += 1
    assert not windows.open_between("/p/a", "/p", 1, 1).commands
    assert windows.open == ()
    windows.expire()
    assert told[-1].is_lost


def test_command_that_has_ended_is_forgotten_after_a_while(windows: CommandWindows, clock: Clock) -> None:
    command = begin(windows)
    windows.end(SessionName("codex:1"), None)
    clock.now += REMEMBERED_S
    windows.expire()
    assert windows.get(command.command_id) is None


def test_command_lingers_only_if_it_is_in_the_background_or_lost(windows: CommandWindows) -> None:
    begin(windows, "plain:1")
    windows.end(SessionName("plain:1"), None)
    begin(windows, "background:1")
    windows.end(SessionName("background:1"), None, is_background=True)
    begin(windows, "lost:1")
    windows.end_all(SessionName("lost:1"))
    begin(windows, "open:1")
    for began, sessions in (
        (900.0, ["background:1", "lost:1"]),
        (1000 + LINGERING_S, ["background:1", "lost:1"]),
        (1000.1 + LINGERING_S, []),
    ):
        assert [command.session_id for command in windows.find_lingering("/p/a", "/p", began, began + 101)] == sessions
    assert windows.find_lingering("/q/a", "/q", 1000, 1000) == ()


def test_commands_without_an_end_are_bounded(windows: CommandWindows) -> None:
    commands = [begin(windows, host_id=str(n)) for n in range(MAX_OPEN + 1)]
    assert windows.open == tuple(commands[1:])


def test_clock_that_goes_back_ends_no_command_before_its_begin(windows: CommandWindows, clock: Clock) -> None:
    command = begin(windows)
    clock.now = 900
    ended = windows.end(SessionName("codex:1"), None)
    assert ended is not None
    assert ended.ended == command.began


def test_command_covers_no_project_below_its_folder(tmp_path: Path) -> None:
    """R-BY-7: An agent may name a folder of several projects, or the root of the disk."""
    for folder in ("one/.git/refs", "two", "top/.git/refs", "top/nested/.git"):
        (tmp_path / folder).mkdir(parents=True)
    for head in ("one/.git/HEAD", "top/.git/HEAD", "top/nested/.git/HEAD"):
        (tmp_path / head).touch()
    home = os.path.expanduser("~")

    def covered(root: object, project: object) -> bool:
        command = CommandRecord(
            command_id="c-1", session_id=SessionName("bot"), label="bot", began=0, roots=(str(root),), turn_id=None
        )
        return covers(command, f"{project}/file", str(project))

    above = ("/", os.path.dirname(home), home, tmp_path)
    assert not any(covered(root, project) for root in above for project in (tmp_path / "one", tmp_path / "two"))
    assert covered(tmp_path / "one", tmp_path / "one")
    assert covered(tmp_path / "top", tmp_path / "top" / "nested")
    assert not covered(tmp_path / "one", tmp_path / "two")
