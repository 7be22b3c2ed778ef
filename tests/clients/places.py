"""Where the real editors are, and what to do where they are not.

`tests/clients/install-editors.sh` puts them under `$FILEOPS_EDITORS` (default `~/.cache/fileops-editors`). A test of
an editor that is not there is skipped with a reason, or fails where `$FILEOPS_REQUIRE_EDITORS` is set, as in CI.
"""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

PREFIX = Path(os.environ.get("FILEOPS_EDITORS") or Path.home() / ".cache" / "fileops-editors")


def missing(what: str) -> NoReturn:
    reason = f"{what} is not installed: run tests/clients/install-editors.sh"
    if os.environ.get("FILEOPS_REQUIRE_EDITORS"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def editor(relative: str) -> str:
    """The path of a program under the editors' prefix."""
    path = PREFIX / relative
    return str(path) if path.exists() else missing(relative)


def program(name: str) -> str:
    """The path of a program of the system."""
    return shutil.which(name) or missing(name)
