"""Requests that outlive their session: what they bring about does not reach the next one of that id."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from fileops.model.approval import Always
from fileops.model.errors import NotRead
from fileops.model.events import DidRead
from fileops.model.requests import ReadRequest
from fileops.model.sessions import SessionName
from support.in_process import Workbench
from support.slow_disk import SlowDisk


@pytest.fixture
async def bench() -> AsyncGenerator[Workbench]:
    bench = Workbench(disk=SlowDisk())
    bench.disk.put("/w/a.txt", b"one\n")
    yield bench
    bench.close()


@pytest.mark.parametrize("by_other_means", [False, True])
async def test_read_that_ends_after_its_session_was_closed_is_not_recorded(
    bench: Workbench, by_other_means: bool
) -> None:
    assert isinstance(bench.disk, SlowDisk)
    request = ReadRequest(file_path="/w/a.txt", session_id=SessionName("s"))
    with bench.disk.silent():
        reading = asyncio.create_task(
            bench.service.record_read(request) if by_other_means else bench.service.read(request)
        )
        await asyncio.to_thread(bench.disk.wait_until_waiting, 1)
        bench.service.close_session(SessionName("s"))
    assert (await reading).error is None
    assert await bench.service.list_tracked(SessionName("s")) == ()
    assert bench.service.files.activity.files(SessionName("s")) == ()
    assert not any(isinstance(event, DidRead) for event in bench.events.events)
    assert isinstance((await bench.edit("/w/a.txt", "one", "1", "s")).error, NotRead)


async def test_session_that_was_not_closed_keeps_what_it_read(bench: Workbench) -> None:
    await bench.read("/w/a.txt", "other")
    bench.service.close_session(SessionName("s"))
    assert (await bench.edit("/w/a.txt", "one", "1", "other")).error is None


async def test_mode_of_the_next_session_does_not_count_for_an_undo_of_a_closed_one(bench: Workbench) -> None:
    bench.disk.put("/w/b.txt", b"one\n")
    for path in ("/w/a.txt", "/w/b.txt"):
        await bench.applied(path, "one", "1", "s")
    bench.person.can_ask = True

    def close_and_begin_again() -> None:
        bench.service.close_session(SessionName("s"))
        bench.service.set_approval_mode(SessionName("s"), "yolo")

    bench.person.meanwhile = close_and_begin_again
    assert (await bench.undo(session_id="s")).error is None
    assert len(bench.person.questions) == 2


async def test_always_that_is_said_after_its_session_was_closed_does_not_count_for_the_next_one(
    bench: Workbench,
) -> None:
    """R-REV-10."""
    bench.person.can_ask = True
    bench.person.answer = lambda _question: Always()
    bench.person.meanwhile = lambda: bench.service.close_session(SessionName("s"))
    await bench.applied("/w/a.txt", "one", "1", "s")
    bench.person.meanwhile = lambda: None
    await bench.applied("/w/a.txt", "1", "2", "s")
    assert len(bench.person.questions) == 2
    await bench.applied("/w/a.txt", "2", "3", "s")  # this session was open
    assert len(bench.person.questions) == 2
