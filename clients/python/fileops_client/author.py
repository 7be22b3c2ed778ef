"""Who wrote a change, as one value for people."""

from dataclasses import dataclass
from typing import Literal

AuthorKind = Literal["session", "command", "person", "outside", "unsure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who wrote a change. label: for people. candidates: of `unsure`, the possible authors."""

    kind: AuthorKind
    label: str
    session_id: str | None = None
    command_id: str | None = None
    candidates: tuple["Author", ...] = ()
