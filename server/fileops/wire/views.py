"""Wire types of `fileops/describe` and `fileops/render`, and their translation."""

from typing import Literal, cast

import msgspec

from fileops.core.presentation import render
from fileops.core.presentation.render import ShownResult, View
from fileops.core.presentation.titles import Description
from fileops.model.edits import Hunk
from fileops.wire import types as wire
from fileops.wire.types import ErrorInfo, JsonObject, Params, UiExtra


class DescribeParams(Params, frozen=True, kw_only=True):
    method: str
    arguments: JsonObject = msgspec.field(default_factory=dict)  # possibly incomplete


class GivenResult(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a ToolResult that is drawn. Other keys are allowed and ignored."""

    status: Literal["success", "error"]
    output: str
    error: ErrorInfo | None = None
    ui_extra: UiExtra | None = None
    details: object = None  # of any shape


class RenderParams(DescribeParams, frozen=True, kw_only=True):
    result: GivenResult | None = None
    is_partial: bool = False
    expanded: bool = False


class Location(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    line: int | None


class DescribeResult(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    locations: list[Location]


class ViewLine(msgspec.Struct, frozen=True, kw_only=True):
    number: int | None
    text: str


class DiffRow(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["hunk", " ", "-", "+"]
    old_line: int | None
    new_line: int | None
    text: str
    no_newline: bool


class DiffView(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    operation: Literal["create", "modify"]
    added: int
    removed: int
    truncated: bool
    rows: list[DiffRow]


class RenderResult(msgspec.Struct, frozen=True, kw_only=True):
    call: str
    state: Literal["pending", "success", "error"]
    lines: list[ViewLine]
    diff: DiffView | None
    n_more: int
    more: str
    summary: str


def describe_result(description: Description) -> DescribeResult:
    return DescribeResult(
        title=description.title,
        locations=[Location(path=location.path, line=location.line) for location in description.locations],
    )


def shown_result(result: GivenResult) -> ShownResult:
    extra = result.ui_extra
    failure = result.error
    return ShownResult(
        is_error=result.status == "error",
        output=result.output,
        message="" if failure is None else failure.message,
        operation="modify" if extra is None else extra.operation,
        hunks=None if extra is None else tuple(_hunk(hunk) for hunk in extra.hunks),
        n_added=0 if extra is None else extra.stats.added,
        n_removed=0 if extra is None else extra.stats.removed,
        is_cut=extra is not None and extra.truncated,
        is_dry=isinstance(result.details, dict) and cast("JsonObject", result.details).get("dry_run") is True,
    )


def render_result(view: View) -> RenderResult:
    return RenderResult(
        call=view.call,
        state=view.state,
        lines=[ViewLine(number=line.number, text=line.text) for line in view.lines],
        diff=None if view.diff is None else _diff(view.diff),
        n_more=view.n_more,
        more=view.more,
        summary=view.summary,
    )


def _diff(diff: render.DiffView) -> DiffView:
    return DiffView(
        title=diff.title, operation=diff.operation, added=diff.n_added, removed=diff.n_removed, truncated=diff.is_cut,
        rows=[msgspec.convert(row, DiffRow, from_attributes=True) for row in diff.rows],
    )  # fmt: skip


def _hunk(hunk: wire.Hunk) -> Hunk:
    return Hunk(
        id=hunk.id, old_start=hunk.old_start, old_lines=hunk.old_lines, new_start=hunk.new_start,
        new_lines=hunk.new_lines, lines=tuple(hunk.lines),
    )  # fmt: skip
