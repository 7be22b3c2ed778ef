"""What the system refuses to copy to a new file is kept by writing in place; what does not exist hinders nothing."""

import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.errors import SetUnsupported
from fileops.model.files import CommitReport, Committed
from support.abilities import HAS_ATTRIBUTES
from support.children import NOBODY, as_root, in_child
from support.metadata import NONE, SHARED_ACL, acl, edit, facts, flags_of

if sys.platform != "linux" or not HAS_ATTRIBUTES:
    raise pytest.skip.Exception("attributes are set by Linux's calls here", allow_module_level=True)


class SetHooks:
    """Hooks of a set that nothing disturbs."""

    def prepare(self) -> None: ...

    def before(self) -> None: ...

    def on_cancel(self, withdraw: Callable[[], None]) -> None: ...

    def after(self, committed: tuple[Committed, ...], /) -> None: ...


def refuse(monkeypatch: pytest.MonkeyPatch, call: str, number: int) -> None:
    def refused(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refused)


@pytest.mark.parametrize(
    ("call", "number", "reason"),
    [
        ("getxattr", errno.EACCES, "attribute user.note cannot be kept"),
        ("setxattr", errno.ENOTSUP, "attribute user.note cannot be kept"),
        ("setxattr", errno.ENOSPC, "attribute user.note cannot be kept"),
        ("fchmod", errno.EPERM, "mode cannot be kept"),
    ],
)
def test_metadata_that_cannot_be_copied_is_kept_in_place(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, call: str, number: int, reason: str
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    os.setxattr(path, "user.note", b"hello")
    before = facts(path)
    with monkeypatch.context() as patch:
        refuse(patch, call, number)
        assert edit(fs, path).report == CommitReport(method="in_place", durability="synced", reason=reason)
    assert facts(path) == before
    assert Path(path).read_bytes() == b"new old"
    assert os.listdir(folder) == ["f"]


def test_metadata_that_cannot_be_copied_is_kept_in_place_beside_a_set(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"{folder}/{name}" for name in ("e", "f", "g")]
    for path in paths:
        Path(path).write_bytes(b"old")
    os.setxattr(paths[1], "user.note", b"hello")
    files = [FilePlan(snapshot=fs.read(path), splices=(Splice(0, 3, b"new"),)) for path in paths]
    with monkeypatch.context() as patch:
        refuse(patch, "setxattr", errno.ENOTSUP)
        with pytest.raises(SetUnsupported):
            fs.replace_set("5e7" * 10, files, SetHooks())
        committed = fs.replace_set("5e7" * 10, files, SetHooks(), is_strict=False)
    assert [outcome.report.method for outcome in committed] == ["swap", "in_place", "swap"]
    assert [Path(path).read_bytes() for path in paths] == [b"new"] * 3
    assert os.getxattr(paths[1], "user.note") == b"hello"
    assert sorted(os.listdir(folder)) == ["e", "f", "g"]


@as_root
def test_swap_that_would_silently_clear_setgid_is_not_made(folder: str) -> None:
    """The folder gives its group to new files, and the caller is not in it. The write clears the bit, too."""
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    os.chown(path, NOBODY, 5678)
    os.chmod(path, 0o2755)
    os.chown(folder, NOBODY, 5678)
    os.chmod(folder, 0o2777)

    def work() -> object:
        return edit(LocalFileSystem(state_folder=f"{folder}/.state"), path).report.reason

    assert in_child(work, uid=NOBODY).value == "mode cannot be kept"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o755
    assert (os.stat(path).st_gid, Path(path).read_bytes()) == (5678, b"new old")


@pytest.mark.parametrize(
    ("call", "number"),
    [("listxattr", errno.ENOTSUP), ("listxattr", errno.ENOSYS), ("getxattr", errno.ENODATA)],
    ids=["none-supported", "no-such-call", "removed-meanwhile"],
)
def test_attributes_that_do_not_exist_hinder_no_swap(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    if call == "getxattr":
        os.setxattr(path, "user.note", b"hello")
    refuse(monkeypatch, call, number)
    assert edit(fs, path).report == CommitReport(method="swap", durability="synced")


@pytest.mark.parametrize(("number", "method"), [(errno.EPERM, "in_place"), (errno.ENODATA, "swap")])
def test_inherited_acl_that_cannot_be_removed_is_not_given_to_the_file(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, number: int, method: str
) -> None:
    """ENODATA: another process has removed it."""
    path, remove = f"{folder}/f", os.removexattr
    Path(path).write_bytes(b"old")
    os.setxattr(folder, "system.posix_acl_default", SHARED_ACL)
    before = facts(path)

    def refused(fd: int, name: str) -> None:
        if number == errno.ENODATA:
            remove(fd, name)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "removexattr", refused)
        assert edit(fs, path).report.method == method
    assert facts(path) == before
    assert Path(path).read_bytes() == b"new old"


def test_attribute_that_the_new_file_has_already_is_not_set_again(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with labels, which a policy gives to new files, and which a user may not set."""
    path, of_temp_file = f"{folder}/f", acl((1, 6, NONE), (2, 6, 1234), (4, 4, NONE), (16, 0, NONE), (32, 0, NONE))
    Path(path).write_bytes(b"old")
    os.setxattr(folder, "system.posix_acl_default", SHARED_ACL)
    os.setxattr(path, "system.posix_acl_access", of_temp_file)
    before = facts(path)
    with monkeypatch.context() as patch:
        refuse(patch, "setxattr", errno.EPERM)
        assert edit(fs, path).report.method == "swap"
    assert facts(path) == before


@pytest.mark.skipif(shutil.which("chattr") is None, reason="needs chattr")
@pytest.mark.parametrize("is_silent", [False, True])
def test_inode_flags_that_cannot_be_set_are_kept_in_place(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, is_silent: bool
) -> None:
    """is_silent: the filesystem takes the call and ignores a flag."""
    path, ioctl = f"{folder}/f", fcntl.ioctl
    Path(path).write_bytes(b"old")
    if subprocess.run(["chattr", "+d", path], check=False, capture_output=True).returncode:
        pytest.skip("this filesystem has no such flags")
    before = flags_of(path)

    def refused(fd: int, request: int, argument: bytes) -> bytes:
        if request & 0xFFFF != 0x6602:  # FS_IOC_SETFLAGS
            return ioctl(fd, request, argument)
        if not is_silent:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return argument

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "ioctl", refused)
        committed = edit(fs, path)
    assert (committed.report.method, committed.report.reason) == ("in_place", "inode flags cannot be kept")
    assert flags_of(path) == before
    assert Path(path).read_bytes() == b"new old"
