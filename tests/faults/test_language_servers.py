"""Language servers that hang, flood, crash, lie about versions or send what is no message: the state is honest."""

import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest

from fileops.core.diagnostics.places import places_of
from fileops.core.diagnostics.report import Edits
from fileops.languages import comparison, language_server, pool
from fileops.languages.service import LanguageServers
from fileops.model.diagnostics import CommittedFile, DiagnosticsReport, LanguageServerSetting
from fileops.model.edits import Splice
from fileops.model.sessions import SessionName
from support import scripted_language_server
from support.patience import PATIENCE_S, wait_until

N_OF_SERVER = 3  # a scripted server, its child, and the process that ends them when the daemon is killed
PROGRAM = str(pathlib.Path(scripted_language_server.__file__))


class Project:
    """A folder whose files a scripted language server checks."""

    def __init__(self, root: pathlib.Path, servers: LanguageServers | None = None) -> None:
        self.root = os.path.realpath(root)
        self.corrections: list[DiagnosticsReport] = []
        self.servers = servers or LanguageServers(lambda _, report: self.corrections.append(report))
        self.n_edits = 0

    def setting(self, behaviour: Mapping[str, object] | None = None, **more: object) -> LanguageServerSetting:
        command = (sys.executable, "-I", "-S", PROGRAM, json.dumps({**(behaviour or {}), **more}))
        return LanguageServerSetting(name="scripted", command=command, globs=("*.txt",), settle_s=0.3)

    def edit(
        self, setting: LanguageServerSetting, before: str, after: str, name: str = "a.txt"
    ) -> "Future[DiagnosticsReport]":
        """Write the file as a commit would, and hand both texts over."""
        path = f"{self.root}/{name}"
        pathlib.Path(path).write_text(after, encoding="utf-8")
        self.n_edits += 1
        splice = Splice(0, len(before.encode()), after.encode())
        change = CommittedFile(
            path=path, given_path=name, before=before.encode(), after=after.encode(), splices=(splice,)
        )
        edits = Edits(changes=(change,), edit_ids=(str(self.n_edits),), session_id=SessionName("s"), severity="warning")
        report = self.servers.compare(edits, (self.root,), (setting,), lambda _: True)
        assert report is not None
        return report

    def report(self, setting: LanguageServerSetting, before: str, after: str) -> DiagnosticsReport:
        return self.edit(setting, before, after).result(PATIENCE_S)

    def pids(self) -> list[int]:
        return [each.pid for each in self.servers.describe().result(PATIENCE_S) if each.pid is not None]


@pytest.fixture
def project(tmp_path: pathlib.Path) -> Generator[Project]:
    made = Project(tmp_path)
    yield made
    made.servers.close()


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def group_of(pid: int) -> list[int]:
    members: list[int] = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == pid and fields[0] != "Z":
            members.append(int(name))
    return members


@pytest.mark.parametrize(
    "behaviour",
    [
        {},
        {"silent": True},
        {"no_version": True},
        {"stale_first": True},
        {"empty_first": True},
        {"pull": True},
        {"pull": True, "late_pull": True},
        {"pull": True, "n_cancelled": 2},
        {"pull": True, "n_refreshed": 2},
    ],
    ids=json.dumps,
)
def test_edits_are_compared_whichever_way_a_server_says_its_problems(
    project: Project, behaviour: Mapping[str, object]
) -> None:
    """R-DIAG-10"""
    setting = project.setting(behaviour)
    first = project.report(setting, "ok\nBAD\n", "BAD\nok\nBAD\n")
    assert (first.state, first.n_introduced, first.n_resolved) == ("settled", 1, 0)
    assert [(each.start_line, each.code) for each in first.introduced or ()] == [(1, "B1")]
    second = project.report(setting, "BAD\nok\nBAD\n", "fine\n")
    assert (second.state, second.n_introduced, second.n_resolved) == ("settled", 0, 2)
    third = project.report(setting, "fine\n", "still fine\n")
    assert (third.state, third.n_introduced, third.n_resolved) == ("settled", 0, 0)


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("CRASH", "scripted: it ended with status 3"),
        ("GARBAGE", "scripted: it sent something that is not a message"),
        ("FLOOD", "scripted: it sent something that is not a message (of 999999999999 bytes)"),
    ],
)
def test_server_that_breaks_is_unavailable_and_starts_anew(project: Project, after: str, reason: str) -> None:
    """R-DIAG-11"""
    setting = project.setting()
    project.report(setting, "one", "two")
    (pid,) = project.pids()
    report = project.report(setting, "two", after)
    assert report.state == "unavailable"
    assert reason in (report.reason or "")
    assert not report.introduced
    wait_until(lambda: not group_of(pid))
    assert project.report(setting, "three", "BAD").n_introduced == 1


