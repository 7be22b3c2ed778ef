"""Shapes of the client's answers to the daemon's `fileops/*` requests.

They are decoded leniently (lsp/prompts.py, lsp/corrector.py): an answer of another shape is a refusal, never an error.
A separate module, because only the schema loads it, not a running server.
"""

from typing import Literal, NotRequired, TypedDict


class ConfirmEditResult(TypedDict):
    """The user's decision about an edit."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    """The decision."""
    text: NotRequired[str | None]
    """With `modify`: the text to write instead."""


class ConfirmCommandResult(TypedDict):
    """The user's decision about a command."""

    outcome: Literal["proceed_once", "proceed_always", "cancel"]
    """`proceed_always` applies to exactly this command, in this folder and session."""


class Correction(TypedDict):
    """What a client's model proposes instead of a text that was not found."""

    old_string: str
    """Must occur in the file exactly."""
    new_string: str
    """The replacement text."""
