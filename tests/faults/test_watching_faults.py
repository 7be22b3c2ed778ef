"""Watching under bad conditions, with the real daemon: a notice or `watcherHealth: degraded`, never a wrong edit.

The daemon runs in its own namespaces, in which limits can be set and filesystems mounted without harm.
"""

import json
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S, wait_until
from support.rawclient import DAEMON, RawClient, raw_client

MAY_UNSHARE = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode == 0
needs_namespaces = pytest.mark.skipif(
    sys.platform != "linux" or not MAY_UNSHARE, reason="namespaces are not to be had here"
)
WATCHES, INSTANCES = "/proc/sys/user/max_inotify_watches", "/proc/sys/user/max_inotify_instances"


@contextmanager
def daemon(command: list[str] | tuple[str, ...] = DAEMON) -> Generator[RawClient]:
    with raw_client(command) as client:
        client.initialize()
        yield client
        assert client.result("fileops/tools")["tools"]
        assert "Traceback" not in client.stderr
        assert client.shut_down() == 0


def limited(limit: str, value: int) -> list[str]:
    return ["unshare", "-Ur", "sh", "-c", f'echo {value} > {limit} && exec "$0" "$@"', *DAEMON]


def within(client: RawClient, *command: str) -> None:
    """Run a command where the daemon lives. An ordinary user may not go there: skips the test."""
    if os.geteuid() != 0:
        pytest.skip("only root may enter the daemon's namespaces")
    subprocess.run([*nsenter(client), *command], check=True, capture_output=True, timeout=PATIENCE_S)


def nsenter(client: RawClient) -> list[str]:
    return ["nsenter", "--target", str(client.process.pid), "--user", "--mount", "--preserve-credentials"]


