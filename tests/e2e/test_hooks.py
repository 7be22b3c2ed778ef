"""Hooks of a host that ask the shared daemon what others changed, or have it forget what was read."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fileops.attach.handshake import control_line
from fileops.attach.hook import EDITS, READS
from fileops_client.sync import FileOpsClient
from support import scripted_language_server
from support.daemon_process import FILEOPS, Place, suspend
from support.mcp_client import McpClient, mcp_client, modern_meta, texts_of
from support.patience import PATIENCE_S, wait_until
from support.payloads import all_payloads

BASH: dict[str, Any] = {"hook_event_name": "PostToolUse", "tool_name": "Bash"}
PROMPT: dict[str, Any] = {"hook_event_name": "UserPromptSubmit", "prompt": "go on"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
def agent(here: Place, file: Path) -> Iterator[McpClient]:
    """Claude Code, which has read the file in its session `c1`."""
    with mcp_client(file.parent, env={**here.env, "CLAUDE_CODE_SESSION_ID": "c1"}) as client:
        client.begin(host="claude-code")
        client.tool("Read", file_path=str(file))
        yield client


def hook(here: Place, event: dict[str, Any], session: str = "c1", host: str = "claude") -> dict[str, Any] | None:
    """What the hook prints, parsed; None if it is nothing."""
    return given(here, host, {**event, "session_id": session})


def given(here: Place, host: str, event: dict[str, Any], *options: str) -> Any:
    done = subprocess.run(
        (*FILEOPS, "mcp", "hook", host, *options),
        input=json.dumps(event).encode(),
        env=here.process_env,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


def report(here: Place, event: dict[str, Any], session: str = "c1", host: str = "claude") -> dict[str, Any]:
    """What the first hook prints that does not give up: on a busy machine one may, and then the next one reports."""
    until = time.monotonic() + PATIENCE_S
    while (answer := hook(here, event, session, host)) is None:
        assert time.monotonic() < until, "no hook reports anything"
    return answer


def context(answer: dict[str, Any], name: str = "PostToolUse") -> str:
    (output,) = answer.values()
    assert output["hookEventName"] == name
    return output["additionalContext"]


def test_hook_reports_a_change_once_and_the_next_result_does_not_repeat_it(
    here: Place, file: Path, agent: McpClient
) -> None:
    assert hook(here, BASH) is None
    file.write_text("one\n2\n")
    assert f"{file} changed on disk" in context(report(here, BASH))
    assert hook(here, BASH) is None
    file.parent.joinpath("g.txt").write_text("g\n")
    assert len(texts_of(agent.tool("Read", file_path=str(file.parent / "g.txt")))) == 1
    file.write_text("one\n22\n")
    assert "+22" in context(report(here, PROMPT, host="claude-plugin"), "UserPromptSubmit")


def test_hook_does_not_repeat_what_a_result_reported(here: Place, file: Path, agent: McpClient) -> None:
    file.parent.joinpath("g.txt").write_text("g\n")
    file.write_text("one\n2\n")
    assert len(texts_of(agent.tool("Read", file_path=str(file.parent / "g.txt")))) == 2
    assert hook(here, BASH) is None


@pytest.mark.usefixtures("agent")
def test_hook_of_another_session_host_or_own_tool_prints_nothing(here: Place, file: Path) -> None:
    """The host has two servers, so its process alone does not name the session."""
    with mcp_client(file.parent, env={**here.env, "CLAUDE_CODE_SESSION_ID": "c3"}) as other:
        other.begin(host="claude-code")
        file.write_text("one\n2\n")
        assert hook(here, BASH, session="c2") is None
        assert hook(here, BASH, host="codex") is None
        assert hook(here, {**BASH, "tool_name": "mcp__fileops__Read"}) is None
        report(here, BASH)


@pytest.mark.usefixtures("agent")
def test_hook_under_a_new_id_finds_the_session_of_its_host_by_the_process(here: Place, file: Path) -> None:
    """R-HOOK-2: after `/clear`, Claude Code names a new id to its hooks; the server continues with the old one."""
    file.write_text("one\n2\n")
    assert "+2" in context(report(here, BASH, session="c2"))


def test_session_that_was_cleared_under_a_new_id_has_read_nothing(here: Place, file: Path, agent: McpClient) -> None:
    assert hook(here, {"hook_event_name": "SessionStart", "source": "clear"}, session="c2") is None
    assert agent.tool("Edit", file_path=str(file), old_string="two", new_string="2").get("isError")


def test_hook_reports_once_what_an_edit_broke_if_that_was_known_after_its_answer(here: Place, file: Path) -> None:
    """R-DIAG-7"""
    command = [sys.executable, "-I", "-S", str(scripted_language_server.__file__), "{}"]
    servers = here.folder / "servers.json"
    servers.write_text(json.dumps([{"name": "scripted", "command": command, "globs": ["*.txt"]}]))
    options = ("--root", str(file.parent), "--language-servers", str(servers), "--diagnostics-wait-s", "0")
    with mcp_client(file.parent, *options, env={**here.env, "CLAUDE_CODE_SESSION_ID": "c1"}) as client:
        client.begin(host="claude-code")
        client.tool("Read", file_path=str(file))
        edited = client.tool("Edit", file_path=str(file), old_string="two", new_string="BAD")
        assert any("are not known yet (scripted)" in text for text in texts_of(edited))
        said = context(report(here, BASH))
        assert said.startswith("Your edit of f.txt, checked now, introduced 1 problem (scripted):")
        assert "f.txt:2:1: error B1: a bad word" in said
        assert hook(here, BASH) is None
        assert len(texts_of(client.tool("Read", file_path=str(file)))) == 1


def test_hook_of_codex_reports_to_the_thread(here: Place, file: Path) -> None:
    meta = modern_meta(host="codex-mcp-client", threadId="t1")
    with mcp_client(file.parent, env=here.env) as agent:
        agent.tool("Read", meta, file_path=str(file))
        file.write_text("one\n2\n")
        assert hook(here, BASH, session="t2", host="codex") is None
        assert "+2" in context(report(here, BASH, session="t1", host="codex"))


def test_hook_of_a_prompt_of_opencode_takes_no_report(here: Place, file: Path) -> None:
    """Its plugin could not show it to the model. It goes with the output of the next command."""
    with mcp_client(file.parent, env=here.env) as client:
        client.begin(host="opencode")
        client.tool("Read", file_path=str(file))
        file.write_text("one\n2\n")
        assert hook(here, PROMPT, "ses_1", "opencode") is None
        assert "+2" in context(report(here, {**BASH, "tool_name": "bash"}, "ses_1", "opencode"))


def rewind(here: Place, file: Path, reason: str) -> None:
    """As a person does in a terminal, which no agent has started."""
    terminal = file.parent.parent / "terminal"
    terminal.mkdir(exist_ok=True)
    words = ("undo", "--agent", "claude", "--yes", "--reason", reason)
    printed = by_another_program(terminal, here, ["env", "-C", str(file.parent), *FILEOPS, *words])
    assert "1 change in 1 file" in printed
    (terminal / "ended").unlink()


def test_reason_of_a_rewind_is_read_once_by_a_hook_or_with_the_next_result(
    here: Place, file: Path, agent: McpClient
) -> None:
    """R-REW-8."""
    sentence = "A person took back 1 change of Claude Code. Their reason: keep the \u201cold\u201d name"
    for takes_hook in (True, False):
        assert not agent.tool("Edit", file_path=str(file), old_string="two", new_string="2").get("isError")
        rewind(here, file, " keep the\n\u201cold\u201d\x1b  name ")
        assert file.read_text() == "one\ntwo\n"
        if takes_hook:
            assert sentence in context(report(here, BASH)).splitlines()
        again = texts_of(agent.tool("Read", file_path=str(file)))
        assert any(sentence in text.splitlines() for text in again) is not takes_hook
        assert not any("A person took back" in text for text in texts_of(agent.tool("Read", file_path=str(file))))


def test_hook_with_notices_off_prints_nothing(here: Place, file: Path) -> None:
    env = {**here.env, "CLAUDE_CODE_SESSION_ID": "c1"}
    with mcp_client(file.parent, "--notices", "off", env=env) as agent:
        agent.begin(host="claude-code")
        agent.tool("Read", file_path=str(file))
        file.write_text("one\n2\n")
        assert hook(here, BASH) is None


@pytest.mark.parametrize(
    ("source", "is_forgotten"), [("clear", True), ("compact", True), ("startup", False), ("resume", False)]
)
def test_session_that_was_cleared_or_compacted_has_read_nothing(
    here: Place, file: Path, agent: McpClient, source: str, *, is_forgotten: bool
) -> None:
    assert hook(here, {"hook_event_name": "SessionStart", "source": source}) is None
    edited = agent.tool("Edit", file_path=str(file), old_string="two", new_string="2")
    assert bool(edited.get("isError")) is is_forgotten


def test_repeated_read_after_a_compaction_shows_everything(here: Place, file: Path) -> None:
    file.write_text("a line of text\n" * 60)
    env = {**here.env, "CLAUDE_CODE_SESSION_ID": "c1"}
    with mcp_client(file.parent, "--repeated-reads", "short", env=env) as agent:
        agent.begin(host="claude-code")
        whole = texts_of(agent.tool("Read", file_path=str(file)))
        assert hook(here, {"hook_event_name": "SessionStart", "source": "compact"}) is None
        assert texts_of(agent.tool("Read", file_path=str(file))) == whole
        assert texts_of(agent.tool("Read", file_path=str(file))) != whole


@pytest.mark.usefixtures("agent")
def test_notice_of_what_an_own_command_changed_names_no_other_program_as_its_author(here: Place, file: Path) -> None:
    file.write_text("one\n2\n")  # as `sed -i` of the agent's shell
    assert "(by another program or a command of yours)" in context(report(here, BASH))


def test_hook_without_a_daemon_prints_nothing_and_starts_none(here: Place) -> None:
    assert hook(here, BASH) is None
    assert here.daemons() == []


@pytest.mark.usefixtures("agent")
def test_hook_of_a_hung_daemon_prints_nothing_and_the_next_hook_reports(here: Place, file: Path) -> None:
    (daemon,) = here.daemons()
    file.write_text("one\n2\n")
    suspend(daemon)
    try:
        assert hook(here, BASH) is None
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert "+2" in context(report(here, BASH))


@pytest.mark.usefixtures("agent")
def test_hook_that_has_given_up_takes_no_report(here: Place, file: Path) -> None:
    """This process asks as a hook does, and closes the connection before the daemon can answer."""
    (daemon,) = here.daemons()
    file.write_text("one\n2\n")
    suspend(daemon)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(here.socket))
            connection.sendall(control_line("notices", host="claude", session="c1", within_s=1.0))
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert "+2" in context(report(here, BASH))


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("end", [">&-", "> >(exec true)"])
def test_hook_that_cannot_print_takes_no_report(here: Place, file: Path, end: str) -> None:
    """The output is closed, or its reader is gone before the hook asks."""
    file.write_text("one\n2\n")
    script = f"exec {end}; sleep 0.1; exec {shlex.join(FILEOPS)} mcp hook claude"
    event = json.dumps({**BASH, "session_id": "c1"}).encode()
    done = subprocess.run(
        ["/bin/bash", "-c", script], input=event, env=here.process_env, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"fileops-server mcp hook: stdout is closed\n")
    assert "+2" in context(report(here, BASH))


# --- what a shell command has shown (R-ANS-6) ----------------------------------------------------------------------


def shown(file: Path, command: str, response: object) -> dict[str, Any]:
    return {**BASH, "tool_input": {"command": command}, "tool_response": response, "cwd": str(file.parent)}


@pytest.mark.parametrize(
    "response",
    [
        {"stdout": "one\ntwo\nthree\n", "stderr": ""},
        "one\ntwo\nthree",
        {"llmContent": "Output: one\ntwo\nthree", "returnDisplay": "three lines"},
    ],
    ids=["Claude Code", "Codex and opencode", "Gemini CLI"],
)
def test_output_that_has_the_file_counts_as_read(here: Place, file: Path, response: object) -> None:
    with mcp_client(file.parent, "--suggestions", "on", env={**here.env, "CLAUDE_CODE_SESSION_ID": "c1"}) as agent:
        agent.begin(host="claude-code")
        agent.tool("Read", file_path=str(file))  # the session is known from here on
        path = file.parent / "g.txt"
        path.write_text("one\ntwo\nthree\n")
        until = time.monotonic() + PATIENCE_S
        while True:
            hook(here, shown(file, "cd . && cat g.txt", response))
            written = agent.tool("Edit", file_path=str(path), old_string="nothing like it", new_string="x")
            if texts_of(written)[0].startswith("<tool_use_error>String to replace not found"):
                break
            assert time.monotonic() < until, "the output does not count"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat g.txt", "one\ntwo\nThree\nfour\n"),
        ("cat other.txt", "one\ntwo\nthree\nfour\n"),
        ("cat secret.pem", "one\ntwo\nthree\nfour\n"),
    ],
    ids=["other output", "other file", "unreadable"],
)
def test_output_counts_for_nothing_that_it_does_not_have(
    here: Place, file: Path, agent: McpClient, command: str, output: str
) -> None:
    (file.parent / ".agentsignore").write_text("*.pem\n")
    for name in ("g.txt", "secret.pem"):
        (file.parent / name).write_text("one\ntwo\nthree\nfour\n")
    hook(here, shown(file, command, {"stdout": output}))
    path = file.parent / ("secret.pem" if "pem" in command else "g.txt")
    refused = agent.tool("Edit", file_path=str(path), old_string="nothing like it", new_string="x")
    assert texts_of(refused)[0].startswith(("File has not been read yet", "<tool_use_error>Agents may not read"))


# --- what is refused, and to whom (R-COMP-26) ----------------------------------------------------------------------

OWN: dict[str, Any] = {"transcript_path": "/t", "prompt_id": "p", "cwd": "/"}
PAYLOADS = all_payloads()


def reason_of(answer: dict[str, Any] | None) -> object:
    return None if answer is None else answer["hookSpecificOutput"].get("permissionDecisionReason")


@pytest.mark.usefixtures("agent")
def test_built_in_tool_is_refused_in_a_session_that_has_ours(here: Place, file: Path) -> None:
    event = {**OWN, "hook_event_name": "PreToolUse", "tool_input": {"file_path": str(file)}}
    for tool, ours in (("Edit", "Edit"), ("Write", "Write"), ("MultiEdit", "Edit"), ("Read", "Read")):
        answer = report(here, {**event, "tool_name": tool})
        assert reason_of(answer) == f"Use mcp__fileops__{ours}."


def test_nothing_is_refused_in_favour_of_a_tool_that_the_caller_does_not_have(here: Place, file: Path) -> None:
    """No session of ours belongs to a caller, although others are connected."""
    with ExitStack() as clients:
        for session in ("c1", "c3"):  # the process alone does not name the session
            env = {**here.env, "CLAUDE_CODE_SESSION_ID": session}
            clients.enter_context(mcp_client(file.parent, env=env)).begin(host="claude-code")
        for payloads in PAYLOADS.values():
            host = payloads.hook if payloads.hook in EDITS else "claude"
            for event in payloads.events:
                if event.get("tool_name") in EDITS[host] | READS[host]:
                    assert reason_of(given(here, host, event)) is None


@pytest.mark.usefixtures("agent")
def test_other_host_that_names_our_session_is_refused_nothing(here: Place) -> None:
    """Copilot CLI, VS Code and Cursor load Claude Code's hooks, and may run below it."""
    for name in ("copilot_cli", "vscode_agent_host", "cursor"):
        for event in PAYLOADS[name].events:
            keys = {key: "c1" for key in ("session_id", "sessionId", "conversation_id") if key in event}
            assert reason_of(given(here, "claude", {**event, **keys})) is None


