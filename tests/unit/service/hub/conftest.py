"""A shared daemon in this process, and a file in its clients' folder."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.shared_daemon import SharedDaemon, shared_daemon


@pytest.fixture
async def daemon() -> AsyncGenerator[SharedDaemon]:
    async with shared_daemon() as running:
        yield running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("one\ntwo\nthree\n")
    return path