def unmount(client: RawClient, folder: Path) -> None:
    """Refused as busy while the daemon has a file of it open, as it has during a check."""

    def unmounted() -> bool:
        command = [*nsenter(client), "umount", str(folder)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0 or "busy" in done.stderr, done
        return done.returncode == 0

    wait_until(unmounted)


def read(client: RawClient, path: Path) -> Any:
    result = client.result("fileops/read", {"file_path": str(path)})
    assert result["status"] == "success", result
    return result


def edit(client: RawClient, path: Path, old: str, new: str) -> str | None:
    """The code of the failure, None where it was applied."""
    params = {"file_path": str(path), "old_string": old, "new_string": new}
    error = client.result("fileops/edit", params)["error"]
    return None if error is None else error["code"]


def stale(client: RawClient, path: Path) -> str:
    """The reason in the notice about this file, which has to come."""
    told = client.claim(lambda m: m.get("method") == "fileops/didBecomeStale" and m["params"]["file_path"] == str(path))
    return told["params"]["reason"]


def health(client: RawClient) -> tuple[str, str]:
    told = client.notification("fileops/watcherHealth")
    return told["state"], told["reason"]


def wait_for_health(client: RawClient, state: str) -> str:
    while True:
        now, reason = health(client)
        if now == state:
            return reason


def folders_with_a_file(root: Path, n: int) -> list[Path]:
    for k in range(n):
        (root / str(k)).mkdir()
        (root / str(k) / "f").write_text("one\n", encoding="utf-8")
    return [root / str(k) / "f" for k in range(n)]


def check_that_changes_are_seen(client: RawClient, paths: list[Path]) -> None:
    """By the edit that follows at once, and by a notice."""
    for path in paths:
        read(client, path)
        path.write_text("one\ntwo\n", encoding="utf-8")
        assert edit(client, path, "one", "1") == "modified_externally"
        assert path.read_text(encoding="utf-8") == "one\ntwo\n"
        assert stale(client, path) == "modified"
        read(client, path)
    for path in paths:
        path.write_text("one\n", encoding="utf-8")
        assert stale(client, path) == "modified"
        read(client, path)
        assert edit(client, path, "one", "1") is None
        assert path.read_text(encoding="utf-8") == "1\n"
        path.write_text("one\n", encoding="utf-8")
        stale(client, path)


# R-WATCH-1, R-WATCH-2
@needs_namespaces
@pytest.mark.parametrize(("limit", "value"), [(WATCHES, 2), (WATCHES, 0), (INSTANCES, 0)])
def test_exhausted_watch_limit_is_reported_once_and_the_sweep_takes_over(
    tmp_path: Path, limit: str, value: int
) -> None:
    paths = folders_with_a_file(tmp_path, 4)
    with daemon(limited(limit, value)) as client:
        for path in paths:
            read(client, path)
        assert "watched" in wait_for_health(client, "degraded")
        check_that_changes_are_seen(client, paths)
        assert [m for m in client.received if m.get("method") == "fileops/watcherHealth"] == []
        within(client, "sh", "-c", f"echo 1000 > {limit}")
        assert wait_for_health(client, "ok") == ""
        check_that_changes_are_seen(client, paths)


# R-WATCH-2
def test_overflowing_queue_is_reported_and_caught_up_with(tmp_path: Path) -> None:
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        n_queued = int(file.read())
    (path,) = folders_with_a_file(tmp_path, 1)
    others = path.with_name("a"), path.with_name("b")
    for other in others:
        other.touch()
    with daemon() as client:
        check_that_changes_are_seen(client, [path])  # so the watch is in place
        read(client, path)
        client.process.send_signal(signal.SIGSTOP)
        for n in range(n_queued + 5000):
            os.utime(others[n % 2])
        path.write_text("one\ntwo\n", encoding="utf-8")
        client.process.send_signal(signal.SIGCONT)
        assert edit(client, path, "one", "1") == "modified_externally"
        assert stale(client, path) == "modified"
        assert "dropped" in wait_for_health(client, "degraded")
        wait_for_health(client, "ok")
        check_that_changes_are_seen(client, [path])


def mount(client: RawClient, folder: Path, text: str) -> None:
    within(client, "mount", "-t", "tmpfs", "none", str(folder))
    write_inside(client, folder / "f", text)


def write_inside(client: RawClient, path: Path, text: str) -> None:
    within(client, "sh", "-c", f"printf %s {json.dumps(text)} > {path}")


@needs_namespaces
@pytest.mark.parametrize("text", ["one\n", "other\n"])
def test_filesystem_mounted_over_a_folder_makes_its_files_stale(tmp_path: Path, text: str) -> None:
    (path,) = folders_with_a_file(tmp_path, 1)
    with daemon(["unshare", "-Urm", *DAEMON]) as client:
        read(client, path)
        mount(client, path.parent, text)
        assert edit(client, path, "o", "0") == "modified_externally"
        assert stale(client, path) in {"replaced", "modified", "deleted"}
        read(client, path)
        write_inside(client, path, "three\n")
        assert stale(client, path) in {"replaced", "modified"}
        read(client, path)
        assert edit(client, path, "three", "3") is None
        unmount(client, path.parent)
        assert edit(client, path, "one", "1") == "modified_externally"
        assert stale(client, path) in {"replaced", "modified", "deleted"}
        read(client, path)
        check_that_changes_are_seen(client, [path])


@needs_namespaces
def test_unmounting_makes_the_files_stale(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    path = folder / "f"
    with daemon(["unshare", "-Urm", *DAEMON]) as client:
        mount(client, folder, "one\n")
        read(client, path)
        unmount(client, folder)
        assert stale(client, path) == "deleted"
        assert edit(client, path, "one", "1") == "not_found"
        assert list(folder.iterdir()) == []
        mount(client, folder, "one\n")
        assert edit(client, path, "one", "1") == "not_read"
        read(client, path)
        assert edit(client, path, "one", "1") is None


@needs_namespaces
def test_filesystem_that_becomes_read_only_refuses_edits_and_serves_again(tmp_path: Path) -> None:
    with daemon(["unshare", "-Urm", *DAEMON]) as client:
        mount(client, tmp_path, "one\n")
        read(client, tmp_path / "f")
        within(client, "mount", "-o", "remount,ro", str(tmp_path))
        assert edit(client, tmp_path / "f", "one", "1") == "permission_denied"
        within(client, "mount", "-o", "remount,rw", str(tmp_path))
        assert edit(client, tmp_path / "f", "one", "1") is None


@needs_namespaces
def test_inaccessible_folder_is_no_change_and_stays_watched(tmp_path: Path) -> None:
    paths = folders_with_a_file(tmp_path, 2)
    with daemon(["unshare", "-U", "--map-user=1000", *DAEMON]) as client:  # without root's rights to look everywhere
        for path in paths:
            read(client, path)
        paths[0].parent.chmod(0)
        try:
            assert edit(client, paths[0], "one", "1") == "permission_denied"
            check_that_changes_are_seen(client, paths[1:])
            told = [m["params"]["file_path"] for m in client.received if m.get("method") == "fileops/didBecomeStale"]
            assert str(paths[0]) not in told
        finally:
            paths[0].parent.chmod(0o755)
        read(client, paths[0])
        check_that_changes_are_seen(client, paths[:1])


FAR_TIMES_NS = [-1, 0, 1, 2**31 * 10**9, 4_000_000_000 * 10**9 + 7, 10**9]


@pytest.mark.parametrize("mtime_ns", FAR_TIMES_NS)
def test_timestamps_of_a_broken_clock_hide_no_change(tmp_path: Path, mtime_ns: int) -> None:
    """Same size and the very same modification time, in the past, in the future and before the epoch."""
    path = tmp_path / "f"
    path.write_text("one\n", encoding="utf-8")
    os.utime(path, ns=(mtime_ns, mtime_ns))
    with daemon() as client:
        details = read(client, path)["details"]
        assert details["mtime"] == pytest.approx(mtime_ns / 1e9)
        path.write_text("ONE\n", encoding="utf-8")
        os.utime(path, ns=(mtime_ns, mtime_ns))
        assert edit(client, path, "one", "1") == "modified_externally"
        assert stale(client, path) == "modified"
        read(client, path)
        assert edit(client, path, "ONE", "1") is None
        read(client, path)
        path.write_text("two\n", encoding="utf-8")
        assert stale(client, path) == "modified"


def rewrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)


def store(path: Path, data: bytes) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:] = data


# R-WATCH-1
@pytest.mark.parametrize("write", [rewrite, store])
def test_change_right_after_a_read_is_never_overwritten(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    """In the same tick of the clock, with the same size: again and again, so that some share the stamp."""
    path = tmp_path / "f"
    with daemon() as client:
        for n in range(60):
            path.write_bytes(b"old %04d\n" % n)
            read(client, path)
            write(path, b"NEW %04d\n" % n)
            assert edit(client, path, "old", "mine") == "modified_externally"
            assert path.read_bytes() == b"NEW %04d\n" % n
            stale(client, path)


def test_stores_that_do_not_change_the_mtime_are_never_overwritten(tmp_path: Path) -> None:
    """The first store into a page moves the modification time, the next ones do not until the page is written back."""
    path = tmp_path / "f"
    path.write_bytes(b"value 0\n" * 1000)
    with daemon() as client, path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for n in range(1, 20):
            memory[6:7] = b"%d" % (n % 10)
            read(client, path)
            memory[7990:7998] = b"other %02d" % n
            code = edit(client, path, f"value {n % 10}\n" if n % 10 else "value 9\n", "x")
            assert code == "modified_externally", (n, code)
            assert memory[7990:7998] == b"other %02d" % n