def test_server_that_ends_three_times_is_not_started_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-DIAG-11"""
    monkeypatch.setattr(pool, "RESTARTS_AFTER_S", (0.0, 0.0, 0.0))
    setting = project.setting()
    for _ in range(3):
        assert project.report(setting, "one", "CRASH").state == "unavailable"
    report = project.report(setting, "one", "two")
    assert report.reason == "scripted: it ended 3 times and is not started again for now"


def test_server_that_hangs_is_unavailable_and_the_next_folder_is_served(
    project: Project, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "GIVE_UP_S", 1.0)
    report = project.edit(project.setting(), "one", "HANG")
    (tmp_path / "b").mkdir()
    other = Project(tmp_path / "b", project.servers)
    assert other.report(project.setting(), "one", "BAD").n_introduced == 1
    assert report.result(PATIENCE_S).reason == "scripted did not answer within 1 s"


def test_server_that_does_not_initialize_is_ended(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "INITIALIZE_S", 0.5)
    report = project.report(project.setting(mute=True), "one", "two")
    assert report.reason == "scripted: it did not initialize within 0.5 s"
    assert project.pids() == []


def test_server_that_does_not_read_is_ended(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fileops.languages.connection.MAX_UNREAD_BYTES", 1 << 16)
    monkeypatch.setattr(comparison, "GIVE_UP_S", 2.0)
    setting = project.setting(deaf=True)
    reports = [project.report(setting, f"{n}" * 300_000, f"{n + 1}" * 300_000) for n in range(2)]
    assert "scripted: it does not read what it is sent" in {report.reason for report in reports}


def test_file_that_changes_while_a_server_starts_is_reported_once_it_is_initialized(
    project: Project, tmp_path: pathlib.Path
) -> None:
    """A server that gets anything between `initialize` and `initialized` may end, as ruff does."""
    log, gate = tmp_path / "log", tmp_path / "gate"
    report = project.edit(project.setting(log=str(log), gate=str(gate)), "one", "BAD")
    wait_until(lambda: log.exists() and "initialize" in log.read_text())
    project.servers.note_changed([(f"{project.root}/b.txt", "modify"), (f"{project.root}/b.txt", "delete")])
    project.pids()  # the loop has taken the change
    gate.touch()
    assert (report.result(PATIENCE_S).state, report.result().n_introduced) == ("settled", 1)
    methods = [line.partition(" ")[0] for line in log.read_text().splitlines()]
    assert methods[:3] == ["initialize", "initialized", "workspace/didChangeWatchedFiles"]


def test_start_that_is_given_up_leaves_no_half_started_server(project: Project, tmp_path: pathlib.Path) -> None:
    """A question for formatted lines has a limit, and may be what starts a server again."""
    gate, pids = tmp_path / "gate", tmp_path / "pids"
    setting = project.setting(gate=str(gate), pids=str(pids), formats=True)
    report = project.edit(setting, "one", "BAD")
    wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    project.servers.close()
    wait_until(lambda: not is_running(int(pids.read_text())))
    assert not report.done() or report.result().state == "unavailable"


def test_formatting_says_that_a_server_is_not_started_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "RESTARTS_AFTER_S", (0.0, 0.0, 0.0))
    setting = project.setting(formats=True)
    for _ in range(3):
        project.report(setting, "one", "CRASH")
    places = places_of(f"{project.root}/a.txt", (project.root,), (setting,))
    formatted = project.servers.format(places, f"{project.root}/a.txt", "a  b\n", [(0, 1)], 5.0).result(PATIENCE_S)
    assert formatted.not_formatted == "scripted: it ended 3 times and is not started again for now"


def test_question_of_formatting_is_no_news_of_other_files(project: Project, tmp_path: pathlib.Path) -> None:
    """What is asked about them for the edit before counts for the next one too."""
    log = tmp_path / "log"
    setting = project.setting(pull=True, formats=True, log=str(log))
    for name in ("a.txt", "b.txt"):
        assert project.edit(setting, "one", "two", name).result(PATIENCE_S).state == "settled"

    def n_pulls() -> int:
        asked = [line for line in log.read_text(encoding="utf-8").splitlines() if "textDocument/diagnostic" in line]
        return sum("b.txt" in line for line in asked)

    n_before = n_pulls()
    places = places_of(f"{project.root}/a.txt", (project.root,), (setting,))
    formatted = project.servers.format(places, f"{project.root}/a.txt", "a  b\n", [(0, 1)], PATIENCE_S)
    assert formatted.result(PATIENCE_S).made
    assert project.edit(setting, "two", "BAD", "b.txt").result(PATIENCE_S).n_introduced == 1
    assert n_pulls() == n_before + 1


@pytest.mark.parametrize("is_pulled", [False, True])
def test_thousands_of_problems_in_one_long_line_are_compared(project: Project, is_pulled: bool) -> None:
    """Each position is found without counting the line from its start: it would take minutes."""
    line = "BAD and some more words " * 9_000
    report = project.report(project.setting(pull=is_pulled), "one", f"é{line}")
    assert (report.state, report.n_introduced) == ("settled", 9_000)


def test_server_ends_with_the_daemon_even_if_the_loop_is_busy(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fileops.languages.service.CLOSE_S", 0.0)
    project.report(project.setting(), "one", "two")
    (pid,) = project.pids()
    is_released = threading.Event()
    is_busy = threading.Event()

    def block() -> bytes:
        is_busy.set()
        is_released.wait(PATIENCE_S)
        return b""

    project.servers._run(partial(_blocking, block))
    assert is_busy.wait(PATIENCE_S)
    project.servers.close()
    try:
        wait_until(lambda: not group_of(pid))
    finally:
        is_released.set()


async def _blocking(block: Callable[[], object]) -> None:
    block()


def test_reply_that_cannot_be_decoded_is_none(project: Project) -> None:
    report = project.report(project.setting(pull=True, bad_reply=True), "one", "two")
    assert report.state == "unavailable"
    assert "could not be decoded" in (report.reason or "")


def test_program_is_never_looked_for_in_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-DIAG-17"""
    trap = pathlib.Path(project.root, "bin")
    trap.mkdir()
    (trap / "checker").write_text(f"#!/bin/sh\ntouch {project.root}/canary\n", encoding="utf-8")
    (trap / "checker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{trap}:.:bin:{os.environ['PATH']}")
    monkeypatch.chdir(project.root)
    setting = LanguageServerSetting(name="checker", command=("checker",), globs=("*.txt",))
    report = project.report(setting, "one", "two")
    assert report.reason == "checker: there is no program checker in the PATH outside of the project"
    assert not pathlib.Path(project.root, "canary").exists()


