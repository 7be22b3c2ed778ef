"""Work for a client that may give up meanwhile."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from fileops.daemon.lines import unless_closed


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Of the daemon and of the client."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


class Work:
    """Waits until it may go on, and then counts something as reported."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.has_reported = False

    async def run(self) -> str:
        await self.may_go_on.wait()
        self.has_reported = True
        return "report"


def test_work_is_done_for_a_client_that_waits(ends: tuple[socket.socket, socket.socket]) -> None:
    async def story() -> None:
        work = Work()
        work.may_go_on.set()
        ends[1].send(b"more")
        assert await unless_closed(ends[0], work.run()) == "report"

    asyncio.run(story())


@pytest.mark.parametrize("goes_on", [False, True], ids=["before", "at the same time"])
def test_client_that_gives_up_takes_no_report_away(ends: tuple[socket.socket, socket.socket], *, goes_on: bool) -> None:
    async def story() -> None:
        work = Work()

        def close() -> None:
            ends[1].close()
            if goes_on:
                asyncio.get_running_loop().call_later(0, work.may_go_on.set)

        asyncio.get_running_loop().call_later(0.01, close)
        assert await unless_closed(ends[0], work.run()) is None
        work.may_go_on.set()
        await asyncio.sleep(0)
        assert not work.has_reported

    asyncio.run(story())


def test_time_limit_ends_the_work(ends: tuple[socket.socket, socket.socket]) -> None:
    async def story() -> None:
        work = Work()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await unless_closed(ends[0], work.run())
        work.may_go_on.set()
        await asyncio.sleep(0)
        assert not work.has_reported

    asyncio.run(story())
