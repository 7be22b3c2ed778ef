from pathlib import Path

import pytest

from contract.worlds import WORLDS, World


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return WORLDS[request.param](tmp_path)