def test_processes_of_a_server_end_with_the_daemon(project: Project) -> None:
    project.report(project.setting(child=True), "one", "two")
    (pid,) = project.pids()
    assert len(group_of(pid)) == N_OF_SERVER
    project.servers.close()
    wait_until(lambda: not group_of(pid))


DAEMON = """
import sys, threading
from pathlib import Path
from faults.test_language_servers import Project

project = Project(Path(sys.argv[1]))
project.edit(project.setting({"deaf": True, "child": True}, pids=sys.argv[2]), "one", "two")
threading.Event().wait()
"""


def test_processes_of_a_server_end_with_a_daemon_that_is_killed(tmp_path: pathlib.Path) -> None:
    """This server neither reads the end of its input nor looks for its parent."""
    folder, pids = tmp_path / "p", tmp_path / "pids"
    folder.mkdir()
    path = os.pathsep.join((str(pathlib.Path(__file__).parents[1]), *filter(None, sys.path)))
    daemon = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(folder), str(pids)], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        pid = int(pids.read_text())
        wait_until(lambda: len(group_of(pid)) >= N_OF_SERVER)
        daemon.kill()
        wait_until(lambda: not group_of(pid))
    finally:
        daemon.kill()
        daemon.wait()
        for member in group_of(int(pids.read_text())) if pids.exists() else ():
            os.kill(member, signal.SIGKILL)


def test_server_that_is_being_ended_ends_with_the_daemon(project: Project) -> None:
    """Many files have changed, so it is to be started again, but it does not answer `shutdown`."""
    setting = project.setting()
    project.report(setting, "one", "two")
    (pid,) = project.pids()
    project.edit(setting, "two", "HANG")
    project.servers.note_changed([(f"{project.root}/{n}", "modify") for n in range(pool.MAX_FILES_AT_ONCE + 1)])
    assert project.pids() == []
    project.servers.close()
    wait_until(lambda: not group_of(pid))


