"""Asks the user of an LSP client for decisions: by a `fileops/*` request, or by a message if the client knows only LSP.

Only an explicit answer is a decision. An error response, a lost client, a dismissed message and an answer of an unknown
shape are none.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
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
    SomeFiles,
    SomeHunks,
    TimedOut,
    Undecided,
)
from fileops.model.requests import CommandRequest
from fileops.service.hub.names import SessionNames
from fileops.service.review.queue import Review
from fileops.wire.commands import ConfirmCommandParams
from fileops.wire.convert import confirm_changes_params, confirm_params
from fileops.wire.types import AskingSession

CONFIRM_EDIT, CONFIRM_CHANGES, CONFIRM_COMMAND = (
    "fileops/confirmEdit",
    "fileops/confirmChanges",
    "fileops/confirmCommand",
)

log = logging.getLogger(__name__)

APPLY, RUN, ALWAYS, REJECT = "Apply", "Run", "Always", "Reject"
MAX_MESSAGE_DIFF_LINES = 20  # of a diff in a message, which editors show in a small box
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

    @property
    def can_ask(self) -> bool:
        return self.confirms or self._use_message_fallback

    @property
    def confirms(self) -> bool:
        """Whether the client handles the `fileops/*` request."""
        return self._client.capability(self._capability) is True

    async def ask(self, method: str, params: object, decode: Decode, timeout_s: float | None) -> Decision | None:
        """Send a request; None if the answer is no decision, or none comes. Raises: TimeoutError."""
        try:
            answer = await self._client.ask(method, params, timeout_s=timeout_s)
        except ClientGone:
            return None
        except ClientRefused as refusal:
            log.warning("a client answered %s with error %s, which decides nothing", method, refusal.code)
            return None
        decision = decode(answer)
        if decision is None:
            log.warning("a client's answer to %s is no decision", method)
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
        """Whether the client handles `fileops/confirmEdit`, or `fileops/confirmChanges`."""
        return self._prompt.confirms

    async def ask(self, review: Review) -> Decision | None:
        """The user's decision; None if there is none. Cancelling the call withdraws the question."""
        question, session = self._names.shown_question(review.asked), review.session
        is_own = self._names.is_own(session.session_id)
        if not self._prompt.confirms:
            return await self._prompt.ask_by_message(_message(review, is_own=is_own), APPLY, None)
        about = AskingSession(session_id=session.session_id, host=session.host, label=session.label)
        asking = msgspec.UNSET if is_own else about
        if question.files and self._confirms_changes:
            params = confirm_changes_params(question, asking)
            return await self._prompt.ask(
                CONFIRM_CHANGES, params, lambda answer: set_decision_of(answer, question), None
            )
        if question.files:
            return await decide_each(question, lambda file: self._ask_about_edit(file, asking))
        return await self._ask_about_edit(question, asking)

    async def _ask_about_edit(
        self, question: ApprovalRequest, asking: AskingSession | msgspec.UnsetType
    ) -> Decision | None:
        params = confirm_params(question, asking)
        return await self._prompt.ask(CONFIRM_EDIT, params, lambda answer: edit_decision_of(answer, question), None)

    @property
    def _confirms_changes(self) -> bool:
        return self._client.capability("experimental.fileops.confirm_changes") is True


def _message(review: Review, *, is_own: bool) -> str:
    question = review.asked
    diff = cut_diff(question.change.unified, max_lines=MAX_MESSAGE_DIFF_LINES, max_chars=MAX_MESSAGE_DIFF_CHARS)
    title = question.title if is_own else f"{review.session.label}: {question.title}"
    return f"{title}\n{question.description}\n{diff}"


async def decide_each(
    question: ApprovalRequest, ask: Callable[[ApprovalRequest], Awaitable[Decision | None]]
) -> Decision | None:
    """Ask about each file of a change set, for clients that know no sets. One rejection rejects the set."""
    files: list[FileDecision] = []
    always: Always | None = None
    for file in question.files:
        decision = await ask(file)
        match decision:
            case Once():
                pass
            case Always():
                always = decision
            case SomeHunks(hunk_ids, always_too):
                always = always_too or always
                files.append(FileDecision(file_path=file.file_path, hunk_ids=hunk_ids))
            case Modify(modified_text):
                files.append(FileDecision(file_path=file.file_path, text=modified_text))
            case _:
                return decision
    if not files:
        return always or Once()
    return SomeFiles(tuple(files), always)


