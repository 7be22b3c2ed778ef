"""Releases as tools/release.py builds them, of the tracked files as they are."""

import subprocess
import sys
from pathlib import Path

from support.distributions import ROOT

HOME = "example-owner/example-name"  # of a release that is published nowhere


def build_release(
    dist: Path, *options: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Build a release of this tree, with what is not committed yet."""
    command = [sys.executable, str(ROOT / "tools" / "release.py"), "--uncommitted", "--dist", str(dist), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280, env=environment)


def file_of(dist: Path, pattern: str) -> Path:
    """Return the one file of a release whose name fits."""
    (path,) = dist.glob(pattern)
    return path
