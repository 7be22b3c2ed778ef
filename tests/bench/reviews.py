"""What a queue of 500 reviews costs: python tests/bench/reviews.py [N_REVIEWS]. Prints one line for each figure.

Edits of many sessions wait in a shared daemon with one view, which lists them and decides some one after the other. The
time of a decision includes the write of its edit. The daemon runs at its own place and is ended afterwards.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fileops_client import DidChangeReviews, FileOpsClient
from support.daemon_process import place

N_SESSIONS = 25  # a session has at most 32 edits that wait
N_LISTS = 30
N_DECISIONS = 60
TEXT = "".join(f"line {number}\n" for number in range(200))


async def main() -> None:
    n_reviews = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with place() as here:
        here.start()
        project = here.folder / "project"
        project.mkdir()
        socket, shown = str(here.socket), _Shown()
        async with (
            FileOpsClient.attach(
                socket=socket,
                root=project,
                role="editor",
                host="view",
                initialization_options={"ask": "each_edit"},
                on_reviews=shown.update,
            ) as view,
            FileOpsClient.attach(socket=socket, root=project, host="agent") as agent,
            asyncio.TaskGroup() as calls,
        ):
            start = time.perf_counter()
            for number in range(n_reviews):
                calls.create_task(_edit(agent, project / f"{number}.txt", f"s{number % N_SESSIONS}"))
            await shown.until(n_reviews)
            _say(f"until {n_reviews} edits wait: {time.perf_counter() - start:.1f} s")
            times = [await _ms(view.reviews(include_texts=False)) for _ in range(N_LISTS)]
            _say(f"the list, without texts: {_spread(times)}")
            times = [await _ms(view.reviews()) for _ in range(N_LISTS)]
            _say(f"the list: {_spread(times)}")
            ids = [review.review_id for review in await view.reviews(include_texts=False)]
            times = [await _ms(view.decide_review(each, "accept")) for each in ids[:N_DECISIONS]]
            _say(f"an approval and its write: {_spread(times)}")
            times = [await _ms(view.decide_review(each, "reject")) for each in ids[N_DECISIONS : 2 * N_DECISIONS]]
            _say(f"a rejection: {_spread(times)}")
            rest = await _ms(view.decide_reviews("reject"))
            _say(f"the rejection of the other {len(ids) - 2 * N_DECISIONS}: {rest:.0f} ms")


class _Shown:
    """How many reviews the view was shown."""

    def __init__(self) -> None:
        self._n = 0
        self._changed = asyncio.Event()

    def update(self, change: DidChangeReviews) -> None:
        self._n += len(change.opened)
        self._changed.set()

    async def until(self, n: int) -> None:
        while self._n < n:
            self._changed.clear()
            await self._changed.wait()


async def _edit(agent: FileOpsClient, path: Path, session_id: str) -> None:
    path.write_text(TEXT)
    await agent.read(path, session_id=session_id)
    await agent.edit(path, "line 100\n", "line one hundred\n", session_id=session_id, timeout_s=300)


async def _ms(call: Awaitable[Any]) -> float:
    start = time.perf_counter()
    await call
    return (time.perf_counter() - start) * 1000


def _spread(times: list[float]) -> str:
    ordered = sorted(times)
    p95 = ordered[int(0.95 * len(ordered))]
    return f"median {statistics.median(ordered):.1f} ms, p95 {p95:.1f} ms, worst {ordered[-1]:.1f} ms"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
