"""A client of the daemon that is shared: where it is, what is refused, and what is shared."""

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fileops.attach.address import find_address
from fileops_client import (
    Answer,
    AttachRefused,
    BecameStale,
    ConnectionLost,
    DidEdit,
    FileOpsClient,
    Question,
    ServerMissing,
    _attached,
)
from support.daemon_process import Place
from support.patience import PATIENCE_S


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    return path


# --- where the daemon is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "uid"),
    [(None, 0), (stat.S_IFDIR | 0o700, 0), (stat.S_IFDIR | 0o755, 0), (stat.S_IFDIR | 0o700, 1), (stat.S_IFLNK, 0)],
)
@pytest.mark.parametrize("given", [None, "relative/a.sock", "/g/a.sock"])
@pytest.mark.parametrize("variable", [None, "/v/a.sock"])
def test_address_matches_the_servers(
    monkeypatch: pytest.MonkeyPatch, mode: int | None, uid: int, given: str | None, variable: str | None
) -> None:
    def lstat(path: str) -> os.stat_result:
        assert path == f"/run/user/{os.geteuid()}"
        if mode is None:
            raise FileNotFoundError
        return os.stat_result((mode, 0, 0, 0, os.geteuid() + uid, 0, 0, 0, 0, 0))

    monkeypatch.delenv("FILEOPS_SOCKET", raising=False)
    if variable is not None:
        monkeypatch.setenv("FILEOPS_SOCKET", variable)
    monkeypatch.setattr(os, "lstat", lstat)
    assert _attached.socket_path(given) == find_address(given, os.environ).socket


async def test_folder_open_to_other_users_is_refused(shared: Place) -> None:
    shared.folder.chmod(0o755)
    with pytest.raises(ServerMissing, match="is not a folder of this user alone"):
        await FileOpsClient.attach()
    assert shared.daemons() == []


async def test_missing_or_failing_command_is_reported(shared: Place) -> None:
    with pytest.raises(ServerMissing, match="cannot start /nowhere"):
        await FileOpsClient.attach(command=["/nowhere"])
    with pytest.raises(ServerMissing, match="did not start: no such thing"):
        await FileOpsClient.attach(command=["sh", "-c", "echo no such thing >&2; exit 3"])


@pytest.mark.parametrize(("said", "refusal"), [(b"SSH-2.0\r\n", AttachRefused), (b"", ServerMissing)])
async def test_peer_that_is_no_daemon_is_reported(shared: Place, said: bytes, refusal: type[Exception]) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with await asyncio.start_unix_server(serve, shared.socket):
        with pytest.raises(refusal):
            await FileOpsClient.attach()


async def test_daemon_that_does_not_end_is_awaited_for_a_while_only(
    shared: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"ok": false, "reason": "retiring", "message": "It ends.", "ends_soon": true}\n')
        writer.close()

    monkeypatch.setattr(_attached, "ENDING_S", 0.0)
    async with await asyncio.start_unix_server(refuse, shared.socket), asyncio.timeout(PATIENCE_S):
        with pytest.raises(AttachRefused, match="It ends"):
            await FileOpsClient.attach()


# --- what is shared -----------------------------------------------------------------------------------------------


async def test_clients_share_a_daemon_and_file_events(shared: Place, file: Path) -> None:
    async with (
        FileOpsClient.attach(root=file.parent, role="editor") as editor,
        FileOpsClient.attach(root=file.parent, host="planner") as agent,
    ):
        assert [editor.pid, agent.pid] == shared.daemons() * 2
        editor.did_open(file, "one\nunsaved\n")
        await editor.read(file)
        assert "unsaved" in (await agent.read(file)).output
        with agent.events(BecameStale.METHOD) as stale:
            editor.did_change(file, "one\nelse\n", version=2)
            assert (await stale.next(timeout_s=PATIENCE_S)).file_path == str(file)
        assert (await agent.edit(file, "one", "1")).code == "modified_externally"
        hosts = [
            (session["session_id"], session["host"])
            for session in (await editor.request("fileops/sessions"))["sessions"]
        ]
        assert ("planner-1", "planner") in hosts
    assert len(shared.daemons()) == 1


async def test_editor_without_reviewer_is_not_asked_about_agents_edits(shared: Place, file: Path) -> None:
    async with (
        FileOpsClient.attach(root=file.parent, role="editor") as editor,
        FileOpsClient.attach(root=file.parent, host="planner") as agent,
    ):
        await agent.read(file)
        with editor.events(DidEdit.METHOD) as edits:
            assert (await agent.edit(file, "one", "1")).ok
            assert (await edits.next(timeout_s=PATIENCE_S)).session_id == "planner-1"


async def test_editor_decides_on_an_agents_edit(shared: Place, file: Path) -> None:
    asked: list[Question] = []

    async def review(question: Question) -> Answer:
        asked.append(question)
        return Answer(outcome="cancel")

    async with (
        FileOpsClient.attach(
            root=file.parent, role="editor", initialization_options={"ask": "each_edit"}, confirm_edit=review
        ),
        FileOpsClient.attach(root=file.parent, host="planner") as agent,
    ):
        await agent.read(file)
        assert (await agent.edit(file, "one", "1")).code == "rejected"
    (question,) = asked
    assert question.session is not None
    assert (question.session.session_id, question.session.host) == ("planner-1", "planner")
    assert shared.daemons() != []


@pytest.mark.parametrize("callback", ["confirm_edit", "confirm_command"])
def test_agent_with_reviewer_is_refused(callback: str) -> None:
    async def review(_: Any) -> Answer:
        return Answer(outcome="cancel")

    reviewer: dict[str, Any] = {callback: review}
    with pytest.raises(ValueError, match=f"{callback} needs the role"):
        FileOpsClient.attach(**reviewer)


async def test_named_session_continues_after_a_restart(shared: Place, file: Path) -> None:
    async with FileOpsClient.attach(root=file.parent, session="night") as agent:
        await agent.read(file)
        await agent.restart()
        assert (await agent.edit(file, "one", "1")).ok
    assert len(shared.daemons()) == 1


async def test_lost_daemon_is_replaced_by_a_restart(shared: Place, file: Path) -> None:
    async with FileOpsClient.attach(root=file.parent) as agent:
        (lost,) = shared.daemons()
        assert (await asyncio.to_thread(shared.run, "status", "--stop", "--now")).returncode == 0
        with pytest.raises(ConnectionLost):
            while True:  # until the end of the connection is noticed
                await agent.read(file)
        await agent.restart()
        assert (await agent.read(file)).ok
        assert agent.pid != lost


async def test_retiring_daemon_refuses_with_a_reason(shared: Place, file: Path) -> None:
    async with FileOpsClient.attach(root=file.parent) as agent:
        assert (await asyncio.to_thread(shared.run, "status", "--stop")).returncode == 0
        with pytest.raises(AttachRefused, match="ending") as refused:
            await FileOpsClient.attach(root=file.parent)
        assert refused.value.reason == "retiring"
        assert (await agent.read(file)).ok
