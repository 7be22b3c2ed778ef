"""What a person decides about a review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fileops_client._value import Value

Outcome = Literal["accept", "accept_always", "reject", "modify"]


class DecidedFile(Value):
    """A decision about one file of a change set: these of its changes, this text, or all of it without both.

    change_ids: empty only with the outcome "modify": the file stays as it is. text: only with "modify".
    """

    file_path: str
    change_ids: Sequence[str] | None = None
    text: str | None = None
