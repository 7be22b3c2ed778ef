"""Replays the history of a foreign package, hunk by hunk, and compares what edits are said to have introduced.

    python -m bench.diagnostics [--package click --versions 8.0.0 8.0.4 8.1.0 8.1.7] [--edits 300] [--servers ruff ...]

Each hunk between two releases is one edit of a file. What it introduced is what the daemon's language servers say; what
is right is the difference of two runs of the same checker's command line, counted for each code and message. An edit's
problem is *missed* if the command line has one more of its kind and the report has not, and *false* the other way
round; a report that has introduced and resolved one of the same kind is neither. Prints a table for each server.

    python -m bench.diagnostics --cost [--earlier CHECKOUT] [--edits 300]

Measures what an edit of a 200-line file costs where problems are not wanted, where no source is named for the file, and
with ruff, whose answer is waited for, is not, or also formats the line: all in turn, and beside an earlier version.
"""

import argparse
import contextlib
import difflib
import itertools
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bench.contenders import Earlier, Ours
from bench.measure import Row, interleaved
from fileops.core.diagnostics import report as reports
from fileops.core.diagnostics.report import Edits
from fileops.languages.service import LanguageServers
from fileops.model.diagnostics import CommittedFile, DiagnosticsReport, LanguageServerSetting
from fileops.model.edits import Splice
from fileops.model.sessions import SessionName

BIN = Path(sys.executable).parent
SERVERS = {
    "ruff": LanguageServerSetting(name="ruff", command=(str(BIN / "ruff"), "server"), globs=("*.py",)),
    "basedpyright": LanguageServerSetting(
        name="basedpyright", command=(str(BIN / "basedpyright-langserver"), "--stdio"), globs=("*.py",)
    ),
}
_NUMBERS = re.compile(r"\d+")
Kinds = Counter[tuple[str, str]]


@dataclass
class Score:
    n_edits: int = 0
    n_introduced: int = 0
    n_found: int = 0
    n_false: int = 0
    n_unsettled: int = 0
    times_s: list[float] = field(default_factory=list[float])
    memory_bytes: int = 0
    examples: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Hunk:
    """One edit of a file: bytes [start, end) of `before` become `new`."""

    path: str
    before: bytes
    after: bytes
    splice: Splice


def releases(package: str, versions: list[str], folder: Path) -> list[Path]:
    """Unpack the wheels of these releases; returns a folder for each."""
    unpacked: list[Path] = []
    for version in versions:
        target = folder / version
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "-d", str(target), f"{package}=={version}"], check=True, stderr=subprocess.DEVNULL)
        (wheel,) = target.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target / "files")
        unpacked.append(target / "files")
    return unpacked


def hunks(path: str, old: bytes, new: bytes) -> Iterator[Hunk]:
    """Yield the hunks between two releases of a file, each over the result of the one before."""
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    done = b""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        before_part, after_part = b"".join(old_lines[a:b]), b"".join(new_lines[c:d])
        if tag != "equal":
            rest = b"".join(old_lines[b:])
            splice = Splice(len(done), len(done) + len(before_part), after_part)
            yield Hunk(path, done + before_part + rest, done + after_part + rest, splice)
        done += after_part


def checked(server: str, path: Path, root: Path) -> Kinds:
    """Return what the checker's command line says of a file in a project: how many problems of each kind."""
    if server == "ruff":
        command = [str(BIN / "ruff"), "check", "--no-cache", "--output-format", "json", str(path)]
        found: Any = json.loads(subprocess.run(command, capture_output=True, check=False, cwd=root).stdout)
        return Counter((str(each["code"] or ""), _kind(each["message"])) for each in found)
    command = [str(BIN / "basedpyright"), "--outputjson", str(path)]
    said: Any = json.loads(subprocess.run(command, capture_output=True, check=False, cwd=root).stdout)
    return Counter(
        (str(each.get("rule", "")), _kind(each["message"]))
        for each in said["generalDiagnostics"]
        if each["severity"] in {"error", "warning"}
    )


def _kind(message: str) -> str:
    return " ".join(_NUMBERS.sub("0", message.partition("\n\nhelp:")[0]).split())


def judge(score: Score, report: DiagnosticsReport, before: Kinds, after: Kinds, where: str) -> None:
    """Count the problems of one edit."""
    score.n_edits += 1
    if report.state != "settled":
        score.n_unsettled += 1
        score.examples.append(f"{where}: {report.state} {report.reason}")
        return
    said = Counter((each.code or "", _kind(each.message)) for each in report.introduced or ())
    gone = Counter((each.code or "", _kind(each.message)) for each in report.resolved or ())
    for kind in before.keys() | after.keys() | said.keys():
        wanted = max(after[kind] - before[kind], 0)
        net = max(said[kind] - gone[kind], 0)
        score.n_introduced += wanted
        score.n_found += min(net, wanted)
        score.n_false += max(net - wanted, 0)
        if net != wanted:
            score.examples.append(f"{where}: {kind}: said {net}, checked {wanted}")


def replay(package: str, versions: list[str], names: list[str], n_edits: int) -> dict[str, Score]:
    """Replay at most n_edits hunks in each server; returns the scores."""
    scores = {name: Score() for name in names}
    with tempfile.TemporaryDirectory(prefix="fileops-bench-") as temporary:
        folders = releases(package, versions, Path(temporary).resolve())
        for name in names:
            project = Path(temporary).resolve() / "project" / name
            servers = LanguageServers(lambda _session, _report: None)
            with contextlib.suppress(StopIteration):
                for old_release, new_release in pairwise(folders):
                    shutil.rmtree(project, ignore_errors=True)
                    shutil.copytree(old_release, project)
                    servers.close()
                    servers = LanguageServers(lambda _session, _report: None)
                    _replay_release(servers, name, project, new_release, scores[name], n_edits)
            servers.close()
    return scores


