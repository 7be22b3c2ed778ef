"""Where the shared daemon's socket is, and which folders are refused."""

import os
from pathlib import Path

import pytest

from fileops.attach.address import MAX_PATH_BYTES, AttachRefused, find_address, require_private_folder


def test_option_overrides_the_variable_and_both_override_the_default() -> None:
    environ = {"FILEOPS_SOCKET": "/v/a.sock"}
    assert find_address("/o/b.sock", environ).socket == "/o/b.sock"
    assert find_address(None, environ).socket == "/v/a.sock"
    assert find_address(None, {}).socket.endswith("/arbiter.sock")


def test_default_address_is_independent_of_variables_that_hosts_change() -> None:
    hosts = {"XDG_RUNTIME_DIR": "/elsewhere", "TMPDIR": "/elsewhere", "HOME": "/elsewhere"}
    assert find_address(None, hosts) == find_address(None, {})


def test_files_next_to_the_socket_are_named_after_it() -> None:
    address = find_address("/o/b.sock", {})
    assert address == ("/o/b.sock", "/o/b.lock", "/o/b.json")
    assert address.folder == "/o"


@pytest.mark.parametrize(("extra", "is_refused"), [(0, False), (1, True)])
def test_path_unusable_for_a_socket_is_refused(*, extra: int, is_refused: bool) -> None:
    path = "/" + "é" * 20 + "x" * (MAX_PATH_BYTES - 41 + extra)
    if not is_refused:
        assert find_address(path, {}).socket == path
        return
    with pytest.raises(AttachRefused, match=f"{MAX_PATH_BYTES + 1} bytes"):
        find_address(path, {})


def test_missing_folder_is_created_for_this_user_only(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    require_private_folder(str(folder), create=False)
    assert not folder.exists()
    require_private_folder(str(folder), create=True)
    assert folder.stat().st_mode & 0o777 == 0o700
    require_private_folder(str(folder), create=True)


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o770, 0o720])
def test_folder_open_to_other_users_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(AttachRefused, match=f"mode {mode:04o}"):
        require_private_folder(str(folder), create=True)
    assert folder.stat().st_mode & 0o777 == mode  # it is not repaired: it may be another's


def test_link_to_a_private_folder_is_refused(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir(0o700)
    link.symlink_to(target)
    with pytest.raises(AttachRefused, match="not a folder"):
        require_private_folder(str(link), create=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(0o700)
    os.chown(folder, 12345, -1)
    with pytest.raises(AttachRefused, match="another user"):
        require_private_folder(str(folder), create=True)


def test_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AttachRefused, match="No such file"):
        require_private_folder(str(tmp_path / "none" / "below"), create=True)
