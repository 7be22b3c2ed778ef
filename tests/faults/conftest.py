import os
from pathlib import Path

import pytest

from faults.injection import Shim, build, reason_for_none


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Play what is under the shim in one process: each would compile it, and start a server of its own to fork from."""
    for item in items:
        if "shim" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("shim"))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reason = reason_for_none()
    if reason is not None:
        pytest.skip(reason)
    return build(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A workspace folder; journals that have no room beside their file lie in `state` next to it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    os.mkdir(tmp_path / "work")
    return os.path.realpath(tmp_path / "work")


@pytest.fixture
def shim(library: Path, folder: str) -> Shim:
    return Shim.over(library, folder)
