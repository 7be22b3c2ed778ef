"""What the record costs: python tests/bench/record.py [PART...]. Prints one line for each figure.

--sizes N... are the numbers of files, and --rounds N is that of edits. Each part has daemons at their own place, which
are ended afterwards. The parts are:

- folders: how long the start of recording takes, and the memory and disk for it, of folders that git tracks, whose
  contents are git's, and of others, whose contents are copied.
- first_seconds: how long after attaching to a folder that git tracks the changes of a command are recorded, beside
  `git status` in the same folder, in turn; and the processor time of the daemon until then. Use --sizes 50000.
- commands: how long the daemon keeps a hook waiting that reports the end of a command.
- edits: what the record adds to an edit by a tool. Two daemons, one with and one without a record, edit in turn.
- rewinds of what a command wrote: the preview, and the rewind itself. It is redone and made again, in turn: the median
  of these times, and how often one of them waits for the disk (needs `strace`, and the right to attach it).
- changes: 10,000 changes by commands in 1,000 of the files: the disk for each, the memory for all, and what the first
  list of them, the next one and the blame of a file cost the daemon. Use --sizes 1000 100000: they should be alike.
- watches: the inotify instances and watches of a daemon that records a folder and does nothing else.

To compare with an earlier version, copy this file into its checkout and run it there.
"""

import argparse
import asyncio
import json
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import cpu_s, resident_kb
from fileops.attach import handshake
from fileops_client import FileOpsClient
from support.daemon_process import Place, place

SIZES = (1_000, 10_000)
FILES_PER_FOLDER = 50
COMMAND_FILES = (0, 100)
REWOUND_FILES = (64, 300, 1_000)
N_REDOS = 9  # each redoes or undoes the one before; with the one whose syncs are counted, the last one undoes
N_COMMANDS = 15
N_CHANGED, N_ROUNDS = 1_000, 10  # files with changes, and changes of each
N_FIRST = 5  # daemons
N_WARM = 5  # edits that are not counted, because they load modules
QUIET_S = 0.15  # after an edit, for what the record does once it was answered
STRACE_S = 1.0  # until it is attached to all threads
N_EQUAL = 10  # equal counts in a row are the final one
WAIT_S = 120.0
BOUND_MS = 0.2
TEXT = "".join(f"line {number} of a file\n" for number in range(50))


async def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the record costs.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of the folders (default 1000 and 10000)")
    parser.add_argument("--rounds", type=int, default=100, help="edits of each daemon (default 100)")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    for part in arguments.parts or PARTS:
        await PARTS[part](arguments)


# --- folders -------------------------------------------------------------------------------------------------------


async def _measure_folders(arguments: argparse.Namespace) -> None:
    for n_files in arguments.sizes:
        for is_tracked in (True, False):
            await _measure_start(n_files, is_tracked=is_tracked)


async def _measure_start(n_files: int, *, is_tracked: bool) -> None:
    with place() as here:
        pid = here.start()
        project = _project(here.folder, n_files, is_tracked=is_tracked)
        empty = here.folder / "empty"
        empty.mkdir()
        async with _client(here, empty) as first:  # loads modules, and opens the record
            await _until_recorded(first, empty)
            memory_kb, disk_kb = resident_kb(pid), _disk_kb(here)
            start = time.perf_counter()
            async with _client(here, project) as client:
                n_copied = await _until_recorded(client, project)
                took_s = time.perf_counter() - start
                _say(
                    f"{n_files:,} files{' of git' if is_tracked else ''}, {n_copied:,} copied: start {took_s:.2f} s, "
                    f"memory {(resident_kb(pid) - memory_kb) / 1024:.1f} MiB, "
                    f"disk {(_disk_kb(here) - disk_kb) / 1024:.1f} MiB"
                )