def test_other_host_with_a_server_of_its_own_is_refused_nothing(here: Place, file: Path) -> None:
    """Its tools of ours do not have the names that a refusal by Claude Code's hooks tells."""
    with mcp_client(file.parent, env={**here.env, "COPILOT_AGENT_SESSION_ID": "c2"}) as copilot:
        copilot.begin(host="copilot-cli")
        copilot.tool("Read", file_path=str(file))
        for event in PAYLOADS["copilot_cli"].events:
            keys = {key: "c2" for key in ("session_id", "sessionId") if key in event}
            assert reason_of(given(here, "claude", {**event, **keys})) is None


def test_built_in_tool_is_not_refused_without_a_daemon(here: Place, file: Path) -> None:
    event = {**OWN, "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": str(file)}}
    assert hook(here, event) is None
    assert here.daemons() == []


# --- the mode companion, as processes ------------------------------------------------------------------------------


def companion_hook(here: Place, event: dict[str, Any], host: str = "claude", mode: str = "companion") -> Any:
    return given(here, host, event, "--mode", mode)


def test_mode_companion_refuses_no_tool_that_the_mode_tools_refuses(here: Place, file: Path, agent: McpClient) -> None:
    """R-COMP-1"""
    del agent
    about = {"tool_name": "Write", "tool_input": {"file_path": str(file), "content": "new\n"}, "tool_use_id": "t"}
    event = {**OWN, "hook_event_name": "PreToolUse", "session_id": "c1", "cwd": str(file.parent), **about}
    assert companion_hook(here, event) is None  # the session has read all of it
    refused = companion_hook(here, event, mode="tools")
    assert reason_of(refused) == "Use mcp__fileops__Write."
    file.write_text("other\n")
    until = time.monotonic() + PATIENCE_S
    while (answer := companion_hook(here, event)) is None:
        assert time.monotonic() < until, "the hook is not answered"
    assert "changed since you read it" in str(reason_of(answer))


