"""Asks a person about an edit through the host: `elicitation/create`, or the modern `InputRequiredResult`.

Hosts ask before they call a tool, so by default only edits of protected files are asked about here.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Protocol

from fileops.mcp.forms import REQUEST_KEY, decision_of, form_of
from fileops.mcp.progress import Progress
from fileops.mcp.protocol import ELICITATION_CREATE, JsonObject
from fileops.mcp.request_state import Asked, StateSeal
from fileops.model.approval import ApprovalRequest, Decision, Once, TimedOut, Undecided
from fileops.model.digest import content_digest
from fileops.model.errors import ModifiedExternally
from fileops.model.review import Decider
from fileops.rpc.outgoing import ClientGone, ClientRefused
from fileops.service.hub.names import program_name

log = logging.getLogger(__name__)

APPROVAL_TIMEOUT_S = 240.0  # Codex ends calls after 300 s


class InputRequired(Exception):
    """The modern client has to ask the question, and then repeat the call."""

    def __init__(self, question: ApprovalRequest, asked: Asked) -> None:
        super().__init__(question.title)
        self.question = question
        self.asked = asked


class Dialogue(Protocol):
    """How one call reaches the user."""

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Ask, see queue.HostApprover. Raises: InputRequired."""
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
        return decision_of(answer, question, self._host)


class ModernDialogue:
    """Asks by ending the call; a repeated call brings the answer. asked: from the opened state, None without one.

    is_forged: a state was given that is forged, expired, or already used. It decides nothing.
    """

    def __init__(self, asked: Asked | None, answer: object, host: str, *, is_forged: bool) -> None:
        self._asked = asked
        self._answer = answer
        self._host = host
        self._is_forged = is_forged

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Raises: InputRequired; ModifiedExternally if the file has changed since the question."""
        if self._is_forged:
            return Undecided()
        digest, lines = question_digest(question), lines_digest(question)
        asked = self._asked
        if asked is None:
            raise InputRequired(question, Asked(digest=digest, lines=lines))
        if digest in asked.approved:
            return Once()
        if self._answer is None:  # this call's answer was used for another file
            approved = (*asked.approved, asked.digest)
            raise InputRequired(question, Asked(digest=digest, lines=lines, approved=approved))
        answer, self._answer = self._answer, None
        if digest != asked.digest:
            if question.rebased is None:
                raise ModifiedExternally
            if lines != asked.lines:
                raise InputRequired(question, Asked(digest=digest, lines=lines, approved=asked.approved))
        return decision_of(answer, question, self._host)


class McpApprover:
    """The HostApprover that asks through the call that needs the decision."""

    def __init__(self, host: Callable[[], str], *, allows_unasked: bool) -> None:
        """Args: host: its name. allows_unasked: whether edits of protected files are applied if it cannot ask."""
        self._host = host
        self.allows_unasked = allows_unasked
        self._dialogue: ContextVar[Dialogue | None] = ContextVar("dialogue", default=None)
        self._progress: ContextVar[Progress | None] = ContextVar("progress", default=None)

    def begin(self, dialogue: Dialogue | None, progress: Progress | None) -> None:
        """Use this dialogue and these reports in the current task. Args: dialogue: None if the client cannot ask."""
        self._dialogue.set(dialogue)
        self._progress.set(progress)

    @property
    def person(self) -> Decider:
        return Decider(program_name(self._host()))

    @property
    def can_ask_now(self) -> bool:
        return self._dialogue.get() is not None

    def note_asked(self, persons: Sequence[Decider]) -> None:
        """Report that the current call waits for a person who is asked in an editor, not through the host."""
        if (progress := self._progress.get()) is not None:
            progress.wait_for_person(persons[0].client if len(persons) == 1 else "your editor")

    async def decide(self, question: ApprovalRequest) -> Decision:
        dialogue = self._dialogue.get()
        return Undecided() if dialogue is None else await dialogue.decide(question)


def question_digest(question: ApprovalRequest) -> str:
    path = question.file_path.encode("utf-8", "surrogatepass")
    return content_digest(path + b"\0" + question.original_digest).hex()


def lines_digest(question: ApprovalRequest) -> str:
    """Return the digest of the lines that a question would remove and add, wherever in the file they are."""
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