@pytest.mark.parametrize(
    ("behaviour", "after", "has_report"),
    [
        pytest.param({}, "BAD", True, id="runs"),
        pytest.param({}, "CRASH", True, id="crashed"),
        pytest.param({}, "FLOOD", True, id="flooded"),
        pytest.param({}, "HANG", False, id="hangs"),
        pytest.param({"mute": True}, "BAD", False, id="starts"),
        pytest.param({"deaf": True}, "long" * 200_000, False, id="reads nothing"),
        pytest.param({"stray": True}, "BAD", True, id="has a child elsewhere"),
        pytest.param({"stray": True}, "CRASH", True, id="crashed and left a child"),
    ],
)
def test_no_pipe_to_a_server_outlives_the_daemon(
    tmp_path: pathlib.Path, behaviour: Mapping[str, object], after: str, *, has_report: bool
) -> None:
    pids, others = tmp_path / "pids", open_pipes()
    project = Project(tmp_path)
    report = project.edit(project.setting(behaviour, pids=str(pids)), "one", after)
    wait_until(lambda: pids.exists() and pids.read_text().count("\n") == 1 + ("stray" in behaviour))
    if has_report:
        report.result(PATIENCE_S)
    project.servers.close()
    gc.collect()  # which would warn of a process that was not closed
    try:
        assert open_pipes() <= others
    finally:
        for pid in pids.read_text().split()[1:]:
            os.kill(int(pid), signal.SIGKILL)


def open_pipes() -> set[str]:
    """Those of this process."""
    found: set[str] = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {name for name in found if name.startswith(("pipe:", "socket:"))}


def test_waiting_edits_of_a_session_become_one_report(project: Project) -> None:
    """R-DIAG-12"""
    setting = project.setting(empty_first=True)
    texts = ["zero", "one BAD", "two BAD", "three BAD BAD", "four BAD"]
    reports = [project.edit(setting, before, after) for before, after in pairwise(texts)]
    found = [report.result(PATIENCE_S) for report in reports]
    settled = [report for report in found if report.state == "settled"]
    assert sorted(edit_id for report in settled for edit_id in report.edit_ids) == ["1", "2", "3", "4"]
    assert sum((report.n_introduced or 0) - (report.n_resolved or 0) for report in settled) == 1
    assert found[-1].state == "settled"


def test_answer_about_a_text_that_was_replaced_meanwhile_does_not_count(project: Project) -> None:
    """As when a file is read while it is being edited."""
    log = pathlib.Path(project.root) / "log"
    setting = project.setting(pull=True, first_pull_s=0.3, log=str(log))
    path = f"{project.root}/a.txt"
    project.servers.prepare(path, (project.root,), (setting,), lambda: b"BAD\nBAD\n")
    wait_until(lambda: log.exists() and "textDocument/diagnostic" in log.read_text())
    assert project.report(setting, "ok\n", "BAD\nBAD\n").n_introduced == 2


def test_late_push_corrects_what_counted_as_settled(project: Project) -> None:
    """R-DIAG-7"""
    setting = project.setting(empty_first=True)
    hasty = LanguageServerSetting(name="hasty", command=setting.command, globs=setting.globs, settle_s=0.0)
    report = project.report(hasty, "one", "BAD")
    assert (report.state, report.n_introduced) == ("settled", 0)
    wait_until(lambda: project.corrections)
    assert project.corrections[0].edit_ids == report.edit_ids
    assert project.corrections[0].n_introduced == 1


def test_no_server_is_started_for_a_file_that_none_checks(project: Project) -> None:
    change = CommittedFile(path=f"{project.root}/a.py", given_path="a.py", before=b"", after=b"", splices=())
    edits = Edits(changes=(change,), edit_ids=("1",), session_id=SessionName("s"), severity="warning")
    assert project.servers.compare(edits, (project.root,), (project.setting(),), lambda _: True) is None
    assert project.servers.compare(edits, ("/elsewhere",), (project.setting(),), lambda _: True) is None
    assert project.pids() == []


def test_foreign_writes_are_forwarded_and_open_files_closed(project: Project, tmp_path: pathlib.Path) -> None:
    """R-DIAG-13"""
    log = tmp_path / "log"
    setting = project.setting(log=str(log))
    project.report(setting, "one", "two")
    project.servers.note_changed([(f"{project.root}/a.txt", "modify")])
    wait_until(lambda: "workspace/didChangeWatchedFiles" in log.read_text(encoding="utf-8"))
    assert "textDocument/didClose" in log.read_text(encoding="utf-8")


def test_at_most_four_servers_run_at_once(project: Project, tmp_path: pathlib.Path) -> None:
    """R-DIAG-9: those that were used last."""
    used: list[int] = []
    for n in (0, 1, 2, 3, 0, 4, 5):
        (tmp_path / f"p{n}").mkdir(exist_ok=True)
        other, before = Project(tmp_path / f"p{n}", project.servers), project.pids()
        assert other.report(project.setting(), "one", "BAD").n_introduced == 1
        used += [pid for pid in project.pids() if pid not in before]
    assert sorted(project.pids()) == sorted(used[n] for n in (0, 3, 4, 5))
