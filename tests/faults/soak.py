"""A long day of one daemon: `python tests/faults/soak.py --requests 200000 --changes 25000 --sessions 10000`.

Mixed requests by several sessions, typing into an open document, sessions opened and closed, while memory, file
descriptors and threads are sampled. The first third is warm-up; then memory and descriptors have to stay flat, and
threads below their bound. Exit status 1 where they do not, or where any answer is missing or unexpected.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from fileops.concurrency.workers import N_LOCAL, N_OF_A_SHARE
from support.patience import PATIENCE_S

Json = dict[str, Any]
BATCH = 40  # requests on their way at once
N_SAMPLES = 30
N_FILES = 12
SESSIONS = ("one", "two", "three")
WARM_UP = 1 / 3
MAX_GROWTH_MB = 6.0  # behind the warm-up; an allocator's breath, and far less than 200,000 of anything
MAX_THREADS = N_LOCAL + N_OF_A_SHARE + 8  # and those that send, sweep, recover and watch
JOURNAL_BYTES = 1100  # that an applied edit costs, so that it can be undone, until 64 MB of them are kept


@dataclass(frozen=True, slots=True)
class Sample:
    n_done: int
    resident_mb: float
    n_descriptors: int
    n_threads: int
    n_edits: int = 0  # applied, since the start

    @property
    def net_mb(self) -> float:
        return self.resident_mb - self.n_edits * JOURNAL_BYTES / 1e6


@dataclass(slots=True)
class Phase:
    name: str
    samples: list[Sample] = field(default_factory=list[Sample])

    @property
    def settled(self) -> list[Sample]:
        return self.samples[int(len(self.samples) * WARM_UP) :]

    @property
    def growth_mb(self) -> float:
        """How much higher the last quarter lies than the first, without the journal; peaks against peaks."""
        settled, n = self.settled, max(1, len(self.settled) // 4)
        return max(one.net_mb for one in settled[-n:]) - max(one.net_mb for one in settled[:n])

    def faults(self, max_growth_mb: float = MAX_GROWTH_MB) -> list[str]:
        descriptors, threads = ({getattr(one, name) for one in self.settled} for name in ("n_descriptors", "n_threads"))
        told = [f"memory grew by {self.growth_mb:.1f} MB"] if self.growth_mb > max_growth_mb else []
        # An answer may be sampled while its file is still open: what counts is that none stays.
        if self.settled[-1].n_descriptors > self.settled[0].n_descriptors + 2:
            told.append(f"descriptors: {sorted(descriptors)}")
        # Threads start when they are needed, and that may be late; then they stay.
        if max(threads) > MAX_THREADS:
            told.append(f"threads: {sorted(threads)}")
        return told

    def __str__(self) -> str:
        first, last = self.settled[0], self.samples[-1]
        return (
            f"{self.name}: {last.n_done:,}; memory {first.resident_mb:.1f} → {last.resident_mb:.1f} MB "
            f"with {last.n_edits - first.n_edits:,} more edits kept (growth beside those {self.growth_mb:+.1f}), "
            f"descriptors {first.n_descriptors} → {last.n_descriptors}, threads {first.n_threads} → {last.n_threads}"
        )


class Daemon:
    """Strictly in turns: a batch is sent, then all of its answers are read."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fileops"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20
        )
        self._in = cast("BinaryIO", self.process.stdin)
        self._out = cast("BinaryIO", self.process.stdout)
        self._n_sent = 0
        self.n_edits = 0

    def exchange(self, messages: list[tuple[str, Json, bool]]) -> dict[int, Json]:
        """(method, params, is a request) in; id → answer, notifications passed over."""
        waiting: set[int] = set()
        for method, params, is_request in messages:
            message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
            if is_request:
                self._n_sent += 1
                waiting.add(self._n_sent)
                message["id"] = self._n_sent
            body = json.dumps(message).encode()
            self._in.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._in.flush()
        answers: dict[int, Json] = {}
        while waiting:
            answer = self._receive()
            if "method" not in answer:
                waiting.remove(answer["id"])
                answers[answer["id"]] = answer
                self.n_edits += _is_applied(answer)
        return answers

    def _receive(self) -> Json:
        header = self._out.readline()
        if not header:
            raise RuntimeError("the daemon has ended")
        self._out.readline()
        return json.loads(self._out.read(int(header.split(b":")[1])))

    def sample(self, n_done: int) -> Sample:
        proc = f"/proc/{self.process.pid}"
        with open(f"{proc}/status", encoding="ascii", errors="replace") as status:
            facts = dict(line.split(":", 1) for line in status)
        return Sample(
            n_done,
            int(facts["VmRSS"].split()[0]) / 1024,
            len(os.listdir(f"{proc}/fd")),
            int(facts["Threads"]),
            self.n_edits,
        )

    def end(self) -> int:
        self.exchange([("shutdown", {}, True)])
        self.exchange([("exit", {}, False)])
        return self.process.wait(PATIENCE_S)


def _is_applied(answer: Json) -> bool:
    result = answer.get("result")
    return isinstance(result, dict) and bool(cast("Json", result).get("details", {}).get("edit_id"))


