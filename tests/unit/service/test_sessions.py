"""Requests that outlive their session: what they bring about does not reach the next one of that id."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from fileops.model.errors import NotRead
from fileops.model.events import DidRead
from fileops.model.requests import ReadRequest
from support.in_process import Desk
from support.slow_disk import SlowDisk


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    desk = Desk(disk=SlowDisk())
    desk.disk.put("/w/a.txt", b"one\n")
    yield desk
    desk.close()


@pytest.mark.parametrize("by_other_means", [False, True])
async def test_read_that_ends_after_its_session_was_closed_leaves_nothing_seen(
    desk: Desk, by_other_means: bool
) -> None:
    assert isinstance(desk.disk, SlowDisk)
    request = ReadRequest(file_path="/w/a.txt", session_id="s")
    with desk.disk.silent():
        reading = asyncio.create_task(
            desk.service.record_read(request) if by_other_means else desk.service.read(request)
        )
        await asyncio.to_thread(desk.disk.wait_until_waiting, 1)
        desk.service.close_session("s")
    assert (await reading).error is None
    assert await desk.service.tracked("s") == ()
    assert desk.service.files.ledger.files("s") == ()
    assert not any(isinstance(event, DidRead) for event in desk.events.published)
    assert isinstance((await desk.edit("/w/a.txt", "one", "1", "s")).error, NotRead)


async def test_session_that_was_not_closed_keeps_what_it_read(desk: Desk) -> None:
    await desk.read("/w/a.txt", "other")
    desk.service.close_session("s")
    assert (await desk.edit("/w/a.txt", "one", "1", "other")).error is None
