"""The shared daemon as processes: where it is, how it starts and ends, and whom it refuses."""

import ctypes
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fileops.attach import handshake
from fileops.daemon.peer import peer_of, refusal_of
from support import scripted_language_server
from support.children import NOBODY, as_root, in_child
from support.daemon_process import FILEOPS, Place, attached, suspend
from support.patience import PATIENCE_S, wait_until
from support.rawclient import RawClient, has_ended

OTHER_ATTACH_VERSION = """
import sys
from fileops.attach import handshake
handshake.ATTACH = 2
from fileops.cli import main
sys.exit(main(["daemon"]))
"""
PR_SET_NO_NEW_PRIVS = 38
AS_SYSTEMD_DOES = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.executable, [sys.executable, "-m", "fileops", "daemon", "--idle-s", sys.argv[2]])
"""
# Listens, and says when a client has connected; it leaves the second one to the daemon that is started then.
AS_STARTERS_DO = """
import select, socket, sys
listening = socket.socket(fileno=int(sys.argv[1]))
listening.listen()
print("listens", flush=True)
listening.accept()
print("connected", flush=True)
select.select([listening], [], [])
print("connected again", flush=True)
sys.stdin.read()
"""
N_STARTERS = 50


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


def say(made: Place, line: bytes) -> tuple[socket.socket, dict[str, object]]:
    """Connect without a pump, and exchange the first lines."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE_S)
    connection.connect(str(made.socket))
    connection.sendall(line)
    answer = connection.makefile("rb").readline()
    return connection, json.loads(answer)


def attach_line(**changes: object) -> bytes:
    fields = handshake.AttachRequest(version="0.0.1", protocol="lsp", role="agent", host="probe", cwd="/")._asdict()
    return json.dumps({"fileops_attach": 1, **fields, **changes}).encode() + b"\n"


# --- start --------------------------------------------------------------------------------------------------------


def test_first_client_starts_the_daemon_and_the_next_one_shares_it(here: Place, file: Path) -> None:
    with attached(here, "--shared", "--host", "nvim") as editor, attached(here, "attach") as agent:
        for client in (editor, agent):
            client.initialize(rootUri=file.parent.as_uri())
            assert client.read(file)["status"] == "success"
        described = here.status()
        assert len(here.daemons()) == 1
        clients = {client["name"]: client for client in described["connections"]}
        assert set(clients) == {"nvim-1", "agent-1"}
        assert (clients["nvim-1"]["role"], clients["agent-1"]["role"]) == ("editor", "agent")
        assert clients["nvim-1"]["pid"] == editor.process.pid
        assert (clients["nvim-1"]["label"], clients["agent-1"]["labels"]) == ("Neovim", ["agent"])
        shown = here.run("status").stdout.decode()
        assert "  Neovim  editor, lsp, process" in shown
        assert "nvim-1" not in shown
        assert (editor.shut_down(), agent.shut_down()) == (0, 0)
    assert here.status()["connections"] == []


def test_file_that_a_second_client_creates_has_its_umask(here: Place, file: Path) -> None:
    with ExitStack() as held:
        clients: dict[int, RawClient] = {}
        before = os.umask(0o022)
        held.callback(os.umask, before)
        for umask in (0o022, 0o077):
            os.umask(umask)
            clients[umask] = held.enter_context(attached(here, "attach"))
            clients[umask].initialize(rootUri=file.parent.as_uri())
        assert len(here.daemons()) == 1
        for umask, client in clients.items():
            new = file.with_name(f"made-{umask}")
            client.result("fileops/edit", {"file_path": str(new), "old_string": "", "new_string": "new\n"})
            assert new.stat().st_mode & 0o777 == 0o666 & ~umask


