"""Real disks that are full or read-only, seen by the daemon alone: it runs with its own mounts."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from faults.stage import OLD, SCENES, Scene
from support.rawclient import DAEMON, RawClient, raw_client

DISKS = ("tmpfs", "ext4")
DiskOf = Callable[..., "Disk"]  # see `disk_of`


def reason_for_none(kind: str) -> str | None:
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        return "no mounts of one's own here"
    if kind == "ext4" and (os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or not os.path.exists("/dev/loop0")):
        return "no loop devices, no mkfs.ext4, or no right to them"
    return None


@dataclass(frozen=True, slots=True)
class Disk:
    """folder: as the daemon names it. here: the same place, seen from this process."""

    client: RawClient
    folder: str

    @property
    def here(self) -> str:
        return f"/proc/{self.client.process.pid}/root{self.folder}"

    def fill(self) -> None:
        """To the last block."""
        with contextlib.suppress(OSError), open(f"{self.here}/filler", "ab", buffering=0) as file:
            for size in (1 << 16, 512, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def empty(self) -> None:
        os.unlink(f"{self.here}/filler")


@dataclass(frozen=True, slots=True)
class Den:
    """A daemon with its own mounts. root: the workspace folder, below which the disks of the tests are mounted."""

    client: RawClient
    root: Path

    def run(self, script: str) -> None:
        """Shell, among the daemon's mounts."""
        own = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--preserve-credentials"]
        enter = ["nsenter", "--target", str(self.client.process.pid), *own]
        subprocess.run([*enter, "sh", "-e", "-c", script], check=True, capture_output=True)


@pytest.fixture(scope="module")
def den(tmp_path_factory: pytest.TempPathFactory) -> Generator[Den]:
    """One for all tests: a real start is much dearer than a mount."""
    root, state = tmp_path_factory.mktemp("disks"), tmp_path_factory.mktemp("state")
    own = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    with raw_client(("unshare", *own, *DAEMON), env={"XDG_STATE_HOME": str(state)}) as client:
        client.initialize(workspaceFolders=[{"uri": root.as_uri(), "name": "w"}])
        yield Den(client, root)


@pytest.fixture
def disk_of(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[DiskOf]:
    """Mounts a disk for this test."""
    with contextlib.ExitStack() as mounted:

        def mount(kind: str, *, prepare: str = "", options: str = "") -> Disk:
            """prepare: shell, in the mounted folder. options: it is mounted again with these after that."""
            reason = reason_for_none(kind)
            if options and os.geteuid() != 0:
                reason = "only root may mount it again"
            if reason is not None:
                pytest.skip(reason)
            den: Den = request.getfixturevalue("den")
            folder = Path(tempfile.mkdtemp(dir=den.root))
            if kind == "tmpfs":
                den.run(f"mount -t tmpfs -o size=160k tmpfs '{folder}'")
            else:
                image = tmp_path / "image"
                image.write_bytes(bytes(1 << 20))
                made = ["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image]
                subprocess.run(made, check=True, capture_output=True)
                den.run(f"mount -o loop '{image}' '{folder}' && rmdir '{folder}/lost+found'")
            mounted.callback(den.run, f"umount --lazy '{folder}'")
            again = f"mount -o 'remount,{options}' '{folder}'" if options else "true"
            den.run(f"cd '{folder}'; {prepare or 'true'}; cd /; {again}")
            return Disk(den.client, str(folder))

        yield mount


def ask(place: Disk, scene: Scene) -> Any:
    if not scene.creates:
        place.client.result("fileops/read", {"file_path": scene.path(place.folder)})
    return place.client.result(scene.method, scene.params(place.folder))


@pytest.mark.parametrize("kind", DISKS)
@pytest.mark.parametrize("name", list(SCENES))
def test_full_disk_keeps_the_old_file_and_accepts_the_edit_once_it_has_space(
    disk_of: DiskOf, kind: str, name: str
) -> None:
    scene = SCENES[name]
    place = disk_of(kind)
    scene.prepare(place.here)
    place.fill()
    answer = ask(place, scene)
    is_done = answer["status"] == "success"  # in place and no longer than before, there may be room in the blocks
    if not is_done:
        assert answer["error"]["code"] == "disk_full", answer["error"]
        assert "Free some space" in answer["output"]
    place.empty()
    fault = scene.fault(place.here, may_be_new=is_done, may_be_old=not is_done)
    assert fault is None, f"{answer['error']}: {fault}"
    if not is_done:
        assert ask(place, scene)["status"] == "success"
    assert scene.fault(place.here, may_be_new=True, may_be_old=False) is None


@pytest.mark.parametrize("kind", DISKS)
@pytest.mark.parametrize("linked", [False, True])
def test_read_only_disk_is_reported_and_left_unchanged(disk_of: DiskOf, kind: str, linked: Any) -> None:
    link = "ln file.txt twin" if linked else "true"
    place = disk_of(kind, prepare=f"printf '%s\\n' one two > file.txt; {link}", options="ro")
    path = f"{place.folder}/file.txt"
    place.client.result("fileops/read", {"file_path": path})
    for wish in (
        {"file_path": path, "old_string": "one", "new_string": "1"},
        {"file_path": f"{place.folder}/new", "old_string": "", "new_string": "x"},
        {"file_path": f"{place.folder}/sub/new", "old_string": "", "new_string": "x"},
    ):
        answer = place.client.result("fileops/edit", wish)
        assert answer["error"]["code"] == "permission_denied"
        assert "read-only" in answer["output"]
    assert Path(f"{place.here}/file.txt").read_text() == "one\ntwo\n"
    assert sorted(os.listdir(place.here)) == (["file.txt", "twin"] if linked else ["file.txt"])


def test_disk_without_free_inodes_is_reported(disk_of: DiskOf) -> None:
    place = disk_of("tmpfs", prepare="mount -o remount,nr_inodes=2 .")
    scene = SCENES["edit-swap"]
    Path(scene.path(place.here)).write_bytes(OLD)
    answer = ask(place, scene)
    assert answer["error"]["code"] == "disk_full"
    assert Path(scene.path(place.here)).read_bytes() == OLD
    assert os.listdir(place.here) == ["file.txt"]
