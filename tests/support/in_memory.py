"""Where a test's files cost no waiting for a disk: one that syncs each edit may take minutes, and removal of a folder
on some disks takes as long as a test."""

import os

_FOLDER = "/dev/shm"
_LEAST = 1 << 30  # bytes; a container may have so few that nothing fits


def _has_room() -> bool:
    if not os.access(_FOLDER, os.W_OK):
        return False
    disk = os.statvfs(_FOLDER)
    return disk.f_bavail * disk.f_frsize >= _LEAST


IN_MEMORY = _FOLDER if _has_room() else None  # None: where all temporary files are
