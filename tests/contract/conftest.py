from pathlib import Path

import pytest

from contract.worlds import SSH_WORLDS, WORLDS, FileSystemWorld


@pytest.fixture(params=sorted([*WORLDS, *SSH_WORLDS]))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> FileSystemWorld:
    if request.param in SSH_WORLDS:
        return SSH_WORLDS[request.param](tmp_path, request.getfixturevalue("sshd"))
    return WORLDS[request.param](tmp_path)
