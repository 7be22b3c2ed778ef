"""A shared daemon that hangs: its clients are served without it, and end when their hosts do."""

import fcntl
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fileops.attach import starter
from fileops.attach.address import find_address
from fileops.attach.handshake import control_line
from fileops.mcp.texts import instructions
from support.daemon_process import Place, attached, suspend
from support.mcp_client import mcp_client
from support.patience import wait_until

SILENT = "The shared daemon did not answer within 2 s. `fileops-server status --stop --now` ends it. "
PRIVATE = "This session is served privately: other agents and editors do not take part in it."
PIPE_BYTES = 1 << 12
FULL_S = 1.0  # a pipe that takes nothing for so long is full: the pump reads no more

# As a starter does it: it listens, a client comes, and only then the daemon listens, which is busy at first.
BUSY_DAEMON = """
import os, select, socket, sys, time
from fileops.attach.handshake import control_answer_line
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen(9)
print(flush=True)
select.select([listening], [], [])
if os.fork() == 0:
    listening.listen(9)
    while time.process_time() < 0.8:
        pass
    while True:
        connection, _ = listening.accept()
        if connection.recv(4096):
            connection.sendall(control_answer_line())
            break
    os._exit(0)
os.wait()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


def stop(here: Place) -> int:
    """A daemon that is stopped accepts no connection and answers nothing."""
    (pid,) = here.daemons()
    suspend(pid)
    return pid


def test_agent_is_served_privately_if_the_daemon_hangs(here: Place, file: Path) -> None:
    here.start()
    pid = stop(here)
    with mcp_client(file.parent, env=here.env) as agent:
        told = agent.begin()["instructions"]
        assert told == f"{instructions(has_undo=False)}\n{SILENT}{PRIVATE}"
        assert f"fileops-server: {SILENT}{PRIVATE}\n" in agent.stderr
        assert not agent.tool("Read", file_path=str(file)).get("isError")
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: here.status()["private"])
        (private,) = here.status()["private"]
        assert (private["pid"], private["reason"]) == (agent.process.pid, "silent")
        assert here.status()["connections"] == []


def test_editor_is_served_privately_if_the_daemon_hangs(here: Place, file: Path) -> None:
    here.start()
    stop(here)
    log = here.folder / "editor.log"
    with attached(here, "--log-file", str(log), "--shared") as editor:
        editor.initialize()
        assert editor.notification("window/showMessage")["message"] == f"fileops-server: {SILENT}{PRIVATE}"
        assert editor.read(file)["status"] == "success"
        assert SILENT + PRIVATE in log.read_text()


@pytest.mark.parametrize("command", [("--shared",), ("attach",), ("mcp",)])
def test_end_of_input_ends_a_client_that_waits_for_a_daemon(here: Place, command: tuple[str, ...]) -> None:
    """Nothing was written, so nothing needs the daemon: not the one that another program seems to start either."""
    with open(here.socket.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with attached(here, *command) as client:
            client.close_stdin()
            client.wait()
            assert "The client ended its input before the shared daemon answered." in client.stderr
    assert here.daemons() == []


def test_requests_before_the_end_of_input_are_served_privately_if_the_daemon_hangs(here: Place, tmp_path: Path) -> None:
    here.start()
    stop(here)
    with mcp_client(tmp_path, env=here.env) as agent:
        ping = agent.request("ping")
        agent.close_stdin()
        assert agent.answer(ping)["result"] == {}
        assert agent.wait() == 0


@pytest.mark.parametrize("fills", [False, True], ids=["idle", "back-pressure"])
def test_end_of_input_ends_the_pump_of_a_daemon_that_hangs(here: Place, *, fills: bool) -> None:
    """While the daemon takes nothing, the pump reads nothing of its client, and must see the end nevertheless."""
    with attached(here) as client:
        client.initialize()
        stop(here)
        if fills:
            assert client.process.stdin is not None
            os.set_blocking(stdin := client.process.stdin.fileno(), False)
            while select.select([], [stdin], [], FULL_S)[1]:
                client.process.stdin.write(b"x" * PIPE_BYTES)
        client.close_stdin()
        assert client.wait() == 1
        assert "The shared daemon does not answer, so its last answers are lost." in client.stderr


def test_daemon_that_hangs_refuses_detach_with_what_to_do(here: Place) -> None:
    here.start()
    stop(here)
    done = here.run("daemon", "--detach")
    assert (done.returncode, done.stderr.decode()) == (1, f"fileops-server: {SILENT.strip()}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not name the process that listens")
def test_daemon_that_is_busy_after_its_start_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says of a connection who listened when it was made: the starter, which by then does nothing."""
    monkeypatch.setattr(starter, "ANSWER_S", 0.1)
    folder = tmp_path / "run"
    folder.mkdir(0o700)
    address = find_address(str(folder / "a.sock"), os.environ)
    with subprocess.Popen([sys.executable, "-c", BUSY_DAEMON, address.socket], stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        attached = starter.attach(address, control_line("status"))
        attached.connection.close()
    assert attached.answer.is_ok
