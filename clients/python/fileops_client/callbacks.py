"""Requests of the daemon to an agent's program: their values, the answers, and their handlers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from fileops_client._connection import RequestHandler
from fileops_client.models import Hunk, Nearest, Rebased


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A change that waits for a decision. The texts are None over 1 MB. rebased: if others changed the file."""

    title: str
    description: str
    file_path: str
    session_id: str
    operation: Literal["create", "modify"]
    diff: str
    hunks: tuple[Hunk, ...]
    original_text: str | None = None
    proposed_text: str | None = None
    rebased: Rebased | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandQuestion:
    """A shell command that waits for a decision. `description` is the agent's statement of its purpose."""

    command: str
    cwd: str
    session_id: str
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A decision. `text` is written instead (`modify`); `hunk_ids` are the only accepted hunks."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    text: str | None = None
    hunk_ids: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"outcome": self.outcome}
        if self.text is not None:
            fields["text"] = self.text
        if self.hunk_ids is not None:
            fields["hunk_ids"] = list(self.hunk_ids)
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
    nearest: Nearest | None = None


ConfirmEdit = Callable[[Question], Awaitable[Answer]]
CorrectEdit = Callable[[CorrectionRequest], Awaitable[tuple[str, str] | None]]
ConfirmCommand = Callable[[CommandQuestion], Awaitable[Answer]]


def confirming(confirm_edit: ConfirmEdit) -> RequestHandler:
    async def handler(params: Any) -> Any:
        return (await confirm_edit(msgspec.convert(params, Question))).as_json()

    return handler


def correcting(correct_edit: CorrectEdit) -> RequestHandler:
    async def handler(params: Any) -> Any:
        proposal = await correct_edit(msgspec.convert(params, CorrectionRequest))
        return None if proposal is None else {"old_string": proposal[0], "new_string": proposal[1]}

    return handler


def allowing(confirm_command: ConfirmCommand) -> RequestHandler:
    async def handler(params: Any) -> Any:
        return (await confirm_command(msgspec.convert(params, CommandQuestion))).as_json()

    return handler
