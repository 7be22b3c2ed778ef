"""A cancel at every call of an edit: before the commit nothing happened, after it the answer is true; later edits work.

The shim holds the worker at a call while the cancel arrives. By default a sample of the calls, and by name one before
and one after the commit; all of them with FILEOPS_FAULTS=all.
"""

import os
from collections.abc import Generator
from itertools import count
from typing import Any

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot, daemon
from faults.stage import OLD, SCENES, Scene
from support.patience import wait_until
from support.rawclient import RawClient

pytestmark = pytest.mark.timeout(60 if not IS_COMPLETE else 1200)
CANCELLED = -32800
MAX_TRIES = 5  # the held call may be one of the monitor's, which has noticed the new scene: then the edit continues


def cancel_at(shim: Shim, client: RawClient, scene: Scene, folder: str, spot: Spot, follower: Any) -> Any:
    """The answers to the cancelled edit and to the one after it; None where the edit has no such call."""
    scene.prepare(folder)
    if not scene.creates:
        client.result("fileops/read", {"file_path": scene.path(folder)})
    shim.arm(Action.WAIT, spot)
    msg_id = client.request(scene.method, scene.params(folder))
    try:
        if not shim.wait_until_held(client, msg_id):
            client.answer(msg_id)
            return None
        client.notify("$/cancelRequest", {"id": msg_id})
        next_id = client.request("fileops/edit", {"file_path": scene.path(folder), **follower})
        client.result("fileops/tools")  # the cancel has been taken
        shim.release()
        return client.answer(msg_id), client.answer(next_id)["result"]
    finally:
        shim.disarm()


def spots_of(scene: Scene) -> Generator[Spot]:
    """Without end: the last ones are after the edit's last call."""
    yield Spot(name="write")  # the temporary file's, or the journal's
    yield Spot(name="fsync", behind=scene.change)
    yield from (Spot(at=at) for at in count(1, 1 if IS_COMPLETE else 3))


@pytest.mark.parametrize("name", ["edit-swap", "multi-in-place", "create", "multi-create-with-folders"])
def test_cancel_at_any_call_is_in_time_or_too_late(shim: Shim, folder: str, name: str) -> None:
    scene = SCENES[name]
    done: list[bool] = []
    if scene.creates:
        follower = {"old_string": "", "new_string": "by the next one\n"}
        behind = b"by the next one\n"
    else:
        follower = {"old_string": "line 00050 of", "new_string": "by the next one"}
        behind = b"by the next one"
    with daemon(folder, env=shim.environment) as client:
        for spot in spots_of(scene):
            answers = cancel_at(shim, client, scene, folder, spot, follower)
            if answers is None:
                break
            cancelled, following = answers
            content = scene.content(folder)
            assert content is not None
            if "error" in cancelled:
                assert cancelled["error"]["code"] == CANCELLED, cancelled
                assert following["status"] == "success", f"{shim.fired_at}: {following}"
                assert behind in content
            else:
                assert cancelled["result"]["status"] == "success", f"{shim.fired_at}: {cancelled}"
                assert following["status"] == ("error" if scene.creates else "success"), f"{shim.fired_at}: {following}"
            was_done = "result" in cancelled
            done.append(was_done)
            if scene.creates:
                assert content == (scene.new if was_done else behind), shim.fired_at
            else:
                is_there = content.replace(behind, b"line 00050 of") == scene.new
                assert is_there is was_done, shim.fired_at
    assert done[:2] == [False, True]
    assert len(done) > 2


def things_in(folder: str) -> list[str]:
    return sorted(os.path.join(at, name) for at, folders, names in os.walk(folder) for name in (*folders, *names))


@pytest.mark.parametrize(
    ("name", "spot"),
    [
        ("multi-create-with-folders", Spot(name="mkdir")),
        ("multi-create-with-folders", Spot(name="mkdir", at=2)),
        ("multi-create-with-folders", Spot(name="fsync")),
        ("multi-create-with-folders", Spot(name="write")),
        ("create", Spot(name="write")),
        ("edit-swap", Spot(name="write")),
        ("edit-in-place", Spot(name="write")),
    ],
    ids=str,
)
def test_cancelled_edit_is_answered_after_its_cleanup(shim: Shim, folder: str, name: str, spot: Spot) -> None:
    """R-CANCEL-1."""
    scene = SCENES[name]
    with daemon(folder, env=shim.environment) as client:
        scene.prepare(folder)
        stood = things_in(folder)
        if not scene.creates:
            client.result("fileops/read", {"file_path": scene.path(folder)})
        shim.arm(Action.WAIT, spot)
        msg_id = client.request(scene.method, scene.params(folder))
        assert shim.wait_until_held(client, msg_id)
        client.notify("$/cancelRequest", {"id": msg_id})
        client.result("fileops/tools")  # the cancel has been taken
        assert not any(message.get("id") == msg_id for message in client.received)
        shim.release()
        assert client.answer(msg_id)["error"]["code"] == CANCELLED
        assert things_in(folder) == stood
        client.result("fileops/tracked")
        assert things_in(folder) == stood
        shim.disarm()


def test_cancel_of_an_edit_on_a_hung_disk_is_answered_and_cleaned_up_later(shim: Shim, folder: str) -> None:
    """R-CANCEL-1."""
    scene = SCENES["multi-create-with-folders"]
    with daemon(folder, env=shim.environment) as client:
        shim.arm(Action.WAIT, Spot(name="fsync"))
        msg_id = client.request(scene.method, scene.params(folder))
        assert shim.wait_until_held(client, msg_id)
        client.notify("$/cancelRequest", {"id": msg_id})
        assert client.answer(msg_id)["error"]["code"] == CANCELLED
        left = things_in(folder)
        assert left != []
        shim.release()
        wait_until(lambda: things_in(folder) == [])
        shim.disarm()
        assert client.result(scene.method, scene.params(folder))["status"] == "success"


def test_held_call_continues_when_the_shim_is_armed_again(shim: Shim, folder: str) -> None:
    """Else a thread of the round before holds its locks for ever, and the next edit waits for them."""
    scene = SCENES["edit-swap"]
    with daemon(folder, env=shim.environment) as client:
        scene.prepare(folder)
        shim.arm(Action.WAIT, Spot(name="openat"))
        msg_id = client.request("fileops/read", {"file_path": scene.path(folder)})
        assert shim.wait_until_held(client, msg_id)
        shim.release()
        shim.arm(Action.WAIT, Spot(name="nothing of that name"))
        assert client.answer(msg_id)["result"]["status"] == "success"


def test_cancelled_edit_can_be_repeated(shim: Shim, folder: str) -> None:
    """What the session had seen still counts: a cancel does not require another read."""
    scene = SCENES["edit-swap"]
    with daemon(folder, env=shim.environment) as client:
        for name in ("open", "flock", "write"):
            missing = {"old_string": "not there", "new_string": "x"}
            tries = (cancel_at(shim, client, scene, folder, Spot(name=name), missing)[0] for _ in range(MAX_TRIES))
            cancelled = next((answer for answer in tries if "error" in answer), None)
            assert cancelled is not None, "no cancel was in time"
            assert cancelled["error"]["code"] == CANCELLED
            assert scene.content(folder) == OLD, shim.fired_at
            assert client.result(scene.method, scene.params(folder))["status"] == "success"
            assert scene.fault(folder, may_be_new=True, may_be_old=False) is None
