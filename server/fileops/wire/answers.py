"""Shapes of the client's answers to the daemon's `fileops/*` requests.

They are decoded leniently (lsp/prompts.py, lsp/corrector.py): an answer of another shape is a refusal, never an error.
A module for itself, because a running server does not load it: the schema does.
"""

from typing import Literal, NotRequired, TypedDict


class ConfirmEditResult(TypedDict):
    """The user's decision about an edit."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    """The decision."""
    text: NotRequired[str | None]
    """With `modify`: what the user wants written instead."""
    hunk_ids: NotRequired[list[str] | None]
    """Only these hunks are accepted."""


class ConfirmedFileResult(TypedDict):
    """A user's decision about a file of a change set: these hunks of it, or this text. Without hunks it is left out."""

    file_path: str
    """As the question has it."""
    text: NotRequired[str | None]
    """The whole result. With the outcome `modify` only."""
    hunk_ids: NotRequired[list[str] | None]
    """Only these hunks are applied. Empty with the outcome `modify` only: the file is left as it is."""


class ConfirmChangesResult(TypedDict):
    """A user's decision about a change set. Files that are not in `files` are decided as proposed."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    """The decision."""
    files: NotRequired[list[ConfirmedFileResult] | None]
    """What is wanted of single files."""


class ConfirmCommandResult(TypedDict):
    """The user's decision about a command."""

    outcome: Literal["proceed_once", "proceed_always", "cancel"]
    """`proceed_always` holds for exactly this command, in this folder and session."""


class Correction(TypedDict):
    """What a client's model proposes in place of a text that was not found."""

    old_string: str
    """Must occur in the file exactly."""
    new_string: str
    """The text in its place."""
