"""Settings that hold for every test, and what is started once for all of them."""

from collections.abc import Generator

import pytest
from hypothesis import settings

from support import sshd as ssh_server

settings.register_profile("fileops", deadline=None)  # no timed assertions
settings.load_profile("fileops")


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Generator[ssh_server.Sshd]:
    pytest.importorskip("sshfs")
    with ssh_server.running(tmp_path_factory.mktemp("sshd")) as server:
        yield server
