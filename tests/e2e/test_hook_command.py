"""`mcp hook`: what hosts write to it, and what it answers, as a process."""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

from fileops.attach import companion, hook
from fileops.attach.callers import caller_of
from fileops.attach.host_events import common_form

EDIT, READ, WRITE = (f"Use mcp__fileops__{tool}." for tool in ("Edit", "Read", "Write"))
PLUGIN = "Use mcp__plugin_fileops_fileops__"
LET_THROUGH = None


def run(host: str, stdin: str | bytes) -> subprocess.CompletedProcess[bytes]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    command = [sys.executable, "-m", "fileops", "mcp", "hook", host]
    return subprocess.run(command, input=data, capture_output=True, check=False, timeout=50)


def event(tool: str, path: str = "/p/a.py", name: str = "PreToolUse") -> str:
    return json.dumps({"hook_event_name": name, "tool_name": tool, "tool_input": {"file_path": path}, "cwd": "/p"})


@pytest.mark.parametrize(
    ("host", "stdin", "reason"),
    [
        ("claude", event("Edit"), EDIT),
        ("claude", event("Write"), WRITE),
        ("claude", event("MultiEdit"), EDIT),
        ("claude", event("NotebookEdit"), LET_THROUGH),
        ("claude", event("Read"), READ),
        ("claude", event("Read", "/p/Makefile"), READ),
        ("claude", event("Read", "/p/paper.PDF"), LET_THROUGH),
        ("claude", event("Read", "/p/shot.png"), LET_THROUGH),
        ("claude", event("Read", "/p/shot.JPEG"), LET_THROUGH),
        ("claude", event("Read", "/p/study.ipynb"), LET_THROUGH),
        ("claude", event("Bash"), LET_THROUGH),
        ("claude", event("mcp__fileops__Edit"), LET_THROUGH),
        ("claude", event("Edit", name="PostToolUse"), LET_THROUGH),
        ("claude", json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "hello"}), LET_THROUGH),
        ("claude", json.dumps({"hook_event_name": "SessionStart", "source": "clear"}), LET_THROUGH),
        ("claude-plugin", event("Edit"), PLUGIN + "Edit."),
        ("claude-plugin", event("Write"), PLUGIN + "Write."),
        ("claude-plugin", event("Read"), PLUGIN + "Read."),
        ("codex", event("apply_patch"), EDIT),
        ("codex", event("Write"), WRITE),
        ("codex", event("Bash"), LET_THROUGH),
        ("opencode", event("bash"), LET_THROUGH),
    ],
)
def test_hook_would_refuse_built_in_tools_only(host: str, stdin: str, reason: str | None) -> None:
    """Whether it does depends on the session's connections: see test_hooks.py."""
    refusal = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    assert hook.answer_to(host, json.loads(stdin)) == (reason and {"hookSpecificOutput": refusal})


# R-NB-40
@pytest.mark.parametrize(
    ("stdin", "reason"),
    [
        (event("NotebookEdit"), "Use mcp__fileops__NotebookEdit."),
        (event("Read", "/p/study.ipynb"), READ),
        (event("Read", "/p/paper.pdf"), LET_THROUGH),
    ],
)
def test_hook_with_our_notebooks_refuses_the_hosts_tools_for_them(stdin: str, reason: str | None) -> None:
    refusal = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    answer = hook.answer_to("claude", json.loads(stdin), has_our_notebooks=True)
    assert answer == (reason and {"hookSpecificOutput": refusal})


CHANGED = "@@ line 3\n-old\n+new\nsrc/a.js +1 −1"


