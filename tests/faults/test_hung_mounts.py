"""A folder on a mount that hangs (sshfs, stopped) in a shared daemon: its client waits, and no other client does."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.daemon_process import Place, attached
from support.mcp_client import mcp_client
from support.patience import PATIENCE_S, wait_until
from support.rawclient import Message, RawClient, edit_of
from support.sshd import Sshd

SOON_S = 30.0  # for what does not wait for the mount: the mount answers only when the test lets it


@dataclass(frozen=True)
class Mount:
    """A folder with a file on a filesystem in user space."""

    folder: Path
    pid: int

    @property
    def file(self) -> Path:
        return self.folder / "f.txt"

    def hang(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "local").mkdir()
    path = tmp_path / "local" / "f.txt"
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
def mount(sshd: Sshd, tmp_path: Path, here: Place) -> Generator[Mount]:
    """After `here`: when the test ends it answers again before the daemons are ended."""
    del here
    if shutil.which("sshfs") is None or shutil.which("fusermount3") is None:
        reason = "sshfs is not installed (Debian: apt install sshfs)"
        if os.environ.get("FILEOPS_REQUIRE_SSHFS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    if not os.path.exists("/dev/fuse"):
        pytest.skip("this machine has no FUSE")
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    (far / "project").mkdir()
    (far / "project" / "f.txt").write_text("one\ntwo\n")
    *ssh, host = sshd.ssh
    no_cache = "cache=no,dcache_timeout=0,entry_timeout=0,attr_timeout=0,negative_timeout=0"
    command = ["sshfs", "-f", f"{host}:{far}", str(near), "-o", f"ssh_command={' '.join(ssh)}", "-o", no_cache]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    wait_until(lambda: os.path.ismount(near) or process.poll() is not None)
    if process.poll() is not None:
        assert process.stderr is not None
        pytest.skip(f"sshfs cannot be mounted here: {process.stderr.read()[:200]!r}")
    try:
        yield Mount(near / "project", process.pid)
    finally:
        process.send_signal(signal.SIGCONT)
        subprocess.run(["fusermount3", "-u", "-z", str(near)], check=False, capture_output=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def answer_soon(client: RawClient, method: str, params: object) -> Message:
    msg_id = client.request(method, params)
    return client.claim(lambda message: message.get("id") == msg_id and "method" not in message, SOON_S)


def check_not_delayed(client: RawClient, file: Path) -> None:
    """Reads, edits and notices of a local file."""
    read = {"file_path": str(file)}
    assert "result" in answer_soon(client, "fileops/read", read)
    edited = answer_soon(client, "fileops/edit", edit_of(file, "one", "1"))
    assert edited["result"]["error"] is None, edited
    assert answer_soon(client, "fileops/edit", edit_of(file, "1", "one"))["result"]["error"] is None
    client.received.clear()
    file.write_text("one\ntwo\nthree\n")
    stale = client.claim(lambda message: message.get("method") == "fileops/didBecomeStale", SOON_S)
    assert stale["params"]["file_path"] == str(file)
    os.utime(file)


@contextlib.contextmanager
def local_client(here: Place, file: Path) -> Generator[RawClient]:
    with attached(here, "attach", "--host", "local") as client:
        client.initialize(rootUri=file.parent.as_uri())
        check_not_delayed(client, file)
        yield client


def _agent(here: Place, mount: Mount) -> contextlib.AbstractContextManager[RawClient]:
    @contextlib.contextmanager
    def client() -> Generator[RawClient]:
        with attached(here, "attach", "--host", "far") as agent:
            agent.request("initialize", {"processId": None, "rootUri": mount.folder.as_uri(), "capabilities": {}})
            agent.notify("initialized", {})
            agent.request("fileops/read", {"file_path": str(mount.file)}, msg_id="far")
            yield agent

    return client()


def _editor(here: Place, mount: Mount) -> contextlib.AbstractContextManager[RawClient]:
    @contextlib.contextmanager
    def client() -> Generator[RawClient]:
        with attached(here, "--shared", "--host", "far") as editor:
            editor.request("initialize", {"processId": None, "rootUri": mount.folder.as_uri(), "capabilities": {}})
            editor.notify("initialized", {})
            document = {"uri": mount.file.as_uri(), "languageId": "text", "version": 1, "text": "one\nTWO\n"}
            editor.notify("textDocument/didOpen", {"textDocument": document})
            editor.request("fileops/read", {"file_path": str(mount.file)}, msg_id="far")
            yield editor

    return client()


def _host(here: Place, mount: Mount) -> contextlib.AbstractContextManager[RawClient]:
    @contextlib.contextmanager
    def client() -> Generator[RawClient]:
        with mcp_client(Path("/"), env={**here.env, "CLAUDE_PROJECT_DIR": str(mount.folder)}) as host:
            host.begin()
            params = {"name": "Edit", "arguments": edit_of(mount.file)}
            host.request("tools/call", params, msg_id="far")
            yield host

    return client()


Client = Callable[[Place, Mount], contextlib.AbstractContextManager[RawClient]]


@pytest.mark.parametrize("kind", [_agent, _editor, _host], ids=["agent", "editor", "MCP host"])
def test_opening_a_folder_on_a_hung_mount_delays_no_other_client(
    here: Place, file: Path, mount: Mount, kind: Client
) -> None:
    with local_client(here, file) as local:
        mount.hang()
        with kind(here, mount) as far:
            wait_for_threads(here)
            check_not_delayed(local, file)
            assert not any(message.get("id") == "far" for message in far.received)
            mount.go_on()
            assert "result" in far.answer("far")


def test_tracked_files_on_a_hung_mount_delay_no_other_notices(here: Place, file: Path, mount: Mount) -> None:
    with attached(here, "attach", "--host", "far") as far, local_client(here, file) as local:
        far.initialize(rootUri=mount.folder.as_uri())
        assert far.read(mount.file)["status"] == "success"
        mount.hang()
        wait_for_threads(here)
        check_not_delayed(local, file)
        mount.go_on()
        (mount.folder / "f.txt").write_text("changed\n")
        far.claim(lambda message: message.get("method") == "fileops/didBecomeStale")


def wait_for_threads(here: Place) -> None:
    """Until a thread of the daemon waits for the mount."""
    (pid,) = here.daemons()
    until = time.monotonic() + PATIENCE_S
    while not any("fuse" in _wait_of(path) for path in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < until, "no thread of the daemon waits for the mount"
        time.sleep(0.01)


def _wait_of(task: Path) -> str:
    try:
        return (task / "wchan").read_text() + (task / "stack").read_text()
    except OSError:
        return ""


def folders_of(client: RawClient) -> dict[str, tuple[str, str | None]]:
    """The state of each recorded folder, and its reason."""
    status = client.result("fileops/recordStatus", {})
    return {folder["root"]: (folder["state"], folder["reason"]) for folder in status["folders"]}


def recorded_texts(client: RawClient, file: Path) -> list[str | None]:
    entries = client.result("fileops/log", {"file_path": str(file)})["entries"]
    return [client.result("fileops/entry", {"entry_id": entry["entry_id"]})["after_text"] for entry in entries]


def message_of(client: RawClient, words: str) -> str:
    shown = client.claim(
        lambda message: message.get("method") == "window/showMessage" and words in message["params"]["message"]
    )
    return shown["params"]["message"]


def test_record_of_a_hung_mount_ends_until_it_answers_and_delays_no_other(
    here: Place, file: Path, mount: Mount
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=file.parent.parent / "far" / "project", check=True)
    subprocess.run(["git", "add", "."], cwd=file.parent.parent / "far" / "project", check=True)
    with attached(here, "--shared", "--host", "local") as local, attached(here, "--shared", "--host", "far") as far:
        local.initialize(rootUri=file.parent.as_uri())
        far.initialize(rootUri=mount.folder.as_uri())
        both = {str(file.parent): ("on", None), str(mount.folder): ("on", None)}
        wait_until(lambda: folders_of(local) == both)
        mount.hang()
        wait_until(lambda: folders_of(local) == {**both, str(mount.folder): ("off", "hangs")})
        assert str(mount.folder) in message_of(far, "are not recorded at present")
        file.write_text("one\ntwo\nthree\n")
        wait_until(lambda: recorded_texts(local, file) == ["one\ntwo\nthree\n"])
        mount.go_on()
        wait_until(lambda: folders_of(local) == both)
        assert str(mount.folder) in message_of(far, "are recorded again")
        mount.file.write_text("changed\n")
        wait_until(lambda: recorded_texts(far, mount.file) == ["changed\n"])
    assert not [message for message in local.received if message.get("method") == "window/showMessage"]


def test_log_of_a_folder_that_is_not_recorded_says_why(here: Place, tmp_path: Path, mount: Mount) -> None:
    """The folder is on a disk that answers, and the mount is in it."""
    mount.hang()
    with attached(here, "--shared", "--host", "nvim") as editor:
        editor.initialize(rootUri=tmp_path.as_uri())
        wait_until(lambda: folders_of(editor) == {str(tmp_path): ("off", "hangs")})
        done = here.run("log", cwd=tmp_path)
        assert done.stderr.decode() == (
            f"{tmp_path} is not recorded at present: its disk does not answer. Changes made now will not be known.\n"
        )
        assert done.returncode == 0
        mount.go_on()
