"""Asking a person about an edit through the host: `elicitation/create`, or the modern `InputRequiredResult`.

Hosts ask by themselves before a tool is called. So by default a person is asked here about protected files only.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Protocol, cast

from fileops.core.presentation.diffs import changed_lines, cut_diff
from fileops.mcp.progress import Progress
from fileops.mcp.protocol import ELICITATION_CREATE, JsonObject
from fileops.mcp.request_state import Asked, StateSeal
from fileops.model.approval import Always, ApprovalRequest, Decision, Once, Reject, TimedOut, Undecided
from fileops.model.digest import content_digest
from fileops.model.errors import ModifiedExternally
from fileops.model.review import Decider
from fileops.rpc.outgoing import ClientGone, ClientRefused
from fileops.service.hub.names import program_name

log = logging.getLogger(__name__)

APPROVAL_TIMEOUT_S = 240.0  # Codex ends calls after 300 s
MAX_DIFF_LINES = 60
MAX_DIFF_CHARS = 4000
REQUEST_KEY = "approve"  # of the one input request in an InputRequiredResult
APPLY, APPLY_ALL, REJECT = "apply", "apply and stop asking", "reject"
SWITCH_HOST = "opencode"  # it is shown one switch instead of three choices


class InputRequired(Exception):
    """A modern client has to put the question, and then to repeat the call."""

    def __init__(self, question: ApprovalRequest, asked: Asked) -> None:
        super().__init__(question.title)
        self.question = question
        self.asked = asked


class Dialogue(Protocol):
    """The way in which one call reaches the user."""

    async def decide(self, question: ApprovalRequest) -> Decision:
        """See queue.HostApprover. Raises: InputRequired."""
        ...


Ask = Callable[[str, object, float], Awaitable[object]]


class LegacyDialogue:
    """Asks while the call waits. ask: method, params, seconds; returns the client's result."""

    def __init__(self, ask: Ask, host: str, on_wait: Callable[[], None]) -> None:
        self._ask = ask
        self._host = host
        self._on_wait = on_wait

    async def decide(self, question: ApprovalRequest) -> Decision:
        self._on_wait()
        try:
            answer = await self._ask(ELICITATION_CREATE, form_of(question, self._host), APPROVAL_TIMEOUT_S)
        except TimeoutError:
            return TimedOut(APPROVAL_TIMEOUT_S)
        except (ClientGone, ClientRefused) as fault:
            log.info("the client did not ask the person: %s", fault)
            return Undecided()
        return decision_of(answer, self._host)


