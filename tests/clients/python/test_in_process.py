"""A client whose server is a part of this process, with objects of the program in place of the server's."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from fileops.fs.memory import MemoryFileSystem
from fileops.model.approval import ApprovalRequest, Decision, Once, Reject
from fileops_client import BecameStale, FileOpsClient, ServerMissing
from support.patience import PATIENCE_S
from support.pictures import picture


async def test_files_of_the_programs_filesystem_are_read_edited_and_watched() -> None:
    disk = MemoryFileSystem()
    disk.put("/w/a.txt", b"one\ntwo\n")
    async with FileOpsClient.in_process(root="/w", filesystem=disk) as client:
        assert (await client.read("/w/a.txt")).output.startswith("     1→one\n")
        assert (await client.edit("/w/a.txt", "one", "1")).ok
        assert (await client.edit("/w/new.txt", "", "new\n")).ok
        assert (disk.read("/w/a.txt").data, disk.read("/w/new.txt").data) == (b"1\ntwo\n", b"new\n")
        assert not os.path.exists("/w/new.txt")
        with client.events(BecameStale.METHOD) as stale:
            disk.put("/w/a.txt", b"foreign\n")
            assert (await stale.next(timeout_s=PATIENCE_S)).file_path == "/w/a.txt"
        assert (await client.edit("/w/a.txt", "1", "I")).code == "modified_externally"


class Approver:
    can_ask = True

    def __init__(self) -> None:
        self.decisions: list[Decision] = [Reject(), Once()]
        self.questions: list[ApprovalRequest] = []

    async def decide(self, question: ApprovalRequest) -> Decision:
        self.questions.append(question)
        return self.decisions.pop(0)


async def test_programs_approver_decides(tmp_path: Path) -> None:
    file, approver = tmp_path / "a.txt", Approver()
    file.write_text("one")
    async with FileOpsClient.in_process(root=tmp_path, approver=approver) as client:
        await client.read(file)
        assert [(await client.edit(file, "one", "1")).code for _ in range(2)] == ["rejected", None]
    assert [question.file_path for question in approver.questions] == [str(file), str(file)]


def last_word(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
    at = text.rfind(old_string)
    return [] if at < 0 else [(at, at + len(old_string), new_string)]


def no_todo(file_path: str, before: str | None, after: str) -> str | None:
    return "it leaves a TODO" if "TODO" in after else None


async def test_programs_strategies_and_validators_are_used_until_the_client_closes(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one one")
    async with FileOpsClient.in_process(
        root=tmp_path, strategies={"last": last_word}, validators={"no-todo": no_todo}
    ) as client:
        await client.read(file)
        assert "last" in client.capabilities["experimental"]["fileops"]["strategies"]
        assert (await client.edit(file, "one", "2", strategy="last")).details.get("match") == "last"
        refused = await client.edit(file, "2", "TODO")
        assert (refused.code, refused.details.get("validator")) == ("validation_failed", "no-todo")
        with pytest.raises(ValueError, match="the strategy last exists already"):
            await FileOpsClient.in_process(strategies={"last": lambda text, old, new: ()}, roots="anywhere")
        async with FileOpsClient.in_process(strategies={"last": last_word}, roots="anywhere"):
            pass
        assert (await client.edit(file, "one", "1", strategy="last", dry_run=True)).ok
    assert file.read_text() == "one 2"
    async with FileOpsClient.in_process(roots="anywhere") as plain:
        assert "last" not in plain.capabilities["experimental"]["fileops"]["strategies"]


def shouting(file_path: str, before: str | None, after: str) -> str | None:
    return after.upper()


async def test_programs_processors_transform_its_edits_until_the_client_closes(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    async with FileOpsClient.in_process(root=tmp_path, processors={"shout": shouting}) as client:
        made = await client.edit(file, "", "one")
        assert made.details.get("processed_by") == ["shout"]
        with pytest.raises(ValueError, match="the processor shout exists already"):
            await FileOpsClient.in_process(processors={"shout": no_todo}, roots="anywhere")
    assert file.read_text() == "ONE"
    async with FileOpsClient.in_process(roots="anywhere") as plain:
        assert plain.capabilities["experimental"]["fileops"]["processors"] == []


class ByName:
    """Takes files for images by their names, as their owner knows them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []

    def detect(self, path: str, head: bytes) -> str | None:
        self.asked.append((path, head[:4]))
        return {".png": "image/png", ".heic": "image/heic"}.get(os.path.splitext(path)[1])


