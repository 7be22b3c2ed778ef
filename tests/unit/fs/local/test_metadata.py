"""What else there is to a file survives an edit, by a swap where it can, in place where a swap would lose it."""

import contextlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contract.recording import RecordingHooks
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Splice
from fileops.model.errors import FileOpsError, PermissionRefused
from fileops.model.files import CommitReport
from support.abilities import HAS_ATTRIBUTES
from support.children import NOBODY, as_root, in_child, mount, own_mounts
from support.metadata import SHARED_ACL, edit, facts, flags_of

if sys.platform != "linux" or not HAS_ATTRIBUTES:
    raise pytest.skip.Exception("attributes are set by Linux's calls here", allow_module_level=True)


def give_acl(path: str) -> None:
    os.setxattr(path, "system.posix_acl_access", SHARED_ACL)


def give_attributes(path: str) -> None:
    os.setxattr(path, "user.note", b"hello")
    os.setxattr(path, "user.empty", b"")


def give_owner(path: str) -> None:
    os.chown(path, 1234, 5678)
    os.chmod(path, 0o6755)


MODES = [0o600, 0o640, 0o644, 0o664, 0o755, 0o777, 0o4755, 0o2755, 0o1644, 0o6711]


@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_mode_is_kept_by_a_swap(fs: LocalFileSystem, folder: str, mode: int) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    os.chmod(path, mode)
    before = facts(path)
    assert edit(fs, path).report.method == "swap"
    assert facts(path) == before
    assert Path(path).read_bytes() == b"new old"


@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_mode_is_kept_in_place(fs: LocalFileSystem, folder: str, mode: int) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    os.link(path, f"{folder}/twin")
    os.chmod(path, mode)
    before = facts(path)
    assert edit(fs, path).report.method == "in_place"
    assert facts(path) == before


@pytest.mark.parametrize("give", [give_acl, give_attributes, pytest.param(give_owner, marks=as_root)])
def test_acl_attributes_and_owner_are_kept_by_a_swap(
    fs: LocalFileSystem, folder: str, give: Callable[[str], None]
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    give(path)
    before = facts(path)
    committed = edit(fs, path)
    assert committed.report.method == "swap"
    assert facts(path) == before
    assert os.listdir(folder) == ["f"]


def test_acl_inherited_from_the_folder_is_not_added_by_an_edit(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    os.setxattr(folder, "system.posix_acl_default", SHARED_ACL)
    before = facts(path)
    edit(fs, path)
    assert facts(path) == before
    edit(fs, f"{folder}/created")
    assert "system.posix_acl_access" in os.listxattr(f"{folder}/created")


def test_hard_links_stay_linked(fs: LocalFileSystem, folder: str) -> None:
    path, twin = f"{folder}/f", f"{folder}/twin"
    Path(path).write_bytes(b"0123456789" * 1000)
    os.link(path, twin)
    for splice, expected in [
        (Splice(5, 6, b"X"), b"01234X6789" + b"0123456789" * 999),
        (Splice(5, 6, b""), b"012346789" + b"0123456789" * 999),
        (Splice(0, 9, b"grown" * 100), b"grown" * 100 + b"0123456789" * 999),
        (Splice(0, 10490, b""), b""),
        (Splice(0, 0, b"again"), b"again"),
    ]:
        committed = fs.replace(fs.read(path), [splice], RecordingHooks())
        assert (committed.report.method, committed.report.durability) == ("in_place", "synced")
        assert committed.report.reason == "hard links"
        assert committed.snapshot.stamp == fs.stat(path) == fs.stat(twin)
        assert Path(twin).read_bytes() == Path(path).read_bytes() == committed.snapshot.data == expected
        assert sorted(os.listdir(folder)) == ["f", "twin"]


def test_symlinks_stay_symlinks(fs: LocalFileSystem, folder: str) -> None:
    Path(f"{folder}/f").write_bytes(b"old")
    os.symlink("f", f"{folder}/one")
    os.symlink(f"{folder}/one", f"{folder}/two")
    edit(fs, fs.resolve(f"{folder}/two"))
    assert (os.readlink(f"{folder}/one"), os.readlink(f"{folder}/two")) == ("f", f"{folder}/one")
    assert Path(f"{folder}/f").read_bytes() == b"new old"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0o027], ids=oct)
