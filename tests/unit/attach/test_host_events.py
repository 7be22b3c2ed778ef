"""Events of hosts' hooks in their common form, and the reads and edits that they are about."""

from typing import Any

import pytest

from fileops.attach.host_events import calls_of, common_form


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ({"toolName": "view"}, "PreToolUse"),
        ({"toolName": "view", "toolResult": {}}, "PostToolUse"),
        ({"toolName": "view", "error": "none"}, "PostToolUseFailure"),
        ({"prompt": "do it"}, "UserPromptSubmit"),
        ({"source": "new"}, "SessionStart"),
        ({"reason": "complete"}, "SessionEnd"),
        ({"stopReason": "end_turn"}, "Stop"),
        ({}, None),
    ],
)
def test_events_of_copilot_are_told_by_their_keys(event: dict[str, Any], name: str | None) -> None:
    assert common_form("copilot", event)["hook_event_name"] == name


@pytest.mark.parametrize(
    ("tool", "arguments", "call"),
    [
        ("Read", {"file_path": "f"}, {"kind": "read", "path": "/p/f"}),
        ("Write", {"file_path": "f", "content": "x"}, {"kind": "write", "path": "/p/f", "content": "x"}),
        (
            "NotebookEdit",
            {"notebook_path": "n", "new_source": "x", "cell_id": "c"},
            {"kind": "notebook", "path": "/p/n", "source": "x", "cell_id": "c"},
        ),
        ("Read", {}, None),
        ("Write", {"content": "x"}, None),
        ("NotebookEdit", {"new_source": "x"}, None),
    ],
)
def test_call_of_a_file_tool_has_the_absolute_path(
    tool: str, arguments: dict[str, Any], call: dict[str, Any] | None
) -> None:
    event = {"tool_name": tool, "tool_input": arguments, "cwd": "/p"}
    assert calls_of(event) == ([] if call is None else [call])
