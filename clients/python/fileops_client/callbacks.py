"""The daemon's requests to an agent's program: their values, the answers, and their handlers."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import msgspec

from fileops_client._connection import RequestHandler
from fileops_client.details import RebasedDetails, SuggestedPlace
from fileops_client.errors import CallbackFailed
from fileops_client.values import AskingSession, CellUiExtra, DidChangeReviews, Hunk

DEFAULT_SESSION = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A change that waits for a decision. Texts over 1 MB are None.

    rebased: whether others changed the file. session: the author, if it belongs to another client. cells: of an edit
    of a notebook, its changes by cells.
    """

    title: str
    description: str
    file_path: str
    session_id: str
    operation: Literal["create", "modify"]
    diff: str
    hunks: tuple[Hunk, ...]
    original_text: str | None = None
    proposed_text: str | None = None
    original_label: str = "Current"
    proposed_label: str = "Proposed"
    type: Literal["edit"] = "edit"
    rebased: RebasedDetails | None = None
    session: AskingSession | None = None
    cells: tuple[CellUiExtra, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandQuestion:
    """A shell command that waits for a decision. `description` is the purpose that the agent gives."""

    command: str
    cwd: str
    session_id: str
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A decision. `text` is written instead (`modify`)."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    text: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the answer in the form of the protocol."""
        fields: dict[str, Any] = {"outcome": self.outcome}
        if self.text is not None:
            fields["text"] = self.text
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRequest:
    """An edit whose `old_string` was not found in the file, and the place that it most likely meant."""

    file_path: str
    session_id: str
    edit_index: int
    old_string: str
    new_string: str
    reason: str
    suggested_place: SuggestedPlace | None = None


_Asked = TypeVar("_Asked", Question, CommandQuestion, CorrectionRequest)

ConfirmEdit = Callable[[Question], Awaitable[Answer]]
CorrectEdit = Callable[[CorrectionRequest], Awaitable[tuple[str, str] | None]]
ConfirmCommand = Callable[[CommandQuestion], Awaitable[Answer]]
OnReviews = Callable[[DidChangeReviews], Awaitable[None] | None]

# The outcome that the server makes of a failed callback, and which no person chose.
_CODES = {"confirm_edit": "undecided", "correct_edit": "no_match", "confirm_command": "undecided"}


@dataclass(frozen=True, slots=True)
class _Failure:
    callback: str
    subject: str  # a file's path, or a command
    session_id: str
    error: Exception


class Callbacks:
    """The callbacks of one client as handlers. Keeps their failures until the call that needed them ends."""

    def __init__(self) -> None:
        self._failures: list[_Failure] = []

    def handlers(
        self,
        confirm_edit: ConfirmEdit | None,
        correct_edit: CorrectEdit | None,
        confirm_command: ConfirmCommand | None,
    ) -> dict[str, RequestHandler]:
        """Return the handlers by method. Raises: TypeError, for what cannot be called."""
        handlers: dict[str, RequestHandler] = {}
        if confirm_edit is not None:
            handlers["fileops/confirmEdit"] = self._handler("confirm_edit", confirm_edit, Question, _decision)
        if correct_edit is not None:
            handlers["fileops/correctEdit"] = self._handler("correct_edit", correct_edit, CorrectionRequest, _proposal)
        if confirm_command is not None:
            handlers["fileops/confirmCommand"] = self._handler(
                "confirm_command", confirm_command, CommandQuestion, _decision
            )
        return handlers

    def take_failure(self, params: Any) -> _Failure | None:
        """Return the failed callback for the call with these params, and forget it."""
        fields: Mapping[str, Any] = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        subject = fields.get("file_path", fields.get("command"))
        session_id = fields.get("session_id", DEFAULT_SESSION)
        for failure in self._failures:
            if subject is None or (subject, session_id) == (failure.subject, failure.session_id):
                self._failures.remove(failure)
                return failure
        return None

    def require_decided(self, params: Any, result: Mapping[str, Any]) -> None:
        """Raise CallbackFailed if a call with these params was refused because its callback failed."""
        failure = self.take_failure(params)
        if failure is not None and _code_of(result) == _CODES[failure.callback]:
            raise CallbackFailed(failure.callback, failure.error)

    def _handler(
        self, name: str, callback: Callable[[Any], Any], question: type[_Asked], to_json: Callable[[Any], Any]
    ) -> RequestHandler:
        if not callable(callback):
            raise TypeError(f"{name} must be a coroutine function, not {type(callback).__name__}")

        async def handler(params: Any) -> Any:
            asked = msgspec.convert(params, question)
            try:
                answer = callback(asked)
                if not inspect.isawaitable(answer):
                    raise TypeError(f"{name} must be a coroutine function; it returned {type(answer).__name__}")
                return to_json(await answer)
            except Exception as error:
                is_ours = not isinstance(asked, Question) or asked.session is None
                if is_ours:  # another client's call ends elsewhere
                    subject = asked.command if isinstance(asked, CommandQuestion) else asked.file_path
                    self._failures.append(_Failure(name, subject, asked.session_id, error))
                raise

        return handler


def _code_of(result: Mapping[str, Any]) -> str | None:
    error = cast("Mapping[str, Any] | None", result.get("error"))
    return None if error is None else error.get("code")


def _decision(answer: object) -> Any:
    if not isinstance(answer, Answer):
        raise TypeError(f"the answer must be an Answer, not {type(answer).__name__}")
    return answer.as_json()


def _proposal(answer: object) -> Any:
    if answer is None:
        return None
    if not (isinstance(answer, tuple) and len(cast("tuple[Any, ...]", answer)) == 2):
        raise TypeError("the correction must be a tuple (old_string, new_string) or None")
    old_string, new_string = cast("tuple[Any, Any]", answer)
    return {"old_string": old_string, "new_string": new_string}