def test_status_shows_the_language_servers_that_were_started(here: Place, file: Path) -> None:
    program = str(scripted_language_server.__file__)
    named = {"name": "scripted", "command": [sys.executable, "-I", "-S", program, "{}"], "globs": ["*.txt"]}
    with attached(here, "attach") as agent:
        options = {"diagnostics": "details", "language_servers": [named]}
        agent.initialize(rootUri=file.parent.as_uri(), initializationOptions=options)
        assert here.status()["language_servers"] == []
        assert agent.read(file)["status"] == "success"
        wait_until(lambda: [one["state"] for one in here.status()["language_servers"]] == ["running"])
        (server,) = here.status()["language_servers"]
        assert (server["name"], server["root"], server["n_ends"]) == ("scripted", str(file.parent), 0)
        assert Path(f"/proc/{server['pid']}/cmdline").read_bytes().split(b"\0")[3] == program.encode()
        shown = here.run("status").stdout.decode()
        assert f"1 language server\n  scripted  running, process {server['pid']}, " in shown
        os.kill(server["pid"], signal.SIGKILL)
        wait_until(lambda: [one["state"] for one in here.status()["language_servers"]] == ["ended"])
        assert "  scripted  ended, ended by itself once in the last 10 minutes\n" in here.run("status").stdout.decode()
        agent.shut_down()


def test_changes_that_are_recorded_are_forwarded_to_the_language_servers(here: Place, file: Path) -> None:
    """R-DIAG-13"""
    log = here.folder / "said.log"
    program, behaviour = str(scripted_language_server.__file__), json.dumps({"log": str(log)})
    named = {"name": "scripted", "command": [sys.executable, "-I", "-S", program, behaviour], "globs": ["*.txt"]}
    root = file.parent
    with attached(here, "attach") as agent:
        options = {"diagnostics": "details", "language_servers": [named]}
        agent.initialize(rootUri=root.as_uri(), initializationOptions=options)
        assert agent.read(file)["status"] == "success"
        wait_until(lambda: log.exists() and "textDocument/didOpen" in log.read_text())
        wait_until(lambda: agent.result("fileops/recordStatus", {})["folders"][0]["state"] == "on")
        (root / "b.txt").write_text("new\n")
        file.write_text("changed by another program\n")

        def told() -> dict[str, list[int]]:
            found: dict[str, list[int]] = {}
            for line in log.read_text().splitlines():
                method, _, params = line.partition(" ")
                for event in json.loads(params)["changes"] if method == "workspace/didChangeWatchedFiles" else ():
                    found.setdefault(event["uri"].rpartition("/")[2], []).append(event["type"])
            return found

        wait_until(lambda: {"b.txt", file.name} <= told().keys())
        assert (told()["b.txt"][0], told()[file.name][0]) == (1, 2)  # created, changed
        (root / "b.txt").unlink()
        wait_until(lambda: told()["b.txt"][-1] == 3)  # deleted
        assert f'textDocument/didClose {{"textDocument": {{"uri": "{file.as_uri()}"}}}}' in log.read_text()
        agent.shut_down()