def set_decision_of(answer: object, question: ApprovalRequest) -> Decision | None:
    """Decode an answer to confirmChanges; None if it is no decision."""
    if not isinstance(answer, dict):
        return None
    fields = cast("dict[str, object]", answer)
    outcome, given = fields.get("outcome"), fields.get("files")
    if outcome == "cancel":
        return Reject()
    if outcome not in {"proceed_once", "proceed_always", "modify"} or not question.is_approvable:
        return None
    always = Always() if outcome == "proceed_always" else None
    if given is None:
        return None if outcome == "modify" else (always or Once())
    if not isinstance(given, list):
        return None
    asked = {file.file_path: file for file in question.files}
    decided: list[FileDecision] = []
    for entry in cast("list[object]", given):
        file = _file_decision_of(entry, asked, may_change=outcome == "modify")
        if file is None:
            return None
        del asked[file.file_path]  # each is named once
        decided.append(file)
    return SomeFiles(tuple(decided), always) if decided else (always or Once())


def _file_decision_of(entry: object, asked: dict[str, ApprovalRequest], *, may_change: bool) -> FileDecision | None:
    """None if it is no decision about one of these files. may_change: whether it may be left out, or have a text."""
    fields = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
    path, text, hunk_ids = fields.get("file_path"), fields.get("text"), fields.get("hunk_ids")
    if not isinstance(path, str) or path not in asked or (text is not None and hunk_ids is not None):
        return None
    if text is not None:
        if not isinstance(text, str) or not may_change or asked[path].change.operation == "delete":
            return None
        return FileDecision(file_path=path, text=text)
    if hunk_ids is None:
        return FileDecision(file_path=path)
    if hunk_ids == []:
        return FileDecision(file_path=path, hunk_ids=()) if may_change else None
    selected = _some_hunks(hunk_ids, [hunk.id for hunk in asked[path].change.hunks], None)
    return FileDecision(file_path=path, hunk_ids=selected.hunk_ids) if isinstance(selected, SomeHunks) else None


def edit_decision_of(answer: object, question: ApprovalRequest) -> Decision | None:
    """Decode an answer to confirmEdit, see docs/PROTOCOL.md, "Approval"; None if it is no decision."""
    if not isinstance(answer, dict):
        return None
    fields = cast("dict[str, object]", answer)
    outcome, text, hunk_ids = fields.get("outcome"), fields.get("text"), fields.get("hunk_ids")
    if not isinstance(text, str | None) or (text is not None and hunk_ids is not None):
        return None
    if outcome == "cancel":
        return Reject()
    if hunk_ids is not None:
        always = Always() if outcome == "proceed_always" else None
        is_approval = outcome in {"proceed_once", "proceed_always", "modify"} if isinstance(outcome, str) else False
        return _some_hunks(hunk_ids, [hunk.id for hunk in question.change.hunks], always) if is_approval else None
    if outcome == "modify":
        return None if text is None else Modify(text)
    if not question.is_approvable:
        return None
    return _simple_decision(outcome)


def _simple_decision(outcome: object) -> Decision | None:
    match outcome:
        case "proceed_once":
            return Once()
        case "proceed_always":
            return Always()
        case "cancel":
            return Reject()
        case _:
            return None


def _some_hunks(selected: object, hunk_ids: Sequence[str], always: Always | None) -> Decision | None:
    """Return the selected hunks in the order of the proposal; None for a selection that names any other or none."""
    if not isinstance(selected, list):
        return None
    ids = cast("list[object]", selected)
    unique_ids = {hunk_id for hunk_id in ids if isinstance(hunk_id, str)}
    accepted = tuple(hunk_id for hunk_id in hunk_ids if hunk_id in unique_ids)
    if not accepted or len(accepted) != len(unique_ids) or not all(isinstance(hunk_id, str) for hunk_id in ids):
        return None
    return SomeHunks(accepted, always)


# --- commands ----------------------------------------------------------------------------------------------------


class LspCommandApprover:
    """See ports.CommandApprover. A command runs only if the user says so, but only the user's no is a rejection."""

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
    return _simple_decision(cast("dict[str, object]", answer).get("outcome")) if isinstance(answer, dict) else None