def _project(folder: Path, n_files: int, *, is_tracked: bool) -> Path:
    project = folder / "project"
    for number, path in enumerate(_paths(project, n_files)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n{TEXT}")
    if is_tracked:
        for command in (
            ("init", "-q"),
            ("add", "."),
            ("-c", "gc.auto=0", "-c", "user.name=b", "-c", "user.email=b", "commit", "-qm", "b"),
        ):
            subprocess.run(("git", *command), cwd=project, check=True)
    return project


def _paths(project: Path, n_files: int) -> list[Path]:
    return [project / f"folder-{n // FILES_PER_FOLDER:04}" / f"file-{n}.txt" for n in range(n_files)]


def _client(
    here: Place, root: Path, *, role: Literal["editor", "agent"] = "editor", record: Literal["on", "off"] = "on"
) -> AbstractAsyncContextManager[FileOpsClient]:
    return FileOpsClient.attach(
        socket=str(here.socket),
        root=root,
        role=role,
        host="bench",
        timeout_s=WAIT_S,
        initialization_options={"record": record, "approval_mode": "yolo"},
    )


async def _until_recorded(client: FileOpsClient, root: Path) -> int:
    """Wait until the contents of all files of a folder are known. Returns how many were copied."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for folder in await client.record_status():
            if folder.root == str(root) and folder.state != "starting" and not folder.n_to_copy:
                return folder.n_copied
        await asyncio.sleep(0.02)
    raise TimeoutError(f"the recording of {root} did not begin")


def _disk_kb(here: Place) -> float:
    folder = here.folder / "state" / "fileops-server" / "record"
    return sum(path.stat().st_size for path in folder.iterdir()) / 1024


# --- the first seconds --------------------------------------------------------------------------------------------


async def _measure_first_seconds(arguments: argparse.Namespace) -> None:
    for n_files in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            project = _project(Path(folder).resolve(), n_files, is_tracked=True)
            taken = [await _first_seconds(project) for _ in range(N_FIRST)]
        ours_s, cpu_s, git_s = (statistics.median(each) for each in zip(*taken, strict=True))
        ratio = statistics.median(ours / git for ours, _, git in taken)
        _say(
            f"{n_files:,} files of git: recorded {ours_s:.2f} s after attaching, {cpu_s:.2f} s of processor time; "
            f"git status {git_s:.2f} s, {ratio:.1f} times as fast"
        )


async def _first_seconds(project: Path) -> tuple[float, float, float]:
    """Return until when a new daemon records the changes of a command, its processor time, and that of `git status`."""
    start = time.perf_counter()
    git = await asyncio.create_subprocess_exec("git", "status", "--porcelain", cwd=project)
    assert await git.wait() == 0
    git_s = time.perf_counter() - start
    with place() as here:
        pid = here.start()
        empty = here.folder / "empty"
        empty.mkdir()
        async with _client(here, empty) as first:  # loads modules, and opens the record
            await _until_recorded(first, empty)
            start, before_s = time.perf_counter(), cpu_s(pid)
            async with _client(here, project) as client:
                while not (await client.request("fileops/beginCommand", {}))["recorded"]:
                    assert time.perf_counter() - start < WAIT_S
                return time.perf_counter() - start, cpu_s(pid) - before_s, git_s


# --- commands ------------------------------------------------------------------------------------------------------


async def _measure_commands(arguments: argparse.Namespace) -> None:
    del arguments
    with place() as here:
        here.start()
        project = _project(here.folder, SIZES[-1], is_tracked=True)
        paths = _paths(project, SIZES[-1])
        async with _client(here, project) as client:
            await _until_recorded(client, project)
            for n_files in COMMAND_FILES:
                times = list[float]()
                for number in range(N_COMMANDS + 1):
                    _report(here, what="begin_command", tool_use_id=f"u{number}", program="make", cwd=str(project))
                    for path in paths[:n_files]:
                        path.write_text(f"{n_files} {number}\n{TEXT}")
                    took_ms = _report(here, what="end_command", tool_use_id=f"u{number}", cwd=str(project))
                    log = await client.log(limit=max(1, n_files))  # waits until it is stored
                    if n_files:
                        assert {entry.by.kind for entry in log.entries} == {"command"}, log
                    if number:  # the first one loads modules
                        times.append(took_ms)
                _say(f"a hook waits for the end of a command that changed {n_files} files: {_spread(times)}")


def _report(here: Place, **report: str) -> float:
    """Report as a hook does. Returns the milliseconds until the answer."""
    start = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(here.socket))
        connection.sendall(handshake.control_line("record", host="bench", session="s", **report))
        answer = json.loads(connection.makefile("rb").readline())
    took_ms = (time.perf_counter() - start) * 1000
    assert answer["ok"], answer
    return took_ms


# --- edits ---------------------------------------------------------------------------------------------------------


@dataclass
class _Costs:
    """What each edit of one daemon has cost, in ms. Processor times are of the whole daemon."""

    answer: list[float] = field(default_factory=list)
    cpu_at_answer: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


async def _measure_edits(arguments: argparse.Namespace) -> None:
    """Edit in two daemons in turn; which one is first alternates."""
    with place() as recording, place() as silent:
        daemons = [(recording.start(), _one_file(recording), _Costs()), (silent.start(), _one_file(silent), _Costs())]
        (_, recorded, on), (_, unrecorded, off) = daemons
        async with (
            _client(recording, recorded.parent, role="agent", record="on") as first,
            _client(silent, unrecorded.parent, role="agent", record="off") as second,
        ):
            await _until_recorded(first, recorded.parent)
            for number in range(N_WARM + arguments.rounds):
                turns = list(zip((first, second), daemons, strict=True))
                for client, (pid, path, costs) in turns if number % 2 else reversed(turns):
                    await _edit(client, path, number, pid, costs if number >= N_WARM else _Costs())
            newest = (await first.log(limit=1)).entries[0]
            assert newest.by.kind == "session", newest
    for what, with_record, without in (
        ("time until the answer", on.answer, off.answer),
        ("processor time until the answer", on.cpu_at_answer, off.cpu_at_answer),
        ("processor time, with what follows the answer", on.cpu, off.cpu),
    ):
        _say(f"an edit, {what}: {_compared(with_record, without)}")
    _say(f"(bound of what the record adds until the answer: {BOUND_MS} ms)")


def _one_file(here: Place) -> Path:
    path = here.folder / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text("number -1\n" + TEXT)
    return path


async def _edit(client: FileOpsClient, path: Path, number: int, pid: int, costs: _Costs) -> None:
    if number == 0:
        await client.read(path)
    cpu, start = _cpu_ms(pid), time.perf_counter()
    result = await client.edit(path, f"number {number - 1}\n", f"number {number}\n")
    costs.answer.append((time.perf_counter() - start) * 1000)
    costs.cpu_at_answer.append(_cpu_ms(pid) - cpu)
    assert result.ok, result.output
    await asyncio.sleep(QUIET_S)
    costs.cpu.append(_cpu_ms(pid) - cpu)


def _cpu_ms(pid: int) -> float:
    """Processor time that a process has used, of all its threads. Linux: its clock, see clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6


def _compared(on: list[float], off: list[float]) -> str:
    least, middle = min(on) - min(off), statistics.median(on) - statistics.median(off)
    return (
        f"least {min(on):.2f} ms with the record, {min(off):.2f} without: {least:+.2f} ms; "
        f"medians {statistics.median(on):.2f} and {statistics.median(off):.2f}: {middle:+.2f} ms"
    )


# --- rewinds -------------------------------------------------------------------------------------------------------


async def _measure_rewinds(arguments: argparse.Namespace) -> None:
    del arguments
    with place() as here:
        pid = here.start()
        project = _project(here.folder, max(REWOUND_FILES), is_tracked=True)
        async with _client(here, project) as person, _client(here, project, role="agent") as agent:
            await _until_recorded(person, project)
            for n_files in REWOUND_FILES:
                paths = _paths(project, n_files)
                before = [path.read_text() for path in paths]
                command_id = await agent.begin_command("make")
                for path, text in zip(paths, before, strict=True):
                    path.write_text(text.replace("line 25 ", f"line of {n_files} "))
                await agent.end_command(command_id)
                start = time.perf_counter()
                preview = await person.rewind(command_id=command_id, dry_run=True)
                previewed = time.perf_counter()
                done = await person.rewind(command_id=command_id, plan=preview.plan, approved=True)
                times = [time.perf_counter() - previewed]
                assert (done.error, done.n_undone) == (None, n_files), done.output
                assert [path.read_text() for path in paths] == before
                for _ in range(N_REDOS):
                    again = time.perf_counter()
                    done = await person.rewind(rewind_id=done.rewind_id, approved=True)
                    times.append(time.perf_counter() - again)
                    assert (done.error, done.n_undone) == (None, n_files), done.output
                with _counted_syncs(pid) as syncs:
                    done = await person.rewind(rewind_id=done.rewind_id, approved=True)
                assert (done.error, done.n_undone) == (None, n_files), done.output
                _say(
                    f"{n_files:5,} files: preview {previewed - start:.2f} s, rewind {statistics.median(times):.2f} s "
                    f"(least {min(times):.2f} s), {syncs[0] if syncs else 'unknown'} syncs"
                )


@contextmanager
def _counted_syncs(pid: int) -> Generator[list[int]]:
    """The list gets, at the end, how often the process has waited for the disk. It stays empty without `strace`."""
    counted: list[int] = []
    if shutil.which("strace") is None:
        yield counted
        return
    command = ("strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,sync,syncfs", "-p", str(pid))
    with tempfile.TemporaryFile("w+") as calls, subprocess.Popen(command, stderr=calls) as strace:
        time.sleep(STRACE_S)
        yield counted
        strace.send_signal(signal.SIGINT)
        strace.wait()
        calls.seek(0)
        counted.append(sum("sync(" in line for line in calls))


# --- changes among many files --------------------------------------------------------------------------------------


async def _measure_changes(arguments: argparse.Namespace) -> None:
    for n_files in arguments.sizes:
        with place() as here:
            pid = here.start()
            project = _project(here.folder, n_files, is_tracked=True)
            paths = _paths(project, n_files)[:: max(1, n_files // N_CHANGED)][:N_CHANGED]
            async with _client(here, project) as person, _client(here, project, role="agent") as agent:
                await _until_recorded(person, project)
                await person.request("fileops/unkept", {})  # loads modules
                memory_kb, disk_kb = resident_kb(pid), _disk_kb(here)
                for number in range(N_ROUNDS):
                    command_id = await agent.begin_command("make")
                    for path in paths:
                        text = path.read_text()
                        path.write_text(text.replace(f"line {number} ", f"line {number} of the command "))
                    await agent.end_command(command_id)
                log = await person.log(limit=1)  # waits until it is stored
                assert {entry.by.kind for entry in log.entries} == {"command"}, log
                n_changes = N_ROUNDS * len(paths)
                _say(
                    f"{n_changes:,} changes in {len(paths):,} of {n_files:,} files: "
                    f"disk {(_disk_kb(here) - disk_kb) * 1024 / n_changes:.0f} bytes for each, "
                    f"memory {(resident_kb(pid) - memory_kb) / 1024:.1f} MiB for all"
                )
                for what, method, params in (
                    ("first list", "fileops/unkept", {}),
                    ("next list", "fileops/unkept", {}),
                    ("blame of one file", "fileops/blame", {"file_path": str(paths[0])}),
                ):
                    start, cpu = time.perf_counter(), _cpu_ms(pid)
                    answer = await person.request(method, params)
                    _say(
                        f"  {what}: {(_cpu_ms(pid) - cpu) / 1000:.2f} s of the daemon's processor time, "
                        f"{time.perf_counter() - start:.2f} s; {answer.get('n_changes', len(answer)):,} changes"
                    )
                _say(f"  memory then {(resident_kb(pid) - memory_kb) / 1024:.1f} MiB more than before all")


# --- watches -------------------------------------------------------------------------------------------------------


async def _measure_watches(arguments: argparse.Namespace) -> None:
    for n_files in arguments.sizes:
        with place() as here:
            pid = here.start()
            project = _project(here.folder, n_files, is_tracked=True)
            async with _client(here, project) as client, _client(here, project, role="agent") as agent:
                await _until_recorded(client, project)
                for path in _paths(project, n_files):
                    await agent.read(str(path))
                counts = [(0, 0)]
                while len(counts) < N_EQUAL or len(set(counts[-N_EQUAL:])) > 1:  # watches are added in the background
                    await asyncio.sleep(QUIET_S)
                    counts.append(_watches(pid))
                n_instances, n_watches = counts[-1]
                n_folders = sum(path.is_dir() for path in project.rglob("*") if ".git" not in path.parts)
                _say(f"{n_files:,} files, {n_folders:,} folders: {n_instances} instances, {n_watches:,} watches")


def _watches(pid: int) -> tuple[int, int]:
    """The inotify instances of a process, and the watches of all of them."""
    infos = [path.read_text() for path in Path(f"/proc/{pid}/fdinfo").iterdir()]
    counts = [info.count("inotify wd:") for info in infos]
    return sum(map(bool, counts)), sum(counts)


def _spread(times: list[float]) -> str:
    return f"least {min(times):.1f} ms, median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


PARTS = {
    "folders": _measure_folders,
    "first_seconds": _measure_first_seconds,
    "commands": _measure_commands,
    "edits": _measure_edits,
    "rewinds": _measure_rewinds,
    "changes": _measure_changes,
    "watches": _measure_watches,
}

if __name__ == "__main__":
    asyncio.run(main())
