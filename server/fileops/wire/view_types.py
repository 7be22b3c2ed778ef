"""Wire types of `fileops/describe` and `fileops/render`, as docs/PROTOCOL.md has them."""

from typing import Literal

import msgspec

from fileops.wire.types import ErrorInfo, JsonObject, Params, UiExtra


class DescribeParams(Params, frozen=True, kw_only=True):
    """arguments: as far as they have come."""

    method: str
    arguments: JsonObject = msgspec.field(default_factory=dict)


class GivenResult(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn of a ToolResult; its other keys may stand and are passed over."""

    status: Literal["success", "error"]
    output: str
    error: ErrorInfo | None = None
    ui_extra: UiExtra | None = None


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
