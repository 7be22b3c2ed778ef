"""Shapes of `details` in results, and of the objects in them. The handlers build them as dicts; the schema names them.

Every key may be absent: which are there depends on the request and on its outcome (docs/PROTOCOL.md, R-READ-2, R-EDIT-2
and R-EDIT-3, R-UNDO-2, R-BASH-2).
"""

from typing import Literal, Required, TypedDict

from fileops.model.edits import LineRange, Nearest, RelevanceReason
from fileops.model.record import By
from fileops.wire.types import UiExtra


class Notice(TypedDict):
    """What another session, an editor or another program changed in a file that the session has read."""

    file_path: str
    changed_by: str
    kind: Literal["modified", "unsaved", "edited", "gone"]
    diff: str | None
    truncated: bool


class Noticing(TypedDict, total=False):
    notices: list[Notice]


class ReadDetails(Noticing, total=False):
    start_line: int
    end_line: int
    total_lines: int | None
    next_offset: int | None
    n_lines_hidden: int
    encoding: str
    bom: bool
    newline: Literal["\n", "\r\n", "mixed"] | None
    size_bytes: int | None
    mtime: float | None
    source: Literal["disk", "buffer"] | None
    document_version: int | None
    text: str
    mime_type: str
    width: int
    height: int
    n_frames: int


class RelevanceDetails(TypedDict):
    """Why a change of others does not let an edit through."""

    reason: RelevanceReason
    ranges: list[LineRange]


class RebasedEntry(TypedDict):
    """Over how many changes of others an edit was applied."""

    changed_by: str
    n_foreign_hunks: int


class RebasedDetails(RebasedEntry):
    ranges: list[LineRange]
    diff: str | None


class DecidedByDetails(TypedDict, total=False):
    """Who decided: a person, in the program `client`, or a policy, by its `rule`."""

    kind: Required[Literal["person", "policy"]]
    client: str
    rule: str


class FailureDetails(TypedDict, total=False):
    edit_index: int
    nearest: Nearest | None
    match_lines: list[int]
    changed_by: str
    diff_since_read: str | None
    also_changed_by: str
    relevance: RelevanceDetails
    processor: str
    validator: str
    reason: str
    ranges: list[LineRange]
    decided_by: DecidedByDetails


class StepDetails(TypedDict, total=False):
    """The outcome of one step of a multi-edit. Only a step that was applied has the last three keys."""

    index: int
    status: Literal["ok", "failed", "not_tried"]
    replacements: int
    match: str
    match_lines: list[int]


class CorrectedStep(TypedDict):
    """The strings that the client's model proposed and that were used."""

    edit_index: int
    old_string: str
    new_string: str


class CommitDetails(TypedDict):
    """How a change was written."""

    method: str
    durability: str
    reason: str | None


class EditDetails(FailureDetails, Noticing, total=False):
    replacements: int
    created: bool
    applied_to: Literal["disk", "buffer"] | None
    match: str | None
    modified_by_user: bool
    edit_id: str | None
    dry_run: bool
    needs_approval: bool
    processed_by: list[str]
    edits: list[StepDetails]
    corrected: list[CorrectedStep]
    commit: CommitDetails
    rebased: RebasedDetails
    original_text: str | None
    proposed_text: str | None


class UndoneFile(TypedDict):
    file_path: str
    undone: list[str]
    edit_id: str | None
    outcome: Literal["modified", "removed", "created"]
    applied_to: Literal["disk", "buffer"]
    ui_extra: UiExtra


class UndoDetails(FailureDetails, Noticing, total=False):
    undone: list[str]
    edit_id: str | None
    applied_to: Literal["disk", "buffer"]
    modified_by_user: bool
    dry_run: bool
    needs_approval: bool
    files: list[UndoneFile]
    file_path: str


class RewoundFile(TypedDict):
    file_path: str
    outcome: Literal["modified", "removed", "created", "unchanged"]
    entries: list[str]
    applied_to: Literal["disk", "buffer"]
    added: int
    removed: int
    ui_extra: UiExtra


class RewindConflict(TypedDict):
    file_path: str
    entries: list[str]
    reason: Literal["overlaps", "unknown_before", "recreated", "unsure", "not_kept", "editor"]
    ranges: list[LineRange]
    by: list[By]


class RewindDetails(FailureDetails, Noticing, total=False):
    rewind_id: str | None
    dry_run: bool
    plan: str | None
    files: list[RewoundFile]
    conflicts: list[RewindConflict]
    n_undone: int
    n_left: int
    needs_approval: bool
    file_path: str
    still_undone: list[str]


class BashDetails(Noticing, total=False):
    exit_code: int | None
    cwd: str
    duration_s: float
    n_output_bytes: int
    truncated: bool
