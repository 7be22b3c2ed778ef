"""Handlers of the requests that keep changes of the record, and explain it. `tools.py` has the rewind."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from fileops.core.presentation.failures import failure_message
from fileops.model.errors import FileOpsError
from fileops.model.rewind import UnkeptResult
from fileops.rpc.decode import InvalidParams
from fileops.wire import rewinds as wire

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

T = TypeVar("T")


async def blame(service: "FileOps", params: wire.BlameParams) -> wire.BlameResult:
    lines = service.history.blame(params.file_path, by_cells=params.cells)
    return wire.BlameResult(lines=await _require_answer(lines, ".file_path"))


async def unkept(service: "FileOps", params: wire.UnkeptParams) -> UnkeptResult:
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    found = service.history.unkept(params.file_path, of, params.turn_id, root=params.root)
    return await _require_answer(found, ".file_path")


async def keep(service: "FileOps", params: wire.KeepParams) -> wire.KeepResult:
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    outcome = await _require_answer(service.history.keep(wire.keep_request(params, of)), "")
    return wire.KeepResult(keep_id=outcome.keep_id, n_entries=outcome.n_entries, n_changes=outcome.n_changes)


async def undo_keep(service: "FileOps", params: wire.UndoKeepParams) -> wire.UndoKeepResult:
    outcome = await _require_answer(service.history.undo_keep(params.keep_id), ".keep_id")
    return wire.UndoKeepResult(n_entries=outcome.n_entries, n_changes=outcome.n_changes or 0)


async def forget(service: "FileOps", params: wire.ForgetRecordParams) -> wire.NEntriesResult:
    if (params.file_path is None) != bool(params.all):
        raise InvalidParams("exactly one of file_path and all is required")
    return wire.NEntriesResult(n_entries=await _require_answer(service.history.forget(params.file_path), ".file_path"))


async def item(service: "FileOps", params: wire.RecordItemParams) -> wire.RecordItemResult:
    return wire.item_result(await _require_answer(service.history.item(params.id), ".id"))


async def _require_answer(answer: Awaitable[T], place: str) -> T:
    """Return the answer; a failure is due to the params. Raises: InvalidParams."""
    try:
        return await answer
    except FileOpsError as error:
        raise InvalidParams(failure_message(error), place) from None
