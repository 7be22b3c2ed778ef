"""Asks an LSP client's user for decisions: by a `fileops/*` request, or by a message if the client knows only LSP.

Only an explicit answer is a decision: not an error response, a lost client, a dismissed message, or an answer of an
unknown shape.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import cast

import msgspec
from lsprotocol import types

from fileops.core.presentation.diffs import cut_diff
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.approval import (
    Always,
    ApprovalRequest,
    Decision,
    FileDecision,
    Modify,
    Once,
    Reject,
    SomeChanges,
    SomeFiles,
    TimedOut,
    Undecided,
)
from fileops.model.requests import CommandRequest
from fileops.model.review import SessionInfo
from fileops.rpc.errors import METHOD_NOT_FOUND
from fileops.service.hub.names import SessionNames
from fileops.service.review.queue import WaitingReview
from fileops.service.review.views import CannotAsk
from fileops.wire.commands import ConfirmCommandParams
from fileops.wire.convert import confirm_params

CONFIRM_EDIT = "fileops/confirmEdit"
CONFIRM_COMMAND = "fileops/confirmCommand"

log = logging.getLogger(__name__)

APPLY, RUN, ALWAYS, REJECT = "Apply", "Run", "Always", "Reject"
MAX_MESSAGE_DIFF_LINES = 20  # of a diff in a message box
MAX_MESSAGE_DIFF_CHARS = 4000

Decode = Callable[[object], Decision | None]


class UserPrompt:
    """One kind of question.

    capability: below `experimental.fileops`. Without it the user is asked by message, if at all.
    """

    def __init__(self, client: Client, capability: str, *, use_message_fallback: bool) -> None:
        self._client = client
        self._capability = f"experimental.fileops.{capability}"
        self._use_message_fallback = use_message_fallback
        self.is_unknown = False  # the client has answered that it does not know the request

    @property
    def can_ask(self) -> bool:
        return not self.is_unknown and (self.confirms or self._use_message_fallback)

    @property
    def confirms(self) -> bool:
        """Return whether the client handles the `fileops/*` request."""
        return self._client.capability(self._capability) is True

    async def ask(self, method: str, params: object, decode: Decode, timeout_s: float | None) -> Decision | None:
        """Send a request; return None if no answer comes or the answer is not a decision. Raises: TimeoutError."""
        try:
            answer = await self._client.ask(method, params, timeout_s=timeout_s)
        except ClientGone:
            return None
        except ClientRefused as refusal:
            log.warning("a client answered %s with error %s, which decides nothing", method, refusal.code)
            self.is_unknown = self.is_unknown or refusal.code == METHOD_NOT_FOUND
            return None
        decision = decode(answer)
        if decision is None:
            log.warning("a client's answer to %s is not a decision", method)
        return decision

    async def ask_by_message(self, message: str, yes: str, timeout_s: float | None) -> Decision | None:
        """Ask by `window/showMessageRequest`. yes: the title of the button that approves. Raises: TimeoutError."""
        actions = [types.MessageActionItem(title=title) for title in (yes, ALWAYS, REJECT)]
        params = types.ShowMessageRequestParams(type=types.MessageType.Info, message=message, actions=actions)
        buttons = {yes: Once(), ALWAYS: Always(), REJECT: Reject()}

        def decode(answer: object) -> Decision | None:
            title = cast("dict[str, object]", answer).get("title") if isinstance(answer, dict) else None
            return buttons.get(title) if isinstance(title, str) else None

        return await self.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, params, decode, timeout_s)


# --- edits -------------------------------------------------------------------------------------------------------


class EditPrompt:
    """Asks about a review by `fileops/confirmEdit`, or by a message, for clients that keep no list of reviews."""

    def __init__(self, client: Client, names: SessionNames) -> None:
        self._client = client
        self._names = names
        self._prompt = UserPrompt(client, "confirm_edit", use_message_fallback=True)

    @property
    def confirms(self) -> bool:
        """Return whether the client handles `fileops/confirmEdit`."""
        return self._prompt.confirms

    @property
    def is_unknown(self) -> bool:
        """Return whether the client has answered that it does not know the request."""
        return self._prompt.is_unknown

    async def ask(self, review: WaitingReview) -> Decision | None:
        """Return the user's decision; None if there is none. Cancelling the call withdraws the question.

        Raises: CannotAsk.
        """
        decision = await self._ask_user(review)
        if self.is_unknown:
            raise CannotAsk
        return decision

    async def _ask_user(self, review: WaitingReview) -> Decision | None:
        question, session = self._names.show_question(review.asked), review.session
        is_own = self._names.is_own(session.session_id)
        if not self._prompt.confirms:
            return await self._prompt.ask_by_message(_message(review, is_own=is_own), APPLY, None)
        asking = msgspec.UNSET if is_own else session
        if question.files:
            return await decide_each(question, lambda file: self._ask_about_edit(file, asking))
        return await self._ask_about_edit(question, asking)

    async def _ask_about_edit(
        self, question: ApprovalRequest, asking: SessionInfo | msgspec.UnsetType
    ) -> Decision | None:
        params = confirm_params(question, asking)
        return await self._prompt.ask(CONFIRM_EDIT, params, lambda answer: edit_decision_of(answer, question), None)


def _message(review: WaitingReview, *, is_own: bool) -> str:
    question = review.asked
    diff = cut_diff(question.change.unified, max_lines=MAX_MESSAGE_DIFF_LINES, max_chars=MAX_MESSAGE_DIFF_CHARS)
    title = question.title if is_own else f"{review.session.label}: {question.title}"
    return f"{title}\n{question.description}\n{diff}"


async def decide_each(
    question: ApprovalRequest, ask: Callable[[ApprovalRequest], Awaitable[Decision | None]]
) -> Decision | None:
    """Ask about each file of a change set, for clients that do not know sets. One rejection rejects the set."""
    files: list[FileDecision] = []
    always: Always | None = None
    for file in question.files:
        decision = await ask(file)
        match decision:
            case Once():
                pass
            case Always():
                always = decision
            case SomeChanges(change_ids, always_too):  # from an embedded approver
                always = always_too or always
                files.append(FileDecision(file_path=file.file_path, change_ids=change_ids))
            case Modify(modified_text):
                files.append(FileDecision(file_path=file.file_path, text=modified_text))
            case _:
                return decision
    if not files:
        return always or Once()
    return SomeFiles(tuple(files), always)


def edit_decision_of(answer: object, question: ApprovalRequest) -> Decision | None:
    """Decode an answer to confirmEdit, see docs/PROTOCOL.md, "Approval"; return None if it is not a decision."""
    if not isinstance(answer, dict):
        return None
    fields = cast("dict[str, object]", answer)
    outcome, text = fields.get("outcome"), fields.get("text")
    if not isinstance(text, str | None):
        return None
    if outcome == "cancel":
        return Reject()
    if not fields.keys() <= {"outcome", "text"}:
        return None  # it may limit what it approves, by a key of another protocol
    if outcome == "modify":
        return None if text is None else Modify(text)
    if not question.is_approvable:
        return None
    return _simple_decision(fields)


def _simple_decision(fields: dict[str, object]) -> Decision | None:
    match fields.get("outcome"):
        case "proceed_once":
            return Once()
        case "proceed_always":
            return Always()
        case "cancel":
            return Reject()
        case _:
            return None


# --- commands ----------------------------------------------------------------------------------------------------


class LspCommandApprover:
    """See ports.CommandApprover. A command runs only with the user's yes; only the user's no counts as a rejection."""

    def __init__(self, client: Client, names: SessionNames, *, timeout_s: float, use_message_fallback: bool) -> None:
        self._prompt = UserPrompt(client, "confirm_command", use_message_fallback=use_message_fallback)
        self._names = names
        self._timeout_s = timeout_s

    @property
    def can_ask(self) -> bool:
        return self._prompt.can_ask

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        try:
            decision = await self._ask(request, cwd)
        except TimeoutError:
            return TimedOut(self._timeout_s)
        return Undecided() if decision is None else decision

    async def _ask(self, request: CommandRequest, cwd: str) -> Decision | None:
        session = self._names.local(request.session_id)
        if not self._prompt.confirms:
            description = f"\n{request.description}" if request.description else ""
            message = f"Run a command for {session}?\n{request.command}\nin {cwd}{description}"
            return await self._prompt.ask_by_message(message, RUN, self._timeout_s)
        params = ConfirmCommandParams(
            command=request.command, cwd=cwd, session_id=session, description=request.description
        )
        return await self._prompt.ask(CONFIRM_COMMAND, params, _command_decision_of, self._timeout_s)


def _command_decision_of(answer: object) -> Decision | None:
    if not isinstance(answer, dict):
        return None
    fields = cast("dict[str, object]", answer)
    return _simple_decision(fields) if fields.keys() <= {"outcome"} or fields.get("outcome") == "cancel" else None
