"""What holds for every test in Neovim."""

from collections.abc import Generator

import pytest

from clients import shared_daemon


@pytest.fixture(autouse=True)
def shared_socket(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """The shared daemon of this test alone; `neovim()` hands its place on."""
    with shared_daemon.surroundings(monkeypatch) as socket:
        yield socket
