"""A process that the tests' fork server makes is like one that starts as a user's does."""

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.daemon_process import Place
from support.patience import PATIENCE_S, wait_until
from support.rawclient import DAEMON, RawClient, edit_of, raw_client
from support.sample_package import SOURCES
from support.warm_start import OF_INTERPRETER, POOL, is_wanted

pytestmark = pytest.mark.skipif(not is_wanted(), reason="all processes of this run start as a user's do")
SIGNALS_AND_USERS = ("SigBlk", "SigIgn", "SigCgt", "Umask", "PPid", "NSpgid", "NSsid", "Uid", "Gid", "Groups", "CapEff")
OF_THE_C_LIBRARY = 0b11 << 31  # signals 32 and 33, which it takes when a process has its first thread
N_IDLE_THREADS = 2  # of a private daemon: the loop and the writer
START = (sys.executable, "-P", "-m", "fileops")


def traits(pid: int) -> dict[str, Any]:
    """What /proc says of a process that serves: what it has from its start, and what it made of that."""
    proc = Path(f"/proc/{pid}")
    status = dict(re.findall(r"^(\w+):[ \t]*(.*)$", (proc / "status").read_text(), re.MULTILINE))
    status["SigCgt"] = f"{int(status['SigCgt'], 16) & ~OF_THE_C_LIBRARY:x}"
    kinds = {int(fd.name): stat.S_IFMT(fd.stat().st_mode) for fd in (proc / "fd").iterdir()}
    return {
        **{name: status[name] for name in SIGNALS_AND_USERS},
        "descriptors": kinds,
        "limits": (proc / "limits").read_text(),
        "program": os.readlink(proc / "exe"),
        "folder": os.readlink(proc / "cwd"),
        "environment": sorted(set((proc / "environ").read_bytes().rstrip(b"\0").split(b"\0")) - {b""}),
        "arguments": (proc / "cmdline").read_bytes().rstrip(b"\0").split(b"\0"),
    }


def serving(folder: Path, **env: str) -> dict[str, Any]:
    """The traits of a private daemon, and the environment of a command that it runs."""
    with raw_client(DAEMON, cwd=str(folder), env=env) as client:
        client.initialize(rootUri=folder.as_uri(), initializationOptions={"bash": True})
        # Another thread settles what dead processes left in the folder, and has it open until it ends.
        tasks = Path(f"/proc/{client.process.pid}/task")
        wait_until(lambda: len(list(tasks.iterdir())) == N_IDLE_THREADS)
        found = traits(client.process.pid)
        said = client.result("fileops/bash", {"command": "env -0 | sort -z | tr '\\0' '\\n'; umask"})
        assert client.shut_down() == 0
    return {**found, "of its commands": said["output"]}


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1)])
def test_forked_process_has_what_a_started_one_has(
    ignored: tuple[signal.Signals, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_TEST", "1")
    before = os.umask(0o037)
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        forked = serving(tmp_path, OF_THE_PROCESS="zwei \udcff", TZ="Asia/Tokyo")
        monkeypatch.setattr(POOL, "is_off", True)
        started = serving(tmp_path, OF_THE_PROCESS="zwei \udcff", TZ="Asia/Tokyo")
    finally:
        os.umask(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert forked == started
    assert "0037" in forked["of its commands"]
    assert "OF_THE_TEST=1" in forked["of its commands"]


def shared(made: Place) -> dict[str, Any]:
    daemon = made.start()
    found, leads = traits(daemon), os.getsid(daemon) == daemon
    assert made.run("status", "--stop").returncode == 0
    made.wait_for_end(daemon)
    del found["NSsid"], found["NSpgid"]  # a session of its own
    found["environment"] = [variable for variable in found["environment"] if not variable.startswith(b"LISTEN_PID=")]
    return {**found, "leads": leads}


def test_forked_shared_daemon_has_what_a_started_one_has(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = shared(here)
    monkeypatch.setattr(POOL, "is_off", True)
    assert forked == shared(here)


@pytest.mark.skipif(
    any(name.startswith(OF_INTERPRETER) and not name.startswith(("LANG", "LC_")) for name in os.environ),
    reason="a shared daemon gets other variables for its interpreter than this process has, so it cannot be forked",
)
def test_shared_daemon_is_forked_though_it_gets_fewer_variables(here: Place) -> None:
    """It gets none of those that tell the interpreter something. A real start takes most of the time of a test."""
    with raw_client() as private:
        places = Path(f"/proc/{private.process.pid}/auxv").read_bytes()  # of the program and its libraries, at random
        assert Path(f"/proc/{here.start()}/auxv").read_bytes() == places


@pytest.mark.parametrize("is_forked", [True, False])
def test_end_of_a_forked_process_is_that_of_a_started_one(is_forked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(POOL, "is_off", not is_forked)
    wrong = subprocess.run((*START, "--no-such-option"), capture_output=True, check=False, timeout=PATIENCE_S)
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"--no-such-option" in wrong.stderr
    version = subprocess.run((*START, "--version"), capture_output=True, check=False, timeout=PATIENCE_S)
    assert (version.returncode, version.stderr) == (0, b"")
    assert version.stdout.startswith(b"fileops-server ")
    with open("/dev/full", "wb") as full:  # what is still to be written at the end, and cannot be
        unwritten = subprocess.run((*START, "--version"), stdout=full, check=False, timeout=PATIENCE_S)
    assert unwritten.returncode == 1
    for number in (signal.SIGKILL, signal.SIGUSR1):  # a shell's background job ignores SIGINT and SIGQUIT
        client = RawClient(DAEMON)
        client.initialize()
        client.process.send_signal(number)
        assert client.wait() == -number
        client.close()


def test_start_that_cannot_be_repeated_is_a_real_one(tmp_path: Path) -> None:
    """A variable that the interpreter reads: it finds a module that the warm process would not have looked for."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stderr.write('a start of the interpreter')\n")
    done = subprocess.run(
        (*START, "--version"),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stderr == b"a start of the interpreter"


def test_start_by_another_interpreter_is_a_real_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run((*START, "--version"), capture_output=True, check=True, timeout=PATIENCE_S)
    missing = str(tmp_path / "python")
    monkeypatch.setattr(sys, "executable", missing)
    with pytest.raises(FileNotFoundError):
        subprocess.run((missing, *START[1:], "--version"), check=False, timeout=PATIENCE_S)


def test_forked_processes_give_their_edits_different_ids(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    ids: set[str] = set()
    for n in range(3):
        file.write_text("one\n")
        with raw_client() as client:
            client.initialize(rootUri=tmp_path.as_uri())
            client.read(file)
            ids.add(client.result("fileops/edit", edit_of(file, "one", str(n)))["details"]["edit_id"])
            assert client.shut_down() == 0
    assert len(ids) == 3


@pytest.mark.parametrize("n_th", [1, 2, 3])
def test_processes_of_other_variables_are_forked_from_a_server_of_their_own(n_th: int, tmp_path: Path) -> None:
    """What the interpreter finds by PYTHONPATH. The first process is a real start, the third one is forked."""
    del n_th
    file = tmp_path / "data.json"
    file.write_text("[1]\n")
    command = (*DAEMON, "--validator", "json-syntax=my_plugin:json_syntax")
    with raw_client(command, env={"PYTHONPATH": str(SOURCES)}) as client:
        client.initialize(initializationOptions={"validators": ["json-syntax"]})
        client.read(file)
        assert client.result("fileops/edit", edit_of(file, "]", ""))["error"]["code"] == "validation_failed"
        assert client.shut_down() == 0
