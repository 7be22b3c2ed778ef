"""What a hook reports about its host's own tools, and how the daemon's answer is said in the host's dialect.

Without an answer nothing is printed, and the host continues unguarded. Standard library only.
"""

from collections.abc import Mapping
from typing import Any, cast

from fileops.attach import hooked_session, unguarded
from fileops.attach.callers import Caller
from fileops.attach.host_events import NOTEBOOKS, Event, calls_of

ANSWER_S = 2.0  # of a daemon that need not ask a person
REVIEW_S = 250.0  # the daemon gives up after 240 s
PREFIXES = {  # of the names of our tools, in hosts in which they are known
    "claude": "mcp__fileops__",
    "claude-plugin": "mcp__plugin_fileops_fileops__",
    "codex": "mcp__fileops__",
    "gemini": "mcp_fileops_",
    "opencode": "fileops_",
}
_EVENTS = {
    "PreToolUse": "before", "BeforeTool": "before", "PostToolUse": "after", "AfterTool": "after",
    "PostToolUseFailure": "failed", "PostToolBatch": "batch",
}  # fmt: skip
_OTHERS = {
    "SessionStart": "start", "UserPromptSubmit": "start", "BeforeAgent": "start", "Stop": "turn", "AfterAgent": "turn",
    "SessionEnd": "end", "SubagentStop": "end",
}  # fmt: skip
_ASKS = frozenset({"claude", "copilot", "cursor", "antigravity", "unknown"})  # their `ask` asks their user
# Hosts that let a hook replace arguments: their names for the old and the new text of an edit, and a whole text.
_REWRITTEN = {
    "claude": ("old_string", "new_string", "content"),
    "gemini": ("old_string", "new_string", "content"),
    "opencode": ("oldString", "newString", "content"),
    "copilot": ("old_str", "new_str", "file_text"),
}
_CORRECTED = frozenset({"gemini", "opencode"})  # these look for the text of an edit after the hook
_REFUSED = ("<tool_use_error>", "File content has changed", "File has been modified")


def answer_to(caller: Caller, raw: Event, event: Event) -> dict[str, Any] | None:
    """Ask the daemon about an event, and return what is printed for the host.

    Args: raw: the event as the host has sent it. event: the same in its common form.
    """
    report = report_of(caller, event)
    if report is None:
        return None
    if event.get("hook_event_name") == "SessionStart" and hooked_session.start_daemon():
        return None  # it does not answer yet; the next hook finds it
    answer = hooked_session.companion(caller, report, ANSWER_S)
    if not answer and report["event"] in _EVENTS.values():
        unguarded.note_silence(caller)
    if isinstance(waiting := answer.get("waiting"), str):  # for a person
        decision = {"event": "decision", "waiting": waiting}
        answer = hooked_session.companion(caller, decision, REVIEW_S)
    return translate_answer(caller, raw, event, _with_silence(caller, event, answer)) if answer else None


def _with_silence(caller: Caller, event: Event, answer: dict[str, Any]) -> dict[str, Any]:
    """Say once that the daemon has not answered for a while, where the model and the person can be told."""
    name = event.get("hook_event_name")
    if name == "SessionEnd":
        unguarded.forget(caller)
    if _EVENTS.get(str(name)) not in {"after", "batch"} or (since := unguarded.note_answer(caller)) is None:
        return answer
    from fileops.core.presentation.hook_texts import unguarded_text

    text, contexts = unguarded_text(since), answer.get("contexts")
    others = cast("list[object]", contexts) if isinstance(contexts, list) else []
    person = "\n".join(filter(None, (str(answer.get("person") or ""), text)))
    return {**answer, "contexts": [text, *others], "person": person}


def report_of(caller: Caller, event: Event) -> dict[str, Any] | None:
    """Return what the daemon is told; None if the event is not about the host's own file tools or its session."""
    name = event.get("hook_event_name")
    if not isinstance(name, str):
        return None
    report: dict[str, Any] = {
        "event": _EVENTS.get(name) or _OTHERS.get(name),
        "cwd": event["cwd"],
        "mode": _text(event.get("permission_mode")),
        "tool_prefix": PREFIXES.get(caller.host) if caller.is_own else None,
        "can_correct": caller.dialect in _CORRECTED,
        "can_rewrite": caller.dialect in _REWRITTEN,
        "call_id": _text(event.get("tool_use_id")),
        "agent_id": _text(event.get("agent_id")),
        "agent_type": _text(event.get("agent_type")),
    }
    if name in _OTHERS:
        return report
    if name == "PostToolBatch":
        batch = [called for called in _batch(event) if called is not None]
        return {**report, "batch": batch} if batch else None
    if name not in _EVENTS or not (calls := calls_of(event)):
        return None
    response = event.get("tool_response")
    has_error = isinstance(response, dict) and cast("dict[str, object]", response).get("error")
    if has_error and (name == "AfterTool" or event.get("tool_name") in NOTEBOOKS):
        report["event"] = "failed"  # no event says so: both report the error in a field
    return {**report, "calls": calls}


def _batch(event: Event) -> list[dict[str, Any] | None]:
    calls = event.get("tool_calls")
    return [_to_call(event, call) for call in cast("list[object]", calls)] if isinstance(calls, list) else []