def test_creation_honours_the_umask(fs: LocalFileSystem, folder: str, umask: int) -> None:
    before = os.umask(umask)
    try:
        edit(fs, f"{folder}/d/e/f")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(f"{folder}/d/e/f").st_mode) == 0o666 & ~umask
    assert stat.S_IMODE(os.stat(f"{folder}/d/e").st_mode) == 0o777 & ~umask


@as_root
class TestAsSomebodyElse:
    """The file is anybody's to write; what its owner set is not anybody's to set."""

    def edited(self, path: str, state: str) -> Any:
        def work() -> object:
            report = edit(LocalFileSystem(state_folder=state), path).report
            return report.method, report.durability, report.reason

        return in_child(work, uid=NOBODY).value

    def test_owner_is_kept_by_writing_in_place(self, folder: str) -> None:
        path = f"{folder}/f"
        os.chmod(folder, 0o777)
        Path(path).write_bytes(b"old")
        os.chmod(path, 0o666)
        before = facts(path)
        assert self.edited(path, f"{folder}/.state") == ("in_place", "synced", "owner cannot be kept")
        assert facts(path) == before
        assert Path(path).read_bytes() == b"new old"
        assert os.listdir(folder) == ["f"]

    def test_foreign_group_is_kept_by_writing_in_place(self, folder: str) -> None:
        path = f"{folder}/f"
        os.chmod(folder, 0o777)
        Path(path).write_bytes(b"old")
        os.chown(path, NOBODY, 5678)
        assert self.edited(path, f"{folder}/.state")[:2] == ("in_place", "synced")
        assert os.stat(path).st_gid == 5678

    def test_edit_in_a_folder_without_write_permission_is_made_in_place(self, folder: str) -> None:
        path, state = f"{folder}/locked/f", f"{folder}/state"
        os.makedirs(f"{folder}/locked")
        Path(path).write_bytes(b"old")
        os.chown(path, NOBODY, NOBODY)
        os.mkdir(state)
        os.chown(state, NOBODY, NOBODY)
        outcome = self.edited(path, f"{state}/journals")
        assert outcome == ("in_place", "synced", "no file can be made in the folder")
        assert Path(path).read_bytes() == b"new old"
        assert os.listdir(f"{state}/journals") == []
        assert stat.S_IMODE(os.stat(f"{state}/journals").st_mode) == 0o700

    def test_edit_of_another_users_file_in_a_sticky_folder_is_made_in_place(self, folder: str) -> None:
        path = f"{folder}/f"
        os.chmod(folder, 0o1777)
        Path(path).write_bytes(b"old")
        os.chown(path, 1234, NOBODY)
        os.chmod(path, 0o664)
        assert self.edited(path, f"{folder}/.state")[0] == "in_place"
        assert Path(path).read_bytes() == b"new old"
        assert os.listdir(folder) == ["f"]

    @pytest.mark.parametrize("mode", [0o444, 0o644])
    def test_file_without_write_permission_is_not_swapped(self, folder: str, mode: int) -> None:
        path = f"{folder}/f"
        os.chmod(folder, 0o777)
        Path(path).write_bytes(b"old")
        os.chmod(path, mode)
        if mode == 0o444:
            os.chown(path, NOBODY, NOBODY)
        before = facts(path), os.stat(path).st_mtime_ns
        assert self.edited(path, f"{folder}/.state") == "PermissionRefused"
        assert (facts(path), os.stat(path).st_mtime_ns) == before
        assert os.listdir(folder) == ["f"]

    @pytest.mark.parametrize("verb", ["read", "open"])
    def test_file_without_read_permission_is_refused(self, folder: str, verb: str) -> None:
        path = f"{folder}/f"
        Path(path).write_bytes(b"secret")
        os.chmod(path, 0o600)

        def work() -> object:
            fs = LocalFileSystem(state_folder=f"{folder}/.state")
            with fs.open(path) if verb == "open" else contextlib.nullcontext(fs.read(path)) as got:
                return getattr(got, "data", None)

        assert in_child(work, uid=NOBODY).value == "PermissionRefused"

    def test_file_in_an_inaccessible_folder_is_refused(self, folder: str) -> None:
        os.mkdir(f"{folder}/d", 0o700)
        Path(f"{folder}/d/f").write_bytes(b"old")
        assert self.edited(f"{folder}/d/f", f"{folder}/.state") == "PermissionRefused"

    def test_creation_in_a_folder_without_write_permission_is_refused(self, folder: str) -> None:
        assert self.edited(f"{folder}/a/f", f"{folder}/.state") == "PermissionRefused"
        assert os.listdir(folder) == []

    def test_edit_in_a_folder_that_cannot_be_listed_reports_that_it_was_not_synced(self, folder: str) -> None:
        path = f"{folder}/d/f"
        os.mkdir(f"{folder}/d")
        Path(path).write_bytes(b"old")
        os.chown(path, NOBODY, NOBODY)
        os.chown(f"{folder}/d", NOBODY, NOBODY)
        os.chmod(f"{folder}/d", 0o300)
        reason = "the directory could not be synced: no permission to list it"
        assert self.edited(path, f"{folder}/.state") == ("swap", "file_synced", reason)
        assert os.listdir(f"{folder}/d") == ["f"]


