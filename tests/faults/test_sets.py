"""A change set that is killed or failed at every system call: all of it, or nothing, and nothing left over (R-SET-8).

By default a sample of the points; all of them with FILEOPS_FAULTS=all. What is not shown here: a disk that loses what
it has not synced (`test_set_power_loss.py` drops it in a model), and one that loses what it has.
"""

import errno
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot
from faults.set_runner import AFTER, BEFORE, Hooks, contents, write_all
from fileops.fs.local import filesystem
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.internal_errors import Stale
from fileops.platform.locks import wait_for_writers
from support.patience import wait_until

pytestmark = pytest.mark.timeout(1200)
_CHANGES = {"write", "pwrite", "rename", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "fsync", "ftruncate"}


class Runner:
    """`set_runner.py` under the shim."""

    def __init__(self, shim: Shim, folder: str, state: str) -> None:
        self.shim, self.folder, self.state = shim, Path(folder), state
        program = [sys.executable, "-m", "faults.set_runner", folder, f"{state}/journals"]
        path = os.pathsep.join((str(Path(__file__).parents[1]), *sys.path))
        environment = {**os.environ, **shim.environment, "PYTHONPATH": path}
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def tell(self, order: str) -> str:
        self.order(order)
        return self.answer()

    def order(self, order: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def prepare(self) -> None:
        """The world before the set."""
        for place in (self.folder, Path(self.state)):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        write_all(self.folder)
        assert self.tell("prepare") == "ready"

    def apply(self, action: Action, spot: Spot, number: int = 0) -> str:
        self.prepare()
        self.shim.arm(action, spot, number)
        answer = self.tell("go")
        self.shim.disarm()
        return answer

    def calls(self) -> list[str]:
        """The calls of a set that nothing disturbs."""
        assert self.apply(Action.COUNT, Spot()) == "0"
        assert self.fault(AFTER) is None
        return self.shim.calls

    def present(self) -> dict[str, bytes]:
        return contents(self.folder)

    def fault(self, *wanted: dict[str, bytes]) -> str | None:
        """What is wrong with what is there: neither of these, or something left over."""
        present = self.present()
        if present not in wanted:
            return f"a mixture, or litter: {present}"
        folders = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_dir()}
        if present == BEFORE and folders != {"inner"}:
            return f"folders were left: {folders}"
        journals = os.listdir(f"{self.state}/sets") if os.path.isdir(f"{self.state}/sets") else []
        return f"journals were left: {journals}" if journals else None

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture
def runner(library: Path, folder: str, tmp_path: Path) -> Iterator[Runner]:
    state = str(tmp_path / "set-state")
    os.mkdir(state)
    running = Runner(Shim.over(library, folder, state), folder, state)
    yield running
    running.close()


def spots(calls: list[str], *, step: int) -> list[Spot]:
    """The n-th call of each name; of the sample, those that change something."""
    n_met: Counter[str] = Counter()
    every: list[Spot] = []
    for name in calls:
        n_met[name] += 1
        every.append(Spot(at=n_met[name], name=name))
    return every if IS_COMPLETE else [spot for spot in every if spot.name in _CHANGES][::step]


def test_set_that_is_killed_anywhere_is_whole_or_not_made(runner: Runner) -> None:
    ends: Counter[str] = Counter()
    for spot in spots(runner.calls(), step=1):
        halves = (Action.KILL, Action.KILL_HALF) if spot.name in {"write", "pwrite"} else (Action.KILL,)
        for action in halves:
            answer = runner.apply(action, spot)
            where = f"{action.name} at {runner.shim.fired_at}"
            assert answer == "-9", where
            assert runner.tell("recover") == "0", where
            assert (fault := runner.fault(BEFORE, AFTER)) is None, f"{where}: {fault}"
            ends["before" if runner.present() == BEFORE else "after"] += 1
    assert min(ends["before"], ends["after"]) > 5, ends


