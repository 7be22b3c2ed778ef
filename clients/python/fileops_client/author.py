"""Who wrote a change, as one value for people."""

from __future__ import annotations

from typing import Literal

from fileops_client._value import Value

AuthorKind = Literal["session", "command", "person", "outside", "unsure"]


class Author(Value):
    """Who wrote a change. label: for people. candidates: of `unsure`, the possible authors."""

    kind: AuthorKind
    label: str
    session_id: str | None = None
    command_id: str | None = None
    candidates: tuple[Author, ...] = ()