class ModernDialogue:
    """Asks by ending the call; a repeated call brings the answer. asked: of the opened state, None without one.

    is_forged: a state was given that does not open: forged, expired, or used before. It decides nothing.
    """

    def __init__(self, asked: Asked | None, answer: object, host: str, *, is_forged: bool) -> None:
        self._asked = asked
        self._answer = answer
        self._host = host
        self._is_forged = is_forged

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Raises: InputRequired; ModifiedExternally if the file is no longer the one that was asked about."""
        if self._is_forged:
            return Undecided()
        digest, lines = question_digest(question), lines_digest(question)
        asked = self._asked
        if asked is None:
            raise InputRequired(question, Asked(digest=digest, lines=lines))
        if digest in asked.approved:
            return Once()
        if self._answer is None:  # of this call, which has been used for another file
            approved = (*asked.approved, asked.digest)
            raise InputRequired(question, Asked(digest=digest, lines=lines, approved=approved))
        answer, self._answer = self._answer, None
        if digest != asked.digest:
            if question.rebased is None:
                raise ModifiedExternally
            if lines != asked.lines:
                raise InputRequired(question, Asked(digest=digest, lines=lines, approved=asked.approved))
        return decision_of(answer, self._host)


class McpApprover:
    """See queue.HostApprover: asks through the dialogue of the call in which the question arises."""

    def __init__(self, host: Callable[[], str], *, allows_unasked: bool) -> None:
        """Args: host: its name. allows_unasked: whether edits of protected files are applied if it cannot ask."""
        self._host = host
        self.allows_unasked = allows_unasked
        self._dialogue: ContextVar[Dialogue | None] = ContextVar("dialogue", default=None)
        self._progress: ContextVar[Progress | None] = ContextVar("progress", default=None)

    def begin(self, dialogue: Dialogue | None, progress: Progress | None) -> None:
        """Use the dialogue and the reports in the present task. Args: dialogue: None if the client cannot ask."""
        self._dialogue.set(dialogue)
        self._progress.set(progress)

    @property
    def person(self) -> Decider:
        return Decider(program_name(self._host()))

    @property
    def can_ask_now(self) -> bool:
        return self._dialogue.get() is not None

    def note_asked(self, persons: Sequence[Decider]) -> None:
        """Report that the present call waits for a person who is asked there, not through the host."""
        if (progress := self._progress.get()) is not None:
            progress.wait_for_person(persons[0].client if len(persons) == 1 else "your editor")

    async def decide(self, question: ApprovalRequest) -> Decision:
        dialogue = self._dialogue.get()
        return Undecided() if dialogue is None else await dialogue.decide(question)


# --- shapes ------------------------------------------------------------------------------------------------------


def form_of(question: ApprovalRequest, host: str) -> JsonObject:
    """Params of `elicitation/create`. One property always: a host may accept an empty form by itself."""
    if host == SWITCH_HOST:
        schema: JsonObject = {"type": "object", "properties": {"apply": {"type": "boolean"}}, "required": ["apply"]}
    else:
        decision = {"type": "string", "title": "This edit", "enum": [APPLY, APPLY_ALL, REJECT]}
        schema = {"type": "object", "properties": {"decision": decision}, "required": ["decision"]}
    return {"message": _message(question), "requestedSchema": schema}


def _message(question: ApprovalRequest) -> str:
    """Return the path and the changed lines. A host may show three lines only, so no file header is among them."""
    name = question.file_path.rpartition("/")[2]
    title = question.title.removesuffix(name) + question.file_path
    diff = cut_diff(changed_lines(question.change.hunks), max_lines=MAX_DIFF_LINES, max_chars=MAX_DIFF_CHARS)
    return f"{title}\n{diff}"


def input_required(question: ApprovalRequest, host: str, state: str) -> JsonObject:
    request = {"method": ELICITATION_CREATE, "params": {"mode": "form", **form_of(question, host)}}
    return {"resultType": "input_required", "inputRequests": {REQUEST_KEY: request}, "requestState": state}


def decision_of(answer: object, host: str) -> Decision:
    """Return what the answer to the form of this host decides; Undecided if it decides nothing.

    Only an accepted form with its one field and a known value is a decision, or a form that was declined. A further
    field makes the content another form than the one that was shown, and may contradict it.
    """
    given = cast("JsonObject", answer) if isinstance(answer, dict) else {}
    if given.get("action") == "decline":
        return Reject()
    content = given.get("content")
    values = cast("JsonObject", content) if isinstance(content, dict) else {}
    decision: Decision | None = None
    if given.get("action") == "accept":
        if host == SWITCH_HOST and values.keys() == {"apply"} and isinstance(values["apply"], bool):
            decision = Once() if values["apply"] else Reject()
        elif host != SWITCH_HOST and values.keys() == {"decision"}:
            chosen = values["decision"]
            decision = _BY_CHOICE.get(chosen) if isinstance(chosen, str) else None
    if decision is None:
        log.warning("a host's answer to a question is no decision")
        return Undecided()
    return decision


_BY_CHOICE: Mapping[str, Decision] = {APPLY: Once(), APPLY_ALL: Always(), REJECT: Reject()}


def question_digest(question: ApprovalRequest) -> str:
    path = question.file_path.encode("utf-8", "surrogatepass")
    return content_digest(path + b"\0" + question.original_digest).hex()


def lines_digest(question: ApprovalRequest) -> str:
    """Of the lines that a question would remove and add, at any place of the file."""
    lines = [line.kind + line.text for hunk in question.change.hunks for line in hunk.lines if line.kind != " "]
    return content_digest("\n".join((question.file_path, *lines)).encode("utf-8", "surrogatepass")).hex()


def modern_dialogue(
    seal: StateSeal, call: str, state: str | None, responses: JsonObject | None, host: str
) -> ModernDialogue:
    """Args: call: see request_state.digest_of_call."""
    if state is None:
        return ModernDialogue(None, None, host, is_forged=False)
    asked = seal.open(call, state)
    answer = (responses or {}).get(REQUEST_KEY, {})
    return ModernDialogue(asked, answer, host, is_forged=asked is None)
