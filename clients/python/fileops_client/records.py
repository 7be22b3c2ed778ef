"""The record of who changed what in a workspace, and rewinds of it, as values."""

from dataclasses import dataclass
from typing import Literal

from fileops_client.models import ToolError, UiExtra
from fileops_client.reviews import LineRange

AuthorKind = Literal["session", "command", "person", "outside", "unsure"]
EntryKind = Literal["create", "modify", "delete", "mode"]
RewindOutcome = Literal["modified", "removed", "created", "unchanged"]
RewindReason = Literal["overlaps", "unknown_before", "recreated", "unsure", "not_kept", "editor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who wrote a change. label: for people. candidates: of `unsure`, the possible authors."""

    kind: AuthorKind
    label: str
    session_id: str | None = None
    command_id: str | None = None
    candidates: tuple["Author", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RewoundFile:
    """What a rewind did, or would do, to one file. entries: the ids of those that are undone."""

    file_path: str
    outcome: RewindOutcome
    entries: tuple[str, ...]
    applied_to: Literal["disk", "buffer"]
    added: int
    removed: int
    ui_extra: UiExtra


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindConflict:
    """Entries of one file of which something is left, and why. by: the authors of what overlaps them."""

    file_path: str
    entries: tuple[str, ...]
    reason: RewindReason
    ranges: tuple[LineRange, ...] = ()
    by: tuple[Author, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """What a rewind did, or would do (`dry_run`), or why it did nothing (`error`). plan: the id of a preview.

    file_path: the file that could not be written; still_undone: files that could not be restored after that.
    """

    output: str = ""
    error: ToolError | None = None
    rewind_id: str | None = None
    dry_run: bool = False
    plan: str | None = None
    files: tuple[RewoundFile, ...] = ()
    conflicts: tuple[RewindConflict, ...] = ()
    n_undone: int = 0
    n_left: int = 0
    needs_approval: bool | None = None
    file_path: str | None = None
    still_undone: tuple[str, ...] = ()
