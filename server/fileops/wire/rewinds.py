"""Wire types of the requests that undo what the record has, keep it, and explain it; and their translation."""

from typing import TYPE_CHECKING, Literal

import msgspec

from fileops.core.presentation.phrases import one_line_reason
from fileops.model.record import By, CountedTurn
from fileops.model.rewind import (
    BlamedLines,
    KeepRequest,
    RecordItem,
    RewindRequest,
    RewindResult,
    RewindTarget,
    TargetKind,
)
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams
from fileops.wire import types as wire
from fileops.wire.convert import tool_result, ui_extra_of
from fileops.wire.failures import failure_details
from fileops.wire.record import RecordEntry, entry_view
from fileops.wire.turns import Turn
from fileops.wire.types import Params

if TYPE_CHECKING:
    from fileops.model.rewind import RewindFileOutcome
    from fileops.wire.details import RewindDetails
    from fileops.wire.details import RewoundFile as FileDetails


class RewindParams(Params, frozen=True, kw_only=True):
    """Exactly one of the ids, from `entry_id` to `rewind_id`, names the changes to undo."""

    entry_id: str | None = None
    """An entry of the record, or the `edit_id` of an edit."""
    entry_ids: list[str] | None = None
    """Several entries."""
    change_ids: list[str] | None = None
    """Changes that `fileops/unkept` has listed."""
    command_id: str | None = None
    """A command."""
    turn_id: str | None = None
    """A turn."""
    since_turn: str | None = None
    """This turn and all later ones of its session."""
    all_since_turn: str | None = None
    """This turn and all turns of all sessions that began after it."""
    session_id: str | None = None
    """Everything that a session did."""
    rewind_id: str | None = None
    """A rewind, to redo what it undid."""
    by_session: str | None = None
    """The session that asks; by default the session `default`."""
    paths: list[str] | None = None
    """Absolute paths: only these files and folders."""
    since: float | None = None
    """Only changes made since then, in seconds since the epoch."""
    dry_run: bool | None = None
    """Preview, but write nothing."""
    plan: str | None = None
    """The plan of a preview: nothing is done if the result would now differ."""
    on_conflict: Literal["leave", "fail"] | None = None
    """`fail` undoes nothing if anything would be left."""
    include: list[Literal["unsure"]] | None = None
    """`unsure`: also entries with the target among several possible authors."""
    undecided: bool | None = None
    """Only what is neither kept nor committed, as `fileops/unkept` lists it; of a command, turn or session."""
    approved: bool | None = None
    """The user requested or confirmed it, so no further question is asked."""
    reason: str | None = None
    """The user's reason, for the agents whose changes are undone; one line of up to 1,000 characters."""


_TARGETS: tuple[TargetKind, ...] = (
    "entry_id", "entry_ids", "change_ids", "command_id", "turn_id", "since_turn", "all_since_turn",
    "session_id", "rewind_id",
)  # fmt: skip


_BY_AUTHOR: tuple[TargetKind, ...] = ("command_id", "turn_id", "since_turn", "all_since_turn", "session_id")


class BlameParams(Params, frozen=True, kw_only=True):
    """Asks who last changed each line of a file."""

    file_path: str
    """Absolute path of the file."""
    cells: bool = False
    """For a notebook: the lines of all sources, numbered as in a read by cells, not those of the JSON."""


class BlameResult(msgspec.Struct, frozen=True, kw_only=True):
    """The authors of the current content, or of the unsaved document."""

    lines: list[BlamedLines]
    """From top to bottom."""


class UnkeptParams(Params, frozen=True, kw_only=True):
    """Asks for the changes that nobody has accepted yet."""

    file_path: str | None = None
    """Absolute path: only this file."""
    root: str | None = None
    """Absolute path: only in this folder. Without it and `file_path`, in the client's folders."""
    session_id: str | None = None
    """Only changes by this session."""
    turn_id: str | None = None
    """Only changes in this turn."""


class DidChangeUnkeptParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file's unkept changes may have changed: ask again."""

    file_path: str | None
    """Canonical path; null for many files, or all."""
    typed: bool = False
    """Whether only the text of an open document has changed since the last notification about the file."""


