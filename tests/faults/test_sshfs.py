"""A filesystem in user space: sshfs, mounted from the test's own server."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from faults.injection import daemon
from support.patience import wait_until
from support.rawclient import edit_of
from support.sshd import Sshd


@pytest.fixture
def mounted(sshd: Sshd, tmp_path: Path) -> Generator[Path]:
    """`far` of the test's folder, by another name."""
    if shutil.which("sshfs") is None or shutil.which("fusermount3") is None or not os.path.exists("/dev/fuse"):
        pytest.skip("no sshfs or no FUSE here (Debian: apt install sshfs)")
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    *ssh, host = sshd.ssh
    command = ["sshfs", f"{host}:{far}", str(near), "-o", f"ssh_command={' '.join(ssh)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"sshfs cannot be mounted here: {done.stderr[:200]}")
    try:
        yield near
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(["fusermount3", "-u", "-z", str(near)], check=True, capture_output=True)


def test_file_that_was_created_is_edited_without_another_read(mounted: Path) -> None:
    """A link gets its own inode there, so the new file is not the one that was written."""
    path = mounted / "new"
    with daemon(str(mounted)) as client:
        for old, new in (("", "one\n"), ("one", "two"), ("two", "three")):
            edited = client.result("fileops/edit", edit_of(path, old, new))
            assert edited["error"] is None, edited
    assert (mounted.parent / "far" / "new").read_text() == "three\n"
    # FUSE keeps a file that was replaced while it was open, as `.fuse_hidden…`, and removes it after the close.
    wait_until(lambda: os.listdir(mounted.parent / "far") == ["new"])


def test_external_write_after_the_creation_is_noticed(mounted: Path) -> None:
    path = mounted / "new"
    with daemon(str(mounted)) as client:
        assert client.result("fileops/edit", edit_of(path, "", "one\n"))["error"] is None
        path.write_text("two\n")
        assert client.result("fileops/edit", edit_of(path, "one", "1"))["error"]["code"] == "modified_externally"
    assert path.read_text() == "two\n"


def test_unreported_hard_links_are_named_as_the_reason(mounted: Path) -> None:
    far = mounted.parent / "far"
    (far / "f").write_text("one\n")
    os.link(far / "f", far / "twin")
    with daemon(str(mounted)) as client:
        client.result("fileops/read", {"file_path": str(mounted / "f")})
        commit = client.result("fileops/edit", edit_of(mounted / "f", "one", "two"))["details"]["commit"]
    assert (commit["method"], commit["reason"]) == (
        "swap", "hard links may be separated: this filesystem does not report them",
    )  # fmt: skip
    assert ((far / "f").read_text(), (far / "twin").read_text()) == ("two\n", "one\n")
