"""Wire types of the params of `fileops/describe` and `fileops/render`. Their results are those of core/presentation."""

from typing import Literal, cast

import msgspec

from fileops.core.presentation.render import ShownResult
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
