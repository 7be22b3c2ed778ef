"""Requests that read and edit files, and notifications about documents that are open in an editor."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fileops_client.requests.sender import FilePath, Sender, given, path_of
from fileops_client.tool_result import ToolResult


class FileRequests(Sender):
    # --- the tools ------------------------------------------------------------------------------------------

    async def read(
        self,
        file_path: FilePath,
        *,
        offset: int | None = None,
        limit: int | None = None,
        raw: bool | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Read a file. `offset` is the 1-based first line, `limit` a number of lines.

        raw: return the unchanged text of the lines as `details["text"]`, and no output for a model.
        """
        params = given(file_path=path_of(file_path), offset=offset, limit=limit, raw=raw, session_id=session_id)
        return await self._tool("fileops/read", params, timeout_s)

    async def write(
        self,
        file_path: FilePath,
        content: str,
        *,
        dry_run: bool | None = None,
        include_texts: bool | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Write a whole text: create the file, or replace the text of one that this session has read completely."""
        params = given(
            file_path=path_of(file_path),
            content=content,
            dry_run=dry_run,
            include_texts=include_texts,
            session_id=session_id,
        )
        return await self._tool("fileops/write", params, timeout_s)

    async def edit(
        self,
        file_path: FilePath,
        old_string: str,
        new_string: str,
        *,
        replace_all: bool | None = None,
        expected_replacements: int | None = None,
        strategy: str | None = None,
        dry_run: bool | None = None,
        include_texts: bool | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Edit a file; an empty `old_string` creates it. `strategy` is one of the server's, "exact" by default.

        include_texts: `details` contains the whole text before and after, as `original_text` and `proposed_text`.
        """
        params = given(
            file_path=path_of(file_path),
            old_string=old_string,
            new_string=new_string,
            replace_all=replace_all,
            expected_replacements=expected_replacements,
            strategy=strategy,
            dry_run=dry_run,
            include_texts=include_texts,
            session_id=session_id,
        )
        return await self._tool("fileops/edit", params, timeout_s)

    async def multi_edit(
        self,
        file_path: FilePath,
        edits: Sequence[tuple[str, str] | Mapping[str, Any]],
        *,
        dry_run: bool | None = None,
        include_texts: bool | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Make several edits in order, all or none.

        edits: (old, new) or {"old_string", "new_string", "replace_all"?, "strategy"?}. Raises: TypeError, for anything
        else.
        """
        steps = [_step_of(edit, index) for index, edit in enumerate(edits)]
        params = given(
            file_path=path_of(file_path),
            edits=steps,
            dry_run=dry_run,
            include_texts=include_texts,
            session_id=session_id,
        )
        return await self._tool("fileops/multiEdit", params, timeout_s)

    # --- open documents -------------------------------------------------------------------------------------

    def did_open(self, file_path: FilePath, text: str, *, version: int = 1, language_id: str = "plaintext") -> None:
        """Report an opened document, with the text that the editor shows."""
        document = {"uri": uri_of(file_path), "languageId": language_id, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def did_change(self, file_path: FilePath, changes: str | Sequence[Mapping[str, Any]], *, version: int) -> None:
        """Report a changed document. `changes` is the whole new text, or LSP content changes."""
        content = [{"text": changes}] if isinstance(changes, str) else list(changes)
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri_of(file_path), "version": version}, "contentChanges": content},
        )

    def did_save(self, file_path: FilePath, text: str | None = None) -> None:
        """Report that the document was saved."""
        self.notify("textDocument/didSave", given(textDocument={"uri": uri_of(file_path)}, text=text))

    def did_close(self, file_path: FilePath) -> None:
        """Report that the document was closed: from now on the text on disk counts."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(file_path)}})


def uri_of(file_path: FilePath) -> str:
    """Return the file URI of an absolute path. Names that are not UTF-8 keep their bytes."""
    return pathlib.Path(path_of(file_path)).as_uri()


def _step_of(edit: object, index: int) -> dict[str, Any]:
    if isinstance(edit, Mapping):
        return dict(cast("Mapping[str, Any]", edit))
    pair: list[Any] | None = [*cast("Sequence[Any]", edit)] if type(edit) in {tuple, list} else None
    if pair is not None and len(pair) == 2:
        return {"old_string": pair[0], "new_string": pair[1]}
    size = "" if pair is None else f" of {len(pair)}"
    raise TypeError(
        f"edits[{index}] must be (old, new) or a mapping with old_string, new_string and, if wanted, replace_all and "
        f"strategy, not a {type(edit).__name__}{size}"
    )