@pytest.mark.parametrize("killed_at", ["renameat2", "unlinkat"])
def test_recovery_that_is_killed_anywhere_is_completed_by_the_next(runner: Runner, killed_at: str) -> None:
    n_calls = runner.calls().count(killed_at)
    for nth in sorted({max(1, n_calls // 2), n_calls}):
        at = 0
        while True:
            at += 1 if IS_COMPLETE else 4
            assert runner.apply(Action.KILL, Spot(at=nth, name=killed_at)) == "-9"
            runner.shim.arm(Action.KILL, Spot(at=at))
            was_killed = runner.tell("recover") == "-9"
            runner.shim.disarm()
            assert runner.tell("recover") == "0"
            assert (fault := runner.fault(BEFORE, AFTER)) is None, f"{killed_at} {nth}, then call {at}: {fault}"
            if not was_killed:
                break
        assert at > 20


def test_daemon_that_starts_between_any_two_calls_of_a_set_disturbs_nothing(runner: Runner) -> None:
    """Another daemon looks after the folders while the set's process is held at a call: the set is applied.

    At any call, not only at those that change something: a journal that is not locked yet must not be removed.
    """
    n_calls = len(runner.calls())
    for at in range(1, n_calls + 1) if IS_COMPLETE else range(1, n_calls + 1, 3):
        runner.prepare()
        runner.shim.arm(Action.WAIT, Spot(at=at))
        runner.order("go")
        wait_until(lambda: runner.shim.has_fired)
        other = LocalFileSystem(state_folder=f"{runner.state}/journals")
        for name in (runner.folder, runner.folder / "inner"):
            other.recover(str(name))
        runner.shim.release()
        where = f"call {at} of {n_calls} ({runner.shim.fired_at})"
        assert runner.answer() == "0", where
        runner.shim.disarm()
        assert (fault := runner.fault(AFTER)) is None, f"{where}: {fault}"


@pytest.mark.parametrize("killed_at", ["renameat2", "unlinkat"])
def test_set_that_is_killed_waits_for_its_folder(runner: Runner, killed_at: str, tmp_path: Path) -> None:
    """The folder is renamed, or an empty one is at its path, while the next daemon starts in another project."""
    n_calls = runner.calls().count(killed_at)
    (tmp_path / "other").mkdir()
    away = tmp_path / "away"
    for nth in range(1, n_calls + 1):
        for has_mount_point in (False, True):
            assert runner.apply(Action.KILL, Spot(at=nth, name=killed_at)) == "-9"
            runner.shim.disarm()
            runner.folder.rename(away)
            if has_mount_point:
                runner.folder.mkdir()
            LocalFileSystem(state_folder=f"{runner.state}/journals").recover(str(tmp_path / "other"))
            if has_mount_point:
                runner.folder.rmdir()
            away.rename(runner.folder)
            assert runner.tell("recover") == "0"
            assert (fault := runner.fault(BEFORE, AFTER)) is None, f"{killed_at} {nth}, {has_mount_point}: {fault}"


def test_set_of_a_thousand_files_with_long_names_is_taken_back(library: Path, folder: str, tmp_path: Path) -> None:
    """As many files as an undo may have (R-REW-5), killed after half of them have changed."""
    state, names = tmp_path / "set-state", [f"{folder}/{number:04}{'名' * 80}" for number in range(1000)]
    state.mkdir()
    for name in names:
        Path(name).write_text("old")
    shim = Shim.over(library, folder, str(state))
    program = [sys.executable, "-m", "faults.set_runner", "many", folder, f"{state}/journals"]
    path = os.pathsep.join((str(Path(__file__).parents[1]), *sys.path))
    shim.arm(Action.KILL, Spot(at=500, name="renameat2"))
    ended = subprocess.run(program, env={**os.environ, **shim.environment, "PYTHONPATH": path}, check=False)
    assert ended.returncode == -9
    assert {Path(name).read_text() for name in names} == {"old", "new"}
    LocalFileSystem(state_folder=f"{state}/journals").recover(folder)
    assert {Path(name).read_text() for name in names} == {"old"}
    assert len(os.listdir(folder)) == len(names)
    assert os.listdir(state / "sets") == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EINTR], ids=errno.errorcode.get)
def test_set_whose_call_fails_is_whole_or_not_made(runner: Runner, number: int) -> None:
    for spot in spots(runner.calls(), step=2):
        answer = runner.apply(Action.FAIL, spot, number)
        where = f"{errno.errorcode[number]} at {runner.shim.fired_at}: {answer}"
        expected = AFTER if answer == "0" else BEFORE
        if (fault := runner.fault(expected)) is not None:
            # What could not be removed is removed by the next use of the folders.
            assert runner.tell("recover") == "0", where
            assert (fault := runner.fault(expected)) is None, f"{where}: {fault}"


def test_sets_of_two_daemons_over_the_same_files_lose_nothing(folder: str, tmp_path: Path) -> None:
    """Each set adds one to all files, which the two name in opposite order: no update is lost, and neither waits."""
    paths = [f"{folder}/{name}" for name in ("a", "b", "c", "d")]
    for path in paths:
        Path(path).write_text("0")
    n_sets = 25

    def run(order: list[str], set_ids: str) -> None:
        fs, n_made = LocalFileSystem(state_folder=f"{tmp_path}/set-state/journals"), 0
        while n_made < n_sets:
            read = [fs.read(path) for path in order]
            files = [
                FilePlan(
                    snapshot=snapshot,
                    splices=(Splice(0, len(snapshot.data), str(int(snapshot.data) + 1).encode()),),
                )
                for snapshot in read
            ]
            with suppress(Stale):
                fs.replace_set(f"{set_ids}{n_made}", files, Hooks())
                n_made += 1

    children: list[int] = []
    for order, set_ids in ((paths, "one"), (paths[::-1], "two")):
        child = os.fork()
        if not child:
            code = 1
            try:
                run(order, set_ids)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert {Path(path).read_text() for path in paths} == {str(2 * n_sets)}
    assert sorted(os.listdir(folder)) == ["a", "b", "c", "d"]


def test_reader_in_another_daemon_sees_no_mixture(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-SET-8: what is read after a new content is not an old one. The limit of the wait is raised: disks may be slow.

    Each set writes its number into all files, so the number that is read second is never the smaller one.
    """
    names = [f"{folder}/{name}" for name in ("a", "b", "c", "d")]
    for name in names:
        Path(name).write_text("0")
    n_sets = 60

    def write() -> None:
        fs = LocalFileSystem(state_folder=f"{tmp_path}/set-state/journals")
        for number in range(1, n_sets + 1):
            read = [fs.read(name) for name in names]
            files = [
                FilePlan(snapshot=snapshot, splices=(Splice(0, len(snapshot.data), str(number).encode()),))
                for snapshot in read
            ]
            fs.replace_set(f"set{number}", files, Hooks())

    monkeypatch.setattr(filesystem, "wait_for_writers", partial(wait_for_writers, wait_s=60.0))
    child = os.fork()
    if not child:
        code = 1
        try:
            write()
            code = 0
        finally:
            os._exit(code)
    reader = LocalFileSystem(state_folder=f"{tmp_path}/reader-state/journals")
    pairs, ended, status = list[tuple[int, int]](), 0, 0
    while not ended:
        ended, status = os.waitpid(child, os.WNOHANG)
        for first, second in ((names[0], names[-1]), (names[-1], names[0])):
            pairs.append((int(reader.read(first).data), int(reader.read(second).data)))
    assert (os.waitstatus_to_exitcode(status), pairs[-1]) == (0, (n_sets, n_sets))
    assert [pair for pair in pairs if pair[1] < pair[0]] == []
    assert len(set(pairs)) > 2  # the two have met
