"""kill -9 of the shared daemon at every step of an attach and of an edit: the next daemon serves, and there is one.

By default a sample of the steps; all of them with FILEOPS_FAULTS=all. How a starter is killed: see
test_start_of_shared_daemon.py.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot
from faults.stage import SCENES
from fileops.attach.mcp_pump import LOST_TEXT
from support.daemon_process import FILEOPS, Place, attached
from support.mcp_client import McpClient, mcp_client, texts_of
from support.patience import PATIENCE_S, wait_until
from support.rawclient import RawClient

# Attaches as a pump does; before its n-th call the daemon is killed. 3: there are no n calls.
ATTACHING = """
import os, signal, socket, struct, sys, time
daemon, n_left = int(sys.argv[1]), int(sys.argv[2])
def is_running():
    try:
        return open(f"/proc/{daemon}/stat").read().rpartition(")")[2][1] != "Z"
    except FileNotFoundError:
        return False
def killing(call):
    def counted(*arguments, **named):
        global n_left
        n_left -= 1
        if n_left == 0:
            os.kill(daemon, signal.SIGKILL)
            while is_running():
                time.sleep(0.001)
        return call(*arguments, **named)
    return counted
for owner, names in ((os, "lstat open close"), (socket.socket, "connect setsockopt settimeout sendall recv")):
    for name in names.split():
        setattr(owner, name, killing(getattr(owner, name)))
from fileops.attach.address import find_address
from fileops.attach.handshake import AttachRequest, attach_line
from fileops.attach.starter import attach
line = attach_line(AttachRequest(version="0", protocol="lsp", role="agent", host="probe", cwd="/"))
attached = attach(find_address(None, os.environ), line)
assert attached.answer.is_ok, attached.answer
os._exit(0 if n_left <= 0 else 3)
"""
MAX_STEPS = 60
STEP = 1 if IS_COMPLETE else 3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


def lose(here: Place) -> None:
    """Kill the daemon, which may be stopped."""
    (pid,) = here.daemons()
    os.kill(pid, signal.SIGKILL)
    here.wait_for_end(pid)


def hold(here: Place) -> None:
    """What is sent from now on is not received."""
    (pid,) = here.daemons()
    os.kill(pid, signal.SIGSTOP)


def check_served(here: Place, file: Path) -> None:
    """The next client is served, by one daemon."""
    with attached(here, "attach") as client:
        client.initialize(rootUri=file.parent.as_uri())
        assert client.read(file)["status"] == "success"
        edit = {"file_path": str(file), "old_string": "one", "new_string": "1"}
        assert client.result("fileops/edit", edit)["status"] == "success"
        assert here.daemons() == [here.status()["pid"]]
    assert {path.name for path in here.folder.iterdir()} == {"a.sock", "a.lock", "a.json", "state"}


def test_daemon_killed_at_any_step_of_an_attach_is_replaced_by_one(here: Place) -> None:
    n_killed = 0
    for n in range(1, MAX_STEPS, STEP):
        daemon = here.start()
        client = [sys.executable, "-c", ATTACHING, str(daemon), str(n)]
        done = subprocess.run(client, env=here.process_env, timeout=PATIENCE_S, capture_output=True, check=False)
        assert done.returncode in {0, 3}, f"step {n}: {done.stderr}"
        next_one = here.start()  # one may run: the daemon can be killed after its answer
        assert next_one == here.status()["pid"], f"step {n}"
        if done.returncode == 3:
            break
        assert next_one != daemon
        n_killed += 1
        lose(here)
    else:
        pytest.fail("an attach has more steps than were tried")
    assert n_killed >= 3


# --- in a session -------------------------------------------------------------------------------------------------


def _before_hello_is_answered(here: Place, file: Path, stack: contextlib.ExitStack) -> list[RawClient]:
    """The pump has connected and sent its line, which is not read. It attaches to the next daemon by itself."""
    here.start()
    hold(here)
    pump = stack.enter_context(attached(here, "attach"))
    wait_until_connected(pump)
    lose(here)
    pump.initialize(rootUri=file.parent.as_uri())
    assert pump.read(file)["status"] == "success"
    return []


def _in_initialize(here: Place, file: Path, stack: contextlib.ExitStack) -> list[RawClient]:
    here.start()
    pump = stack.enter_context(attached(here, "--shared"))
    wait_until(lambda: here.status()["connections"])
    hold(here)
    pump.request("initialize", {"processId": None, "rootUri": file.parent.as_uri(), "capabilities": {}})
    lose(here)
    return [pump]


def _in_initialized(here: Place, file: Path, stack: contextlib.ExitStack) -> list[RawClient]:
    here.start()
    pump = stack.enter_context(attached(here, "--shared"))
    pump.call("initialize", {"processId": None, "rootUri": file.parent.as_uri(), "capabilities": {}})
    hold(here)
    pump.notify("initialized", {})
    lose(here)
    return [pump]


def _in_the_first_request(here: Place, file: Path, stack: contextlib.ExitStack) -> list[RawClient]:
    here.start()
    pump = stack.enter_context(attached(here, "attach"))
    pump.initialize(rootUri=file.parent.as_uri())
    hold(here)
    pump.request("fileops/read", {"file_path": str(file)})
    lose(here)
    return [pump]


def _in_an_approval(here: Place, file: Path, stack: contextlib.ExitStack) -> list[RawClient]:
    here.start()
    editor = stack.enter_context(attached(here, "--shared"))
    editor.initialize(
        {"experimental": {"fileops": {"confirm_edit": True}}},
        rootUri=file.parent.as_uri(),
        initializationOptions={"ask": "each_edit"},
    )
    agent = stack.enter_context(attached(here, "attach"))
    agent.initialize(rootUri=file.parent.as_uri())
    agent.read(file)
    agent.request("fileops/edit", {"file_path": str(file), "old_string": "two", "new_string": "2"})
    question = editor.question("fileops/confirmEdit")
    lose(here)
    with contextlib.suppress(BrokenPipeError):
        editor.reply(question["id"], {"outcome": "proceed_once"})  # too late
    return [editor, agent]


@pytest.mark.parametrize(
    "step", [_before_hello_is_answered, _in_initialize, _in_initialized, _in_the_first_request, _in_an_approval]
)
def test_daemon_killed_in_a_session_ends_its_pumps_and_the_next_one_serves(
    here: Place, file: Path, step: Callable[[Place, Path, contextlib.ExitStack], list[RawClient]]
) -> None:
    with contextlib.ExitStack() as stack:
        for pump in step(here, file, stack):
            assert pump.wait() == 1
            assert "The shared daemon is gone." in pump.stderr
        assert file.read_text() == "one\ntwo\n"
        check_served(here, file)


def wait_until_connected(pump: RawClient) -> None:
    """Until the pump has sent its line: the daemon has not accepted, so only the pump's own descriptors show it."""
    descriptors = Path(f"/proc/{pump.process.pid}/fd")
    wait_until(lambda: any(_link(path).startswith("socket:") for path in descriptors.iterdir()))


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


