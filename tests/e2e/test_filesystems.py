"""Folders far away, through the daemon. Requirements: R-MOUNT-* of docs/PROTOCOL.md."""

import asyncio
import os
import pathlib
import signal
import sys
from typing import Any

import pytest

from fileops_client import FileOpsClient, FilesystemOptions, Options, ResponseError, edit_file
from support.patience import PATIENCE_S, wait_until
from support.sshd import Sshd, children_of, descendants_of

SECRET = "correct-horse-battery"


def mapped(sshd: Sshd, folder: pathlib.Path, **more: Any) -> Options:
    filesystem: FilesystemOptions = {
        "prefix": "/far",
        "url": sshd.url(str(folder)),
        "options": {**sshd.options, **more},
    }
    return {"filesystems": [filesystem]}


async def test_any_fsspec_filesystem_is_mapped() -> None:
    """R-MOUNT-1, R-MOUNT-3"""
    options: Options = {"filesystems": [{"prefix": "/in/memory", "url": "memory://somewhere"}], "roots": ["/in/memory"]}
    async with FileOpsClient.start(initialization_options=options, roots="anywhere") as client:
        assert (await client.read("/in/memory/a/b.txt")).code == "not_found"
        created = await client.edit("/in/memory/a/b.txt", "", "one\ntwo\n")
        assert created.output == "File created successfully at: /in/memory/a/b.txt"
        edited = await client.edit("/in/memory/a/b.txt", "two", "three")
        assert edited.ok, edited.output
        commit = edited.details.get("commit")
        assert commit is not None
        assert (commit["method"], commit["durability"]) == ("remote", "not_synced")
        assert str(commit["reason"]).startswith("memory://")
        assert (await client.read("/in/memory/a/b.txt")).output.startswith("     1→one\n     2→three\n")
        assert (await client.read("/in/memory/a")).code == "is_directory"
        assert (await client.edit("/in/other", "", "x")).code == "outside_roots"


async def test_set_with_a_mapped_file_is_refused_whole(tmp_path: pathlib.Path) -> None:
    """R-SET-1: each of its files can still be edited alone."""
    (tmp_path / "a").write_text("a\n")
    options: Options = {
        "filesystems": [{"prefix": "/in/memory", "url": "memory://sets"}],
        "roots": ["/in/memory", str(tmp_path)],
        "approval_mode": "yolo",
    }
    async with FileOpsClient.start(root=tmp_path, initialization_options=options) as client:
        assert (await client.edit("/in/memory/b", "", "b\n")).ok
        await client.read(tmp_path / "a")
        steps = [edit_file(tmp_path / "a", ("a", "A")), edit_file("/in/memory/b", ("b", "B"))]
        refused = await client.apply_changes(steps)
        assert (refused.code, (tmp_path / "a").read_text()) == ("set_unsupported", "a\n")
        assert "/in/memory/b is on a mapped filesystem" in refused.output
        assert (await client.read("/in/memory/b")).output.startswith("     1→b\n")
        assert (await client.apply_changes(steps[1:])).ok


async def test_undo_of_a_session_includes_its_mapped_files(tmp_path: pathlib.Path) -> None:
    """R-UNDO-2."""
    (tmp_path / "a").write_text("a\n")
    options: Options = {
        "filesystems": [{"prefix": "/in/memory", "url": "memory://undone"}],
        "roots": ["/in/memory", str(tmp_path)],
        "approval_mode": "yolo",
    }
    async with FileOpsClient.start(root=tmp_path, initialization_options=options) as client:
        assert (await client.edit("/in/memory/b", "", "b\n")).ok
        await client.read(tmp_path / "a", session_id="s")
        await client.read("/in/memory/b", session_id="s")
        assert (await client.edit(tmp_path / "a", "a", "A", session_id="s")).ok
        assert (await client.edit("/in/memory/b", "b", "B", session_id="s")).ok
        undone = await client.undo(session_id="s")
        assert undone.ok, undone.output
        assert (tmp_path / "a").read_text() == "a\n"
        assert (await client.read("/in/memory/b")).output.startswith("     1→b\n")


