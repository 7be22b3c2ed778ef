"""kill -9 of a daemon that records, and a full disk under its record (R-RECP-4)."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.daemon_process import Place, attached
from support.patience import wait_until
from support.rawclient import RawClient

N_FILES = 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "p"
    path.mkdir()
    for n in range(N_FILES):
        (path / f"f{n}.py").write_text(f"{n}\n")
    subprocess.run(["git", "init", "-q"], cwd=path, check=True)
    return path


def begin(client: RawClient, folder: Path) -> None:
    client.initialize(rootUri=folder.as_uri())
    wait_until(lambda: is_ready(client.result("fileops/recordStatus", {})["folders"], folder))


def is_ready(folders: list[dict[str, Any]], folder: Path) -> bool:
    return any(status["root"] == str(folder) and status["state"] != "starting" for status in folders)


def entries(client: RawClient) -> list[dict[str, Any]]:
    return client.result("fileops/log", {"limit": 1000})["entries"]


def contents_after(client: RawClient) -> dict[str, str | None]:
    """The newest content of each file, as the record has it."""
    newest: dict[str, str | None] = {}
    for entry in reversed(entries(client)):
        shown = client.result("fileops/entry", {"entry_id": entry["entry_id"]})
        newest[Path(entry["path"]).name] = shown["after_text"]
    return newest


@pytest.mark.parametrize("kills_after", [0, 7, 23])
def test_killed_daemon_loses_no_change_and_no_entry_that_was_shown(here: Place, folder: Path, kills_after: int) -> None:
    with attached(here, "--shared", "--host", "nvim") as editor:
        begin(editor, folder)
        for n in range(kills_after):
            (folder / f"f{n}.py").write_text(f"{n} changed\n")
        wait_until(lambda: len(entries(editor)) == kills_after)
        shown = {entry["entry_id"] for entry in entries(editor)}
        for n in range(kills_after, N_FILES):  # it is killed while it records these
            (folder / f"f{n}.py").write_text(f"{n} changed\n")
        (pid,) = here.daemons()
        os.kill(pid, signal.SIGKILL)
        here.wait_for_end(pid)
    with attached(here, "--shared", "--host", "nvim") as editor:
        begin(editor, folder)
        wait_until(lambda: len(entries(editor)) >= N_FILES)
        found = entries(editor)
        assert shown <= {entry["entry_id"] for entry in found}
        assert len(found) == N_FILES
        assert contents_after(editor) == {f"f{n}.py": f"{n} changed\n" for n in range(N_FILES)}
        assert {entry["gap"] for entry in found if entry["entry_id"] not in shown} <= {None, "away"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
def test_full_disk_moves_the_record_into_memory_and_edits_go_on(here: Place, folder: Path) -> None:
    record = here.folder / "state" / "fileops-server" / "record"
    record.mkdir(parents=True, mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k,mode=0700", "tmpfs", str(record)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no mounts here")
    try:
        with attached(here, "--shared", "--host", "nvim") as editor:
            begin(editor, folder)
            for n in range(N_FILES):
                (folder / f"f{n}.py").write_text(os.urandom(20_000).hex())
            wait_until(lambda: len(entries(editor)) >= N_FILES)
            (status,) = editor.result("fileops/recordStatus", {})["folders"]
            assert (status["state"], status["reason"]) == ("limited", "store")
            assert editor.read(folder / "f0.py")["status"] == "success"
    finally:
        subprocess.run(["umount", "-l", str(record)], check=True)
