"""The persistent history in append-only files against SQLite (WAL, synchronous=FULL), with the same records.

    cd tests && ../.venv/bin/python -m bench.history_store [FOLDER]

Prints ratios of SQLite to files, each of medians over rounds in alternating order: one edit kept by one daemon, by four
at once, and the load at the start. FOLDER is on the disk to be measured.
"""

import io
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from fileops.history.records import packed, unpacked
from fileops.history.store import DiskHistoryStore
from fileops.model.edits import Splice
from fileops.model.history import AppliedEdit
from fileops.model.sessions import SessionName

N_EDITS = 200
N_ROUNDS = 5
N_DAEMONS = 4
CONTENT = b"".join(b"line %d of a file\n" % n for n in range(400))


class SqliteStore:
    """The same promise as DiskHistoryStore: an edit is on the disk when `append` returns."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._db = sqlite3.connect(os.path.join(folder, "history.sqlite"), timeout=30, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        columns = "edit_id TEXT PRIMARY KEY, session_id TEXT, path TEXT, time REAL, record BLOB"
        self._db.execute(f"CREATE TABLE IF NOT EXISTS edits ({columns})")

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        row = (edit.edit_id, edit.session_id, edit.path, edit.timestamp, packed(edit, content))
        self._db.execute("INSERT INTO edits VALUES (?, ?, ?, ?, ?)", row)

    def load(self) -> list[tuple[AppliedEdit, bytes | None]]:
        rows = self._db.execute("SELECT record FROM edits ORDER BY time")
        return [loaded for (record,) in rows for loaded in unpacked(io.BytesIO(record))]

    def close(self) -> None:
        self._db.close()


Store = DiskHistoryStore | SqliteStore
STORES: dict[str, Callable[[str], Store]] = {"files": DiskHistoryStore, "sqlite": SqliteStore}


def edit(daemon: int, number: int) -> AppliedEdit:
    return AppliedEdit(
        edit_id=f"e{daemon}-{number}",
        session_id=SessionName("s"),
        file_path="/p/a.py",
        path="/p/a.py",
        timestamp=time.time(),
        kind="modify",
        reverse=(Splice(10, 14, b"line"),),
        before=b"0" * 16,
        after=b"1" * 16,
        summary="one line",
        diff="-line\n+word\n",
        n_added=1,
        n_removed=1,
        undoes=(),
    )


def append_all(kind: str, folder: str, daemon: int) -> float:
    """Median seconds of one append."""
    store = STORES[kind](folder)
    times: list[float] = []
    for number in range(N_EDITS):
        begun = time.perf_counter()
        store.append(edit(daemon, number), CONTENT)
        times.append(time.perf_counter() - begun)
    store.close()
    return median(times)


def appended_by_several(kind: str, folder: str) -> float:
    with multiprocessing.get_context("spawn").Pool(N_DAEMONS) as pool:
        return median(pool.starmap(append_all, [(kind, folder, daemon) for daemon in range(N_DAEMONS)]))


def loaded(kind: str, folder: str) -> float:
    store = STORES[kind](folder)
    begun = time.perf_counter()
    store.load()
    store.close()
    return time.perf_counter() - begun


def import_s(statement: str) -> float:
    command = [sys.executable, "-X", "importtime", "-c", statement]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    return int(lines[-1].split("|")[1]) / 1e6


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else None
    found: dict[tuple[str, str], list[float]] = {}
    for round_number in range(N_ROUNDS):
        for kind in sorted(STORES, reverse=bool(round_number % 2)):
            with tempfile.TemporaryDirectory(dir=base) as folder:
                alone = str(Path(folder) / "alone")
                found.setdefault(("append, one daemon", kind), []).append(append_all(kind, alone, 0))
                together = str(Path(folder) / "together")
                found.setdefault((f"append, {N_DAEMONS} daemons", kind), []).append(appended_by_several(kind, together))
                found.setdefault((f"load {N_DAEMONS * N_EDITS} edits", kind), []).append(loaded(kind, together))
    for what in dict.fromkeys(what for what, _ in found):
        files, sqlite = (median(found[what, kind]) for kind in ("files", "sqlite"))
        print(f"{what}: files {files * 1e3:.2f} ms, sqlite {sqlite * 1e3:.2f} ms, ratio {sqlite / files:.2f}")  # noqa: T201
    print(f"import sqlite3: {import_s('import sqlite3') * 1e3:.1f} ms")  # noqa: T201


if __name__ == "__main__":
    main()