def test_checkout_by_a_person_is_no_problem_of_the_agents_next_edit(here: Place, tmp_path: Path) -> None:
    """R-DIAG-13, with basedpyright, which knows the files on the disk as it is told of them."""
    root = tmp_path.resolve() / "project"
    library, user = root / "library.py", root / "user.py"
    root.mkdir()
    library.write_text("def size() -> int:\n    return 1\n")
    user.write_text("import library\n\nx: int = library.size()\ny = 1\n")

    def git(*arguments: str) -> None:
        command = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "size without an argument")
    git("checkout", "-b", "other")
    library.write_text("def size(unit: str) -> int:\n    return len(unit)\n")
    git("commit", "-a", "-m", "size with an argument")
    git("checkout", "main")
    program = str(Path(sys.executable).parent / "basedpyright-langserver")
    named = {"name": "basedpyright", "command": [program, "--stdio"], "globs": ["*.py"]}
    options = {
        "diagnostics": "details",
        "diagnostics_wait_s": 30,
        "diagnostics_severity": "error",
        "language_servers": [named],
    }
    with attached(here, "attach", "--role", "editor") as person, attached(here, "attach") as agent:
        person.initialize(rootUri=root.as_uri())
        agent.initialize(rootUri=root.as_uri(), initializationOptions=options)
        agent.read(user)
        wait_until(lambda: [each["state"] for each in agent.result("fileops/recordStatus", {})["folders"]] == ["on"])

        def report_of(old: str, new: str) -> dict[str, Any]:
            edit = agent.result("fileops/edit", {"file_path": str(user), "old_string": old, "new_string": new})
            return edit["details"]["diagnostics"]

        wait_until(
            lambda: report_of("y = ", "y =  ")["state"] == "settled"
        )  # its start may take more than one report waits
        git("checkout", "other")
        wait_until(lambda: any(entry["path"] == str(library) for entry in person.result("fileops/log", {})["entries"]))
        report = report_of("y = ", "y =  ")
        assert (report["state"], report["introduced"], report["resolved"]) == ("settled", [], [])
        report = report_of("library.size()", 'library.size("m")')
        assert (report["state"], report["n_introduced"], report["n_resolved"]) == ("settled", 0, 1), report
        agent.shut_down()
        person.shut_down()


def test_fifty_starters_at_once_make_one_daemon(here: Place) -> None:
    env = {**os.environ, **here.env}
    starters = [subprocess.Popen((*FILEOPS, "daemon", "--detach"), env=env) for _ in range(N_STARTERS)]
    assert [starter.wait(PATIENCE_S) for starter in starters] == [0] * N_STARTERS
    assert here.daemons() == [here.status()["pid"]]
    assert here.log_text().count("listens at") == 1


def test_daemon_inherits_nothing_from_the_process_that_started_it(here: Place) -> None:
    secret = {"TOKEN": "secret", "PYTHONPATH": "/nowhere", "FILEOPS_PLUGIN_TIMEOUT_S": "11"}
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    done = here.run("daemon", "--detach", env=secret, close_fds=False, cwd=here.folder)
    os.close(writer)
    assert done.returncode == 0
    assert os.read(reader, 1) == b""  # nothing that outlives the starter holds its descriptors
    os.close(reader)
    pid = here.status()["pid"]
    process = Path(f"/proc/{pid}")
    environment = dict(entry.split("=", 1) for entry in (process / "environ").read_text().split("\0") if entry)
    assert environment.keys().isdisjoint({"TOKEN", "PYTHONPATH"})
    assert environment["FILEOPS_PLUGIN_TIMEOUT_S"] == "11"
    assert os.readlink(process / "cwd") == "/"
    assert os.getsid(pid) not in {pid, os.getsid(0)}  # a new session that it does not lead: no terminal
    assert os.readlink(process / "fd/0") == "/dev/null"
    assert os.readlink(process / "fd/2") == str(here.log)
    assert stat.S_IMODE(here.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(here.socket.stat().st_mode) == 0o600


def test_socket_of_a_dead_daemon_is_replaced(here: Place) -> None:
    os.kill(first := here.start(), signal.SIGKILL)
    here.wait_for_end(first)
    assert here.socket.exists()
    assert here.run("status").returncode == 1
    assert here.start() != first


def test_file_in_place_of_the_socket_is_left_alone(here: Place) -> None:
    here.socket.write_text("precious")
    done = here.run("--shared")
    assert done.returncode == 1
    assert b"is not a socket of this user" in done.stderr
    assert here.socket.read_text() == "precious"


@as_root
def test_socket_of_another_user_is_refused(here: Place) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(here.socket))
    listening.listen()
    os.chown(here.socket, 12345, -1)
    done = here.run("attach")
    listening.close()
    assert done.returncode == 1
    assert b"is not a socket of this user" in done.stderr


