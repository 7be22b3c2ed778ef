"""A cancel at every call of an edit: before the commit nothing happened, after it the truth is told; then life goes on.

The shim holds the worker at a call while the cancel arrives. By default a sample of the calls, and by name one before
and one behind the commit; all of them with FILEOPS_FAULTS=all.
"""

from collections.abc import Generator
from itertools import count
from typing import Any

import pytest

from faults.injection import IS_COMPLETE, Action, Shim, Spot, daemon
from faults.stage import OLD, SCENES, Scene
from support.rawclient import RawClient

pytestmark = pytest.mark.timeout(60 if not IS_COMPLETE else 1200)
CANCELLED = -32800


def cancel_at(shim: Shim, client: RawClient, scene: Scene, folder: str, spot: Spot, follower: Any) -> Any:
    """The answers to the cancelled edit and to the one behind it; None where the edit has no such call."""
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
        shim.release()
        return client.answer(msg_id), client.answer(next_id)["result"]
    finally:
        shim.disarm()


def spots_of(scene: Scene) -> Generator[Spot]:
    """Without end: the last ones are behind the edit's last call."""
    yield Spot(name="write")  # the temporary file's, or the journal's
    yield Spot(name="fsync", behind=scene.change)
    yield from (Spot(at=at) for at in count(1, 1 if IS_COMPLETE else 3))


@pytest.mark.parametrize("name", ["edit-swap", "multi-in-place", "create", "multi-create-with-folders"])
def test_a_cancel_at_any_call_is_either_in_time_or_overtaken(shim: Shim, folder: str, name: str) -> None:
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


def test_a_cancelled_edit_that_is_asked_again_is_done(shim: Shim, folder: str) -> None:
    """What the session had seen still counts: nobody has to read again because of a cancel."""
    scene = SCENES["edit-swap"]
    with daemon(folder, env=shim.environment) as client:
        for name in ("open", "flock", "write"):
            missing = {"old_string": "not there", "new_string": "x"}
            cancelled, _ = cancel_at(shim, client, scene, folder, Spot(name=name), missing)
            assert cancelled["error"]["code"] == CANCELLED
            assert scene.content(folder) == OLD, shim.fired_at
            assert client.result(scene.method, scene.params(folder))["status"] == "success"
            assert scene.fault(folder, may_be_new=True, may_be_old=False) is None
