"""R-COMP-27: who calls a hook, as told from what it sends."""

import pytest

from fileops.attach.callers import HOSTS, caller_of
from support.payloads import Payloads, all_payloads

PAYLOADS = all_payloads()


@pytest.mark.parametrize("payloads", PAYLOADS.values(), ids=PAYLOADS)
def test_every_payload_of_a_host_is_recognised(payloads: Payloads) -> None:
    for event in payloads.events:
        caller = caller_of(payloads.hook, event)
        assert (caller.dialect, caller.session_host) == (payloads.dialect, payloads.session_host), event
        assert caller.own_id != ""
        assert caller.is_own is (HOSTS[payloads.hook] == payloads.dialect)


def test_payload_of_an_unknown_program_is_guarded_under_the_name_of_the_host() -> None:
    event = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "session_id": "s"}
    for host in ("claude", "claude-plugin"):
        caller = caller_of(host, event)
        assert (caller.dialect, caller.session_host, caller.is_own) == ("unknown", "claude", False)


def test_codex_that_runs_claudes_hooks_is_codex() -> None:
    event = {"session_id": "s", "turn_id": "t", "transcript_path": "/t", "tool_name": "Edit"}
    assert caller_of("claude", event).dialect == "codex"
    assert caller_of("claude", {**event, "prompt_id": "p"}).dialect == "claude"


@pytest.mark.parametrize("value", [None, True, 1, [], {}, "\ud800"])
@pytest.mark.parametrize(
    "key", ["session_id", "sessionId", "conversation_id", "cursor_version", "toolCall", "timestamp", "transcript_path"]
)
def test_any_json_has_a_caller(key: str, value: object) -> None:
    for host in HOSTS:
        assert isinstance(caller_of(host, {key: value}).own_id, str)
