"""Plugins that block, loop, eat memory or end their process: each costs its own edit, and nothing else."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from fileops.concurrency.workers import N_FOR_PLUGINS
from support.patience import wait_until
from support.rawclient import RawClient, edit_of, raw_client
from support.sshd import descendants_of, is_alive

pytestmark = pytest.mark.xdist_group("plugins")  # one process has the servers that their daemons are forked from


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


def daemon(sites: str, timeout_s: float = 0.5, **more: str) -> Any:
    return raw_client(env={"PYTHONPATH": sites, "FILEOPS_PLUGIN_TIMEOUT_S": str(timeout_s), **more})


def edit_by(file: Path, strategy: str) -> Any:
    return edit_of(file, strategy=strategy)


N_CALLS = 41  # more than there are threads for disk work

STOPPED = "it did not end within 0.5 s and was stopped"


# R-PLUGIN-1
@pytest.mark.parametrize("strategy", ["sleeping", "looping", "holding", "forking"])
def test_strategy_that_does_not_end_is_stopped_and_named(file: Path, sites: str, strategy: str) -> None:
    with daemon(sites) as client:
        client.initialize()
        client.read(file)
        for _ in range(2):
            result = client.result("fileops/edit", edit_by(file, strategy))
            assert (result["error"]["code"], result["error"]["message"]) == (
                "strategy_failed", f"The strategy {strategy} failed: {STOPPED}.",
            )  # fmt: skip
            assert descendants_of(client.process.pid) == []
        assert file.read_bytes() == b"one\ntwo\nthree\n"
        assert client.shut_down() == 0


# R-PLUGIN-1
@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        ("greedy", "MemoryError: it needs more memory than plugins are given"),
        ("leaving", "it ended its process (status 3)"),
    ],
)
def test_strategy_that_breaks_its_process_is_named_and_the_process_replaced(
    file: Path, sites: str, strategy: str, reason: str
) -> None:
    with daemon(sites, 20, FILEOPS_PLUGIN_MEMORY_MB="300") as client:
        client.initialize()
        client.read(file)
        result = client.result("fileops/edit", edit_by(file, strategy))
        assert result["error"]["message"] == f"The strategy {strategy} failed: {reason}."
        assert client.result("fileops/edit", edit_by(file, "talking"))["status"] == "success"
        assert client.shut_down() == 0


def test_process_is_used_again_and_what_a_plugin_prints_does_not_reach_the_client(file: Path, sites: str) -> None:
    """R-PLUGIN-1, R-FRAME-1"""
    with daemon(sites, 20, PYTHONUNBUFFERED="") as client:
        client.initialize()
        client.read(file)
        assert descendants_of(client.process.pid) == []  # none before the first use
        used = set[int]()
        for old, new in (("two", "2"), ("2", "two"), ("two", "2")):
            edit = edit_of(file, old, new, strategy="talking")
            assert client.result("fileops/edit", edit)["status"] == "success"
            used.update(descendants_of(client.process.pid))
        assert len(used) == 1
        assert file.read_bytes() == b"one\n2\nthree\n"
        assert client.shut_down() == 0
        assert "to stdout" in client.stderr
    assert not any(map(is_alive, used))


# R-PLUGIN-1
@pytest.mark.parametrize(
    ("validator", "reason"),
    [
        ("sleeping", STOPPED),
        ("looping", STOPPED),
        ("leaving", "it ended its process (status 3)"),
        ("odd", "it gave no reason but int"),
    ],
)
def test_validator_without_an_answer_refuses_and_is_named(file: Path, sites: str, validator: str, reason: str) -> None:
    with daemon(sites, 0.5 if reason == STOPPED else 20) as client:
        client.initialize(initializationOptions={"validators": [validator]})
        client.read(file)
        error = client.result("fileops/edit", edit_of(file))["error"]
        assert error == {
            "code": "validation_failed", "message": f"The validator {validator} refuses the edit: {reason}.",
        }  # fmt: skip
        assert file.read_bytes() == b"one\ntwo\nthree\n"
        assert client.shut_down() == 0


def require_local_edits(client: RawClient, folder: Path) -> None:
    path = folder / "other.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    client.read(path)
    assert client.result("fileops/edit", edit_of(path))["status"] == "success"
    assert client.result("fileops/history")["edits"]


def test_blocking_plugins_occupy_no_worker_during_or_after_their_call(sites: str, tmp_path: Path) -> None:
    """More of them than there are worker threads of any kind."""
    with daemon(sites) as client:
        client.initialize()
        waiting: list[Any] = []
        for n in range(24):
            path = tmp_path / f"{n}.txt"
            path.write_bytes(b"one\ntwo\nthree\n")
            client.read(path)
            waiting.append(client.request("fileops/edit", edit_by(path, "sleeping")))
        require_local_edits(client, tmp_path)
        assert len(descendants_of(client.process.pid)) <= N_FOR_PLUGINS
        for one in waiting:
            assert client.answer(one)["result"]["error"]["code"] == "strategy_failed"
        require_local_edits(client, tmp_path)
        assert descendants_of(client.process.pid) == []
        assert client.shut_down() == 0


def held_by(pid: int) -> tuple[int, int, list[int]]:
    """Threads, descriptors and child processes."""
    return len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")), descendants_of(pid)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="what a process holds is read from /proc")
def test_many_blocking_plugin_calls_leave_no_process_or_thread(file: Path, sites: str, tmp_path: Path) -> None:
    """R-PLUGIN-1. After the first of them, which starts what stays."""
    with daemon(sites, 0.05) as client:
        client.initialize()
        client.read(file)
        require_local_edits(client, tmp_path)
        before = (0, 0, [0])
        for n in range(N_CALLS):
            result = client.result("fileops/edit", edit_by(file, "sleeping"))
            assert result["error"]["code"] == "strategy_failed"
            if n == 0:
                before = held_by(client.process.pid)
        threads, descriptors, children = held_by(client.process.pid)
        assert children == before[2] == []
        assert threads <= before[0]
        assert descriptors <= before[1]
        require_local_edits(client, tmp_path)
        assert client.shut_down() == 0


def begin_blocked(client: RawClient, file: Path) -> tuple[Any, int]:
    """The request, and the process that it keeps busy."""
    client.initialize()
    client.read(file)
    msg_id = client.request("fileops/edit", edit_by(file, "looping"))
    wait_until(lambda: len(descendants_of(client.process.pid)) == 1)
    return msg_id, descendants_of(client.process.pid)[0]


def test_cancel_of_an_edit_whose_plugin_blocks_is_answered_at_once(file: Path, sites: str) -> None:
    with daemon(sites, 3600) as client:
        msg_id, _ = begin_blocked(client, file)
        client.notify("$/cancelRequest", {"id": msg_id})
        assert client.answer(msg_id)["error"]["code"] == -32800


def test_daemon_ends_while_a_plugin_blocks(file: Path, sites: str) -> None:
    with daemon(sites, 3600) as client:
        msg_id, child = begin_blocked(client, file)
        assert client.shut_down() == 0
        assert client.answer(msg_id)["error"]["code"] == -32800
        assert not is_alive(child)
        assert "leaving" not in client.stderr


def test_plugin_that_blocks_does_not_outlive_a_daemon_that_is_killed(file: Path, sites: str) -> None:
    with daemon(sites, 3600) as client:
        _, child = begin_blocked(client, file)
        os.kill(client.process.pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(child))


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf"])
def test_invalid_time_limit_is_reported_and_the_default_applies(file: Path, sites: str, value: str) -> None:
    with daemon(sites, FILEOPS_PLUGIN_TIMEOUT_S=value) as client:
        client.initialize()
        client.read(file)
        assert client.result("fileops/edit", edit_by(file, "talking"))["status"] == "success"
        assert client.shut_down() == 0
        assert f"FILEOPS_PLUGIN_TIMEOUT_S must be a positive number: {value!r}" in client.stderr
