"""kill -9 of the real daemon at every call on the edit's way: the old file or the new one, and no litter.

By default a sample of the points, another one in each scene; all of them with FILEOPS_FAULTS=all. A point is "the n-th
call of this name", so that a call of another thread in between moves none.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot, daemon
from faults.stage import OLD, SCENES, Scene
from support.rawclient import RawClient

pytestmark = pytest.mark.timeout(300 if not IS_COMPLETE else 1200)
_CHANGES = {"write", "pwrite", "renameat", "renameat2", "linkat", "unlinkat", "ftruncate", "mkdirat", "posix_fallocate"}


def die(shim: Shim, client: RawClient, scene: Scene, folder: str, action: Action, spot: Spot) -> bool:
    """Prepare, read, ask. Whether the daemon was killed; else the edit had no such point."""
    scene.prepare(folder)
    if not scene.creates:
        client.result("fileops/read", {"file_path": scene.path(folder)})
    shim.arm(action, spot)
    msg_id = client.request(scene.method, scene.params(folder))
    try:
        client.answer(msg_id)
    except AssertionError:
        assert client.wait() == -9, client.stderr
        return True
    finally:
        shim.disarm()
    return False


def look_after(client: RawClient, scene: Scene, folder: str) -> None:
    """The first use of the folder after a start."""
    client.result("fileops/read", {"file_path": scene.path(folder)})
    client.result("fileops/tracked", {})


def calls_of(shim: Shim, scene: Scene, folder: str) -> list[str]:
    """The calls of an undisturbed edit."""
    scene.prepare(folder)
    with daemon(folder, env=shim.environment) as client:
        if not scene.creates:
            client.result("fileops/read", {"file_path": scene.path(folder)})
        shim.arm(Action.COUNT)
        assert client.result(scene.method, scene.params(folder))["status"] == "success"
        shim.disarm()
    assert scene.fault(folder, may_be_new=True, may_be_old=False) is None
    return shim.calls


def points_of(calls: list[str], scene: Scene) -> list[tuple[Action, Spot]]:
    """Every call; each write also by half. The sample prefers the calls that change something."""
    n_met: Counter[str] = Counter()
    whole: list[tuple[Action, Spot]] = []
    for name in calls:
        n_met[name] += 1
        whole.append((Action.KILL, Spot(at=n_met[name], name=name)))
    halves = [(Action.KILL_HALF, spot) for _, spot in whole if spot.name in {"write", "pwrite"}]
    if IS_COMPLETE:
        return whole + halves
    offset = list(SCENES.values()).index(scene)
    quiet = [point for point in whole if point[1].name not in _CHANGES]
    loud = [point for point in whole if point[1].name in _CHANGES] + halves
    return [*quiet[offset::15], *(loud[offset % 3 :: 3] if len(loud) > 12 else loud)]


def surest(scene: Scene) -> list[tuple[Action, Spot]]:
    """Points that every edit has: half written, directly before the change, right after it."""
    half = Spot(name="pwrite" if scene.is_linked else "write")
    before, behind = Spot(name=scene.change), Spot(name="fsync", behind=scene.change)
    return [(Action.KILL_HALF, half), (Action.KILL, before), (Action.KILL, behind)]


@pytest.mark.parametrize("name", list(SCENES))
def test_daemon_killed_at_any_call_leaves_the_old_file_or_the_new_one(
    shim: Shim, folder: str, name: str, record_property: Callable[[str, object], None]
) -> None:
    scene, n_killed = SCENES[name], 0
    before = ""
    sure = surest(scene)
    for action, spot in [*sure, *points_of(calls_of(shim, scene, folder), scene)]:
        with daemon(folder, env=shim.environment) as client:  # looks after the one before, and is killed itself
            look_after(client, scene, folder)
            assert not before or (fault := scene.fault(folder, may_be_new=True)) is None, f"{before}: {fault}"
            is_dead = die(shim, client, scene, folder, action, spot)
            assert is_dead or (action, spot) not in sure, spot  # of the others, an edit may go another way
            n_killed += is_dead
            before = f"{action.name} at {shim.fired_at}" if is_dead else ""
    with daemon(folder) as client:
        look_after(client, scene, folder)
    assert (fault := scene.fault(folder, may_be_new=True)) is None, f"{before}: {fault}"
    record_property("n_points", n_killed)


@pytest.mark.parametrize("name", ["multi-in-place", "edit-in-place"] if IS_COMPLETE else ["multi-in-place"])
def test_recovery_that_is_killed_is_completed_by_the_next_start(shim: Shim, folder: str, name: str) -> None:
    scene = SCENES[name]
    at = 0
    while True:
        at += 1
        with daemon(folder, env=shim.environment) as client:
            assert die(shim, client, scene, folder, Action.KILL_HALF, Spot(name=scene.change))
        assert scene.fault(folder, may_be_new=True) is not None, "nothing is torn: the test is no test"
        with daemon(env=shim.environment) as client:
            shim.arm(Action.KILL, Spot(at=at))
            read = client.request("fileops/read", {"file_path": scene.path(folder)})
            try:
                client.answer(read)
            except AssertionError:
                assert client.wait() == -9, client.stderr
            shim.disarm()
        is_over = not shim.has_fired
        with daemon(folder) as client:
            look_after(client, scene, folder)
        fault = scene.fault(folder, may_be_new=False, with_time=False)  # the second kill may come before the time
        assert fault is None, f"at call {at} of the start: {fault}"
        if is_over:
            break
        if not IS_COMPLETE:
            at += 9
    assert at > 1


def test_file_in_a_folder_that_cannot_hold_a_journal_is_recovered(shim: Shim, folder: str, tmp_path: Path) -> None:
    """Its journal lies in the state folder, which every start looks at."""
    if os.geteuid() != 0 or shutil.which("chattr") is None:
        pytest.skip("only root may make a folder append-only")
    scene = SCENES["edit-swap"]
    state = f"{tmp_path}/state/fileops-server/journals"
    over = Shim.over(shim.library, folder, state)
    scene.prepare(folder)
    if subprocess.run(["chattr", "+a", folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("no append-only folders on this filesystem")
    try:
        with daemon(folder, env=over.environment) as client:
            client.result("fileops/read", {"file_path": scene.path(folder)})
            over.arm(Action.KILL_HALF, Spot(name="pwrite"))
            client.request(scene.method, scene.params(folder))
            assert client.wait() == -9
            over.disarm()
        assert Path(scene.path(folder)).read_bytes() != OLD
        with daemon(folder) as client:
            look_after(client, scene, folder)
        assert os.listdir(state) == []
        assert scene.fault(folder, may_be_new=False) is None
    finally:
        subprocess.run(["chattr", "-a", folder], check=True)