async def test_folder_over_ssh_is_read_and_edited(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-MOUNT-2, R-MOUNT-3"""
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo")
    (tmp_path / "a.txt").chmod(0o750)
    (tmp_path / "out").symlink_to("/etc")
    async with FileOpsClient.start(initialization_options=mapped(sshd, tmp_path), roots="anywhere") as client:
        assert (await client.read("/far/a.txt")).ok
        edited = await client.edit("/far/a.txt", "one", "1")
        assert edited.ok, edited.output
        assert edited.details.get("commit") == {"method": "remote", "durability": "file_synced", "reason": None}
        assert (tmp_path / "a.txt").read_bytes() == b"1\r\ntwo"
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o750
        assert (await client.edit("/far/new/b.txt", "", "x")).ok
        assert (tmp_path / "new" / "b.txt").read_bytes() == b"x"
        assert (await client.read("/far/out/passwd")).code == "outside_roots"
        assert (await client.read("/far/../etc/hostname")).ok == os.path.exists("/etc/hostname")


async def test_remote_change_is_noticed_and_never_overwritten(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-MOUNT-4"""
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    async with FileOpsClient.start(initialization_options=mapped(sshd, tmp_path), roots="anywhere") as client:
        await client.read("/far/a.txt")
        stamp = path.stat()
        path.write_bytes(b"two\n")  # as long as before
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # and as old
        assert (await client.edit("/far/a.txt", "one", "1")).code == "modified_externally"
        await client.read("/far/a.txt")
        with client.events("fileops/didBecomeStale") as events:
            path.write_bytes(b"three and more\n")
            stale = await events.next(timeout_s=PATIENCE_S)
        assert (stale.file_path, stale.reason) == ("/far/a.txt", "modified")


async def test_connection_lost_during_a_write_leaves_the_old_file(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-MOUNT-5"""
    path = tmp_path / "big.txt"
    old = b"first\n" + b"x" * 23_999_999 + b"\n"
    path.write_bytes(old)
    async with FileOpsClient.start(initialization_options=mapped(sshd, tmp_path), roots="anywhere") as client:
        await client.read("/far/big.txt", offset=1, limit=1)
        edit = asyncio.create_task(client.edit("/far/big.txt", "first", "FIRST"))
        await asyncio.to_thread(_cut_in_the_middle, sshd, tmp_path, len(old))
        result = await edit
        assert result.code == "connection_lost", result.output
        assert result.output.startswith("<tool_use_error>There is no connection to sftp://127.0.0.1:")
        assert path.read_bytes() == old
        assert (await client.read("/far/big.txt", offset=1, limit=1)).ok  # on a new connection
        wait_until(lambda: os.listdir(tmp_path) == ["big.txt"])
        assert (await client.edit("/far/big.txt", "first", "FIRST")).ok
        assert path.read_bytes() == b"FIRST" + old[5:]


def _cut_in_the_middle(sshd: Sshd, folder: pathlib.Path, size_bytes: int) -> None:
    """Stop the far side once the first bytes have come, and then end it."""

    def written() -> int:
        return max((file.stat().st_size for file in folder.glob(".fileops-*")), default=0)

    wait_until(written)
    for session in sshd.sessions():
        for pid in descendants_of(session):
            os.kill(pid, signal.SIGSTOP)
    assert 0 < written() < size_bytes
    sshd.cut()


async def test_lost_idle_connection_is_replaced(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-MOUNT-5"""
    (tmp_path / "a.txt").write_bytes(b"one\n")
    async with FileOpsClient.start(initialization_options=mapped(sshd, tmp_path), roots="anywhere") as client:
        await client.read("/far/a.txt")
        await asyncio.to_thread(sshd.cut)
        assert (await client.edit("/far/a.txt", "one", "two")).ok
    assert (tmp_path / "a.txt").read_bytes() == b"two\n"


async def test_unreachable_host_is_reported_without_secrets(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-MOUNT-6"""
    (tmp_path / "hosts").write_text("")
    (tmp_path / "a.txt").write_text("a")
    told: list[str] = []
    elsewhere = {**sshd.options, "known_hosts": f"{tmp_path}/hosts"}
    nobody = {**sshd.options, "client_keys": None, "username": "nobody", "password": SECRET}
    filesystems: list[FilesystemOptions] = [
        {"prefix": "/closed", "url": f"ssh://me:{SECRET}@127.0.0.1:1/tmp", "options": {"config": []}},
        {"prefix": "/unknown", "url": sshd.url(str(tmp_path)), "options": elsewhere},
        {"prefix": "/locked", "url": sshd.url(str(tmp_path)), "options": nobody},
    ]
    command = [sys.executable, "-P", "-m", "fileops", "--log-level", "debug"]
    async with FileOpsClient.start(
        command, initialization_options={"filesystems": filesystems}, on_stderr=told.append, roots="anywhere"
    ) as client:
        for prefix, reason in {
            "closed": "Connection refused", "unknown": "the server's host key is not known",
            "locked": "the server denied the login",
        }.items():  # fmt: skip
            result = await client.read(f"/{prefix}/a.txt")
            assert (result.code, result.output.partition(": ")[2]) == (
                "connection_lost", f"{reason}. Try again.</tool_use_error>"
            )  # fmt: skip
            assert SECRET not in str(result)
    assert SECRET not in "".join(told)


@pytest.mark.parametrize(
    ("filesystem", "place"),
    [
        ({"prefix": "far", "url": "memory://"}, "prefix"),
        ({"prefix": "/", "url": "memory://"}, "prefix"),
        ({"prefix": "/far/", "url": "memory://"}, "prefix"),
        ({"prefix": "/far", "url": "/etc"}, "url"),
        ({"prefix": "/far", "url": "memroy://x"}, "unknown filesystem protocol: memroy"),
        ({"prefix": "/far", "url": "sftp:///folder"}, "must name a host"),
        ({"prefix": "/far", "url": f"sftp://me:{SECRET}@host/", "password": SECRET}, "password"),
    ],
)
async def test_bad_mapping_fails_initialize(filesystem: FilesystemOptions, place: str) -> None:
    """R-MOUNT-1"""
    with pytest.raises(ResponseError) as refused:
        async with FileOpsClient.start(initialization_options={"filesystems": [filesystem]}, roots="anywhere"):
            pass
    assert place in str(refused.value.data)
    assert SECRET not in str(refused.value.data) + str(refused.value)


async def test_remote_filesystems_are_not_loaded_before_they_are_used() -> None:
    """R-MOUNT-1"""
    options: Options = {"filesystems": [{"prefix": "/far", "url": "sftp://nowhere.invalid/x"}]}
    async with FileOpsClient.start(initialization_options=options, roots="anywhere") as client:
        maps = pathlib.Path(f"/proc/{client.pid}/maps").read_text()
        assert "cryptography" not in maps  # asyncssh's
        assert children_of(client.pid) == []