@as_root
@pytest.mark.parametrize("n_names", [1, 2])
@pytest.mark.parametrize("comes_between", [False, True])
def test_file_copied_up_by_overlayfs_is_the_one_that_was_read(
    folder: str, state: str, n_names: int, comes_between: bool
) -> None:
    """Opening a hard-linked file of a lower layer for writing gives it another inode, without any change."""
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(f"{folder}/{name}")
    path = f"{folder}/merged/f"
    Path(f"{folder}/lower/f").write_bytes(b"old")
    if n_names == 2:
        os.link(f"{folder}/lower/f", f"{folder}/lower/twin")

    def work() -> object:
        own_mounts()
        layers = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
        try:
            mount("-t", "overlay", "overlay", "-o", layers, f"{folder}/merged")
        except subprocess.CalledProcessError:
            return None
        fs = LocalFileSystem(state_folder=state)
        snapshot = fs.read(path)
        if comes_between:
            Path(path).write_bytes(b"OLD")  # as long as before
        report = fs.replace(snapshot, [Splice(0, 0, b"new ")], RecordingHooks()).report
        return report.method, report.durability, report.reason, Path(path).read_bytes()

    outcome = in_child(work).value
    if outcome is None:
        pytest.skip("no overlayfs can be mounted here")
    if comes_between:
        assert outcome == "Stale"
    else:
        reason = "the file was separated from its other hard links before it was written" if n_names == 2 else None
        assert outcome == ("swap", "synced", reason, b"new old")


@as_root
def test_bind_mounted_file_is_written_in_place(folder: str, state: str) -> None:
    os.mkdir(f"{folder}/src")
    os.mkdir(f"{folder}/dst")
    source, path = f"{folder}/src/f", f"{folder}/dst/f"
    Path(source).write_bytes(b"old")
    Path(path).write_bytes(b"covered")

    def work() -> object:
        own_mounts()
        mount("--bind", source, path)
        committed = edit(LocalFileSystem(state_folder=state), path)
        return committed.report.method, Path(path).read_bytes(), os.listdir(f"{folder}/dst")

    assert in_child(work).value == ("in_place", b"new old", ["f"])
    assert (Path(source).read_bytes(), Path(path).read_bytes()) == (b"new old", b"covered")


@pytest.mark.skipif(shutil.which("chattr") is None, reason="needs chattr")
@pytest.mark.parametrize("flags", ["d", "A", "S", "s", "dAS", ""])
@pytest.mark.parametrize("on_folder", ["", "d", "SA"])
def test_inode_flags_are_kept_by_a_swap(fs: LocalFileSystem, folder: str, flags: str, on_folder: str) -> None:
    """Those that a new file inherits from its folder go."""
    path = f"{folder}/f"
    Path(path).write_bytes(b"old")
    for wanted, place in ((flags, path), (on_folder, folder)):
        if wanted and subprocess.run(["chattr", f"+{wanted}", place], check=False, capture_output=True).returncode:
            pytest.skip("this filesystem has no such flags")
    before = flags_of(path)
    assert edit(fs, path).report == CommitReport(method="swap", durability="synced")
    assert flags_of(path) == before
    assert set(flags) <= set(before)
    assert Path(path).read_bytes() == b"new old"


