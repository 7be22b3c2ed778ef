"""What is asked of the client before an edit is made, and what it may answer.

A person decides on a plan; the client's model proposes other words for a text that is not found.
"""

from dataclasses import dataclass

from fileops.model import Change, Nearest

# --- a person's decision --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Once:
    """Apply as proposed."""


@dataclass(frozen=True, slots=True)
class Always:
    """Apply, and ask no more in this session (mode `auto_edit`)."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Write nothing."""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Nobody answered. Write nothing."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Modify:
    """Write this text instead; the person's words, with LF or the file's line ends."""

    text: str


@dataclass(frozen=True, slots=True)
class SomeHunks:
    """Apply only the hunks with these ids. is_always: and ask no more in this session."""

    hunk_ids: tuple[str, ...]
    is_always: bool = False


Decision = Once | Always | Reject | TimedOut | Modify | SomeHunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A plan put before a person. file_path: as the caller gave it. Texts are None over 1 MB."""

    title: str
    description: str
    file_path: str
    session_id: str
    change: Change
    original_text: str | None
    proposed_text: str | None


# --- a model's correction -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionQuestion:
    """An edit whose text does not stand in the file, put before the client's model. file_path: as given."""

    file_path: str
    session_id: str
    edit_index: int
    old_string: str
    new_string: str
    reason: str
    nearest: Nearest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What the model proposes instead. old_string is not empty."""

    old_string: str
    new_string: str
