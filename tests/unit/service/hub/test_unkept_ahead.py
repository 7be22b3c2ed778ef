"""When files are computed before anybody asks for what is not kept in them."""

import asyncio
import logging
from collections.abc import Generator, Iterator, Sequence

import pytest

from fileops.concurrency.workers import SharedWorkers
from fileops.service.hub import unkept_ahead
from fileops.service.hub.unkept_ahead import UnkeptAhead
from support.patience import PATIENCE_S


@pytest.fixture
def workers() -> Generator[SharedWorkers]:
    workers = SharedWorkers()
    yield workers
    workers.close()


class Prepared:
    """What was computed ahead, in order. n_failures: so many batches fail first."""

    def __init__(self, n_failures: int = 0) -> None:
        self.batches: list[list[str]] = []
        self.paths: list[str] = []
        self._loop, self._changed, self._n_failures = asyncio.get_running_loop(), asyncio.Event(), n_failures

    def prepare(self, paths: Sequence[str]) -> Iterator[None]:
        self.batches.append(list(paths))
        for path in paths:
            self.paths.append(path)
            self._loop.call_soon_threadsafe(self._changed.set)
            if len(self.batches) <= self._n_failures:
                raise ValueError(path)
            yield

    async def until(self, *paths: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.paths != list(paths):
                await self._changed.wait()
                self._changed.clear()


async def test_file_is_computed_once_after_its_last_change(
    workers: SharedWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unkept_ahead, "QUIET_S", 0.0)
    prepared = Prepared()
    ahead = UnkeptAhead(workers, prepared.prepare)
    ahead.note(["/a", "/b"])  # before the loop looks at them
    ahead.note(["/c"])
    ahead.note(["/a"])
    ahead.note([])
    await prepared.until("/b", "/c", "/a")
    assert prepared.batches == [["/b", "/c", "/a"]]
    await asyncio.to_thread(ahead.note, ["/b"])
    await prepared.until("/b", "/c", "/a", "/b")


async def test_files_are_computed_a_few_at_a_time_and_not_all_are_remembered(
    workers: SharedWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unkept_ahead, "QUIET_S", 0.0)
    monkeypatch.setattr(unkept_ahead, "MAX_FILES", 2)
    monkeypatch.setattr(unkept_ahead, "MAX_WAITING", 3)
    prepared = Prepared()
    UnkeptAhead(workers, prepared.prepare).note(["/a", "/b", "/c", "/d"])
    await prepared.until("/b", "/c", "/d")
    assert prepared.batches == [["/b", "/c"], ["/d"]]


async def test_file_that_cannot_be_computed_does_not_stop_later_ones(
    workers: SharedWorkers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unkept_ahead, "QUIET_S", 0.0)
    prepared = Prepared(n_failures=1)
    ahead = UnkeptAhead(workers, prepared.prepare)
    with caplog.at_level(logging.WARNING):
        ahead.note(["/a", "/b"])
        await prepared.until("/a")
        ahead.note(["/c"])
        await prepared.until("/a", "/c")
    assert "computed ahead" in caplog.text


async def test_file_that_goes_on_changing_is_computed_after_many_changes(
    workers: SharedWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unkept_ahead, "QUIET_S", 3600.0)
    monkeypatch.setattr(unkept_ahead, "MAX_CHANGES", 3)
    prepared = Prepared()
    ahead = UnkeptAhead(workers, prepared.prepare)
    for paths in (["/a", "/b"], ["/b"], ["/b", "/c"]):
        ahead.note(paths)
    await prepared.until("/b")
    ahead.note(["/b", "/c"])  # the others of "/b" do not count any more
    ahead.note(["/b", "/c"])
    await prepared.until("/b", "/c")