@as_root
@pytest.mark.parametrize("line", [attach_line(), handshake.control_line("status")], ids=["attach", "status"])
def test_process_of_another_user_is_refused(here: Place, line: bytes) -> None:
    """Also where the modes of the folder and of the socket would let it in."""
    here.start()
    here.folder.chmod(0o755)
    here.socket.chmod(0o777)

    def answer_to_other_user() -> dict[str, object]:
        connection, answer = say(here, line)
        connection.close()
        return answer

    answer = in_child(answer_to_other_user, uid=NOBODY).value
    assert isinstance(answer, dict)
    assert (answer["ok"], answer["reason"]) == (False, "uid")


@as_root
def test_root_is_another_user(here: Place) -> None:
    """As a daemon of another user sees a process of root."""
    of_root, other_end = socket.socketpair()  # the kernel notes who made it
    with of_root, other_end:
        assert in_child(lambda: refusal_of(of_root, peer_of(of_root)), uid=NOBODY).value == "uid"


@pytest.mark.parametrize(
    "command", [["--shared"], ["attach"], ["daemon"], ["daemon", "--detach"], ["status", "--stop"], ["status"]]
)
def test_folder_open_to_other_users_is_refused_by_every_command(here: Place, command: list[str]) -> None:
    here.folder.chmod(0o755)
    done = here.run(*command)
    assert done.returncode == 1
    assert b"mode 0755" in done.stderr + done.stdout
    assert here.daemons() == []
    assert not here.socket.exists()


def test_path_that_is_too_long_is_refused(here: Place) -> None:
    done = here.run("--shared", "--socket", str(here.folder / ("x" * 100)))
    assert done.returncode == 1
    assert b"too long" in done.stderr


def test_daemon_in_the_foreground_refuses_a_second_one(here: Place) -> None:
    pid = here.start()
    done = here.run("daemon")
    assert done.returncode == 1
    assert b"runs already" in done.stderr
    assert here.status()["pid"] == pid


def test_daemon_serves_the_socket_of_systemd_and_does_not_remove_it(here: Place) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(here.socket))
    listening.listen()
    command = [sys.executable, "-c", AS_SYSTEMD_DOES, str(listening.fileno()), "0.1"]
    with subprocess.Popen(command, env={**os.environ, **here.env}, pass_fds=[listening.fileno()]) as daemon:
        connection, answer = say(here, attach_line())
        assert answer["pid"] == daemon.pid
        connection.close()
        assert daemon.wait(PATIENCE_S) == 0
    assert here.socket.exists()
    listening.close()


# --- end ----------------------------------------------------------------------------------------------------------


def test_idle_daemon_ends_and_removes_its_files(here: Place) -> None:
    assert here.run("daemon", "--detach", "--idle-s", "0.1").returncode == 0
    for pid in here.daemons():
        here.wait_for_end(pid)
    assert {path.name for path in here.folder.iterdir()} == {"a.lock", "state"}
    assert here.log_text().endswith("ended\n")


def test_daemon_that_lost_its_socket_leaves_the_next_ones_alone(here: Place) -> None:
    first = here.start()
    here.socket.unlink()
    assert here.run("daemon", "--detach", "--idle-s", "600").returncode == 0
    (second,) = set(here.daemons()) - {first}
    os.kill(first, signal.SIGTERM)
    here.wait_for_end(first)
    assert json.loads((here.folder / "a.json").read_text())["pid"] == second
    assert here.status()["pid"] == second


def test_stop_lets_clients_finish_and_new_ones_are_served_privately(here: Place, file: Path) -> None:
    with attached(here) as present, attached(here) as newcomer:
        present.initialize()
        newcomer.close()
        pid = here.status()["pid"]
        assert b"ends when its client has left" in here.run("status", "--stop").stdout
        with attached(here) as later:
            later.initialize()
            assert "The shared daemon is ending. This session is served privately" in later.stderr
            shown = later.notification("window/showMessage")
            assert "served privately" in shown["message"]
            assert later.read(file)["status"] == "success"
        assert present.read(file)["status"] == "success"
        assert present.shut_down() == 0
    here.wait_for_end(pid)
    assert here.run("status", "--stop").returncode == 0


