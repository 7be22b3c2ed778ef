"""Wire ⇄ core for `fileops/describe` and `fileops/render`."""

import msgspec

from fileops.core.description import Description
from fileops.core.render import DiffView, ShownResult, View
from fileops.model import Hunk
from fileops.wire import types as wire
from fileops.wire import view_types as views


def describe_result(description: Description) -> views.DescribeResult:
    return views.DescribeResult(
        title=description.title,
        locations=[views.Location(path=one.path, line=one.line) for one in description.locations],
    )


def shown_result(given: views.GivenResult) -> ShownResult:
    extra = given.ui_extra
    failure = given.error
    return ShownResult(
        is_error=given.status == "error",
        output=given.output,
        message="" if failure is None else failure.message,
        operation="modify" if extra is None else extra.operation,
        hunks=None if extra is None else tuple(_hunk(one) for one in extra.hunks),
        n_added=0 if extra is None else extra.stats.added,
        n_removed=0 if extra is None else extra.stats.removed,
        is_cut=extra is not None and extra.truncated,
    )


def render_result(view: View) -> views.RenderResult:
    return views.RenderResult(
        call=view.call,
        state=view.state,
        lines=[views.ViewLine(number=line.number, text=line.text) for line in view.lines],
        diff=None if view.diff is None else _diff(view.diff),
        n_more=view.n_more,
        more=view.more,
    )


def _diff(diff: DiffView) -> views.DiffView:
    return views.DiffView(
        title=diff.title, operation=diff.operation, added=diff.n_added, removed=diff.n_removed, truncated=diff.is_cut,
        rows=[msgspec.convert(row, views.DiffRow, from_attributes=True) for row in diff.rows],
    )  # fmt: skip


def _hunk(hunk: wire.Hunk) -> Hunk:
    return Hunk(
        id=hunk.id, old_start=hunk.old_start, old_lines=hunk.old_lines, new_start=hunk.new_start,
        new_lines=hunk.new_lines, lines=tuple(hunk.lines),
    )  # fmt: skip
