"""Handlers of the requests about turns and commands."""

from typing import TYPE_CHECKING

from fileops.rpc.decode import InvalidParams
from fileops.wire import turns as wire

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

DEFAULT_LIMIT = 100


async def begin_turn(service: "FileOps", params: wire.BeginTurnParams) -> wire.BeginTurnResult:
    turn_id = await service.work.begin_turn(service.names.full(params.session_id), params.turn_id, params.title)
    return wire.BeginTurnResult(turn_id=turn_id)


async def list_turns(service: "FileOps", params: wire.TurnsParams) -> wire.TurnsResult:
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    root = None if params.root is None else await service.history.canonical(params.root)
    counted = await service.work.list(of, root, params.limit or DEFAULT_LIMIT)
    return wire.TurnsResult(
        turns=[
            wire.Turn(
                turn_id=entry.turn.turn_id,
                session_id=service.names.local(entry.turn.session_id),
                label=entry.turn.label,
                title=entry.turn.title,
                began=entry.turn.began,
                ended=entry.turn.ended,
                n_entries=entry.n_entries,
                n_files=entry.n_files,
                n_undone=entry.n_undone,
                n_renames=entry.n_renames,
            )
            for entry in counted
        ]
    )


async def begin_command(service: "FileOps", params: wire.BeginCommandParams) -> wire.BeginCommandResult:
    command_id, is_recorded = await service.work.begin_command(
        service.names.full(params.session_id),
        params.command_id,
        params.label or "",
        is_background=params.background or False,
    )
    return wire.BeginCommandResult(command_id=command_id, recorded=is_recorded)


async def end_command(service: "FileOps", params: wire.EndCommandParams) -> wire.EndCommandResult:
    ended = await service.work.end_command(params.command_id)
    if ended is None:
        raise InvalidParams("is not a command that this client has begun", ".command_id")
    return wire.EndCommandResult(command_id=ended.command_id, entries=list(ended.entries), unsettled=ended.n_unsettled)