def test_stop_now_ends_the_sessions_and_their_pumps(here: Place) -> None:
    with attached(here) as client:
        client.initialize()
        pid = here.status()["pid"]
        assert here.run("status", "--stop", "--now").returncode == 0
        assert here.daemons() == []
        assert client.wait() == 0  # 1 after a crash: an editor that was not asked starts no daemon after 0
        assert "gone" not in client.stderr
    here.wait_for_end(pid)
    assert not here.socket.exists()


def test_daemon_that_hangs_is_reported_by_status_and_killed_by_stop_now(here: Place) -> None:
    suspend(pid := here.start())
    described = here.run("status", "--json")
    assert described.returncode == 1
    assert json.loads(described.stdout)["pid"] == pid
    assert "did not answer" in json.loads(described.stdout)["error"]
    assert here.run("status", "--stop", "--now").returncode == 0
    here.wait_for_end(pid)


def test_stop_now_ends_the_daemon_and_not_the_process_that_starts_it(here: Place) -> None:
    """Until the daemon listens, the kernel names its starter, or systemd, for the socket."""
    with socket.socket(socket.AF_UNIX) as listening, ExitStack() as processes:
        listening.bind(str(here.socket))

        def start(*command: str) -> subprocess.Popen[str]:
            fds, pipe = [listening.fileno()], subprocess.PIPE
            process = subprocess.Popen(command, env=here.process_env, pass_fds=fds, text=True, stdin=pipe, stdout=pipe)
            processes.enter_context(process)
            processes.callback(process.kill)  # where the test fails
            return process

        fd = str(listening.fileno())
        starter = start(sys.executable, "-c", AS_STARTERS_DO, fd)
        assert starter.stdin is not None and starter.stdout is not None
        assert starter.stdout.readline() == "listens\n"
        end_now = (*FILEOPS, "status", "--stop", "--now")
        stop = start(*end_now)
        assert starter.stdout.readline() == "connected\n"
        assert starter.stdout.readline() == "connected again\n"
        daemon = start(sys.executable, "-c", AS_SYSTEMD_DOES, fd, "600")
        if stop.wait(PATIENCE_S) != 0:  # on a busy machine the daemon may need longer to start than the command waits
            wait_until(lambda: start(*end_now).wait(PATIENCE_S) == 0)
        assert daemon.wait(PATIENCE_S) == 0
        assert starter.poll() is None


def test_daemon_older_than_a_client_ends_with_its_last_connection(here: Place) -> None:
    pid = here.start()
    connection, answer = say(here, attach_line(version="999.0"))
    other, _ = say(here, attach_line())
    assert answer["ok"] is True
    connection.close()
    assert here.status()["pid"] == pid
    other.close()
    here.wait_for_end(pid)
    assert "a newer version" in here.log_text()


# --- who is refused -----------------------------------------------------------------------------------------------


def test_client_of_another_attach_version_is_served_privately_and_seen_by_status(here: Place, file: Path) -> None:
    command = (sys.executable, "-c", OTHER_ATTACH_VERSION)
    with subprocess.Popen(command, env={**os.environ, **here.env}) as daemon:
        while here.run("status").returncode != 0:
            assert daemon.poll() is None
        with attached(here, "--shared", "--host", "nvim") as client:
            client.initialize()
            assert "attaches no clients of this version" in client.notification("window/showMessage")["message"]
            assert client.read(file)["status"] == "success"
            (private,) = here.status()["private"]
            assert (private["host"], private["reason"]) == ("nvim", "attach")
            assert private["pid"] == client.process.pid
            client.shut_down()
        assert here.status()["private"] == []
        daemon.terminate()