class KeepParams(Params, frozen=True, kw_only=True):
    """Exactly one of the keys names the changes."""

    entry_ids: list[str] | None = None
    """These entries."""
    change_ids: list[str] | None = None
    """Changes that `fileops/unkept` has listed."""
    file_path: str | None = None
    """Absolute path of a file or folder."""
    turn_id: str | None = None
    """Everything in this turn."""
    session_id: str | None = None
    """Everything that this session did."""
    all: bool | None = None
    """Everything in this client's folders."""


class UndoKeepParams(Params, frozen=True, kw_only=True):
    """Undoes a keep: what it kept can be kept or undone again."""

    keep_id: str | None = None
    """The id that `fileops/keep` returned; without one, the newest keep in the client's folders is meant."""


class ForgetRecordParams(Params, frozen=True, kw_only=True):
    """Exactly one of the keys names what is deleted from the record."""

    file_path: str | None = None
    """Absolute path of a file or folder."""
    all: bool | None = None
    """Everything."""


class KeepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was kept."""

    keep_id: str | None
    """The id for `fileops/undoKeep`; null if everything had already been kept."""
    n_entries: int
    """How many entries' `kept` changed."""
    n_changes: int | None
    """How many of the `change_ids` were found; the others had been undone, kept or overwritten.

    Null without `change_ids`.
    """


class UndoKeepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What is no longer kept."""

    n_entries: int
    """How many entries' `kept` changed."""
    n_changes: int
    """How many single changes are no longer kept."""


class NEntriesResult(msgspec.Struct, frozen=True, kw_only=True):
    """How much was changed in the record."""

    n_entries: int
    """How many entries."""


class RecordItemParams(Params, frozen=True, kw_only=True):
    """Asks what an id of the record stands for."""

    id: str
    """The id of an entry, a command, a turn or a rewind, or a unique prefix of it."""


class RecordCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A period in which a program of a session ran."""

    command_id: str
    """Unique in the record."""
    session_id: str
    """The session's full name in the daemon."""
    turn_id: str | None
    """The turn in which it began."""
    label: str
    """The session and the program, for people."""
    began: float
    """When it began, in seconds since the epoch."""
    ended: float | None
    """When it ended, in seconds since the epoch; null while it is open."""


class RecordRewind(msgspec.Struct, frozen=True, kw_only=True):
    """A completed rewind."""

    rewind_id: str
    """Unique in the record."""
    time: float
    """When it was made, in seconds since the epoch."""
    by: By
    """Who requested it."""


class RecordItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """What has the id: exactly one of `entry`, `command`, `turn` and `rewind` is not null."""

    entries: list[RecordEntry]
    """The newest 1,000 entries, newest first."""
    diff: str
    """Unified diff of all entries."""
    entry: RecordEntry | None
    """The entry with this id."""
    command: RecordCommand | None
    """The command with this id."""
    turn: Turn | None
    """The turn with this id."""
    rewind: RecordRewind | None
    """The rewind with this id."""
    truncated: bool
    """Whether there are more entries than these."""


def rewind_request(params: RewindParams, *, of: SessionName | None, by: SessionName, has_user: bool) -> RewindRequest:
    """Translate the params of a rewind. Raises: InvalidParams.

    Args: of: the session that they name. by: the session that asks, if no user does. has_user: whether a user can.
    """
    named: list[RewindTarget] = []
    for kind in _TARGETS:
        wanted: str | list[str] | None = getattr(params, kind)
        if wanted is not None:
            named.append(RewindTarget(kind, (wanted,) if isinstance(wanted, str) else tuple(wanted)))
    if len(named) != 1:
        raise InvalidParams(f"exactly one of {', '.join(_TARGETS)} is required")
    if params.undecided and named[0].kind not in _BY_AUTHOR:
        raise InvalidParams(f"undecided goes with one of {', '.join(_BY_AUTHOR)}")
    is_by_user = has_user and bool(params.approved)
    return RewindRequest(
        target=named[0] if of is None else RewindTarget("session_id", (of,)),
        paths=tuple(params.paths or ()),
        since=params.since,
        dry_run=params.dry_run or False,
        plan=params.plan,
        fails_on_conflict=params.on_conflict == "fail",
        includes_unsure="unsure" in (params.include or ()),
        is_undecided_only=params.undecided or False,
        by_session=None if is_by_user and params.by_session is None else by,
        is_approved=is_by_user,
        reason=one_line_reason(params.reason),
    )