def test_hook_in_the_mode_companion_fails_open_without_a_daemon(here: Place, file: Path) -> None:
    """R-COMP-8"""
    for payloads in PAYLOADS.values():
        # The start of a session starts a daemon (R-COMP-7).
        events = [
            event for event in payloads.events if "sessionstart" not in str(event).lower() and "source" not in event
        ]
        for event in events[:2]:
            answer = companion_hook(here, event, payloads.hook)
            assert answer == ({"decision": "allow"} if payloads.dialect == "antigravity" else None)
    assert here.daemons() == []
    assert companion_hook(here, {**OWN, "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": 1}) is None
    assert file.exists()


def test_kill_of_the_daemon_in_the_middle_of_an_edit_lets_the_host_go_on(here: Place, file: Path) -> None:
    """R-COMP-8"""
    arguments = {"file_path": str(file), "old_string": "two", "new_string": "2"}
    about = {"tool_name": "Edit", "tool_input": arguments, "tool_use_id": "t"}
    event = {**OWN, "session_id": "c9", "cwd": str(file.parent), **about}
    here.start()
    assert companion_hook(here, {**event, "hook_event_name": "PreToolUse"}) is None
    (daemon,) = here.daemons()
    os.kill(daemon, signal.SIGKILL)
    wait_until(lambda: here.daemons() == [])
    file.write_text(file.read_text().replace("two", "2"))
    assert companion_hook(here, {**event, "hook_event_name": "PostToolUse", "tool_response": {}}) is None
    assert companion_hook(here, {**event, "hook_event_name": "PreToolUse"}) is None
    assert here.daemons() == []


