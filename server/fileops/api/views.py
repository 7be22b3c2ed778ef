"""Handlers of `fileops/describe`, `fileops/render` and `fileops/cellTexts`.

A separate module, like the other tables of handlers: there is one for each module of the wire.
"""

from typing import TYPE_CHECKING

from fileops.core.presentation import titles
from fileops.core.presentation.render import View
from fileops.core.presentation.render import render as draw
from fileops.core.presentation.titles import Description
from fileops.model.errors import NotebookInvalid
from fileops.service.review.cells import compare_texts
from fileops.wire import views as wire
from fileops.wire.details import NotCells
from fileops.wire.notebooks import cell_ui_extras

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


async def cell_texts(service: "FileOps", params: wire.CellTextsParams) -> wire.CellTextsResult:
    return await service.run_on_disk(lambda: _cell_texts(params))  # large notebooks take a second


def _cell_texts(params: wire.CellTextsParams) -> wire.CellTextsResult:
    try:
        before, after, changes = compare_texts(params.before, params.after)
    except NotebookInvalid as fault:
        why = NotCells(fault=fault.fault, reason=fault.reason, line=fault.line)
        return wire.CellTextsResult(before="", after="", cells=[], not_cells=why)
    cells = cell_ui_extras(changes, params.file_path)
    return wire.CellTextsResult(before=before, after=after, cells=cells, not_cells=None)
