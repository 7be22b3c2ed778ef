"""Handlers of the record: the log of changes, one entry, and the state of the recording."""

from typing import TYPE_CHECKING

from msgspec import UNSET

from fileops.rpc.decode import InvalidParams
from fileops.service.client.history import RecordRefused
from fileops.wire import record as wire
from fileops.wire.notebooks import cell_ui_extras

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps


async def log(service: "FileOps", params: wire.LogParams) -> wire.LogResult:
    of = None if params.session_id is None else service.names.resolve(params.session_id)
    query = wire.log_query(params, session_id=of)
    try:
        page = await service.history.log(query, params.file_path, params.root)
    except RecordRefused as fault:
        raise InvalidParams(str(fault)) from None
    return wire.log_result(page.entries, page.compared, page.edited, more=page.more)


async def entry(service: "FileOps", params: wire.EntryParams) -> wire.EntryResult:
    try:
        shown = await service.history.entry(params.entry_id)
    except RecordRefused as fault:
        raise InvalidParams(str(fault), ".entry_id") from None
    compared = shown.compared
    return wire.EntryResult(
        entry=wire.entry_view(shown.entry, compared),
        diff=shown.diff,
        before_text=shown.before_text,
        after_text=shown.after_text,
        cells=UNSET if isinstance(compared, str) else cell_ui_extras(compared, shown.entry.path) or UNSET,
        other_change=compared if isinstance(compared, str) else UNSET,
    )


async def record_status(service: "FileOps", params: wire.RecordStatusParams) -> wire.RecordStatusResult:
    return wire.RecordStatusResult(folders=await service.history.status(params.root))
