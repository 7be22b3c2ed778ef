"""What holds for every test in Neovim."""

from collections.abc import Generator

import pytest

from support.daemon_process import Place, place_of_test


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> Generator[Place]:
    """The place of a shared daemon for this test alone; `neovim()` hands it on."""
    with place_of_test(monkeypatch) as made:
        yield made
