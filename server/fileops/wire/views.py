"""Wire types of requests for what people see of calls and of notebooks.

The results of `fileops/describe` and `fileops/render` are in core/presentation.
"""

from typing import Literal, cast

import msgspec

from fileops.core.presentation.render import ShownResult
from fileops.wire.details import NotCells
from fileops.wire.types import CellUiExtra, ErrorInfo, JsonObject, Params, UiExtra


class DescribeParams(Params, frozen=True, kw_only=True):
    """Asks for the title of a call."""

    method: str
    """The method of a request, or a tool's name."""
    arguments: JsonObject = msgspec.field(default_factory=dict)
    """The arguments received so far."""


class GivenResult(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a ToolResult that is drawn. Other keys are allowed and ignored."""

    status: Literal["success", "error"]
    """See ToolResult."""
    output: str
    """See ToolResult."""
    error: ErrorInfo | None = None
    """See ToolResult."""
    ui_extra: UiExtra | None = None
    """See ToolResult."""
    details: object = None
    """See ToolResult."""


class RenderParams(DescribeParams, frozen=True, kw_only=True):
    """Asks for a call and its result in the form that a client shows."""

    result: GivenResult | None = None
    """The result; null while the call is in progress."""
    is_partial: bool = False
    """Whether the arguments are incomplete."""
    expanded: bool = False
    """Whether all lines are wanted."""


class CellTextsParams(Params, frozen=True, kw_only=True):
    """Asks for two versions of a notebook as texts of their cells."""

    file_path: str
    """Its path, for the heads of diffs."""
    before: str
    """The JSON of the one version; empty for a notebook that did not exist."""
    after: str
    """The JSON of the other version; empty for one that does not exist any more."""


class CellTextsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of all cells, each below a line with its name. Lines of such texts can be compared."""

    before: str
    """The one version; empty if the cells cannot be shown."""
    after: str
    """The other version; empty if the cells cannot be shown."""
    cells: list[CellUiExtra]
    """The cells that differ."""
    not_cells: NotCells | None
    """Why the cells of a version cannot be shown; null if they can."""


def shown_result(result: GivenResult) -> ShownResult:
    extra = result.ui_extra
    failure = result.error
    return ShownResult(
        is_error=result.status == "error",
        output=result.output,
        message="" if failure is None else failure.message,
        operation="modify" if extra is None else extra.operation,
        hunks=None if extra is None else extra.hunks,
        n_added=0 if extra is None else extra.stats.added,
        n_removed=0 if extra is None else extra.stats.removed,
        is_cut=extra is not None and extra.truncated,
        is_dry=isinstance(result.details, dict) and cast("JsonObject", result.details).get("dry_run") is True,
    )