def test_hung_daemon_lets_the_host_go_on(here: Place, file: Path) -> None:
    """R-COMP-8"""
    about = {"tool_name": "Edit", "tool_input": {"file_path": str(file), "old_string": "two", "new_string": "2"}}
    event = {**OWN, "session_id": "c9", "cwd": str(file.parent), "hook_event_name": "PreToolUse", **about}
    here.start()
    (daemon,) = here.daemons()
    suspend(daemon)
    try:
        assert companion_hook(here, event) is None
    finally:
        os.kill(daemon, signal.SIGCONT)


def test_start_of_a_session_starts_a_daemon_and_no_other_hook_does(here: Place, file: Path) -> None:
    """R-COMP-7"""
    event = {**OWN, "session_id": "c9", "cwd": str(file.parent)}
    assert companion_hook(here, {**event, "hook_event_name": "UserPromptSubmit", "prompt": "go"}) is None
    assert here.daemons() == []
    assert companion_hook(here, {**event, "hook_event_name": "SessionStart", "source": "startup"}) is None
    wait_until(lambda: here.daemons() != [])
    given_file = {"tool_name": "Write", "tool_input": {"file_path": str(file), "content": "new\n"}, "tool_use_id": "t"}
    until = time.monotonic() + PATIENCE_S
    while (answer := companion_hook(here, {**event, "hook_event_name": "PreToolUse", **given_file})) is None:
        assert time.monotonic() < until, "the daemon guards nothing"
    assert "has not read all of" in str(reason_of(answer))


