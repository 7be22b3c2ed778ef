"""The ways to run a client, as one fixture: the contract suite runs over all of them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fileops_client import FileOpsClient, Opening
from support.daemon_process import Place, place_of_test

Start = Callable[..., Opening[FileOpsClient]]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The place of a shared daemon that ends with the test."""
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture(params=["start", "in_process", "attach"])
def start(request: pytest.FixtureRequest) -> Start:
    if request.param != "attach":
        return getattr(FileOpsClient, request.param)
    place_of_daemon: Place = request.getfixturevalue("shared")

    def attach(**setup: Any) -> Opening[FileOpsClient]:
        return FileOpsClient.attach(socket=place_of_daemon.socket, role="editor", **setup)

    return attach