async def test_programs_detector_decides_what_is_an_image(tmp_path: Path) -> None:
    """R-IMAGE-6"""
    files = {name: tmp_path / name for name in ("shot.png", "shot.bin", "shot.heic", "a.txt")}
    for file in files.values():
        file.write_bytes(picture("PNG"))
    files["a.txt"].write_text("one")
    detector = ByName()
    async with FileOpsClient.in_process(root=tmp_path, image_detector=detector) as client:
        assert (await client.read(files["shot.png"])).output == "Read image file [image/png]"
        assert (await client.read(files["shot.bin"])).code == "binary"
        unknown = await client.read(files["shot.heic"])
        assert (unknown.code, "image/heic is not a supported type" in unknown.output) == ("image_unreadable", True)
        assert (await client.read(files["a.txt"])).output.startswith("     1→one")
    asked = [str(files[name]) for name in ("shot.png", "shot.bin", "shot.heic")]
    assert detector.asked == [(path, b"\x89PNG") for path in asked]
    async with FileOpsClient.in_process(root=tmp_path) as plain:
        assert (await plain.read(files["shot.bin"])).output == "Read image file [image/png]"


class Echo:
    """A process that prints its command, and where it would run."""

    def __init__(self, command: str, cwd: str) -> None:
        self.shown = f"{command} in {cwd}\n".encode()

    def wait(self, timeout_s: float, on_output: Callable[[bytes], None]) -> int | None:
        on_output(self.shown + f"for {timeout_s:g} s\n".encode())
        return 0

    def kill(self) -> None: ...


class Sandbox:
    def start(self, command: str, cwd: str) -> Echo:
        return Echo(command, cwd)


async def test_programs_executor_runs_the_commands(tmp_path: Path) -> None:
    async with FileOpsClient.in_process(
        root=tmp_path, executor=Sandbox(), initialization_options={"bash": True, "approval_mode": "yolo"}
    ) as client:
        result = await client.bash("make test", timeout_s=5)
    assert (result.output, result.details.get("exit_code")) == (f"make test in {tmp_path}\nfor 5 s\n", 0)


async def test_command_without_a_time_limit_gets_120_seconds(tmp_path: Path) -> None:
    """R-BASH-5"""
    async with FileOpsClient.in_process(
        root=tmp_path, executor=Sandbox(), initialization_options={"bash": True, "approval_mode": "yolo"}
    ) as client:
        assert (await client.bash("make test")).output.endswith("\nfor 120 s\n")


async def test_listener_is_notified_by_its_own_client_only(tmp_path: Path) -> None:
    heard: list[str] = []
    async with (
        FileOpsClient.in_process(root=tmp_path) as one,
        FileOpsClient.in_process(root=tmp_path) as other,
    ):
        one.add_event_listener("file:edited", lambda context: heard.append(context.data["file_path"]))
        assert (await other.edit(tmp_path / "of-other", "", "x")).ok
        with one.events("fileops/didEdit") as edits:
            assert (await one.edit(tmp_path / "of-one", "", "x")).ok
            await edits.next(timeout_s=PATIENCE_S)
    assert heard == [str(tmp_path / "of-one")]


async def test_edit_after_another_in_process_clients_edit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    async with FileOpsClient.in_process(root=tmp_path) as a, FileOpsClient.in_process(root=tmp_path) as b:
        await a.read(file)
        await b.read(file)
        assert (await a.edit(file, "one", "1")).ok
        assert (await b.edit(file, "one", "2")).code == "modified_externally"


async def test_process_keeps_its_signals_and_its_standard_streams(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    async with FileOpsClient.in_process(root=tmp_path) as client:
        assert client.pid == os.getpid()
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
        assert sys.stdout is not sys.stderr


async def test_missing_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fileops.compose.embedded", None)
    monkeypatch.delattr("fileops.compose.embedded", raising=False)
    with pytest.raises(ServerMissing, match="fileops-server cannot be imported"):
        await FileOpsClient.in_process(roots="anywhere")


async def test_cancelled_start_leaves_nothing_running(tmp_path: Path) -> None:
    async def begin() -> Any:
        return await FileOpsClient.in_process(root=tmp_path)

    opening = asyncio.ensure_future(begin())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task.get_name() for task in others if task.get_name() == "fileops-server"] == []
