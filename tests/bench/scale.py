"""Notices, idle CPU and memory of one daemon that tracks 100,000 files in 10,000 folders for 200 sessions."""

import random
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.contenders import Earlier, Ours, Peers
from bench.measure import Result, Row, cpu_s, resident_kb

N_FOLDERS, FILES_PER_FOLDER, N_SESSIONS = 10_000, 10, 200
IN_FLIGHT = 64  # reads that are sent before the first answer is taken
PAUSE_S = 0.05  # between two changes, so that each is seen for itself
IDLE_S = 10.0
PATIENCE_S = 180.0  # for the last notice; an earlier version finds some changes only when it has swept all files


def s14_scale(folder: Path, runs: int, peers: Peers) -> Result:
    """All contenders track the same files at the same time, and see the same changes."""
    paths = _files(folder)
    daemons = [Ours(str(folder)), *([Earlier(peers.earlier, str(folder))] if peers.earlier else [])]
    rows = [Row(contender=daemon.name) for daemon in daemons]
    for daemon, row in zip(daemons, rows, strict=True):
        row.notes["memory per file"] = f"{_track(daemon, paths):.2f} kB"
    time.sleep(IDLE_S)  # watches are added, and what was just created is swept once
    before = [cpu_s(daemon.rpc.pid) for daemon in daemons]
    time.sleep(IDLE_S)
    for daemon, row, used_s in zip(daemons, rows, before, strict=True):
        row.notes["idle CPU"] = f"{100 * (cpu_s(daemon.rpc.pid) - used_s) / IDLE_S:.2f} % of a core"
    changed = random.sample(paths, runs * 4)
    listeners = [_Listener(daemon, len(changed)) for daemon in daemons]
    times_s: dict[str, float] = {}
    for path in changed:
        times_s[path] = time.perf_counter()
        with open(path, "a", encoding="utf-8") as file:
            file.write("more\n")
        time.sleep(PAUSE_S)
    deadline = time.perf_counter() + PATIENCE_S
    for listener, row in zip(listeners, rows, strict=True):
        notices = listener.notices(max(0.0, deadline - time.perf_counter()))
        row.times_s = [at_s - times_s[path] for path, at_s in notices.items()]
        row.notes["worst"] = f"{1000 * max(row.times_s):.1f} ms"
        row.notes["not noticed"] = f"{len(changed) - len(notices)} of {len(changed)}"
    for daemon in daemons:
        daemon.kill()
    shutil.rmtree(folder / "many")
    return Result(scenario="S14", title="100,000 tracked files in 10,000 folders, 200 sessions: notices", rows=rows)


def _files(folder: Path) -> list[str]:
    """Paths, folder by folder, as deep and as long as in a usual project."""
    paths: list[str] = []
    for n in range(N_FOLDERS):
        deep = folder / "many" / f"package-{n // 100:03d}" / f"module-{n % 100:02d}"
        deep.mkdir(parents=True)
        for m in range(FILES_PER_FOLDER):
            path = deep / f"source_{m}.txt"
            path.write_text("one\ntwo\n", encoding="utf-8")
            paths.append(str(path))
    return paths


def _track(daemon: Ours, paths: list[str]) -> float:
    """Read every file in one of the sessions. Returns the memory that one costs, in kB."""
    daemon.read(paths[0], session_id="first")
    resident = resident_kb(daemon.rpc.pid)
    for start in range(0, len(paths), IN_FLIGHT):
        sent = [
            daemon.rpc.post("fileops/read", {"file_path": path, "session_id": f"s{n * N_SESSIONS // len(paths)}"})
            for n, path in enumerate(paths[start : start + IN_FLIGHT], start)
        ]
        daemon.rpc.answer(sent[-1])
    return (resident_kb(daemon.rpc.pid) - resident) / len(paths)


class _Listener:
    """Takes a daemon's notices in a thread, with the time of each. The daemon is asked nothing in the meantime."""

    def __init__(self, daemon: Ours, n_expected: int) -> None:
        self._receive: Callable[[str], dict[str, str]] = daemon.rpc.wait_for
        self._n_expected = n_expected
        self._notices: dict[str, float] = {}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while len(self._notices) < self._n_expected:
            try:
                path = self._receive("fileops/didBecomeStale")["file_path"]
            except (EOFError, ValueError, OSError):  # the daemon was ended
                return
            self._notices.setdefault(path, time.perf_counter())

    def notices(self, timeout_s: float) -> dict[str, float]:
        self._thread.join(timeout_s)
        return dict(self._notices)
