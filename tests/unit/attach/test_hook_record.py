"""What is reported of a hook's event."""

from typing import Any

import pytest

from fileops.attach.hook_record import report_of
from fileops.service.hub.hooks import HookReport

LINE = {"command": "cd /p && TOKEN=x python fix.py --now", "run_in_background": True}


@pytest.mark.parametrize(
    ("host", "event", "report"),
    [
        (
            "claude",
            {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": LINE, "tool_use_id": "u", "cwd": "/p"},
            {
                "what": "begin_command",
                "tool_use_id": "u",
                "program": "python fix.py",
                "names_git": False,
                "background": True,
                "cwd": "/p",
            },
        ),
        (
            "claude-plugin",
            {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "make"}},
            {"what": "end_command", "tool_use_id": None, "program": "make", "names_git": False, "background": False},
        ),
        (
            "gemini",
            {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": None},
            {"what": "end_command", "tool_use_id": None, "program": "", "names_git": False, "background": False},
        ),
        (
            "claude",
            {"hook_event_name": "UserPromptSubmit", "prompt": "fix it\nsecret", "prompt_id": "p1", "cwd": "p"},
            {"what": "begin_turn", "turn_id": "p1", "title": "fix it"},
        ),
        (
            "codex",
            {"hook_event_name": "UserPromptSubmit", "turn_id": "t1"},
            {"what": "begin_turn", "turn_id": "t1", "title": None},
        ),
        (
            "gemini",
            {"hook_event_name": "BeforeAgent", "prompt": "go"},
            {"what": "begin_turn", "turn_id": None, "title": "go"},
        ),
        (
            "copilot",
            {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}, "cwd": "/p"},
            {
                "what": "begin_command",
                "tool_use_id": None,
                "program": "make",
                "names_git": False,
                "background": False,
                "cwd": "/p",
            },
        ),
        ("claude", {"hook_event_name": "Stop"}, {"what": "end_turn"}),
        ("gemini", {"hook_event_name": "AfterAgent"}, {"what": "end_turn"}),
        ("claude", {"hook_event_name": "SessionEnd"}, {"what": "end_turn"}),
        ("claude", {"hook_event_name": "SessionStart", "source": "clear"}, None),
        ("claude", {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {}}, None),
        ("codex", {"hook_event_name": "PreToolUse", "tool_name": "bash"}, None),
        ("opencode", {"hook_event_name": "PreToolUse", "tool_name": "read"}, None),
        ("claude", {}, None),
    ],
)
def test_event_is_reported_with_nothing_but_titles_and_labels(
    host: str, event: dict[str, Any], report: dict[str, object] | None
) -> None:
    assert report_of(host, event) == report


def test_report_has_no_key_that_the_daemon_does_not_know() -> None:
    known = set(HookReport.__struct_fields__)
    for name in ("PreToolUse", "UserPromptSubmit", "Stop"):
        event = {"hook_event_name": name, "tool_name": "Bash", "cwd": "/p"}
        assert set(report_of("claude", event) or ()) <= known


@pytest.mark.parametrize("value", ["\ud800", "x" * 300, 7, None, ""])
def test_id_of_any_shape_becomes_one_that_can_be_kept(value: object) -> None:
    report = report_of("claude", {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": value})
    assert report is not None
    kept = report.get("tool_use_id")
    assert kept is None or len(kept.encode()) <= 200