def _to_call(event: Event, call: object) -> dict[str, Any] | None:
    if not isinstance(call, dict):
        return None
    fields = cast("dict[str, Any]", call)
    found = calls_of({**fields, "tool_response": None, "cwd": event["cwd"]})
    response = fields.get("tool_response")
    is_refused = isinstance(response, str) and response.startswith(_REFUSED)
    call_id = _text(fields.get("tool_use_id"))
    return {"call": found[0], "call_id": call_id, "is_refused": is_refused} if found else None


def translate_answer(caller: Caller, raw: Event, event: Event, answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the daemon's answer in the host's dialect; None if there is nothing to say."""
    name = raw.get("hook_event_name", raw.get("hookEventName")) or event.get("hook_event_name")
    decision, reason = answer.get("decision"), str(answer.get("reason") or "")
    contexts: object = answer.get("contexts")
    texts = cast("list[object]", contexts) if isinstance(contexts, list) else []
    context = "\n\n".join(text for text in texts if isinstance(text, str) and text)
    shown = answer.get("shown") if isinstance(answer.get("shown"), dict) else None
    arguments = _with_corrected(caller, event, answer)
    person = str(answer.get("person") or "")
    if decision == "ask" and caller.dialect not in _ASKS:
        from fileops.core.presentation.hook_texts import nobody_asked_text

        decision, reason = "deny", nobody_asked_text(reason)
    match caller.dialect:
        case "gemini":
            return _to_gemini(str(name), decision, reason, context, shown, arguments)
        case "opencode":
            return _to_opencode(event, decision, reason, context, shown, arguments)
        case "antigravity":
            return {"decision": decision or "allow", **({"reason": reason} if reason else {})}
        case _:
            pass
    specific: dict[str, Any] = {"hookEventName": name}
    if decision is not None:
        specific |= {"permissionDecision": decision, "permissionDecisionReason": reason}
    if context:
        specific["additionalContext"] = context
    out: dict[str, Any] = {}
    if arguments is not None:
        specific["updatedInput"] = arguments
    if caller.dialect == "claude" and shown is not None:
        specific |= _replace_for_claude(event, shown)
    if len(specific) > 1:
        out["hookSpecificOutput"] = specific
    if caller.dialect == "copilot":
        out |= {key: value for key, value in specific.items() if key != "hookEventName"}
        if arguments is not None:
            out["modifiedArgs"] = arguments
        if shown is not None:
            out["modifiedResult"] = {"resultType": "success", "textResultForLlm": shown["content"]}
    if caller.dialect == "cursor":
        if decision is not None:
            out |= {"permission": decision, "user_message": reason, "agent_message": reason}
        if context:
            out["additional_context"] = context
    if person:
        out["systemMessage"] = person
    return out or None


def _to_gemini(
    name: str,
    decision: object,
    reason: str,
    context: str,
    shown: Mapping[str, Any] | None,
    corrected: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    if decision == "deny":
        return {"decision": "deny", "reason": reason}
    if shown is not None:  # a refusal after the read replaces its output
        return {"decision": "deny", "reason": f"{shown['content']}\n\n{context}"}
    specific: dict[str, Any] = {"additionalContext": context} if context else {}
    if corrected is not None:
        specific["tool_input"] = corrected
    return {"hookSpecificOutput": {"hookEventName": name, **specific}} if specific else None


def _to_opencode(
    event: Event,
    decision: object,
    reason: str,
    context: str,
    shown: Mapping[str, Any] | None,
    corrected: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Our plugin reads this: a refusal is thrown, and an output or arguments replace the tool's."""
    if decision == "deny":
        return {"decision": "deny", "reason": reason}
    out: dict[str, Any] = {} if corrected is None else {"arguments": corrected}
    if shown is not None:
        lines = "\n".join(f"{n}: {line}" for n, line in enumerate(str(shown["content"]).split("\n"), shown["start"]))
        arguments = cast("dict[str, object]", event.get("tool_input") or {})
        out["output"] = f"<path>{arguments.get('filePath')}</path>\n<type>file</type>\n<content>\n{lines}\n</content>"
    if context:
        out["hookSpecificOutput"] = {"hookEventName": event.get("hook_event_name"), "additionalContext": context}
    return out or None


def _with_corrected(caller: Caller, event: Event, answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the call's arguments with the daemon's texts; None if those of the model stay."""
    given, corrected = event.get("tool_input"), answer.get("corrected")
    names = _REWRITTEN.get(caller.dialect)
    if names is None or not isinstance(given, dict) or not isinstance(corrected, dict):
        return None
    old, new, whole = names
    texts, arguments = cast("dict[str, object]", corrected), cast("dict[str, object]", given)
    if texts.get("content") is not None:
        return {**arguments, whole: texts["content"]}
    return {**arguments, old: texts.get("old"), new: texts.get("new")}


def _replace_for_claude(event: Event, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the output of a read with other lines. Claude Code ignores any other shape than the tool's own."""
    response = event.get("tool_response")
    fields = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    file: object = fields.get("file")
    if not isinstance(file, dict):
        return {}
    lines = {
        "content": shown["content"],
        "startLine": shown["start"],
        "numLines": shown["n_lines"],
        "totalLines": shown["n_total"],
    }
    return {"updatedToolOutput": {**fields, "file": {**cast("dict[str, Any]", file), **lines}}}


def _text(value: object) -> str:
    return value[:4096] if isinstance(value, str) else ""