def test_process_with_no_new_privs_is_refused_and_served_privately(here: Place, file: Path) -> None:
    here.start()

    def confine() -> None:
        assert ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0

    _check_confined(here, file, [*FILEOPS, "--shared"], confine)


def test_process_in_other_namespaces_is_refused_and_served_privately(here: Place, file: Path) -> None:
    unshare = ["unshare", "--user", "--map-current-user", "--mount"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("unprivileged user namespaces are off, or there is no unshare(1)")
    here.start()
    _check_confined(here, file, [*unshare, *FILEOPS, "--shared"])


def _check_confined(here: Place, file: Path, command: list[str], confine: Callable[[], None] | None = None) -> None:
    before = here.log_text()
    client = RawClient(command, env=here.env, before_start=confine)
    try:
        client.initialize()
        assert "runs in another sandbox" in client.notification("window/showMessage")["message"]
        assert client.read(file)["status"] == "success"
        assert [private["reason"] for private in here.status()["private"]] == ["confined"]
        assert here.status()["connections"] == []
    finally:
        client.close()
    assert "is refused: it is confined by" in here.log_text().removeprefix(before)


def test_65th_client_is_refused(here: Place) -> None:
    here.start()
    open_connections = [say(here, attach_line()) for _ in range(64)]
    assert all(answer["ok"] for _, answer in open_connections)
    connection, answer = say(here, attach_line())
    assert (answer["ok"], answer["reason"]) == (False, "full")
    assert here.run("status").returncode == 0  # which is no client
    for each in (connection, *(one for one, _ in open_connections)):
        each.close()


def test_client_of_a_daemon_without_free_descriptors_is_refused_for_that(here: Place) -> None:
    """With so few that nothing can be looked up, and with a few more: it is served, or gets the true reason."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("limits of another process are Linux's")
    pid = here.start()
    first, _ = say(here, attach_line())  # what is opened once is open
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    reasons: list[object] = []
    opens: list[int] = []
    for n_free in range(8):
        n_open = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (n_open + n_free, hard))
        connection, answer = say(here, attach_line())
        reasons.append(answer.get("reason"))
        opens.append(n_open)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
        connection.close()
        wait_until(lambda: len(here.status()["connections"]) == 1)
    first.close()
    assert set(reasons) <= {"exhausted", None}, reasons
    assert reasons[0] == "exhausted"
    assert reasons[-1] is None
    assert len({n_open for n_open, reason in zip(opens, reasons, strict=True) if reason}) == 1  # nothing leaks
    assert "is confined by" not in here.log_text()


def test_thousand_attaches_leak_nothing(here: Place) -> None:
    """R-ATT-3. Short here: `python tests/bench/attach.py` makes more."""
    pid = here.start()

    def footprint() -> tuple[int, int, int]:
        process = Path(f"/proc/{pid}")
        fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
        return len(os.listdir(process / "fd")), int(fields["Threads"]), int(fields["RssAnon"].split()[0])

    def attach_often(times: int) -> None:
        for _ in range(times):
            connection, _ = say(here, attach_line())
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
            connection.close()

    attach_often(100)
    n_files, n_threads, kilobytes = footprint()
    attach_often(300)
    wait_until(lambda: footprint()[0] <= n_files)  # the last connections may be ending
    after = footprint()
    assert after[1] <= n_threads + 2  # and their threads
    assert after[2] - kilobytes < 1024


def test_end_of_the_host_ends_the_pump(here: Place) -> None:
    """A host that is killed leaves no pump: its end of the pipe closes."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("descriptors of processes are Linux's")
    script = (
        "import subprocess, sys, time; "
        "print(subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE).pid, flush=True); time.sleep(999)"
    )
    command = [sys.executable, "-c", script, *FILEOPS, "--shared"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **here.env}) as host:
        assert host.stdout is not None
        pump = os.pidfd_open(int(host.stdout.readline()))
        while not here.status().get("connections"):
            pass
        host.kill()
    assert has_ended(pump)
    os.close(pump)