def test_status_lists_the_sessions_that_hooks_guard(here: Place, file: Path) -> None:
    """R-COMP-33"""
    here.start()
    about = {"tool_name": "Read", "tool_input": {"file_path": str(file)}, "tool_use_id": "t"}
    event = {**OWN, "session_id": "c9", "cwd": str(file.parent), "hook_event_name": "PreToolUse", **about}
    until = time.monotonic() + PATIENCE_S
    while not (guarded := here.status()["guarded"]):
        assert companion_hook(here, event) is None
        assert time.monotonic() < until, "the session is not guarded"
    assert [session["session_id"] for session in guarded] == ["claude-code:c9"]
    assert (guarded[0]["mode"], guarded[0]["cwd"], guarded[0]["has_tools"]) == ("companion", str(file.parent), False)
    printed = here.run("status").stdout.decode()
    assert "1 session is guarded by hooks\n  Claude Code  companion, process " in printed


def test_silence_of_the_daemon_is_said_once_in_a_session_that_was_guarded(here: Place, file: Path) -> None:
    """R-COMP-9"""
    about = {"tool_name": "Read", "tool_input": {"file_path": str(file)}, "tool_use_id": "t"}
    event = {**OWN, "session_id": "c9", "cwd": str(file.parent), "hook_event_name": "PostToolUse", **about}
    here.start()
    assert companion_hook(here, event) is None
    here.run("status", "--stop", "--now")
    wait_until(lambda: here.daemons() == [])
    assert companion_hook(here, event) is None
    here.start()
    until = time.monotonic() + PATIENCE_S
    while (answer := companion_hook(here, event)) is None:
        assert time.monotonic() < until, "nothing is said"
    assert "fileops-server did not answer at" in context({"hookSpecificOutput": answer["hookSpecificOutput"]})
    assert "did not answer at" in answer["systemMessage"]
    assert companion_hook(here, event) is None


