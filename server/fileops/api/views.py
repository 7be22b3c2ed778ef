"""Handlers of `fileops/describe` and `fileops/render`.

A separate module, like the other tables of handlers: there is one for each module of the wire.
"""

from typing import TYPE_CHECKING

from fileops.core.presentation import titles
from fileops.core.presentation.render import View
from fileops.core.presentation.render import render as draw
from fileops.core.presentation.titles import Description
from fileops.wire import views as wire

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps


async def describe(service: "FileOps", params: wire.DescribeParams) -> Description:
    arguments = params.arguments
    old_string = titles.first_old_string(params.method, arguments)
    path, session_id = titles.text_of(arguments, "file_path"), titles.text_of(arguments, "session_id")
    session = service.names.full(session_id or None)
    line = await service.find_line(path, old_string, session) if path and old_string else None
    return titles.describe(params.method, arguments, service.folders, edit_line=line)


async def render(service: "FileOps", params: wire.RenderParams) -> View:
    return draw(
        params.method,
        params.arguments,
        service.folders,
        result=None if params.result is None else wire.shown_result(params.result),
        is_partial=params.is_partial,
        expanded=params.expanded,
        reminder=service.settings.texts.read_reminder,
    )
