"""What a person sees: of a call and its result (`fileops/describe`, `fileops/render`), and of a notebook."""

from dataclasses import asdict, is_dataclass
from typing import Any

import msgspec

from fileops_client.requests.sender import Arguments, FilePath, Sender, drop_none, method_of, path_of
from fileops_client.tool_result import ToolResult
from fileops_client.values import CellTexts, Description, View


class ViewRequests(Sender):
    async def describe(self, method: str, arguments: Arguments) -> Description:
        """Return the title of a call, and the files and lines that it is about, for a person. Nothing is executed.

        Args:
            method: "edit", "fileops/edit" or a tool's name.
            arguments: the call's, or those received so far.

        Raises: ResponseError for an unknown method.
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
        """Return what a person sees of a call: one line for it, and the first lines of its result or its diff as rows.

        Args:
            method: "edit", "fileops/edit" or a tool's name.
            arguments: the call's, or those received so far.
            result: of the call, if it has ended.
            is_partial: the arguments are still arriving.
            expanded: all lines of the result instead of the first.

        Raises: ResponseError for an unknown method.
        """
        params = drop_none(
            method=method_of(method),
            arguments=dict(arguments),
            result=_as_json(result),
            is_partial=is_partial,
            expanded=expanded,
        )
        return msgspec.convert(await self.request("fileops/render", params), View)

    async def cell_texts(self, file_path: FilePath, before: str, after: str) -> CellTexts:
        """Return two versions of a notebook as texts of their cells, which can be compared line by line.

        Args:
            file_path: of the notebook; the file is not read.
            before: the JSON of the one version; empty for a notebook that did not exist.
            after: the JSON of the other version; empty for one that does not exist any more.
        """
        params = {"file_path": path_of(file_path), "before": before, "after": after}
        return msgspec.convert(await self.request("fileops/cellTexts", params), CellTexts)


def _as_json(result: Any) -> Any:
    return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result
