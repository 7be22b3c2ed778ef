"""Where a test's files cost no waiting for a disk: one that syncs each edit may take minutes, and removal of a folder
on some disks takes as long as a test."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_FOLDER = os.path.realpath("/dev/shm")
_LEAST = 1 << 30  # bytes; a container may have so few that nothing fits


def _has_room() -> bool:
    if not os.access(_FOLDER, os.W_OK):
        return False
    disk = os.statvfs(_FOLDER)
    return disk.f_bavail * disk.f_frsize >= _LEAST


IN_MEMORY = _FOLDER if _has_room() else None  # None: where all temporary files are


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """For a room that leaves it to others how a disk behaves. It replaces pytest's own where it is imported."""
    with tempfile.TemporaryDirectory(prefix="fileops-test-", dir=IN_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(os.path.realpath(folder))
