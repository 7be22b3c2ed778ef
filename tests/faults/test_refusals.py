"""Any call of an edit may fail: the old bytes remain, no temp file, and a code and a sentence say what to do.

By default each error number meets a sample of the calls; all of them meet all with FILEOPS_FAULTS=all.
"""

import errno
import os
from collections.abc import Callable, Iterator
from itertools import chain, count

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot, daemon
from faults.stage import SCENES, Scene
from support.rawclient import RawClient

pytestmark = pytest.mark.timeout(300 if not IS_COMPLETE else 1200)

SYSTEM = {"io_error"}
CODES = {
    errno.ENOSPC: {"disk_full"},
    errno.EDQUOT: {"disk_full"},
    errno.EIO: SYSTEM,
    errno.EACCES: {"permission_denied"},
    errno.EROFS: {"permission_denied"},
    errno.EINTR: SYSTEM,
    errno.ENOENT: {"not_found", "io_error", "modified_externally"},
}
ADVICE = {  # a part of the advice to the user or the model
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "quota",
    errno.EIO: "check",
    errno.EACCES: "permission",
    errno.EROFS: "read-only",
    errno.EINTR: "try again",
}


def put(shim: Shim, client: RawClient, scene: Scene, folder: str, action: Action, spot: Spot, number: int) -> object:
    """The result of an edit of which that call fails."""
    scene.prepare(folder)
    if not scene.creates:
        client.result("fileops/read", {"file_path": scene.path(folder)})
    shim.arm(action, spot, number)
    try:
        return client.result(scene.method, scene.params(folder))
    finally:
        shim.disarm()


def sweep(shim: Shim, client: RawClient, scene: Scene, folder: str, number: int, step: int) -> int:
    """How many points there were."""
    at = n_points = 0
    while True:
        at += 1 if IS_COMPLETE else step
        answer = put(shim, client, scene, folder, Action.FAIL, Spot(at=at), number)
        if not shim.has_fired:
            return n_points
        n_points += 1
        if "unlinkat" in shim.fired_at:  # what could not be removed goes at the next use of the folder
            client.result("fileops/read", {"file_path": scene.path(folder)})
        judge(answer, scene, folder, number, shim.fired_at)


def every(step: int) -> Iterator[Spot]:
    """Without end: the last ones are after the edit's last call."""
    return (Spot(at=at) for at in count(1, 1 if IS_COMPLETE else step))


def judge(answer: object, scene: Scene, folder: str, number: int, where: str) -> None:
    assert isinstance(answer, dict)
    said = f"{errno.errorcode[number]} at {where}: {answer['status']}, {answer['error']}"
    if answer["status"] == "success":  # what failed was not needed, or was tried again
        fault = scene.fault(folder, may_be_new=True, may_be_old=False)
    else:
        assert answer["error"]["code"] in CODES[number], said
        if answer["error"]["code"] in {"disk_full", "permission_denied", "io_error"} and number in ADVICE:
            assert ADVICE[number] in answer["error"]["message"], said
            assert ADVICE[number] in answer["output"], said
        fault = scene.fault(folder, may_be_new=False)
    assert fault is None, f"{said}: {fault}"


@pytest.mark.parametrize("number", list(CODES), ids=errno.errorcode.get)
@pytest.mark.parametrize("name", list(SCENES))
def test_failing_call_leaves_the_old_file_and_names_a_remedy(
    shim: Shim, folder: str, name: str, number: int, record_property: Callable[[str, object], None]
) -> None:
    with daemon(folder, env=shim.environment) as client:
        step = 8 + (list(SCENES).index(name) + list(CODES).index(number)) % 4
        n_points = sweep(shim, client, SCENES[name], folder, number, step)
    record_property("n_points", n_points)
    assert n_points >= 1


@pytest.mark.parametrize("name", ["edit-swap", "edit-in-place", "create"])
def test_edit_on_a_failed_disk_is_recovered_when_the_disk_is_back(shim: Shim, folder: str, name: str) -> None:
    """Then nothing can be reverted either: the next use does it."""
    scene = SCENES[name]
    before, behind = Spot(name=scene.change), Spot(name="fsync", behind=scene.change)
    hit: list[Spot] = []
    with daemon(folder, env=shim.environment) as client:
        for spot in chain((before, behind), every(5)):
            answer = put(shim, client, scene, folder, Action.FAIL_ON, spot, errno.EIO)
            assert isinstance(answer, dict)
            if not shim.has_fired:
                break
            hit.append(spot)
            look = client.result("fileops/read", {"file_path": scene.path(folder)})
            assert look["status"] == "success" or look["error"]["code"] == "not_found", look
            fault = scene.fault(folder, may_be_new=True)
            assert fault is None, f"EIO from {shim.fired_at} on: {answer['error']}: {fault}"
    assert hit[:2] == [before, behind]
    assert len(hit) > 2


def test_removal_of_the_folder_during_an_edit_loses_no_edit(shim: Shim, folder: str) -> None:
    scene = SCENES["edit-swap"]
    before, behind = Spot(name=scene.change), Spot(name="fsync", behind=scene.change)
    met: list[Spot] = []
    for spot in chain((before, behind), every(4)):
        os.makedirs(f"{folder}/inner", exist_ok=True)
        inner = f"{folder}/inner"
        scene.prepare(inner)
        with daemon(folder, env=shim.environment) as client:
            client.result("fileops/read", {"file_path": scene.path(inner)})
            shim.arm(Action.WAIT, spot)
            msg_id = client.request(scene.method, scene.params(inner))
            if not shim.wait_until_held(client, msg_id):
                assert client.answer(msg_id)["result"]["status"] == "success"
                shim.disarm()
                break
            met.append(spot)
            os.rename(inner, f"{folder}/gone")
            shim.release()
            answer = client.answer(msg_id)["result"]
            shim.disarm()
        here = scene.fault(f"{folder}/gone", may_be_new=answer["status"] == "success")
        assert here is None, f"{shim.fired_at}: {answer['error']}: {here}"
        assert not os.path.exists(inner), f"{shim.fired_at}: the removed folder is back"
        scene.prepare(f"{folder}/gone")
        os.unlink(scene.path(f"{folder}/gone"))
        os.rmdir(f"{folder}/gone")
    assert met[:2] == [before, behind]
    assert len(met) > 2