# --- an id that another program names ------------------------------------------------------------------------------


def by_another_program(folder: Path, here: Place, command: Sequence[str], given: str = "") -> str:
    """What a command prints that this process, which is the agent's host, has not started, as far as can be seen."""
    (folder / "given").write_text(given)
    line = f"{shlex.join(command)} < given > printed 2>&1; touch ended"
    subprocess.run(["setsid", "--fork", "sh", "-c", line], cwd=folder, env=here.process_env, check=True)
    wait_until((folder / "ended").exists)
    return (folder / "printed").read_text()


@pytest.mark.usefixtures("agent")
def test_hook_of_another_program_gets_nothing_and_reports_nothing(here: Place, file: Path, tmp_path: Path) -> None:
    """Ids of sessions are no secrets: `status` prints them."""
    other = tmp_path / "other"
    other.mkdir()
    file.write_text("one\n2\n")
    with FileOpsClient.attach(socket=here.socket, role="editor", root=file.parent) as editor:
        for event in (BASH, {"hook_event_name": "UserPromptSubmit", "prompt": "forged"}):
            forged = json.dumps({**event, "session_id": "c1", "cwd": "/"})
            assert by_another_program(other, here, [*FILEOPS, "mcp", "hook", "claude"], forged) == ""
            (other / "ended").unlink()
        assert [turn.title for turn in editor.turns()] == []
        assert f"{file} changed on disk" in context(report(here, BASH))
        assert hook(here, {**PROMPT, "prompt": "mine"}) is None
        assert [turn.title for turn in editor.turns()] == ["mine"]


@pytest.mark.usefixtures("agent")
def test_client_of_another_program_does_not_continue_the_session(here: Place, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    program = (
        "from fileops_client.sync import FileOpsClient\n"
        f"with FileOpsClient.attach(host='claude-code', session='c1', root={str(file.parent)!r}) as agent:\n"
        f"    print(agent.edit({str(file)!r}, 'two', '2').code)\n"
    )
    assert by_another_program(other, here, [sys.executable, "-P", "-c", program]) == "not_read\n"