def run(n_requests: int, n_changes: int, n_sessions: int, say: Callable[[str], None]) -> list[Phase]:
    """Raises: RuntimeError where an answer is not as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon()
        try:
            capabilities = {"workspace": {"applyEdit": False}}
            daemon.exchange([("initialize", {"processId": os.getpid(), "capabilities": capabilities}, True)])
            daemon.exchange([("initialized", {}, False)])
            phases = [
                _soak(daemon, "mixed requests", n_requests, _mixed(Path(folder)), say),
                _soak(daemon, "didChange", n_changes, _typing(Path(folder)), say),
                _soak(daemon, "sessions", n_sessions, _visitors(Path(folder)), say),
            ]
            if (status := daemon.end()) != 0:
                raise RuntimeError(f"the daemon ended with {status}")
            if litter := [name for name in os.listdir(folder) if not name.startswith("f")]:
                raise RuntimeError(f"the daemon left {litter}")
        finally:
            daemon.process.kill()
            daemon.process.communicate()
        return phases


Batch = tuple[int, list[tuple[str, Json, bool]]]  # how many of what is counted, and the messages


def _soak(daemon: Daemon, name: str, n: int, batches: Iterator[Batch], say: Callable[[str], None]) -> Phase:
    phase, n_done = Phase(name), 0
    while n_done < n:
        n_more, messages = next(batches)
        for answer in daemon.exchange(messages).values():
            if "error" in answer and answer["error"]["code"] != -32800:
                raise RuntimeError(f"{name}: {answer}")
        n_done += n_more
        if n_done * N_SAMPLES // n > (n_done - n_more) * N_SAMPLES // n:
            phase.samples.append(daemon.sample(n_done))
    say(str(phase))
    return phase


def _mixed(folder: Path) -> Iterator[Batch]:
    """Reads, edits that fit and that do not, dry runs, multi edits, creations, foreign writes, cancels."""
    chance = random.Random(1)
    paths = [folder / f"f{n}.txt" for n in range(N_FILES)]
    for path in paths:
        path.write_text("<0>\n" + "some line\n" * 200)
    numbers = dict.fromkeys(paths, 0)
    n_created = 0
    while True:
        messages: list[tuple[str, Json, bool]] = []
        for _ in range(BATCH):
            path, session = chance.choice(paths), {"session_id": chance.choice(SESSIONS)}
            base = {"file_path": str(path), **session}
            kind = chance.random()
            if kind < 0.35:
                messages.append(("fileops/read", {**base, "offset": chance.randrange(1, 250)}, True))
            elif kind < 0.6:
                number = numbers[path]
                wish = {"old_string": f"<{number}>", "new_string": f"<{number + 1}>"}
                messages += [("fileops/read", base, True), ("fileops/edit", {**base, **wish}, True)]
                numbers[path] += 1
            elif kind < 0.7:
                wish = {"old_string": chance.choice(["some line", "nowhere"]), "new_string": "x"}
                messages.append(("fileops/edit", {**base, **wish}, True))
            elif kind < 0.8:
                edits = [{"old_string": "some line", "new_string": "a line", "replace_all": True}]
                messages.append(("fileops/multiEdit", {**base, "edits": edits, "dry_run": True}, True))
            elif kind < 0.9:
                messages += [("fileops/tracked", session, True), ("fileops/tools", {}, True)]
            elif kind < 0.93:
                n_created += 1
                made = {**base, "file_path": str(folder / f"f-made-{n_created % 50}"), "old_string": ""}
                messages.append(("fileops/edit", {**made, "new_string": "x\n" * 50}, True))
            elif kind < 0.96:
                numbers[path] = 0
                path.write_text("<0>\n" + "some line\n" * 200)
            else:
                messages.append(("fileops/read", {"file_path": str(folder / "nothing"), **session}, True))
                messages.append(("$/cancelRequest", {"id": chance.randrange(1000)}, False))
        yield sum(is_request for _, _, is_request in messages), messages


def _typing(folder: Path) -> Iterator[Batch]:
    """One open document of 10,000 lines, a character here and there, and now and then a read of it."""
    chance = random.Random(2)
    path = folder / "f-open.txt"
    text = "a line of the document\n" * 10_000
    path.write_text(text)
    uri, version = path.as_uri(), 1
    item: Json = {"uri": uri, "languageId": "x", "version": version, "text": text}
    yield 0, [("textDocument/didOpen", {"textDocument": item}, False)]
    while True:
        messages: list[tuple[str, Json, bool]] = []
        for _ in range(BATCH):
            version += 1
            place = {"line": chance.randrange(10_000), "character": 3}
            behind = {**place, "character": 4}
            change: Json = {"range": {"start": place, "end": behind}, "text": chance.choice("xyz")}
            document = {"uri": uri, "version": version}
            messages.append(("textDocument/didChange", {"textDocument": document, "contentChanges": [change]}, False))
        messages.append(("fileops/read", {"file_path": str(path), "limit": 5}, True))
        yield BATCH, messages


def _visitors(folder: Path) -> Iterator[Batch]:
    """Sessions that read, edit and go."""
    path, number = folder / "f-visited.txt", 0
    path.write_text("<0>\n")
    n_met = 0
    while True:
        messages: list[tuple[str, Json, bool]] = []
        for _ in range(BATCH // 4):
            n_met += 1
            base = {"file_path": str(path), "session_id": f"visitor {n_met}"}
            wish = {"old_string": f"<{number}>", "new_string": f"<{number + 1}>"}
            number += 1
            messages += [
                ("fileops/read", base, True),
                ("fileops/edit", {**base, **wish}, True),
                ("fileops/setApprovalMode", {"mode": "yolo", "session_id": base["session_id"]}, True),
            ]
        yield 0, messages
        gone = [{"session_id": f"visitor {n_met - n}"} for n in range(BATCH // 4)]
        yield BATCH // 4, [("fileops/closeSession", params, True) for params in gone]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--changes", type=int, default=25_000)
    parser.add_argument("--sessions", type=int, default=10_000)
    options = parser.parse_args()

    def say(line: str) -> None:
        print(line, flush=True)  # noqa: T201

    faults = [
        f"{phase.name}: {fault}"
        for phase in run(options.requests, options.changes, options.sessions, say)
        for fault in phase.faults()
    ]
    say("; ".join(faults) or "flat")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