def keep_request(params: KeepParams, of: SessionName | None) -> KeepRequest:
    """Translate the params of a keep. Raises: InvalidParams. Args: of: the session that they name."""
    given = [
        name for name in ("entry_ids", "change_ids", "file_path", "turn_id", "session_id") if getattr(params, name)
    ]
    if len(given) + bool(params.all) != 1:
        raise InvalidParams("exactly one of entry_ids, change_ids, file_path, turn_id, session_id and all is required")
    return KeepRequest(
        entry_ids=None if params.entry_ids is None else tuple(params.entry_ids),
        change_ids=None if params.change_ids is None else tuple(params.change_ids),
        file_path=params.file_path,
        turn_id=params.turn_id,
        session_id=of,
    )


def item_result(item: RecordItem) -> RecordItemResult:
    rewind = None
    if item.rewind_id is not None:
        oldest = item.entries[-1]
        rewind = RecordRewind(rewind_id=item.rewind_id, time=oldest.time, by=oldest.by)
    turn = item.turn
    return RecordItemResult(
        entries=[entry_view(entry, edited=item.edited.get(entry.entry_id)) for entry in item.entries],
        diff=item.diff,
        entry=None if item.entry is None else entry_view(item.entry, edited=item.edited.get(item.entry.entry_id)),
        command=None if item.command is None else msgspec.convert(item.command, RecordCommand, from_attributes=True),
        turn=None if turn is None else _turn(turn),
        rewind=rewind,
        truncated=item.truncated,
    )


def _turn(counted: CountedTurn) -> Turn:
    turn = counted.turn
    return Turn(
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        label=turn.label,
        title=turn.title,
        began=turn.began,
        ended=turn.ended,
        n_entries=counted.n_entries,
        n_files=counted.n_files,
        n_undone=counted.n_undone,
        n_renames=counted.n_renames,
    )


def rewind_result(outcome: RewindResult) -> wire.ToolResult:
    files = [_file(file) for file in outcome.files]
    details: RewindDetails = {
        "rewind_id": outcome.rewind_id,
        "dry_run": outcome.dry_run,
        "plan": outcome.plan,
        "files": files,
        "conflicts": outcome.conflicts,
        "n_undone": outcome.n_undone,
        "n_changes": sum(file.n_places for file in outcome.counted_files),
        "n_files": len(outcome.counted_files),
        "n_left": outcome.n_left,
    }
    if outcome.needs_approval is not None:
        details["needs_approval"] = outcome.needs_approval
    if outcome.decided is not None:
        details["n_decided"], details["n_decided_files"] = outcome.decided.n_entries, outcome.decided.n_files
    if outcome.error is None:
        return tool_result(outcome.output, None, _whole(files), details)
    details.update(failure_details(outcome.error))  # pyrefly: ignore[no-matching-overload] - a part
    if outcome.file_path is not None:
        details["file_path"], details["still_undone"] = outcome.file_path, list(outcome.still_undone)
    return tool_result(outcome.output, outcome.error, None, details)


def _whole(files: "list[FileDetails]") -> wire.UiExtra | None:
    """Return the first file's change, with the diff of all files."""
    if not files:
        return None
    return msgspec.structs.replace(files[0]["ui_extra"], diff="".join(file["ui_extra"].diff for file in files))


def _file(file: "RewindFileOutcome") -> "FileDetails":
    details: FileDetails = {
        "file_path": file.file_path,
        "outcome": file.outcome,
        "entries": list(file.entries),
        "applied_to": file.applied_to,
        "added": file.change.n_added,
        "removed": file.change.n_removed,
        "ui_extra": ui_extra_of(file.change, file.file_path),
    }
    if file.moved_from is not None:
        details["moved_from"] = file.moved_from
    return details
