"""What a person decides about a review."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accept", "accept_always", "reject", "modify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedFile:
    """What a person wants of one file of a change set: these of its changes, this text, or without both all of it.

    change_ids: empty, with the outcome "modify" only: the file is left as it is. text: with "modify" only.
    """

    file_path: str
    change_ids: Sequence[str] | None = None
    text: str | None = None
