"""The ways to run a client, as one fixture: the contract suite runs over all of them."""

from collections.abc import Callable
from typing import Any

import pytest

from fileops_client import FileOpsClient, Opening

Start = Callable[..., Opening[FileOpsClient]]


def _start(**setup: Any) -> Opening[FileOpsClient]:
    return FileOpsClient.start(**setup)


def _in_process(**setup: Any) -> Opening[FileOpsClient]:
    return FileOpsClient.in_process(**setup)


WAYS: dict[str, Start] = {"start": _start, "in_process": _in_process}


@pytest.fixture(params=sorted(WAYS))
def start(request: pytest.FixtureRequest) -> Start:
    return WAYS[request.param]
