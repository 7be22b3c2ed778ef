"""What is dear to make and then only read: one for all workers of a run."""

import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


def made_once(name: str, make: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the first worker to need it makes. Where that fails, the next one tries.

    make: is called with the path of a folder that does not exist.
    """
    folder = common_folder(tmp_path_factory) / name
    with alone(name, tmp_path_factory):
        if not folder.is_dir():
            unfinished = tmp_path_factory.mktemp(name) / "unfinished"
            make(unfinished)
            unfinished.rename(folder)
    return folder


@contextmanager
def alone(name: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """While no other worker of the run does what has the same name."""
    with (common_folder(tmp_path_factory) / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def common_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
