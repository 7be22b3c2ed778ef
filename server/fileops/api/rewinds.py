"""Handlers of the requests that undo what the record has, and that keep it."""

from typing import TYPE_CHECKING

from fileops.api.notices import with_notices
from fileops.wire import types as wire
from fileops.wire.rewinds import RewindParams, rewind_request, rewind_result, session_of_rewind

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps


async def rewind(service: "FileOps", params: RewindParams) -> wire.ToolResult:
    result = rewind_result(await service.rewinds.rewind(rewind_request(params)))
    return await with_notices(service, session_of_rewind(params), result)