# --- in a commit --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def foreground(here: Place, env: dict[str, str]) -> Generator["subprocess.Popen[bytes]"]:
    """A daemon under the shim; a client that starts one gives it nothing of its environment."""
    command = (*FILEOPS, "daemon", "--socket", str(here.socket))
    with subprocess.Popen(command, env={**here.process_env, **env}, stderr=subprocess.DEVNULL) as daemon:
        try:
            while here.run("status").returncode != 0:
                assert daemon.poll() is None
            yield daemon
        finally:
            daemon.kill()


def multi_edit(agent: McpClient, wishes: dict[str, Any], path: str) -> Any:
    if "edits" in wishes:
        return agent.start_tool("MultiEdit", file_path=path, **wishes)
    return agent.start_tool("Edit", file_path=path, **wishes)


KILLS = {
    "half written": (Action.KILL_HALF, Spot(name="write")),
    "before the name": (Action.KILL, Spot(name="rename")),
    "after the name": (Action.KILL, Spot(name="fsync", behind="rename")),
}


@pytest.mark.parametrize("moment", list(KILLS))
def test_shared_daemon_killed_in_a_commit_leaves_a_whole_file_and_a_live_agent(
    shim: Shim, folder: str, here: Place, moment: str
) -> None:
    scene, (action, spot) = SCENES["edit-swap"], KILLS[moment]
    scene.prepare(folder)
    path = scene.path(folder)
    with foreground(here, shim.environment) as daemon, mcp_client(Path(folder), env=here.env) as agent:
        agent.begin()
        agent.tool("Read", file_path=path)
        shim.arm(action, spot)
        answer = agent.answer(multi_edit(agent, scene.wishes, path))["result"]
        shim.disarm()
        assert (texts_of(answer), answer["isError"]) == ([LOST_TEXT], True)
        assert daemon.wait(PATIENCE_S) == -signal.SIGKILL
        agent.tool("Read", file_path=path)
        assert (fault := scene.fault(folder, may_be_new=True, with_time=False)) is None, fault
        is_done = scene.content(folder) == scene.new
        again = agent.answer(multi_edit(agent, scene.wishes, path))["result"]
        assert bool(again.get("isError")) is is_done  # its words are gone then
        assert here.daemons() == [here.status()["pid"]]
    assert scene.content(folder) == scene.new


@pytest.mark.parametrize(
    ("spot", "is_done"),
    [(Spot(name="write"), False), (Spot(name="fsync", behind="rename"), True)],
    ids=["before the commit", "after it"],
)
def test_sigterm_with_an_edit_in_flight_finishes_or_refuses_it(
    shim: Shim, folder: str, here: Place, spot: Spot, *, is_done: bool
) -> None:
    scene = SCENES["edit-swap"]
    scene.prepare(folder)
    path = scene.path(folder)
    with foreground(here, shim.environment) as daemon, attached(here, "attach") as agent:
        agent.initialize(rootUri=Path(folder).as_uri())
        agent.read(path)
        shim.arm(Action.WAIT, spot)
        call = agent.request(scene.method, scene.params(folder))
        assert shim.wait_until_held(agent, call)
        daemon.terminate()
        wait_until(lambda: "retiring" in status_or_end(here))
        shim.release()
        answer = agent.answer(call)
        assert daemon.wait(PATIENCE_S) == 0
        assert agent.wait() == 0
    assert ("result" in answer and answer["result"]["status"] == "success") is is_done, answer
    assert (fault := scene.fault(folder, may_be_new=is_done, may_be_old=not is_done)) is None, fault
    assert not here.socket.exists()


def status_or_end(here: Place) -> str:
    """What a client that attaches now is answered."""
    from fileops.attach.address import find_address
    from fileops.attach.handshake import AttachRequest, attach_line
    from fileops.attach.starter import NotAttached, ask

    line = attach_line(AttachRequest(version="0", protocol="lsp", role="agent", host="probe", cwd="/"))
    try:
        attached_now = ask(find_address(str(here.socket), {}), line, 2.0)
    except NotAttached:
        return "retiring"
    if attached_now is None:  # it does not listen any more
        return "retiring"
    attached_now.connection.close()
    return attached_now.answer.reason
