from pathlib import Path

import pytest

from contract.worlds import SSH_WORLDS, WORLDS, World


@pytest.fixture(params=sorted([*WORLDS, *SSH_WORLDS]))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param in SSH_WORLDS:
        return SSH_WORLDS[request.param](tmp_path, request.getfixturevalue("sshd"))
    return WORLDS[request.param](tmp_path)
