"""kill -9 of the daemon at every changing call of an undo of several files: all are as before it, or all as after it.

R-UNDO-3, R-REW-5, R-SET-8. By default a sample of the calls; all of them with FILEOPS_FAULTS=all.
"""

import contextlib
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot
from support.daemon_process import FILEOPS, Place, attached, place
from support.patience import wait_until
from support.rawclient import RawClient

pytestmark = pytest.mark.timeout(1200)
RENAMES = {"rename", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat"}
CHANGING = RENAMES | {"write", "pwrite", "fsync", "ftruncate", "fchmod"}
SAMPLE = 7  # every so many calls, without FILEOPS_FAULTS=all
CHANGED, CREATED = ("a.txt", "b.txt", "c.txt"), "new.txt"
OLD, NEW = "one\ntwo\nthree\n", "one\n2\nthree\n"
BEFORE = {**dict.fromkeys(CHANGED, NEW), CREATED: "made\n"}
AFTER = dict.fromkeys(CHANGED, OLD)


class Stage:
    """A shared daemon under the shim, that is started again after it was killed."""

    def __init__(self, shim: Shim, here: Place, root: Path) -> None:
        self.shim, self._here, self._root = shim, here, root
        self._running = contextlib.ExitStack()
        self._n_folders = 0
        self._daemon: subprocess.Popen[bytes] | None = None
        self._client: RawClient | None = None

    def client(self) -> RawClient:
        if self._client is None:
            # Started here and not by a pump, which gives its daemon a clean environment.
            environment = {**self._here.process_env, **self.shim.environment}
            self._daemon = subprocess.Popen([*FILEOPS, "daemon", "--idle-s", "600"], env=environment)
            wait_until(lambda: self._here.socket.exists() and self._here.run("status", "--json").returncode == 0)
            self._client = self._running.enter_context(attached(self._here, "--shared", "--host", "nvim"))
            self._client.initialize(rootUri=self._root.as_uri())
            wait_until(self._is_recorded)
        return self._client

    def _is_recorded(self) -> bool:
        folders = self.client().result("fileops/recordStatus", {})["folders"]
        return any(folder["state"] != "starting" for folder in folders)

    def end(self) -> None:
        """Kill the daemon, if it lives, and forget it."""
        if self._daemon is not None:
            with contextlib.suppress(ProcessLookupError):
                self._daemon.send_signal(signal.SIGKILL)
            self._daemon.wait()
        with contextlib.suppress(Exception):  # the boundary to a client whose daemon is dead
            self._running.close()
        self._running, self._client = contextlib.ExitStack(), None

    def edited(self, make: Callable[[RawClient, str, list[dict[str, Any]]], dict[str, Any]]) -> tuple[Path, Any]:
        """A folder with the edits of a session, and the params of what undoes them."""
        self._n_folders += 1
        folder, session = self._root / f"p{self._n_folders}", f"s{self._n_folders}"
        folder.mkdir()
        changes: list[dict[str, Any]] = []
        for name in CHANGED:
            (folder / name).write_text(OLD)
            assert self.client().read(str(folder / name), session_id=session)["status"] == "success"
            edit = {"old_string": "two", "new_string": "2"}
            changes.append({"kind": "edit", "file_path": str(folder / name), "edits": [edit]})
        changes.append({"kind": "create", "file_path": str(folder / CREATED), "content": "made\n"})
        params = make(self.client(), session, changes)
        assert contents(folder) == BEFORE
        return folder, params

    def killed_at(self, spot: Spot, method: str, params: Any) -> bool:
        """Send the request, and wait for the death of the daemon or for the answer. Whether the spot was reached."""
        client = self.client()
        assert self._daemon is not None
        daemon = self._daemon
        self.shim.arm(Action.KILL, spot)
        request = client.request(method, params)
        wait_until(lambda: daemon.poll() is not None or any(each.get("id") == request for each in client.received))
        has_fired = self.shim.has_fired
        self.shim.disarm()
        self.end()
        return has_fired


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def is_clean(folder: Path) -> bool:
    """Whether nothing is left that the daemon had put there for a moment."""
    return not any(name.startswith(".fileops-") for name in os.listdir(folder))


def edit_each(client: RawClient, session: str, changes: list[dict[str, Any]]) -> None:
    for change in changes:
        if change["kind"] == "create":
            params = {"file_path": change["file_path"], "content": change["content"], "session_id": session}
            assert client.result("fileops/write", params)["status"] == "success"
        else:
            params = {"file_path": change["file_path"], **change["edits"][0], "session_id": session}
            assert client.result("fileops/edit", params)["status"] == "success"


def of_session(client: RawClient, session: str, changes: list[dict[str, Any]]) -> dict[str, Any]:
    edit_each(client, session, changes)
    return {"session_id": session, "approved": True}


def of_set(client: RawClient, session: str, changes: list[dict[str, Any]]) -> dict[str, Any]:
    done = client.result("fileops/applyChanges", {"changes": changes, "session_id": session})
    assert done["status"] == "success", done
    return {"set_id": done["details"]["set_id"], "approved": True}


@pytest.fixture
def stage(library: Path, tmp_path: Path) -> Generator[Stage]:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    with place() as here:
        shim = Shim.over(library, str(root), f"{here.folder}/state/fileops-server/sets")
        stage = Stage(shim, here, root)
        try:
            yield stage
        finally:
            stage.end()


@pytest.mark.parametrize(
    ("method", "make"),
    [
        pytest.param("fileops/rewind", of_session, id="rewind"),
        pytest.param("fileops/undo", of_session, id="undo of a session"),
        pytest.param("fileops/undo", of_set, id="undo of a set"),
    ],
)
def test_killed_undo_of_several_files_is_made_in_all_or_in_none(stage: Stage, method: str, make: Any) -> None:
    folder, params = stage.edited(make)
    stage.shim.arm(Action.COUNT)
    assert stage.client().result(method, params)["status"] == "success"
    calls = stage.shim.calls
    stage.shim.disarm()
    assert contents(folder) == AFTER
    n_met, spots = Counter[str](), list[Spot]()
    for name in calls:
        n_met[name] += 1
        if name in CHANGING:
            spots.append(Spot(at=n_met[name], name=name))
    faults: list[str] = []
    for spot in spots[:: 1 if IS_COMPLETE else SAMPLE]:
        folder, params = stage.edited(make)
        assert stage.killed_at(spot, method, params), f"{spot} was not reached"
        for name in (*CHANGED, CREATED):  # the next use of the folder recovers it
            stage.client().read(str(folder / name))
        wait_until(partial(is_clean, folder))
        if (present := contents(folder)) not in (BEFORE, AFTER):
            faults.append(f"killed at {spot.name} {spot.at}: {present}")
    assert faults == []
    assert len(spots) > SAMPLE
