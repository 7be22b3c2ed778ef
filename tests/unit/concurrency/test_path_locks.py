"""PathLocks at a file: order, sharing, and turns given up."""

import asyncio

import pytest

from fileops.concurrency.path_locks import PathLocks
from support.patience import PATIENCE_S


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_writers_are_served_in_order_and_alone() -> None:
    turns, seen, inside = PathLocks(), list[int](), list[int]()

    async def write(n: int) -> None:
        async with turns.acquire("p", shared=False):
            inside.append(n)
            assert inside == [n]
            await settle()
            seen.append(n)
            inside.remove(n)

    await asyncio.gather(*(write(n) for n in range(10)))
    assert seen == list(range(10))


async def test_readers_run_together_but_not_past_a_waiting_writer() -> None:
    turns, log = PathLocks(), list[str]()
    release = asyncio.Event()

    async def reader(name: str) -> None:
        async with turns.acquire("p", shared=True):
            log.append(name)
            await release.wait()

    async def writer() -> None:
        async with turns.acquire("p", shared=False):
            log.append("w")

    first = [asyncio.create_task(reader("r1")), asyncio.create_task(reader("r2"))]
    await settle()
    later = [asyncio.create_task(writer()), asyncio.create_task(reader("r3"))]
    await settle()
    assert log == ["r1", "r2"]
    release.set()
    await asyncio.gather(*first, *later)
    assert log == ["r1", "r2", "w", "r3"]


async def test_writer_waits_for_each_reader_that_was_there_before() -> None:
    """The lock is forgotten with its last holder, not with its first."""
    turns, log = PathLocks(), list[str]()
    first_may_go, last_may_go = asyncio.Event(), asyncio.Event()

    async def reader(may_go: asyncio.Event) -> None:
        async with turns.acquire("p", shared=True):
            await may_go.wait()
        log.append("r")

    async def writer() -> None:
        async with turns.acquire("p", shared=False):
            log.append("w")

    readers = [asyncio.create_task(reader(event)) for event in (first_may_go, last_may_go)]
    await settle()
    first_may_go.set()
    await readers[0]
    writing = asyncio.create_task(writer())
    await settle()
    assert log == ["r"]
    last_may_go.set()
    await asyncio.gather(readers[1], writing)
    assert log == ["r", "r", "w"]


async def test_locks_of_other_paths_do_not_wait() -> None:
    turns = PathLocks()
    async with turns.acquire("a", shared=False), asyncio.timeout(PATIENCE_S), turns.acquire("b", shared=False):
        pass


@pytest.mark.parametrize("shared", [True, False])
async def test_cancelled_wait_for_a_path_lock_blocks_no_other(shared: bool) -> None:
    turns = PathLocks()

    async def wait() -> None:
        async with turns.acquire("p", shared=shared):
            raise AssertionError("never its turn")

    async with turns.acquire("p", shared=False):
        waiting = asyncio.create_task(wait())
        await settle()
        waiting.cancel()
        await settle()
    assert waiting.cancelled()
    async with asyncio.timeout(PATIENCE_S), turns.acquire("p", shared=False):
        pass


async def test_path_lock_granted_to_a_cancelled_waiter_is_passed_on() -> None:
    turns = PathLocks()
    holder = turns.acquire("p", shared=False)
    await holder.__aenter__()

    async def wait() -> None:
        async with turns.acquire("p", shared=False):
            pass

    waiting = asyncio.create_task(wait())
    await settle()
    await holder.__aexit__(None, None, None)  # the turn is given to `waiting`, which has not run yet
    waiting.cancel()
    await settle()
    async with asyncio.timeout(PATIENCE_S), turns.acquire("p", shared=False):
        pass
