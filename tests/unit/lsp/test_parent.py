"""The watch over the client's process, with pidfd and by polling."""

import asyncio
import subprocess
from unittest import mock

import pytest

from fileops.lsp import parent
from fileops.lsp.parent import ParentWatch
from support.patience import PATIENCE_S


@pytest.fixture(params=["pidfd", "polling"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "polling":
        monkeypatch.setattr(parent, "POLL_S", 0.01)
        monkeypatch.setattr(parent.os, "pidfd_open", mock.Mock(side_effect=OSError))


# R-END-1
@pytest.mark.usefixtures("way")
async def test_end_of_the_process_is_reported() -> None:
    gone = asyncio.Event()
    watch = ParentWatch(asyncio.get_running_loop(), gone.set)
    with subprocess.Popen(["sleep", "600"]) as process:  # noqa: ASYNC220
        watch.watch(process.pid)
        assert not gone.is_set()
        process.kill()
        await asyncio.to_thread(process.wait)
        await asyncio.wait_for(gone.wait(), PATIENCE_S)
    watch.close()


@pytest.mark.usefixtures("way")
async def test_process_that_never_existed_has_ended() -> None:
    gone = asyncio.Event()
    watch = ParentWatch(asyncio.get_running_loop(), gone.set)
    watch.watch(2**22 + 12345)  # over the kernel's highest process id
    await asyncio.wait_for(gone.wait(), PATIENCE_S)
    watch.close()
