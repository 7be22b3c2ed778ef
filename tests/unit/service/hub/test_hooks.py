"""Reports of hooks: whose session they are about, and what follows. R-HOOK-1, R-HOOK-2, R-TURN-1, R-TURN-4."""

import math
import os
from pathlib import Path
from typing import Any

import pytest

from fileops.attach.handshake import BadRequest, Hook
from fileops.model.record import CommandRecord
from fileops.model.sessions import SessionName
from fileops.service.session_work import SessionWork
from support.shared_daemon import McpHost, SharedDaemon

HERE = os.getpid()  # the attachments of tests name this process, so that its parent is the host
BEGIN: dict[str, Any] = {"what": "begin_command", "program": "python fix.py"}
END: dict[str, Any] = {"what": "end_command"}


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def work_of(daemon: SharedDaemon) -> SessionWork:
    parts = daemon.state._parts
    assert parts is not None
    return parts.workspace.work


def opened(daemon: SharedDaemon) -> list[tuple[str, str]]:
    return [(command.session_id, command.label) for command in work_of(daemon).windows.open]


def only(commands: tuple[CommandRecord, ...]) -> CommandRecord:
    (command,) = commands
    return command


@pytest.fixture
async def claude(daemon: SharedDaemon, file: Path) -> McpHost:
    return await daemon.host(file.parent, "claude-code", hints={"session": "c1"})


@pytest.mark.usefixtures("claude")
async def test_command_of_a_hook_is_open_until_its_end(daemon: SharedDaemon, file: Path) -> None:
    hook = Hook("claude", "c1", 0)
    await daemon.state.record(hook, {**BEGIN, "tool_use_id": "u1", "cwd": str(file.parent)})
    command = only(work_of(daemon).windows.open)
    assert (command.session_id, command.label) == ("claude-code:c1", "Claude Code · python fix.py")
    assert command.roots == (str(file.parent),)
    await daemon.state.record(hook, {**END, "tool_use_id": "other"})
    assert work_of(daemon).windows.open == (command,)
    await daemon.state.record(hook, {**END, "tool_use_id": "u1", "background": True})
    (ended,) = work_of(daemon).windows.find_lingering(str(file), str(file.parent), 0, math.inf)
    assert (ended.is_background, ended.is_lost) == (True, False)


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize("report", [{"what": "begin_turn", "title": "next"}, {"what": "end_turn"}])
async def test_next_prompt_or_end_of_turn_ends_open_commands_as_lost(
    daemon: SharedDaemon, file: Path, report: dict[str, object]
) -> None:
    await daemon.state.record(Hook("claude", "c1", 0), {**BEGIN, "cwd": str(file.parent)})
    await daemon.state.record(Hook("claude", "c1", 0), report)
    assert opened(daemon) == []
    (ended,) = work_of(daemon).windows.find_lingering(str(file), str(file.parent), 0, math.inf)
    assert ended.is_lost


@pytest.mark.usefixtures("claude")
async def test_turn_begins_with_the_prompt_and_ends_with_stop(daemon: SharedDaemon) -> None:
    turns = work_of(daemon).turns
    await daemon.state.record(Hook("claude", "c1", 0), {"what": "begin_turn", "turn_id": "p1", "title": "fix it\nnow"})
    turn = turns.newest(SessionName("claude-code:c1"))
    assert turn is not None
    assert (turn.title, turn.host_id, turn.label, turn.ended) == ("fix it", "p1", "Claude Code", None)
    await daemon.state.record(Hook("claude", "c1", 0), BEGIN)
    assert only(work_of(daemon).windows.open).turn_id == turn.turn_id
    await daemon.state.record(Hook("claude", "c1", 0), {"what": "end_turn"})
    ended = turns.newest(SessionName("claude-code:c1"))
    assert ended is not None
    assert ended.ended is not None


@pytest.mark.usefixtures("claude")
async def test_title_is_not_kept_if_titles_are_off(daemon: SharedDaemon) -> None:
    work_of(daemon).keeps_titles = False
    await daemon.state.record(Hook("claude", "c1", 0), {"what": "begin_turn", "title": "secret"})
    turn = work_of(daemon).turns.newest(SessionName("claude-code:c1"))
    assert turn is not None
    assert turn.title is None


@pytest.mark.usefixtures("claude")
async def test_session_that_was_cleared_is_found_by_the_process(daemon: SharedDaemon) -> None:
    await daemon.state.record(Hook("claude", "c2", HERE), BEGIN)
    assert opened(daemon) == [("claude-code:c1", "Claude Code · python fix.py")]


@pytest.mark.usefixtures("claude")
async def test_process_with_two_clients_does_not_name_the_session(daemon: SharedDaemon, file: Path) -> None:
    await daemon.host(file.parent, "claude-code", hints={"session": "c3"})
    await daemon.state.record(Hook("claude", "c2", HERE), {**BEGIN, "cwd": str(file.parent)})
    assert opened(daemon) == [("claude-code:c2", "Claude Code · python fix.py")]
    assert only(work_of(daemon).windows.open).roots == (str(file.parent),)
    assert "claude-code:c2" not in [session.session_id for session in daemon.state.hub.sessions.all()]