MAKE = {"ext4": ["-q", "-O", "project"], "xfs": ["-q"], "btrfs": ["-q"]}


@as_root
@pytest.mark.parametrize(
    ("kind", "on_folder", "on_file"),
    [
        *((kind, on_folder, on_file) for kind in ("ext4", "xfs") for on_folder, on_file in (
            ("true", "chattr -p 7 f"), ("chattr +P -p 5 .", "chattr -p 7 f"), ("chattr +P -p 5 .", "true"),
        )),
        ("btrfs", "true", "chattr +C f"), ("btrfs", "chattr +C .", "chattr -C f"),
    ],
)  # fmt: skip
def test_project_and_copy_on_write_are_kept(folder: str, state: str, kind: str, on_folder: str, on_file: str) -> None:
    if shutil.which(f"mkfs.{kind}") is None or not os.path.exists("/dev/loop-control"):
        pytest.skip(f"no mkfs.{kind} or no loop devices here")
    image, disk = f"{folder}/image", f"{folder}/disk"
    Path(image).touch()
    os.truncate(image, 512 << 20)  # sparse; xfs takes no less
    os.mkdir(disk)
    subprocess.run([f"mkfs.{kind}", *MAKE[kind], image], check=True, capture_output=True)

    def work() -> object:
        own_mounts()
        try:
            mount("-o", "loop", image, disk)
        except subprocess.CalledProcessError:
            return None
        script = f"cd {disk} && : > f && {on_folder} && {on_file} && printf old >> f"
        subprocess.run(["sh", "-c", script], check=True, capture_output=True)
        before = flags_of(f"{disk}/f")
        report = edit(LocalFileSystem(state_folder=state), f"{disk}/f").report
        return report, before, flags_of(f"{disk}/f"), Path(f"{disk}/f").read_bytes()

    outcome = in_child(work).value
    if outcome is None:
        pytest.skip(f"{kind} cannot be mounted here")
    report, before, after, content = outcome
    assert (after, content) == (before, b"new old")
    assert report.method == "swap" or report.reason is not None


@as_root
@pytest.mark.skipif(shutil.which("chattr") is None, reason="needs chattr")
@pytest.mark.parametrize("flag", ["i", "a"])
@pytest.mark.parametrize("on_folder", [False, True])
def test_immutable_or_append_only_file_is_refused(fs: LocalFileSystem, folder: str, flag: str, on_folder: bool) -> None:
    os.mkdir(f"{folder}/d")
    path = f"{folder}/d/f"
    Path(path).write_bytes(b"old")
    marked = f"{folder}/d" if on_folder else path
    if subprocess.run(["chattr", f"+{flag}", marked], check=False, capture_output=True).returncode:
        pytest.skip("this filesystem has no such flag")
    try:
        if on_folder:
            assert edit(fs, path).report.method == "in_place"
            assert Path(path).read_bytes() == b"new old"
        else:
            before = os.stat(path)
            with pytest.raises(FileOpsError):
                edit(fs, path)
            assert os.stat(path).st_mtime_ns == before.st_mtime_ns
            assert Path(path).read_bytes() == b"old"
        assert os.listdir(f"{folder}/d") == ["f"]
    finally:
        subprocess.run(["chattr", f"-{flag}", marked], check=True, capture_output=True)


@as_root
@pytest.mark.skipif(shutil.which("chattr") is None, reason="needs chattr")
def test_creation_in_an_append_only_folder_is_refused(fs: LocalFileSystem, folder: str) -> None:
    os.mkdir(f"{folder}/d")
    if subprocess.run(["chattr", "+a", f"{folder}/d"], check=False, capture_output=True).returncode:
        pytest.skip("this filesystem has no such flag")
    try:
        with pytest.raises(PermissionRefused):
            edit(fs, f"{folder}/d/f")
        assert os.listdir(f"{folder}/d") == []
    finally:
        subprocess.run(["chattr", "-a", f"{folder}/d"], check=True, capture_output=True)
