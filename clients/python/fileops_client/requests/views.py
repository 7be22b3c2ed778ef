"""`fileops/describe` and `fileops/render`: a call and its result for a person, as view models."""

from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Literal

import msgspec

from fileops_client.models import Operation, ToolResult
from fileops_client.requests.sender import Arguments, Sender, given, method_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in a file. `line` is 1-based, None if not known."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The title of a call and the places that it concerns, for a pane."""

    title: str
    locations: tuple[Location, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewLine:
    """A line of a result. number: 1-based, None for a line that is not of a file."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    """A row of a diff. Line numbers are 1-based, None on the side that the row is not part of."""

    kind: Literal["hunk", " ", "-", "+"]
    old_line: int | None
    new_line: int | None
    text: str
    no_newline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
    """The change of an applied or previewed edit, as rows. added, removed: lines."""

    title: str
    operation: Operation
    added: int
    removed: int
    truncated: bool
    rows: tuple[DiffRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The view of a call. `n_more` counts hidden lines or rows; `more` is a line that says so.

    `summary` is a line about the result as a whole (`Created src/new.py`), or "".
    """

    call: str
    state: Literal["pending", "success", "error"]
    lines: tuple[ViewLine, ...]
    diff: DiffView | None
    n_more: int
    more: str
    summary: str = ""


class ViewRequests(Sender):
    async def describe(self, method: str, arguments: Arguments) -> Description:
        """Return the title and locations of a call.

        method: "edit", "fileops/edit" or a tool's name. arguments: those received so far.
        """
        answer = await self.request("fileops/describe", {"method": method_of(method), "arguments": dict(arguments)})
        return msgspec.convert(answer, Description)

    async def render(
        self,
        method: str,
        arguments: Arguments,
        *,
        result: ToolResult | Arguments | None = None,
        is_partial: bool | None = None,
        expanded: bool | None = None,
    ) -> View:
        """The call in one line, and of the result its first lines, or its diff as rows."""
        params = given(
            method=method_of(method),
            arguments=dict(arguments),
            result=_as_json(result),
            is_partial=is_partial,
            expanded=expanded,
        )
        return msgspec.convert(await self.request("fileops/render", params), View)


def _as_json(result: Any) -> Any:
    return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result
