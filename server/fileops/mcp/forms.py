"""The forms by which a host asks a person about an edit: what each host is sent, and what its answer decides.

Hosts draw forms differently, and people answer many of them, so each host gets the form that takes the fewest keys.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from fileops.core.presentation.diffs import cut_diff, format_changed_lines
from fileops.mcp.protocol import ELICITATION_CREATE, JsonObject
from fileops.model.approval import Always, ApprovalRequest, Decision, Once, Reject, Undecided

log = logging.getLogger(__name__)

MAX_DIFF_LINES = 60
MAX_DIFF_CHARS = 4000
REQUEST_KEY = "approve"  # of the one input request in an InputRequiredResult


def form_of(question: ApprovalRequest, host: str) -> JsonObject:
    """Return the params of `elicitation/create`."""
    form = _form_for(question, host)
    schema: JsonObject = {"type": "object", "properties": form.properties}
    if form.required:
        schema["required"] = list(form.required)
    return {"message": _message(question), "requestedSchema": schema}


def input_required(question: ApprovalRequest, host: str, state: str) -> JsonObject:
    request = {"method": ELICITATION_CREATE, "params": {"mode": "form", **form_of(question, host)}}
    return {"resultType": "input_required", "inputRequests": {REQUEST_KEY: request}, "requestState": state}


def decision_of(answer: object, question: ApprovalRequest, host: str) -> Decision:
    """Return what the answer to this question's form decides; Undecided if nothing.

    A decision is an accepted form with exactly its own fields and known values, or a declined form. An extra field
    makes the content another form than the one shown, and may contradict it.
    """
    given = cast("JsonObject", answer) if isinstance(answer, dict) else {}
    if given.get("action") == "decline":
        return Reject()
    form = _form_for(question, host)
    content = given.get("content", {})
    if given.get("action") == "accept" and isinstance(content, dict):
        values = cast("JsonObject", content)
        if set(form.required) <= values.keys() <= form.properties.keys():
            decision = form.decision_by(values)
            if decision is not None:
                return decision
    log.warning("a host's answer to a question decides nothing")
    return Undecided()


def _message(question: ApprovalRequest) -> str:
    """Return the title with the path, and only the changed lines, since a host may show just three lines."""
    if not question.is_approvable:
        return f"{question.title}\nThe file changed, and nothing of this edit is left to apply."
    diff = cut_diff(format_changed_lines(question.change.hunks), max_lines=MAX_DIFF_LINES, max_chars=MAX_DIFF_CHARS)
    return f"{question.title}\n{diff}"


# --- the forms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """The fields of a form by name, and what an accepted form decides; None if a value is unknown."""

    properties: Mapping[str, JsonObject]
    required: tuple[str, ...]
    decision_by: Callable[[JsonObject], Decision | None]


def _form_for(question: ApprovalRequest, host: str) -> _Form:
    match host:
        case "claude-code":
            return _BUTTONS if question.is_protected else _BUTTONS_AND_REST
        case "opencode":
            return _SWITCH
        case _:
            return _CHOICE


def _by_choice(values: JsonObject) -> Decision | None:
    chosen = values["decision"]
    return _DECISIONS.get(chosen) if isinstance(chosen, str) else None


def _by_switch(values: JsonObject) -> Decision | None:
    match values["apply"]:
        case True:
            return Once()
        case False:
            return Reject()
        case _:
            return None


def _by_rest(values: JsonObject) -> Decision | None:
    match values.get("stop_asking", False):
        case True:
            return Always()
        case False:
            return Once()
        case _:
            return None


_DECISIONS: Mapping[str, Decision] = {"apply": Once(), "apply and stop asking": Always(), "reject": Reject()}
# For hosts about which nothing else is known. It has one required field, since a host may accept an empty form by
# itself.
_CHOICE = _Form(
    {"decision": {"type": "string", "title": "This edit", "enum": list(_DECISIONS)}}, ("decision",), _by_choice
)
_SWITCH = _Form({"apply": {"type": "boolean"}}, ("apply",), _by_switch)
# Claude Code shows two buttons below the fields, and without fields the first has the focus: Enter accepts, Right and
# Enter decline. A choice costs four keys. Without a person (`-p`, in each of its permission modes) it cancels an empty
# form like any other. "Without asking" never covers protected files, so their form omits it.
_BUTTONS = _Form({}, (), lambda _: Once())
_BUTTONS_AND_REST = _Form(
    {"stop_asking": {"type": "boolean", "title": "Apply later edits without asking", "default": False}}, (), _by_rest
)
