"""The plan of a very large edit, withdrawn while it is made."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from fileops.core import plan as core_edit
from fileops.core.matching.exact import STRATEGIES
from fileops.core.matching.normalized import NormalizedText
from fileops.core.matching.strategies import MAX_PLACES, FinderStrategy, MatchPlace
from fileops.core.pausing import N_BETWEEN
from fileops.core.text import detect_format
from fileops.model.edits import Edit
from fileops.model.errors import StrategyFailed
from fileops.model.files import Snapshot
from fileops.model.internal_errors import Cancelled
from fileops.model.requests import EditRequest
from support.core_models import LIMITS, snapshot_of
from support.in_process import Workbench

N = 40_000  # places
PATIENCE_S = 20


def utf16(text: str) -> bytes:
    return ("\ufeff" + text).encode("utf-16-le")


def replacing(old: str, new: str, strategy: str = "exact") -> Edit:
    return Edit(old_string=old, new_string=new, replace_all=True, strategy=strategy)


PLANS: dict[str, tuple[bytes, list[Edit]]] = {
    "exact": (b"a\n" * N, [replacing("a", "bc")]),
    "new lines in a file with CRLF": (b"a\r\n" * N, [replacing("a", "b\nc")]),
    "line ends of either kind": (b"a\r\n" * N, [replacing("a\n", "b\n")]),
    "UTF-16": (utf16("a\n" * N), [replacing("a", "bc")]),
    "regex": (b"a\n" * N, [replacing("[a]", "bc", "regex")]),
    "several edits": (b"a\n" * N, [replacing("a", "b"), replacing("b", "cd")]),
}


class Stop:
    """A check that lets a few pass."""

    def __init__(self, n_passing: int | None = None) -> None:
        self.n_asked = 0
        self._n_passing = n_passing

    def __call__(self) -> None:
        self.n_asked += 1
        if self._n_passing is not None and self.n_asked > self._n_passing:
            raise Cancelled


def plan(data: bytes, edits: list[Edit], check: Stop) -> None:
    snapshot: Snapshot = snapshot_of(data)
    core_edit.plan(snapshot, detect_format(data), edits, limits=LIMITS, check=check)


@pytest.mark.parametrize("name", PLANS)
def test_plan_of_many_replacements_can_be_cancelled_at_any_point(name: str) -> None:
    data, edits = PLANS[name]
    whole = Stop()
    plan(data, edits, whole)
    assert whole.n_asked > N // N_BETWEEN
    for n_passing in {0, whole.n_asked // 2, whole.n_asked - 1}:
        check = Stop(n_passing)
        with pytest.raises(Cancelled):
            plan(data, edits, check)
        assert check.n_asked == n_passing + 1


async def test_cancel_of_an_edit_stops_the_planning_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, is_cancelled = threading.Event(), threading.Event()
    n_found = 0

    def find(body: NormalizedText, edit: Edit) -> Iterator[MatchPlace]:
        nonlocal n_found
        for at in range(len(body.data)):
            n_found += 1
            if n_found == 100:
                has_begun.set()
                assert is_cancelled.wait(PATIENCE_S)
            yield MatchPlace(at, at, edit.new_string)

    monkeypatch.setitem(STRATEGIES, "watched", FinderStrategy("watched", find))
    bench = Workbench()
    try:
        bench.disk.put("/w/f", b"a" * N)
        await bench.read("/w/f")
        request = EditRequest(file_path="/w/f", edits=(replacing("x", "y", "watched"),))
        work = asyncio.create_task(bench.service.edit(request))
        assert await asyncio.to_thread(has_begun.wait, PATIENCE_S)
        work.cancel()
        await asyncio.wait([work], timeout=PATIENCE_S)
    finally:
        is_cancelled.set()
        bench.close()  # which waits for the thread
    assert n_found <= N_BETWEEN + 1
    assert bench.on_disk("/w/f") == b"a" * N


def test_regex_with_too_many_matches_is_refused() -> None:
    with pytest.raises(StrategyFailed):
        plan(b"a" * MAX_PLACES, [replacing("a", "b", "regex")], Stop())