async def test_host_that_gives_its_server_no_id_is_found_by_the_process(daemon: SharedDaemon, file: Path) -> None:
    gemini = await daemon.host(file.parent, "gemini-cli-mcp-client-fileops")
    await gemini.tool("Read", file_path=str(file))
    (session,) = daemon.state.hub.sessions.all()
    await daemon.state.record(Hook("gemini", "618f", HERE), BEGIN)
    assert opened(daemon) == [(session.session_id, "Gemini CLI · python fix.py")]


async def test_thread_of_codex_is_the_same_session_for_hooks_and_calls(daemon: SharedDaemon, file: Path) -> None:
    codex = await daemon.host(file.parent, "codex-mcp-client")
    await daemon.state.record(Hook("codex", "t1", HERE), {"what": "begin_turn", "turn_id": "1"})  # before any call
    await codex.tool("Read", "t1", file_path=str(file))
    (session,) = daemon.state.hub.sessions.all()
    await daemon.state.record(Hook("codex", "t1", 0), BEGIN)
    assert opened(daemon) == [(session.session_id, "Codex · python fix.py")]
    turn = work_of(daemon).turns.newest(session.session_id)
    assert turn is not None
    assert turn.host_id == "1"


async def test_hook_that_is_called_before_the_server_has_named_its_host_waits(daemon: SharedDaemon, file: Path) -> None:
    await daemon.agent(file.parent)
    gemini = await daemon.mcp(file.parent, "node")
    await daemon.state.record(Hook("none", "x", 0), BEGIN)
    noting = daemon.state.record(Hook("gemini", "618f", HERE), BEGIN)
    await gemini.begin("gemini-cli")
    await noting
    assert opened(daemon)[-1] == ("gemini-cli-1", "Gemini CLI · python fix.py")


@pytest.mark.parametrize("is_found_by_a_hook", [True, False])
async def test_turn_that_began_before_the_server_attached_is_the_sessions(
    daemon: SharedDaemon, file: Path, *, is_found_by_a_hook: bool
) -> None:
    """opencode starts its servers after the first prompt."""
    await daemon.agent(file.parent)
    hook = Hook("opencode", "ses_1", HERE)
    await daemon.state.record(hook, {"what": "begin_turn", "turn_id": "1", "title": "fix it", "cwd": str(file.parent)})
    opencode = await daemon.host(file.parent, "opencode")
    if is_found_by_a_hook:
        await daemon.state.record(hook, BEGIN)
        assert opened(daemon) == [("opencode-1", "opencode · python fix.py")]
    else:
        await opencode.tool("Read", file_path=str(file))
    turn = work_of(daemon).turns.newest(SessionName("opencode-1"))
    assert turn is not None
    assert (turn.title, turn.session_id, turn.ended) == ("fix it", "opencode-1", None)
    assert work_of(daemon).turns.newest(SessionName("opencode:ses_1")) is None


async def test_turn_that_a_call_of_codex_names_begins_once(daemon: SharedDaemon, file: Path) -> None:
    codex = await daemon.host(file.parent, "codex-mcp-client")
    begun: list[str | None] = []
    await codex.tool("Read", "t1", file_path=str(file))
    assert work_of(daemon).turns.newest(SessionName("codex-mcp-client:t1")) is None
    work_of(daemon).turns.on_change = lambda turn: begun.append(None if turn.ended else turn.host_id)
    for turn_id in ("1", "1", "2", 3):
        meta = {"threadId": "t1", "x-codex-turn-metadata": {"turn_id": turn_id}}
        arguments = {"file_path": str(file)}
        await codex.call("tools/call", {"name": "Read", "arguments": arguments, "_meta": meta})
    assert begun == ["1", None, "2"]


async def test_command_ends_with_the_connection_of_its_host(daemon: SharedDaemon, file: Path, claude: McpHost) -> None:
    await daemon.state.record(Hook("claude", "c1", 0), {**BEGIN, "cwd": str(file.parent)})
    await claude.hang_up()
    daemon.state.leave("claude-code-1")
    assert opened(daemon) == []
    (ended,) = work_of(daemon).windows.find_lingering(str(file), str(file.parent), 0, math.inf)
    assert ended.is_lost


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize(
    "report",
    [
        {},
        {"what": "begin"},
        {**BEGIN, "cwd": "p"},
        {**BEGIN, "cwd": "/p\0"},
        {**BEGIN, "tool_use_id": "x" * 201},
        {**BEGIN, "program": 1},
        {"what": "begin_turn", "turn_id": 7},
    ],
)
async def test_report_of_another_shape_is_refused(daemon: SharedDaemon, report: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        await daemon.state.record(Hook("claude", "c1", 0), report)
    assert opened(daemon) == []


async def test_report_without_any_client_is_ignored(daemon: SharedDaemon) -> None:
    await daemon.state.record(Hook("claude", "c1", 0), BEGIN)
