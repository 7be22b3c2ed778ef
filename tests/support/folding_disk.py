"""Mounts a filesystem that compares names as APFS does."""

import ctypes.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.patience import wait_until

HAS_FUSE = os.path.exists("/dev/fuse") and ctypes.util.find_library("fuse3") is not None
PROGRAM = Path(__file__).with_name("folding_fuse.py")


@contextmanager
def folding_disk() -> Generator[Path]:
    """Yield the mount point, or skip the test where there is no FUSE."""
    if not HAS_FUSE:
        pytest.skip("no FUSE here: names that differ in case were not tried")
    with tempfile.TemporaryDirectory(prefix="fileops-folding-") as folder:
        disk, mounted = Path(folder, "disk"), Path(folder, "mounted")
        disk.mkdir()
        mounted.mkdir()
        log = Path(folder, "log")
        with log.open("wb") as errors:
            process = subprocess.Popen([sys.executable, PROGRAM, disk, mounted], stdout=errors, stderr=errors)
        try:
            wait_until(lambda: os.path.ismount(mounted) or process.poll() is not None)
            if process.poll() is not None:
                pytest.skip(f"FUSE refuses a mount here: {log.read_text()[-200:]}")
            yield mounted
        finally:
            subprocess.run(["fusermount3", "-u", "-z", mounted], check=False, stderr=subprocess.DEVNULL)
            process.wait(20)
