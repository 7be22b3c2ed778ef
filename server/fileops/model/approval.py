"""What is asked of the client before an edit is made, and what it may answer.

A person decides on a plan; the client's model proposes other words for a text that is not found.
"""

from msgspec import Struct

from fileops.model.edits import Change, Nearest

# --- a person's decision --------------------------------------------------------------------------------------


class Once(Struct, frozen=True):
    """Apply as proposed."""


class Always(Struct, frozen=True):
    """Apply, and ask no more in this session (mode `auto_edit`)."""


class Reject(Struct, frozen=True):
    """Write nothing."""


class TimedOut(Struct, frozen=True):
    """Nobody answered. Write nothing."""

    timeout_s: float


class Modify(Struct, frozen=True):
    """Write this text instead; the person's words, with LF or the file's line ends."""

    text: str


class SomeHunks(Struct, frozen=True):
    """Apply only the hunks with these ids. is_always: and ask no more in this session."""

    hunk_ids: tuple[str, ...]
    is_always: bool = False


Decision = Once | Always | Reject | TimedOut | Modify | SomeHunks


class Question(Struct, frozen=True, kw_only=True):
    """A plan put before a person. file_path: as the caller gave it. Texts are None over 1 MB.

    original_digest: of the file's content that the plan was made for.
    """

    title: str
    description: str
    file_path: str
    session_id: str
    change: Change
    original_text: str | None
    proposed_text: str | None
    original_digest: bytes = b""


# --- a model's correction -------------------------------------------------------------------------------------


class CorrectionRequest(Struct, frozen=True, kw_only=True):
    """An edit whose text does not stand in the file, put before the client's model. file_path: as given."""

    file_path: str
    session_id: str
    edit_index: int
    old_string: str
    new_string: str
    reason: str
    nearest: Nearest | None


class Correction(Struct, frozen=True, kw_only=True):
    """What the model proposes instead. old_string is not empty."""

    old_string: str
    new_string: str
