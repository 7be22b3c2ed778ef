"""Wire types of `fileops/rewind`, and their translation. Loaded at its first use."""

from typing import TYPE_CHECKING, Literal

import msgspec

from fileops.model.rewind import RewindRequest, RewindResult, RewindTarget, TargetKind
from fileops.rpc.decode import InvalidParams
from fileops.wire import types as wire
from fileops.wire.convert import session_of, tool_result, ui_extra_of
from fileops.wire.failures import failure_details, ranges_of

if TYPE_CHECKING:
    from fileops.model.rewind import RewindConflict, RewoundFile
    from fileops.wire.details import RewindConflict as ConflictDetails
    from fileops.wire.details import RewindDetails
    from fileops.wire.details import RewoundFile as FileDetails


class RewindParams(wire.Params, frozen=True, kw_only=True):
    entry_id: str | None = None
    command_id: str | None = None
    turn_id: str | None = None
    since_turn: str | None = None
    session_id: str | None = None
    rewind_id: str | None = None
    by_session: str | None = None
    paths: list[str] | None = None
    dry_run: bool | None = None
    plan: str | None = None
    on_conflict: Literal["leave", "fail"] | None = None
    include: list[Literal["unsure"]] | None = None
    approved: bool | None = None


_TARGETS: tuple[TargetKind, ...] = ("entry_id", "command_id", "turn_id", "since_turn", "session_id", "rewind_id")


def rewind_request(params: RewindParams) -> RewindRequest:
    """Raises: InvalidParams."""
    named = [RewindTarget(kind, (wanted,)) for kind in _TARGETS if (wanted := getattr(params, kind)) is not None]
    if len(named) != 1:
        raise InvalidParams(f"exactly one of {', '.join(_TARGETS)} is required")
    return RewindRequest(
        target=named[0],
        paths=tuple(params.paths or ()),
        dry_run=params.dry_run or False,
        plan=params.plan,
        fails_on_conflict=params.on_conflict == "fail",
        includes_unsure="unsure" in (params.include or ()),
        by_session=None if params.approved and params.by_session is None else session_of_rewind(params),
        is_approved=params.approved or False,
    )


def session_of_rewind(params: RewindParams) -> str:
    """The session that asks."""
    return session_of(wire.SessionParams(session_id=params.by_session))


def rewind_result(outcome: RewindResult) -> wire.ToolResult:
    files = [_file(file) for file in outcome.files]
    details: RewindDetails = {
        "rewind_id": outcome.rewind_id,
        "dry_run": outcome.dry_run,
        "plan": outcome.plan,
        "files": files,
        "conflicts": [_conflict(conflict) for conflict in outcome.conflicts],
        "n_undone": outcome.n_undone,
        "n_left": outcome.n_left,
    }
    if outcome.needs_approval is not None:
        details["needs_approval"] = outcome.needs_approval
    if outcome.error is None:
        return tool_result(outcome.output, None, _whole(files), details)
    details.update(failure_details(outcome.error))  # pyright: ignore[reportArgumentType, reportCallIssue]  # a part
    if outcome.file_path is not None:
        details["file_path"], details["still_undone"] = outcome.file_path, list(outcome.still_undone)
    return tool_result(outcome.output, outcome.error, None, details)


def _whole(files: "list[FileDetails]") -> wire.UiExtra | None:
    """The first file's, with the diff of all files."""
    if not files:
        return None
    return msgspec.structs.replace(files[0]["ui_extra"], diff="".join(file["ui_extra"].diff for file in files))


def _file(file: "RewoundFile") -> "FileDetails":
    return {
        "file_path": file.file_path,
        "outcome": file.outcome,
        "entries": list(file.entries),
        "applied_to": file.applied_to,
        "added": file.change.n_added,
        "removed": file.change.n_removed,
        "ui_extra": ui_extra_of(file.change, file.file_path),
    }


def _conflict(conflict: "RewindConflict") -> "ConflictDetails":
    return {
        "file_path": conflict.file_path,
        "entries": list(conflict.entries),
        "reason": conflict.reason,
        "ranges": ranges_of(conflict.ranges),
        "by": list(conflict.by),
    }
