"""A folder over SSH when the connection goes at the worst moments, and what its options become."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract.recording import RecordingHooks
from fileops.fs.remote.filesystem import RemoteFileSystem
from fileops.fs.remote.fsspec_backend import FsspecBackend
from fileops.fs.remote.paths import folder_in, label_of
from fileops.fs.remote.sftp import SftpBackend
from fileops.model.edits import Splice
from fileops.model.errors import ConnectionFailed, OutsideRoots
from fileops.model.internal_errors import Cancelled, PathMoved
from support.patience import PATIENCE_S, wait_until
from support.sshd import Sshd
from support.sshd import running as sshd_of


@pytest.fixture
def far(sshd: Sshd, tmp_path: Path) -> RemoteFileSystem:
    (tmp_path / "f").write_bytes(b"old")
    return RemoteFileSystem("/far", str(tmp_path), SftpBackend(sshd.url(str(tmp_path)), sshd.options))


def test_connection_lost_between_upload_and_rename_leaves_one_whole_file(
    far: RemoteFileSystem, sshd: Sshd, tmp_path: Path
) -> None:
    snapshot = far.read("/far/f")
    try:
        far.replace(snapshot, [Splice(0, 3, b"new")], RecordingHooks(before=sshd.cut))
    except ConnectionFailed:
        assert (tmp_path / "f").read_bytes() == b"old"
    else:
        assert (tmp_path / "f").read_bytes() == b"new"
    far.stat("/far/f")
    wait_until(lambda: os.listdir(tmp_path) == ["f"])


def test_upload_left_by_a_lost_connection_is_removed_after_reconnecting(
    far: RemoteFileSystem, sshd: Sshd, tmp_path: Path
) -> None:
    def cut_and_give_up() -> None:
        sshd.cut()
        raise Cancelled

    with pytest.raises(Cancelled):
        far.replace(far.read("/far/f"), [Splice(0, 3, b"new")], RecordingHooks(before=cut_and_give_up))
    assert far.read("/far/f").data == b"old"
    wait_until(lambda: os.listdir(tmp_path) == ["f"])


def test_requests_share_the_channels_that_a_host_allows(tmp_path: Path) -> None:
    """Of eight requests that begin together, the host refuses a channel to seven."""
    pytest.importorskip("asyncssh")
    n_requests = 8
    begin = threading.Barrier(n_requests)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "f").write_bytes(b"old")
    with sshd_of(tmp_path, max_sessions=1) as sshd, ThreadPoolExecutor(n_requests) as threads:
        base = str(tmp_path / "files")
        far = RemoteFileSystem("/far", base, SftpBackend(sshd.url(base), sshd.options))

        def read(_n: int) -> bytes:
            begin.wait(PATIENCE_S)
            return far.read("/far/f").data

        assert list(threads.map(read, range(n_requests))) == [b"old"] * n_requests


@pytest.mark.parametrize("protocol", ["file", "local"])
@pytest.mark.parametrize("link", ["door/f", "f"])
def test_link_in_a_mapped_local_folder_does_not_lead_outside(tmp_path: Path, protocol: str, link: str) -> None:
    pytest.importorskip("fsspec")
    outside, base = tmp_path / "out", tmp_path / "in"
    for folder in (outside, base, base / "inner"):
        folder.mkdir()
        (folder / "f").write_bytes(b"secret")
    (base / "f").unlink()
    (base / "f").symlink_to(outside / "f")
    (base / "door").symlink_to("../out")
    (base / "alias").symlink_to("inner")
    mapped = RemoteFileSystem("/far", str(base), FsspecBackend(f"{protocol}://{base}", {}))
    with pytest.raises(OutsideRoots):
        mapped.resolve(f"/far/{link}")
    with pytest.raises(PathMoved):
        mapped.read(f"/far/{link}")
    inner = mapped.resolve("/far/alias/f")
    assert (inner, mapped.read(inner).data) == ("/far/inner/f", b"secret")
    mapped.replace(mapped.read(inner), [Splice(0, 0, b"no ")], RecordingHooks())
    assert (base / "inner" / "f").read_bytes() == b"no secret"


@pytest.mark.parametrize(
    ("url", "label", "folder"),
    [
        ("sftp://me:secret@host:22/a/b/", "sftp://host:22", "/a/b"),
        ("ssh://host", "ssh://host", "/"),
        ("memory://a/b", "memory://a", "/a/b"),
        ("s3://bucket/key/", "s3://bucket", "bucket/key"),
    ],
)
def test_url_is_split_into_a_label_without_secrets_and_a_folder(url: str, label: str, folder: str) -> None:
    assert (label_of(url), folder_in(url)) == (label, folder)


def test_ssh_command_has_the_options_of_the_filesystem() -> None:
    options: dict[str, object] = {"client_keys": ["/k"], "known_hosts": "/h", "port": 2222, "password": "secret"}
    command = SftpBackend("sftp://me@host:22/a", options).ssh_command()
    assert command[-2:] == ["--", "host"]
    assert "secret" not in command
    for pair in (["-p", "2222"], ["-l", "me"], ["-i", "/k"], ["-o", "UserKnownHostsFile=/h"]):
        assert " ".join(pair) in " ".join(command)
