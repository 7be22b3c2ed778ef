"""Who wrote a change, as one value for people."""

from typing import Literal

from fileops_client._value import Value, value

AuthorKind = Literal["session", "command", "person", "outside", "unsure"]


@value
class Author(Value):
    """Who wrote a change. label: for people. candidates: of `unsure`, the possible authors."""

    kind: AuthorKind
    label: str
    session_id: str | None = None
    command_id: str | None = None
    candidates: tuple["Author", ...] = ()
