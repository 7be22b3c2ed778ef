"""Files of dead processes go; those of living ones, and everybody else's, stay."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract.recording import RecordingHooks
from fileops.fs.local import nofollow, own_files
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.recovery import Recovery
from fileops.model.edits import Splice
from fileops.platform.locks import try_lock
from support.children import in_child

DEAD = ".fileops-999999999-0-0123456789ab.tmp"


@pytest.mark.parametrize(
    "name",
    [
        ".fileops-999999999-0-0123456789ab.tmp~",
        ".fileops-x-0-0123456789ab.tmp",
        ".fileops-1-0-0123456789a.tmp",
        "a.fileops-999999999-0-0123456789ab.tmp",
        ".fileops.toml",
        ".fileops-",
    ],
)
def test_files_with_other_names_are_kept(fs: LocalFileSystem, folder: str, name: str) -> None:
    Path(f"{folder}/{name}").write_bytes(b"")
    assert list(own_files.list_own_files(folder)) == []
    assert fs.recover(folder) == 0
    assert os.listdir(folder) == [name]


def test_reused_pid_is_not_mistaken_for_the_owner(fs: LocalFileSystem, folder: str) -> None:
    for start in ("0", "1"):
        Path(f"{folder}/.fileops-{os.getpid()}-{start}-0123456789ab.tmp").write_bytes(b"")
    assert fs.recover(folder) == 2
    assert os.listdir(folder) == []


def test_temp_file_of_a_running_owner_is_kept(fs: LocalFileSystem, folder: str) -> None:
    name = own_files.new_name("tmp")
    Path(f"{folder}/{name}").write_bytes(b"")
    assert [found.name for found in own_files.list_own_files(folder)] == [name]
    assert in_child(lambda: fs.recover(folder)).value == 0
    assert os.listdir(folder) == [name]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_zombie_owner_counts_as_dead(fs: LocalFileSystem, folder: str) -> None:
    assert sys.platform == "linux"
    with subprocess.Popen(["sleep", "60"]) as maker:
        name = f".fileops-{maker.pid}-{own_files.start_time(maker.pid)}-0123456789ab.tmp"
        Path(f"{folder}/{name}").write_bytes(b"")
        assert fs.recover(folder) == 0
        maker.kill()
        os.waitid(os.P_PID, maker.pid, os.WEXITED | os.WNOWAIT)
        assert fs.recover(folder) == 1
    assert os.listdir(folder) == []


def test_temp_file_of_a_running_edit_is_checked_again(fs: LocalFileSystem, folder: str) -> None:
    Path(f"{folder}/f").write_bytes(b"x")
    name = own_files.new_name("tmp")
    Path(f"{folder}/{name}").write_bytes(b"")
    fs.read(f"{folder}/f")  # by another thread, while the edit gives up
    own_files.release(name)
    fs.read(f"{folder}/f")
    assert os.listdir(folder) == ["f"]


def test_locked_temp_file_of_an_unknown_pid_is_kept(fs: LocalFileSystem, folder: str) -> None:
    fd = os.open(f"{folder}/{DEAD}", os.O_CREAT | os.O_RDWR)
    try:
        assert try_lock(fd)
        assert fs.recover(folder) == 0
    finally:
        os.close(fd)
    assert fs.recover(folder) == 1
    assert os.listdir(folder) == []


@pytest.mark.parametrize("use", ["read", "open", "replace"])
def test_abandoned_temp_files_are_removed_before_the_first_use_of_their_folder(
    fs: LocalFileSystem, folder: str, use: str
) -> None:
    path = f"{folder}/d/f"
    os.mkdir(f"{folder}/d")
    Path(path).write_bytes(b"x")
    snapshot = LocalFileSystem().read(path)
    Path(f"{folder}/d/{DEAD}").write_bytes(b"")
    if use == "replace":
        fs.replace(snapshot, [Splice(0, 0, b"y")], RecordingHooks())
    elif use == "read":
        fs.read(path)
    else:
        with fs.open(path):
            pass
    assert os.listdir(f"{folder}/d") == ["f"]


def test_file_left_during_a_recovery_is_removed_at_the_next_use_of_the_folder(folder: str, state: str) -> None:
    """A commit of another thread leaves its file after the folder was listed, while the journals are recovered."""
    os.makedirs(state)
    opener = nofollow.best_opener()
    left = list[str]()

    def leave_a_file(path: str, flags: int) -> int:
        if path == state and not left:
            left.append(DEAD)
            Path(f"{folder}/{DEAD}").write_bytes(b"")
            recovery.forget(folder)
        return opener(path, flags)

    recovery = Recovery(leave_a_file, state)
    recovery.run_once(folder)
    assert os.listdir(folder) == left == [DEAD]
    recovery.run_once(folder)
    assert os.listdir(folder) == []


def test_link_or_folder_with_the_name_of_a_temp_file_is_harmless(fs: LocalFileSystem, folder: str) -> None:
    Path(f"{folder}/precious").write_bytes(b"x")
    os.symlink("precious", f"{folder}/{DEAD}")
    os.mkdir(f"{folder}/{DEAD.replace('0-0', '0-1')}")
    os.mkfifo(f"{folder}/{DEAD.replace('tmp', 'journal')}")
    fs.recover(folder)
    assert Path(f"{folder}/precious").read_bytes() == b"x"


def test_start_times_distinguish_processes() -> None:
    own = own_files.start_time(os.getpid())
    assert own is not None
    assert in_child(lambda: own_files.new_name("tmp")).value.split("-")[1] != str(os.getpid())
    assert own_files.start_time(999_999_999) is None


@pytest.mark.parametrize("kind", ["tmp", "journal"])
def test_own_temp_file_without_a_lock_is_kept_until_released(fs: LocalFileSystem, folder: str, kind: str) -> None:
    """Another thread looks at the folder between the making and the locking."""
    name = own_files.new_name(kind)
    Path(f"{folder}/{name}").touch(mode=0o600)
    assert fs.recover(folder) == 0
    own_files.release(name)
    assert fs.recover(folder) == 1
    assert os.listdir(folder) == []
