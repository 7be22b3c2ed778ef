"""A long call reports again and again, and says when it waits for a person."""

import asyncio
from typing import Any

import pytest

from fileops.mcp.progress import Progress, report
from support.patience import PATIENCE_S


async def test_long_call_reports_increasing_progress() -> None:
    reports: list[Any] = []
    has_three = asyncio.Event()

    def notify(method: str, params: object) -> None:
        reports.append((method, params))
        if len(reports) == 3:
            has_three.set()

    progress = Progress(notify, "t")
    running = asyncio.create_task(progress.run(first_s=0, each_s=0.001))
    async with asyncio.timeout(PATIENCE_S):
        await has_three.wait()
    running.cancel()
    expected = [{"progressToken": "t", "progress": n, "message": "Working"} for n in (1, 2, 3)]
    assert reports[:3] == [("notifications/progress", params) for params in expected]


async def test_wait_for_the_user_is_reported_immediately() -> None:
    reports: list[Any] = []
    async with report(lambda _method, params: reports.append(params), 7) as progress:
        assert progress is not None
        progress.wait_for_person()
    assert reports == [{"progressToken": 7, "progress": 1, "message": "Waiting for your decision"}]


@pytest.mark.parametrize("token", [None, True, 1.5, {}])
async def test_call_without_a_token_reports_nothing(token: object) -> None:
    async with report(lambda _method, _params: pytest.fail("reported"), token) as progress:
        assert progress is None
