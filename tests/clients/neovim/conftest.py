"""What holds for every test in Neovim."""

from collections.abc import Generator
from pathlib import Path

import pytest

from clients.neovim.world import Neovim, neovim
from support.daemon_process import Place, place_of_test


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> Generator[Place]:
    """The place of a shared daemon for this test alone; `neovim()` hands it on."""
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def nvim(request: pytest.FixtureRequest, tmp_path: Path) -> Neovim:
    """The newest; or the one that `on_both` names."""
    return neovim(getattr(request, "param", "new"), tmp_path)
