"""What a start finds of a dead daemon: in the workspace folders and roots before anybody asks for a file there."""

import os
import subprocess
import time
from pathlib import Path

from faults.injection import Action, Shim, Spot, daemon
from faults.stage import SCENES
from support.rawclient import PATIENCE_S

DEAD = ".fileops-999999999-0-0123456789ab.tmp"


def wait_for(folder: str, names: list[str]) -> None:
    until = time.monotonic() + PATIENCE_S
    while sorted(os.listdir(folder)) != names:
        assert time.monotonic() < until, os.listdir(folder)
        time.sleep(0.005)


def test_temp_files_in_workspace_folders_and_roots_are_removed_at_the_start(folder: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for place in (folder, root):
        Path(f"{place}/{DEAD}").write_bytes(b"half")
    with daemon(folder, roots=[str(root)]):
        wait_for(folder, [])
        wait_for(str(root), [])


def test_torn_file_in_a_workspace_folder_is_recovered_at_the_start(shim: Shim, folder: str) -> None:
    scene = SCENES["edit-in-place"]
    scene.prepare(folder)
    with daemon(folder, env=shim.environment) as client:
        client.result("fileops/read", {"file_path": scene.path(folder)})
        shim.arm(Action.KILL_HALF, Spot(name=scene.change))
        client.request(scene.method, scene.params(folder))
        assert client.wait() == -9
    assert scene.fault(folder, may_be_new=True) is not None
    with daemon(folder):
        wait_for(folder, ["file.txt", "twin"])
    assert scene.fault(folder, may_be_new=False) is None


def test_invalid_folders_are_ignored(folder: str) -> None:
    with daemon(folder, f"{folder}/missing", roots=["/proc/self/root", "/dev/null", folder + "/../work"]) as client:
        assert client.result("fileops/tracked", {}) == {"files": []}


def test_two_daemons_starting_at_once_do_not_disturb_each_other(folder: str) -> None:
    """The temporary file of one that lives is none of the other's business."""
    with subprocess.Popen(["sleep", "60"]) as living:
        start = Path(f"/proc/{living.pid}/stat").read_text().rpartition(")")[2].split()[19]
        name = f".fileops-{living.pid}-{_in_base_36(int(start))}-0123456789ab.tmp"
        Path(f"{folder}/{name}").write_bytes(b"half")
        Path(f"{folder}/{DEAD}").write_bytes(b"half")
        with daemon(folder):
            wait_for(folder, [name])
        living.kill()
    with daemon(folder):
        wait_for(folder, [])


def _in_base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits
