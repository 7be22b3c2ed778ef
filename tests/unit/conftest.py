import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from fileops.fs.local.filesystem import LocalFileSystem


@pytest.fixture
def folder() -> Iterator[str]:
    """Canonical, empty, to be entered by everybody (pytest's own folders are not)."""
    made = os.path.realpath(tempfile.mkdtemp(prefix="fileops-test-"))
    os.chmod(made, 0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def state(folder: str) -> Iterator[str]:
    """Not there yet."""
    yield f"{folder}.state"
    shutil.rmtree(f"{folder}.state", ignore_errors=True)


@pytest.fixture
def fs(state: str) -> LocalFileSystem:
    return LocalFileSystem(state_folder=state)