@pytest.mark.parametrize(
    ("host", "tool", "texts", "message"),
    [
        ("claude", "mcp__fileops__Edit", ["updated", CHANGED], "src/a.js +1 −1\n@@ line 3\n-old\n+new"),
        (
            "claude-plugin",
            "mcp__plugin_fileops_fileops__ApplyPatch",
            ["done", "@@ line 3\n+new\na.js +1 −0\nb.js +2 −0", "a.js changed on disk"],
            "a.js +1 −0\nb.js +2 −0\n@@ line 3\n+new",
        ),
        ("claude", "mcp__fileops__Edit", ["updated"], None),
        ("claude", "mcp__fileops__Edit", [CHANGED], None),  # that is the text of the file
        ("claude", "mcp__other__Edit", ["updated", CHANGED], None),
        ("codex", "mcp__fileops__Edit", ["updated", CHANGED], None),  # it shows the end of the answer itself
    ],
)
def test_hook_shows_the_person_what_our_tools_changed(
    host: str, tool: str, texts: list[str], message: str | None
) -> None:
    answer = [{"type": "text", "text": text} for text in texts]
    done = run(host, json.dumps({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_response": answer}))
    assert (done.returncode, done.stderr) == (0, b"")
    assert (json.loads(done.stdout) if done.stdout else None) == (message and {"systemMessage": message})


@pytest.mark.parametrize(
    ("host", "tool", "error", "message"),
    [
        (
            "claude",
            "mcp__fileops__Edit",
            "<tool_use_error>Rejected: no. Nothing was written.</tool_use_error>",
            "a.js: Rejected: no. Nothing was written.",
        ),
        ("claude", "mcp__fileops__Edit", "Not found.\n1\ta", "a.js: Not found."),
        ("claude-plugin", "mcp__plugin_fileops_fileops__Edit", "x" * 400, f"a.js: {'x' * 300}…"),
        ("claude", "mcp__other__Edit", "Rejected.", None),
        ("claude", "mcp__fileops__Edit", "", None),
        ("codex", "mcp__fileops__Edit", "Rejected.", None),  # it shows the answer itself
    ],
)
def test_hook_shows_the_person_why_a_call_of_our_tools_failed(
    host: str, tool: str, error: str, message: str | None
) -> None:
    failed = {"hook_event_name": "PostToolUseFailure", "tool_name": tool, "error": error, "cwd": "/p"}
    done = run(host, json.dumps(failed | {"tool_input": {"file_path": "/p/a.js"}}))
    assert (done.returncode, done.stderr) == (0, b"")
    assert (json.loads(done.stdout) if done.stdout else None) == (message and {"systemMessage": message})
    interrupted = run(host, json.dumps(failed | {"is_interrupt": True}))
    assert interrupted.stdout == b""


@pytest.mark.parametrize(
    ("host", "before", "tool", "reason"),
    [
        ("gemini", "BeforeTool", "replace", "Use mcp_fileops_Edit."),
        ("gemini", "BeforeTool", "write_file", "Use mcp_fileops_Write."),
        ("gemini", "BeforeTool", "read_file", "Use mcp_fileops_Read."),
        ("opencode", "PreToolUse", "edit", "Use fileops_Edit."),
        ("opencode", "PreToolUse", "write", "Use fileops_Write."),
        ("opencode", "PreToolUse", "apply_patch", "Use fileops_Edit."),
        ("opencode", "PreToolUse", "multiedit", "Use fileops_MultiEdit."),
        ("opencode", "PreToolUse", "read", "Use fileops_Read."),
    ],
)
def test_hook_of_gemini_and_opencode_refuses_in_their_form(host: str, before: str, tool: str, reason: str) -> None:
    assert hook.answer_to(host, json.loads(event(tool, name=before))) == {
        "decision": "deny",
        "reason": reason,
    }


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"no json",
        b"[1]",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps({"hook_event_name": "PreToolUse"}).encode(),
        json.dumps({"hook_event_name": "PreToolUse", "tool_name": ["Edit"]}).encode(),
        json.dumps({"hook_event_name": "FutureEvent", "session_id": "s"}).encode(),
        json.dumps({"hook_event_name": [], "session_id": "s"}).encode(),
        json.dumps({"hook_event_name": {}, "session_id": "s"}).encode(),
        b'{"hook_event_name": ' + b"1" * 5000 + b"}",
    ],
)
def test_hook_with_unusable_input_prints_nothing_and_lets_the_host_continue(stdin: bytes) -> None:
    done = run("claude", stdin)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"fileops-server mcp hook: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("key", ["tool_name", "tool_input", "session_id", "source", "prompt", "tool_use_id", "cwd"])
@pytest.mark.parametrize("name", ["PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "Stop", "\ud800"])
def test_hook_with_any_json_lets_the_host_continue(name: str, key: str) -> None:
    sane: dict[str, object] = {
        "hook_event_name": name,
        "tool_name": "Edit",
        "tool_input": {},
        "session_id": "s",
        "source": "clear",
    }
    for value in (None, True, 1e999, "\ud800", "x" * 5000, list[object](), dict[str, object]()):
        for host in ("claude", "gemini"):
            given = {**sane, key: value}
            caller = caller_of(host, given)
            event = common_form(caller.dialect, given)
            try:
                hook.answer_to(host, event)
                hook.record(caller, event, deadline=0)
                hook.report_shared_changes(caller, event, deadline=0)
                report = companion.report_of(caller, event)
                if report is not None:
                    json.dumps(report)
            except hook.Unusable:
                assert key == "tool_name"


@pytest.mark.parametrize("end", [">&-", "2>&- >&-", "| true", "> /dev/full"])
def test_hook_without_an_output_lets_the_host_continue(end: str) -> None:
    script = f'exec 3>&2; ({sys.executable} -m fileops mcp hook claude; echo "status $?" >&3) {end}'
    done = subprocess.run(
        ["/bin/bash", "-c", script], input=event("Edit").encode(), capture_output=True, check=False, timeout=50
    )
    assert done.stderr.endswith(b"status 0\n")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_hook_without_end_of_input_answers_and_exits_after_a_timeout() -> None:
    shown = {"tool_response": [{"type": "text", "text": "updated"}, {"type": "text", "text": CHANGED}]}
    stdin = {"hook_event_name": "PostToolUse", "tool_name": "mcp__fileops__Edit", **shown}
    reader, writer = os.pipe()
    try:
        os.write(writer, json.dumps(stdin).encode())
        command = [sys.executable, "-m", "fileops", "mcp", "hook", "claude"]
        done = subprocess.run(command, stdin=reader, capture_output=True, check=False, timeout=50)
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 0
    assert "systemMessage" in json.loads(done.stdout)


def test_hook_with_closed_stdin_lets_the_host_continue() -> None:
    command = f"exec {sys.executable} -m fileops mcp hook claude <&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False, timeout=50)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"fileops-server mcp hook: stdin cannot be read")


def test_hook_loads_nothing_but_the_standard_library() -> None:
    script = (
        "import sys, fileops.cli\n"
        "fileops.cli.main(['mcp', 'hook', 'claude'])\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] == 'fileops'))\n"
        "heavy = ('argparse', 'asyncio', 'logging', 'msgspec', 'pygls', 'subprocess', 'tomlkit')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    command = [sys.executable, "-S", "-c", script]
    where = {**os.environ, "PYTHONPATH": str(pathlib.Path(hook.__file__).parents[2])}  # no site-packages
    done = subprocess.run(command, input=b"", capture_output=True, check=True, env=where, timeout=50)
    ours, heavy = map(ast.literal_eval, done.stdout.decode().splitlines())
    assert ours == ["fileops", "fileops.attach", "fileops.attach.callers", "fileops.attach.hook", "fileops.cli"]
    assert heavy == []
