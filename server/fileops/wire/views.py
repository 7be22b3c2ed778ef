"""Wire types of the params of `fileops/describe` and `fileops/render`. Their results are in core/presentation."""

from typing import Literal, cast

import msgspec

from fileops.core.presentation.render import ShownResult
from fileops.wire.types import ErrorInfo, JsonObject, Params, UiExtra


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
