"""Work in threads, and what a cancel makes of it."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from fileops.concurrency import deferred, shares
from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import N_OF_A_CLIENT, N_OF_A_SHARE, N_SHARED, SharedWorkers, WorkerPool
from fileops.model.errors import ApplyRefused
from fileops.model.internal_errors import Cancelled


async def test_results_and_failures_are_returned() -> None:
    workers = WorkerPool(2)
    assert await workers.run(CancelToken(), lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        await workers.run(CancelToken(), lambda: 1 // 0)  # pyrefly: ignore[division-by-zero]
    workers.close()


async def test_pool_has_no_more_threads_than_allowed_or_needed() -> None:
    workers, before = WorkerPool(3), threading.active_count()
    for _ in range(5):
        await workers.run(CancelToken(), lambda: None)
    assert threading.active_count() == before + 1
    names = await asyncio.gather(
        *(workers.run(CancelToken(), lambda: threading.current_thread().name) for _ in range(30))
    )
    assert len(names) == 30
    assert threading.active_count() <= before + 3
    workers.close()
    assert threading.active_count() == before


@pytest.fixture
def no_more_threads() -> Iterator[Callable[[], None]]:
    """A function after which the system starts no thread: none has room for its stack."""
    before = threading.stack_size()
    yield lambda: (threading.stack_size(1 << 60), None)[1]
    threading.stack_size(before)


async def test_job_waits_for_another_thread_if_the_system_allows_no_more(no_more_threads: Callable[[], None]) -> None:
    workers, turns, is_running, release = WorkerPool(2), asyncio.Semaphore(2), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hold() -> int:
        loop.call_soon_threadsafe(is_running.set)
        release.wait(20)
        return 1

    first = asyncio.create_task(workers.run(CancelToken(), hold, turns))
    await is_running.wait()
    no_more_threads()
    second = asyncio.create_task(workers.run(CancelToken(), lambda: 2, turns))
    while not (workers.n_queued or second.done()):  # noqa: ASYNC110 - set by the task
        await asyncio.sleep(0)
    release.set()
    assert [await first, await second, await workers.run(CancelToken(), lambda: 3, turns)] == [1, 2, 3]
    workers.close()


async def test_pool_without_a_thread_fails_and_works_when_there_can_be_one(
    no_more_threads: Callable[[], None],
) -> None:
    workers, turns, before = WorkerPool(2), asyncio.Semaphore(1), threading.stack_size()
    no_more_threads()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="thread"):
            await workers.run(CancelToken(), lambda: 1, turns)
    threading.stack_size(before)
    assert await workers.run(CancelToken(), lambda: 1, turns) == 1
    workers.close()


async def test_deferred_work_runs_after_the_result() -> None:
    workers, is_answered, was_answered = WorkerPool(1), threading.Event(), list[bool]()
    await workers.run(CancelToken(), lambda: deferred.defer(lambda: was_answered.append(is_answered.wait(20))))
    is_answered.set()
    await workers.run(CancelToken(), lambda: None)
    workers.close()
    assert was_answered == [True]


async def test_deferred_work_delays_no_job_and_is_completed_at_close() -> None:
    workers, release, done = WorkerPool(2), threading.Event(), list[bool]()
    await workers.run(CancelToken(), lambda: deferred.defer(lambda: done.append(release.wait(20))))
    async with asyncio.timeout(10):
        assert await workers.run(CancelToken(), lambda: 1) == 1
    closing = asyncio.create_task(asyncio.to_thread(workers.close))
    while not workers.is_closed:  # noqa: ASYNC110 - set by a thread
        await asyncio.sleep(0)
    assert done == []
    release.set()
    await closing
    assert done == [True]


async def test_deferred_work_of_a_failed_or_cancelled_job_is_done() -> None:
    workers, done = WorkerPool(1), list[int]()

    def put_off_and_fail(failure: Exception) -> None:
        deferred.defer(lambda: done.append(1))
        raise failure

    for failure, told in ((ValueError(), ValueError), (Cancelled(), asyncio.CancelledError)):
        with pytest.raises(told):
            await workers.run(CancelToken(), lambda failure=failure: put_off_and_fail(failure))
    workers.close()
    assert done == [1, 1]


async def test_deferred_work_of_a_long_job_does_not_accumulate() -> None:
    workers, done = WorkerPool(1), list[int]()

    def put_off(n: int) -> int:
        for i in range(n):
            deferred.defer(lambda i=i: done.append(i))
        return len(done)

    assert await workers.run(CancelToken(), lambda: put_off(1000)) > 980
    workers.close()
    assert sorted(done) == list(range(1000))


def test_deferred_work_outside_of_workers_runs_immediately() -> None:
    done: list[int] = []
    deferred.defer(lambda: done.append(1))
    assert done == [1]


async def test_blocked_job_does_not_delay_the_others() -> None:
    workers, release = WorkerPool(2), threading.Event()
    blocked = asyncio.create_task(workers.run(CancelToken(), release.wait))
    async with asyncio.timeout(5):
        for n in range(10):
            assert await workers.run(CancelToken(), lambda n=n: n) == n
    release.set()
    assert await blocked
    workers.close()


async def test_cancel_in_time_ends_the_wait_immediately() -> None:
    workers, release = WorkerPool(1), threading.Event()
    token = CancelToken()
    task = asyncio.create_task(workers.run(token, release.wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    workers.close()


async def test_cancel_in_time_waits_for_the_cleanup_of_the_work() -> None:
    workers, token = WorkerPool(1), CancelToken()
    has_made, release, is_gone = threading.Event(), threading.Event(), threading.Event()

    def make() -> None:
        token.prepare()
        has_made.set()
        release.wait(20)
        is_gone.set()
        token.prepare()

    task = asyncio.create_task(workers.run(token, make))
    await asyncio.to_thread(has_made.wait, 20)
    for _ in range(3):  # cancelled again and again, it waits
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_gone.is_set()
    workers.close()


async def test_late_cancel_returns_the_true_result() -> None:
    workers, begun, release = WorkerPool(1), threading.Event(), threading.Event()
    token = CancelToken()

    def commit() -> str:
        token.begin_commit()
        begun.set()
        release.wait()
        return "written"

    task = asyncio.create_task(workers.run(token, commit))
    await asyncio.to_thread(begun.wait)
    for _ in range(3):  # cancelled again and again, it stays the truth
        task.cancel()
        await asyncio.sleep(0)
    release.set()
    assert await task == "written"
    workers.close()


async def test_work_that_notices_its_cancellation_ends_as_cancelled() -> None:
    workers, token = WorkerPool(1), CancelToken()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await workers.run(token, token.check)
    workers.close()


async def test_queued_work_is_cancelled_at_close() -> None:
    workers, has_begun, release = WorkerPool(1), threading.Event(), threading.Event()

    def work() -> bool:
        has_begun.set()
        return release.wait(20)

    running = asyncio.create_task(workers.run(CancelToken(), work))
    queued = asyncio.create_task(workers.run(CancelToken(), lambda: 1))
    assert await asyncio.to_thread(has_begun.wait, 20)
    closing = asyncio.create_task(asyncio.to_thread(workers.close))
    while not workers.is_closed:  # noqa: ASYNC110 - set by a thread
        await asyncio.sleep(0)
    release.set()
    await closing
    assert await running
    with pytest.raises(asyncio.CancelledError):
        await queued
    with pytest.raises(asyncio.CancelledError):
        await workers.run(CancelToken(), lambda: 1)


# --- shares ----------------------------------------------------------------------------------------------------------


def needing(*needed: str, then: Callable[[], object] = lambda: None) -> Callable[[], object]:
    """Work that waits for these, one after another."""

    def work() -> object:
        for share in needed:
            shares.require(share, lambda: ApplyRefused(reason="too many"))
        return then()

    return work


async def test_work_waiting_for_an_editor_occupies_no_thread_of_the_disk() -> None:
    workers, release = SharedWorkers(), threading.Event()
    waiting = [
        asyncio.create_task(workers.run(CancelToken(), needing("editor", then=lambda: release.wait(20)), "/a"))
        for _ in range(40)
    ]
    async with asyncio.timeout(20):
        while workers.n_waiting_for_others(lambda _place: 0) < 40:  # noqa: ASYNC110 - it becomes so one by one
            await asyncio.sleep(0)
        assert await workers.run(CancelToken(), lambda: "local") == "local"
        assert await workers.run(CancelToken(), needing("mapped /far", then=lambda: "far")) == "far"
        assert workers.n_waiting_for_others({"/a": 3}.get) == 43  # pyrefly: ignore[bad-argument-type] - no other place is asked for
        waiting[-1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting.pop()
    release.set()
    assert all(await asyncio.gather(*waiting))
    assert workers.n_waiting_for_others(lambda _place: 1) == 0
    workers.close()


async def test_work_waiting_for_two_parties_has_its_own_threads() -> None:
    workers = SharedWorkers()
    names = await asyncio.gather(
        *(
            workers.run(CancelToken(), needing(*needed, then=lambda: threading.current_thread().name))
            for needed in ((), ("b",), ("a", "b"), ("b", "a"), ("a", "b", "a"))
        )
    )
    assert [str(name).removeprefix("fileops-worker-").rstrip("0123456789") for name in names] == [
        "", "b-", "a-b-", "a-b-", "a-b-",
    ]  # fmt: skip
    workers.close()


async def test_work_that_cannot_be_restarted_can_wait_for_every_party() -> None:
    workers, n_begun = SharedWorkers(), list[int]()

    def work() -> str:
        n_begun.append(1)
        needing("a", "b")()
        return "done"

    assert await workers.run_apart(CancelToken(), work) == "done"
    assert n_begun == [1]
    workers.close()


async def test_excess_work_waiting_for_one_party_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fileops.concurrency.workers.MAX_QUEUED", 3)
    workers, release = SharedWorkers(), threading.Event()
    work = needing("editor", then=lambda: release.wait(20))
    waiting = [asyncio.create_task(workers.run(CancelToken(), work)) for _ in range(N_OF_A_SHARE + 3 + 5)]
    done, _ = await asyncio.wait(waiting, timeout=20, return_when=asyncio.FIRST_EXCEPTION)
    assert done
    release.set()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    refused = [end for end in ended if isinstance(end, ApplyRefused)]
    assert ended.count(True) + len(refused) == len(waiting)
    assert 1 <= len(refused) <= 5 + N_OF_A_SHARE  # threads take from the queue while it is filled
    assert await workers.run(CancelToken(), needing("other", then=lambda: 1)) == 1
    workers.close()


async def test_work_begins_in_no_share_after_close() -> None:
    workers = SharedWorkers()
    assert await workers.run(CancelToken(), needing("a", then=lambda: 1)) == 1
    workers.close()
    for needed in ((), ("a",), ("b",)):
        with pytest.raises(asyncio.CancelledError):
            await workers.run(CancelToken(), needing(*needed))
    with pytest.raises(asyncio.CancelledError):
        await workers.run_apart(CancelToken(), needing())


async def test_client_of_a_hung_mount_occupies_few_threads_also_if_it_cancels() -> None:
    workers, release, has_begun = SharedWorkers(has_many_clients=True), threading.Event(), threading.Semaphore(0)
    hung, other = workers.of_client(), workers.of_client()

    def wait_for_the_mount() -> bool:
        has_begun.release()
        return release.wait(20)

    waiting = [asyncio.create_task(hung.run(CancelToken(), wait_for_the_mount)) for _ in range(N_SHARED + 1)]
    for _ in range(N_OF_A_CLIENT):
        assert await asyncio.to_thread(has_begun.acquire, timeout=20)
    for task in waiting[:N_OF_A_CLIENT]:  # their threads go on waiting
        task.cancel()
    async with asyncio.timeout(20):
        assert await other.run(CancelToken(), lambda: "other") == "other"
    assert not has_begun.acquire(blocking=False)
    release.set()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert ended.count(True) == len(waiting) - N_OF_A_CLIENT
    workers.close()


async def test_client_of_a_hung_mount_gets_no_more_threads_by_reconnecting() -> None:
    workers, release, has_begun = SharedWorkers(has_many_clients=True), threading.Event(), threading.Semaphore(0)

    def wait_for_the_mount() -> bool:
        has_begun.release()
        return release.wait(20)

    waiting: list[asyncio.Task[bool]] = []
    for _ in range(N_SHARED // N_OF_A_CLIENT + 1):  # enough to take all threads
        client = workers.of_client("bot in /p")
        waiting += [asyncio.create_task(client.run(CancelToken(), wait_for_the_mount)) for _ in range(N_OF_A_CLIENT)]
        await asyncio.sleep(0)
        client.leave()
    for _ in range(N_OF_A_CLIENT):
        assert await asyncio.to_thread(has_begun.acquire, timeout=20)
    async with asyncio.timeout(20):
        other = workers.of_client("nvim in /q")
        assert await other.run(CancelToken(), lambda: "other") == "other"
    assert not has_begun.acquire(blocking=False)
    release.set()
    assert all(await asyncio.gather(*waiting))
    workers.close()


async def test_client_that_reconnects_after_its_work_is_done_has_all_its_threads() -> None:
    workers, has_begun, release = SharedWorkers(has_many_clients=True), threading.Semaphore(0), threading.Event()
    first = workers.of_client("bot in /p")
    assert await first.run(CancelToken(), lambda: 1) == 1
    first.leave()
    again = workers.of_client("bot in /p")

    def work() -> bool:
        has_begun.release()
        return release.wait(20)

    running = [asyncio.create_task(again.run(CancelToken(), work)) for _ in range(N_OF_A_CLIENT)]
    for _ in running:
        assert await asyncio.to_thread(has_begun.acquire, timeout=20)
    release.set()
    assert all(await asyncio.gather(*running))
    workers.close()
