"""Requests that read and edit files, and notifications about documents that are open in an editor."""

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from fileops_client.models import ToolResult
from fileops_client.requests.sender import FilePath, Sender, given


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

        raw: return the text of the lines as it is in the file, as `details["text"]`, and no output for a model.
        """
        params = given(file_path=os.fspath(file_path), offset=offset, limit=limit, raw=raw, session_id=session_id)
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
        """Write a whole text: create the file, or replace the text of one that this session has read whole."""
        params = given(
            file_path=os.fspath(file_path), content=content, dry_run=dry_run, include_texts=include_texts,
            session_id=session_id,
        )  # fmt: skip
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

        include_texts: `details` has the whole text before and after, as `original_text` and `proposed_text`.
        """
        params = given(
            file_path=os.fspath(file_path),
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

        edits: (old, new) or {"old_string", "new_string", "replace_all"?, "strategy"?}.
        """
        steps = [
            {"old_string": edit[0], "new_string": edit[1]} if isinstance(edit, tuple) else dict(edit) for edit in edits
        ]
        params = given(
            file_path=os.fspath(file_path), edits=steps, dry_run=dry_run, include_texts=include_texts,
            session_id=session_id,
        )  # fmt: skip
        return await self._tool("fileops/multiEdit", params, timeout_s)

    # --- open documents -------------------------------------------------------------------------------------

    def did_open(self, file_path: FilePath, text: str, *, version: int = 1, language_id: str = "plaintext") -> None:
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
        self.notify("textDocument/didSave", given(textDocument={"uri": uri_of(file_path)}, text=text))

    def did_close(self, file_path: FilePath) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(file_path)}})


def uri_of(file_path: FilePath) -> str:
    """Return the file URI of an absolute path. Names that are not UTF-8 keep their bytes."""
    return pathlib.Path(file_path).as_uri()
