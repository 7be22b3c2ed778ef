"""Requests that read and edit files, and notifications about documents that are open in an editor."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from fileops_client.requests.sender import FilePath, Sender, drop_none, path_of
from fileops_client.tool_result import ToolResult


class FileRequests(Sender):
    """Reads and edits of one file, and documents of an editor.

    The tools take absolute paths. They return a ToolResult for whatever the file's state forbids; `result.code` says
    which (`not_found`, `is_directory`, `not_absolute`, `outside_roots`, `permission_denied`, `not_permitted`, …), and
    nothing was written then. All of them raise what `FileOpsClient.request` raises.
    """

    # --- the tools ------------------------------------------------------------------------------------------

    async def read(
        self,
        file_path: FilePath,
        *,
        offset: int | None = None,
        limit: int | None = None,
        raw: bool | None = None,
        cell_id: str | None = None,
        outputs: Literal["summary", "full", "none"] | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Read a file, or some of its lines. What was shown counts as read by the session, so it may be edited.

        Args:
            file_path: absolute.
            offset: the first line, 1-based; by default the first of the file. Below 1 counts as 1.
            limit: how many lines, at least 1; by default all, as far as the server's `limits` allow (2,000 lines,
                60,000 characters, files of 256 KB). Where lines are left out, `details["next_offset"]` continues.
            raw: return the unchanged text of the lines as `details["text"]`, and no output for a model.
            cell_id: read only this cell of a notebook.
            outputs: how much of a notebook's outputs: summed up (default), "full" for one cell, or "none".
            session_id: whose read it is; by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: `not_found`, `is_directory`, `not_regular_file`, `not_absolute`, `outside_roots`, `not_permitted` (agents
        must not read it), `permission_denied`, `io_error`, `binary`, `too_large`, `too_many_chars`, `image_unreadable`;
        of one cell also `no_cell` and `notebook_invalid`.
        """
        params = drop_none(
            file_path=path_of(file_path),
            offset=offset,
            limit=limit,
            raw=raw,
            cell_id=cell_id,
            outputs=outputs,
            session_id=session_id,
        )
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
        """Write a whole text: create the file, or replace the text of one that this session has read completely.

        Args:
            file_path: absolute. Missing folders are created.
            content: the whole new text, with the line ends to write.
            dry_run: plan it and write nothing; the result has the diff.
            include_texts: `details` has both whole texts, as `original_text` and `proposed_text`.
            session_id: whose edit it is; by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: as `edit`, without those of matching.
        """
        params = drop_none(
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
        """Replace one text of a file by another. The session must have read the file; bytes elsewhere do not change.

        Args:
            file_path: absolute.
            old_string: the text to replace, with LF for any line end. It must be there exactly once, unless
                `replace_all` or `expected_replacements` is given. Empty: create the file, which needs no read.
            new_string: the text to put in its place.
            replace_all: replace every occurrence.
            expected_replacements: replace every occurrence if there are exactly this many.
            strategy: how `old_string` is searched for, one of `client.strategies`; by default "exact".
            dry_run: plan it and write nothing; the result has the diff.
            include_texts: `details` has both whole texts, as `original_text` and `proposed_text`.
            session_id: whose edit it is; by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: `not_read`, `modified_externally` (read it again), `no_match`, `multiple_matches`, `count_mismatch` (see
        `result.suggestions`), `no_change`, `already_exists`, `binary`, `notebook`, `not_encodable`, `rejected`,
        `undecided`, `approval_timeout`, `apply_refused`, `disk_full`, and those of `read` about the file.
        Give the model `result.text_for_model`.
        """
        params = drop_none(
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
        """Make several edits of one file in order, each on the result of the one before: all of them or none.

        Args:
            file_path: absolute. The session must have read it, unless the first edit creates it.
            edits: each (old, new) or {"old_string", "new_string", "replace_all"?, "strategy"?}.
            dry_run: plan them and write nothing; the result has the diff.
            include_texts: `details` has both whole texts, as `original_text` and `proposed_text`.
            session_id: whose edit it is; by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: as `edit`; `details["edit_index"]` is the 0-based step that failed.
        Raises: TypeError if an edit has another form.
        """
        steps = [_step_of(edit, index) for index, edit in enumerate(edits)]
        params = drop_none(
            file_path=path_of(file_path),
            edits=steps,
            dry_run=dry_run,
            include_texts=include_texts,
            session_id=session_id,
        )
        return await self._tool("fileops/multiEdit", params, timeout_s)

    async def edit_notebook(
        self,
        file_path: FilePath,
        cells: Sequence[Mapping[str, Any]],
        *,
        dry_run: bool | None = None,
        include_texts: bool | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Change cells of a notebook in order, all or none. The session must have read it.

        Args:
            file_path: absolute, of an `.ipynb`.
            cells: the steps, at most 100; [..] may be left out. A `cell_id` is a name that a read shows:
                {"kind": "edit", "cell_id", "old_string", "new_string", ["replace_all", "expected_replacements"]}
                {"kind": "source", "cell_id", "source", ["cell_type"]} replaces the whole source
                {"kind": "insert", "cell_type", "source", "after" or "before": a `cell_id`}
                {"kind": "move", "cell_id", "after" or "before": a `cell_id`}
                {"kind": "type", "cell_id", "cell_type"}; {"kind": "delete", "cell_id"}
                {"kind": "clear_outputs", ["cell_id"]}; without it of all code cells
            dry_run: check and preview, but write nothing.
            include_texts: return the whole text before and after in `details`.
            session_id: whose edit it is; by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Codes: those of `edit`, `notebook_invalid`, `no_cell`, `cell_conflict`; `details["edit_index"]` is the 0-based
        step that failed. `modified_externally` means that this very cell has changed; other cells do not matter.
        """
        params = drop_none(
            file_path=path_of(file_path),
            cells=[dict(step) for step in cells],
            dry_run=dry_run,
            include_texts=include_texts,
            session_id=session_id,
        )
        return await self._tool("fileops/editNotebook", params, timeout_s)

    # --- open documents -------------------------------------------------------------------------------------

    def did_open(self, file_path: FilePath, text: str, *, version: int = 1, language_id: str = "plaintext") -> None:
        """Report a document that an editor has opened. From now on its text counts, not the file's.

        Args:
            file_path: absolute.
            text: the whole text that the editor shows, saved or not.
            version: the editor's number of this text; it rises with each change.
            language_id: LSP's name of the language, such as "python".

        Raises: ConnectionLost.
        """
        document = {"uri": uri_of(file_path), "languageId": language_id, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def did_change(self, file_path: FilePath, changes: str | Sequence[Mapping[str, Any]], *, version: int) -> None:
        """Report what the user typed in an open document.

        Args:
            file_path: absolute, as in `did_open`.
            changes: the whole new text, or LSP's content changes (positions in the negotiated encoding).
            version: the number of the new text, higher than that of the one before.

        Raises: ConnectionLost.
        """
        content = [{"text": changes}] if isinstance(changes, str) else list(changes)
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri_of(file_path), "version": version}, "contentChanges": content},
        )

    def did_save(self, file_path: FilePath, text: str | None = None) -> None:
        """Report that the editor saved an open document.

        Args:
            file_path: absolute, as in `did_open`.
            text: what was saved, if the editor knows it.

        Raises: ConnectionLost.
        """
        self.notify("textDocument/didSave", drop_none(textDocument={"uri": uri_of(file_path)}, text=text))

    def did_close(self, file_path: FilePath) -> None:
        """Report that the editor closed a document: from now on the text on disk counts.

        Args:
            file_path: absolute, as in `did_open`.

        Raises: ConnectionLost.
        """
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(file_path)}})


_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986
_ESCAPED = [chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256)]


def uri_of(file_path: FilePath) -> str:
    """Return the file URI of an absolute path. Names that are not UTF-8 keep their bytes.

    As `pathlib.Path.as_uri`, whose import takes a tenth of the start of a command. Raises: ValueError.
    """
    path = path_of(file_path)
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not absolute, so it has no URI")
    parts = (part for part in os.fsencode(path).split(b"/") if part not in {b"", b"."})
    return "file:///" + "/".join("".join(_ESCAPED[byte] for byte in part) for part in parts)


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