def _replay_release(
    servers: LanguageServers, name: str, project: Path, new_release: Path, score: Score, n_edits: int
) -> None:
    """Raises: StopIteration, when enough edits were made."""
    for path in sorted(project.rglob("*.py")):
        goal = new_release / path.relative_to(project)
        if not goal.exists():
            continue
        kinds: Kinds | None = None
        for hunk in hunks(str(path), path.read_bytes(), goal.read_bytes()):
            if score.n_edits >= n_edits:
                raise StopIteration
            before = checked(name, path, project) if kinds is None else kinds
            path.write_bytes(hunk.after)
            begun = time.monotonic()
            report = _compared(servers, SERVERS[name], str(project), hunk)
            score.times_s.append(time.monotonic() - begun)
            score.memory_bytes = max(
                score.memory_bytes, *(each.memory_bytes or 0 for each in servers.describe().result())
            )
            kinds = checked(name, path, project)
            judge(score, report, before, kinds, f"{name} {path.name} at byte {hunk.splice.start}")


def _compared(servers: LanguageServers, setting: LanguageServerSetting, root: str, hunk: Hunk) -> DiagnosticsReport:
    change = CommittedFile(
        path=hunk.path, given_path=hunk.path, before=hunk.before, after=hunk.after, splices=(hunk.splice,)
    )
    edits = Edits(changes=(change,), edit_ids=("1",), session_id=SessionName("replay"), severity="warning")
    report = servers.compare(edits, (root,), (setting,), lambda _: False)
    if report is None:
        raise RuntimeError("no language server checks the file")
    return report.result()


def cost(n_edits: int, earlier: Path | None) -> list[Row]:
    """Edit a file of 200 lines with one daemon for each way, in turn."""
    ruff = to_builtins(SERVERS["ruff"])
    ways: dict[str, dict[str, Any]] = {
        "diagnostics off": {},
        "no source for the file": {"diagnostics": "details", "language_servers": [{**ruff, "globs": ["*.none"]}]},
        "ruff, not waited for": {"diagnostics": "details", "language_servers": [ruff], "diagnostics_wait_s": 0},
        "ruff": {"diagnostics": "details", "language_servers": [ruff], "diagnostics_wait_s": 30},
        "ruff, which formats too": {
            "diagnostics": "details",
            "language_servers": [ruff],
            "diagnostics_wait_s": 30,
            "format": "changed",
        },
    }
    with tempfile.TemporaryDirectory(prefix="fileops-bench-") as temporary, ExitStack() as open_daemons:
        calls: dict[str, Callable[[], object]] = {}
        for number, (name, options) in enumerate([("earlier", {}), *ways.items()] if earlier else ways.items()):
            folder = Path(temporary).resolve() / str(number)
            folder.mkdir()
            daemon = Earlier(earlier, str(folder)) if earlier and name == "earlier" else Ours(str(folder), **options)
            open_daemons.callback(daemon.close)
            calls[name] = _edits_in_turn(daemon, folder / "a.py")
        return interleaved(calls, n_rounds=n_edits, n_warm=20)


def _edits_in_turn(daemon: Ours, path: Path) -> Callable[[], object]:
    path.write_text("".join(f"value_{n} = {n}\n" for n in range(200)), encoding="utf-8")
    daemon.read(str(path))
    numbers = itertools.count(100)

    def edit() -> object:
        n = next(numbers)
        return daemon.edit(str(path), f"value_100 = {n}\n", f"value_100 = {n + 1}\n")

    return edit


def main() -> int:
    """Print the table; exit status 1 if something was false, or more than 3 % missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.diagnostics", description=__doc__)
    parser.add_argument("--package", default="click", help="a pure package of the index (default: click)")
    parser.add_argument("--versions", nargs="+", default=["7.1.2", "8.0.0", "8.0.4", "8.1.0", "8.1.7"])
    parser.add_argument("--servers", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--examples", type=int, default=10, help="how many differences are printed")
    parser.add_argument("--cost", action="store_true", help="measure the cost of an edit instead")
    parser.add_argument("--earlier", type=Path, help="a checkout of an earlier version, for --cost")
    arguments = parser.parse_args()
    if arguments.cost:
        rows = cost(arguments.edits, arguments.earlier)
        for row in rows:
            ratio = row.median / rows[0].median
            sys.stdout.write(f"| {row.contender} | {row.median * 1e3:.2f} ms | {ratio:.2f} |\n")
        return 0
    reports.MAX_LISTED = 100_000  # each problem is judged, not only those that an answer lists  # pyrefly: ignore[bad-assignment]
    scores = replay(arguments.package, arguments.versions, arguments.servers, arguments.edits)
    sys.stdout.write("| server | edits | introduced | found | false | not settled | median ms | p95 ms | memory MB |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|---|---|\n")
    is_good = True
    for name, score in scores.items():
        times = sorted(score.times_s)
        middle, late = statistics.median(times) * 1e3, times[int(len(times) * 0.95)] * 1e3
        sys.stdout.write(
            f"| {name} | {score.n_edits} | {score.n_introduced} | {score.n_found} | {score.n_false} "
            f"| {score.n_unsettled} | {middle:.0f} | {late:.0f} | {score.memory_bytes / 1e6:.0f} |\n"
        )
        is_good &= score.n_false == 0 and score.n_found >= 0.97 * score.n_introduced
        for example in score.examples[: arguments.examples]:
            sys.stdout.write(f"  {example}\n")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
