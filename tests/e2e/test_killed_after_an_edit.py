"""A daemon is killed after an edit was answered and before the record has it: the next one knows who wrote it.

R-REC-6. The test holds the lock of the record's database, so that no entry can be written before the kill.
"""

import os
import signal
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from support.daemon_process import Place, attached
from support.patience import wait_until
from support.rawclient import RawClient
from support.recorded_folder import locked

OLD = "one\ntwo\nthree\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "p"
    path.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (path / name).write_text(OLD)
    return path


def _editor(here: Place) -> AbstractContextManager[RawClient]:
    return attached(here, "attach", "--role", "editor", "--host", "nvim")


def _begin(client: RawClient, folder: Path) -> RawClient:
    client.initialize(rootUri=folder.as_uri(), initializationOptions={"approval_mode": "yolo"})
    wait_until(lambda: _is_recorded(client, folder))
    return client


def _is_recorded(client: RawClient, folder: Path) -> bool:
    folders = client.result("fileops/recordStatus", {})["folders"]
    return any(status["root"] == str(folder) and status["state"] != "starting" for status in folders)


def _edit(client: RawClient, path: Path, old: str, new: str) -> None:
    client.result("fileops/read", {"file_path": str(path), "session_id": "fix"})
    result = client.result(
        "fileops/edit", {"file_path": str(path), "old_string": old, "new_string": new, "session_id": "fix"}
    )
    assert result["error"] is None, result


def _authors(client: RawClient, path: Path) -> list[tuple[str, str | None]]:
    """The newest first."""
    entries = client.result("fileops/log", {"file_path": str(path)})["entries"]
    return [(entry["by"]["kind"], entry["by"].get("session_id")) for entry in entries]


def test_edit_before_a_kill_is_its_sessions(here: Place, folder: Path) -> None:
    record = Path(here.env["XDG_STATE_HOME"]) / "fileops-server" / "record"
    with _editor(here) as client:
        _begin(client, folder)
        wait_until(lambda: _authors(client, folder / "a.txt") == [])
        with closing(locked(record)):
            _edit(client, folder / "a.txt", "two", "2")
            _edit(client, folder / "a.txt", "three", "3")  # both are one change for the next daemon
            _edit(client, folder / "b.txt", "two", "2")
            (folder / "b.txt").write_text("one\n2\nthree\nby hand\n")  # after the edit: another's
            for pid in here.daemons():
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not here.daemons())
        (folder / "c.txt").write_text("one\ntwo\nthree\nby hand\n")
    with _editor(here) as client:
        _begin(client, folder)
        wait_until(lambda: all(_authors(client, folder / name) for name in ("a.txt", "b.txt", "c.txt")))
        assert [kind for kind, _ in _authors(client, folder / "a.txt")] == ["session"]
        ((_, session_id),) = _authors(client, folder / "a.txt")
        assert session_id is not None
        assert session_id.endswith("fix")
        assert [kind for kind, _ in _authors(client, folder / "b.txt")] == ["unsure"]  # both wrote in it
        assert [kind for kind, _ in _authors(client, folder / "c.txt")] == ["outside"]
