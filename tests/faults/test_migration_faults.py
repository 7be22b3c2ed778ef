"""Processes that move the history of earlier versions into the record, killed in the middle and two at once."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from fileops.model.record import LogQuery
from fileops.record.migration import migrate
from fileops.record.store import RecordStore
from support.earlier_history import modification, record, write_file
from support.patience import wait_until

A = b"a\n"
MIGRATION = """
import sys
from fileops.record.migration import migrate
from fileops.record.store import RecordStore
print("begun", flush=True)
migrate(sys.argv[1], RecordStore(sys.argv[2]), print)
"""
N_FILES, N_EDITS = 8, 40


@pytest.fixture
def store(tmp_path: Path) -> Generator[RecordStore]:
    store = RecordStore(str(tmp_path / "record"))
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history"


def edit_ids(store: RecordStore) -> list[str | None]:
    """Of the log, oldest first."""
    return [entry.edit_id for entry in store.entries(LogQuery())[0]][::-1]


def many(folder: Path) -> list[str]:
    """Write a long history. Returns the ids of its edits."""
    for name in range(N_FILES):
        numbers = range(name * N_EDITS, (name + 1) * N_EDITS)
        write_file(
            folder,
            b"".join(record(modification(n, A, os.urandom(2000).hex().encode(), f"/w/{n}")) for n in numbers),
            str(name),
        )
    return [f"e{n}" for n in range(N_FILES * N_EDITS)]


def started(folder: Path, store: RecordStore) -> "subprocess.Popen[str]":
    """Another process that migrates; it has begun."""
    record_folder = str(Path(store.path).parent)
    command = [sys.executable, "-c", MIGRATION, str(folder), record_folder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize("n_left", [N_FILES, N_FILES - 1, N_FILES // 2, 1])
def test_killed_migration_is_finished_by_the_next_and_moves_each_edit_once(
    folder: Path, store: RecordStore, n_left: int
) -> None:
    wanted = many(folder)
    process = started(folder, store)
    wait_until(lambda: len(list(folder.iterdir())) <= n_left)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    migrate(str(folder), store, print)
    assert edit_ids(store) == wanted
    assert list(folder.iterdir()) == []


def test_two_daemons_migrate_at_once(folder: Path, store: RecordStore) -> None:
    wanted = many(folder)
    processes = [started(folder, store) for _ in range(2)]
    for process in processes:
        assert process.communicate() == ("", None)
    migrate(str(folder), store, print)  # a file that both met at once was left to the next start
    assert edit_ids(store) == wanted
    assert list(folder.iterdir()) == []
