"""Releases as tools/release.py builds them, of the tracked files as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.distributions import ROOT
from support.once import made_once

HOME = "example-owner/example-name"  # of a release that is published nowhere


def build_release(
    dist: Path, *options: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Build a release of this tree, with what is not committed yet."""
    command = [sys.executable, str(ROOT / "tools" / "release.py"), "--uncommitted", "--dist", str(dist), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release without a home and without the extension of VS Code, one for all workers. It is only read."""

    def build(dist: Path) -> None:
        built = build_release(dist, "--without", "vscode")
        assert built.returncode == 0, built.stderr

    return made_once("release", build, tmp_path_factory)


def file_of(dist: Path, pattern: str) -> Path:
    """Return the one file of a release whose name fits."""
    (path,) = dist.glob(pattern)
    return path
