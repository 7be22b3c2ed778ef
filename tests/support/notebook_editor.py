"""An editor with one notebook, as VS Code reports it: a document for each cell, and the list of cells.

It answers `workspace/applyEdit` for the texts of cells and, if it announces that, `fileops/applyNotebookEdit`.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fileops_client import FileOpsClient
from support.editor_client import as_json, edited
from support.fake_editor import position_of
from support.patience import PATIENCE_S


class ShownCell:
    """A cell as the editor shows it. language: "raw" for a raw cell."""

    def __init__(self, uri: str, cell_id: str | None, kind: int, language: str, text: str, outputs: list[Any]) -> None:
        self.uri, self.cell_id, self.kind, self.language, self.text = uri, cell_id, kind, language, text
        self.outputs: list[Any] = outputs
        self.version = 1

    @property
    def cell_type(self) -> str:
        return "markdown" if self.kind == 1 else "raw" if self.language == "raw" else "code"

    def as_cell(self) -> dict[str, Any]:
        return {"kind": self.kind, "document": self.uri, "metadata": {"id": self.cell_id} if self.cell_id else {}}

    def as_text(self) -> dict[str, Any]:
        return {"uri": self.uri, "languageId": self.language, "version": self.version, "text": self.text}


class NotebookEditor:
    """asked: the requests that it was sent. removed: cells that it was asked to remove, which may come back."""

    def __init__(self) -> None:
        self.client: FileOpsClient
        self.cells: list[ShownCell] = []
        self.asked: list[tuple[str, Any]] = []
        self.removed: list[ShownCell] = []
        self.version = 1
        self.uri = ""
        self.refuses: str | None = None
        self._n_cells = 0

    # --- the person ------------------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        self.uri, self.path = path.as_uri(), path
        document = json.loads(path.read_text(encoding="utf-8"))
        self.cells = [self.cell(cell["cell_type"], "".join(cell["source"]), cell) for cell in document["cells"]]
        self.client.notify(
            "notebookDocument/didOpen",
            {
                "notebookDocument": {
                    "uri": self.uri, "notebookType": "jupyter-notebook", "version": self.version,
                    "cells": [cell.as_cell() for cell in self.cells],
                },
                "cellTextDocuments": [cell.as_text() for cell in self.cells],
            },
        )  # fmt: skip

    def cell(self, cell_type: str, text: str, of: Any = None) -> ShownCell:
        self._n_cells += 1
        kind = 1 if cell_type == "markdown" else 2
        language = {"markdown": "markdown", "raw": "raw"}.get(cell_type, "python")
        found: dict[str, Any] = of or {}
        uri = f"vscode-notebook-cell:{self.uri.partition(':')[2]}#{self._n_cells}"
        return ShownCell(uri, found.get("id"), kind, language, text, found.get("outputs", []))

    def type(self, index: int, text: str) -> None:
        """Replace the text of a cell, reported as a change of all its lines."""
        cell = self.cells[index]
        end = as_json(position_of(cell.text, len(cell.text)))
        change = {"range": {"start": {"line": 0, "character": 0}, "end": end}, "text": text}
        cell.text, cell.version = text, cell.version + 1
        changed = {"document": {"uri": cell.uri, "version": cell.version}, "changes": [change]}
        self._changed({"textContent": [changed]}, is_counted=False)

    def put(self, start: int, delete_count: int, cells: Sequence[ShownCell]) -> None:
        """Replace a run of cells."""
        gone = self.cells[start : start + delete_count]
        known = {cell.uri for cell in self.cells}
        self.cells[start : start + delete_count] = cells
        array = {"start": start, "deleteCount": delete_count, "cells": [cell.as_cell() for cell in cells]}
        opened = [cell.as_text() for cell in cells if cell.uri not in known]
        closed = [{"uri": cell.uri} for cell in gone if cell not in cells]
        self._changed({"structure": {"array": array, "didOpen": opened, "didClose": closed}})

    def save(self) -> None:
        """Write the whole file anew, as Jupyter and VS Code do."""
        document = json.loads(self.path.read_text(encoding="utf-8"))
        old: dict[str | None, Any] = {cell.get("id"): cell for cell in document["cells"]}
        document["cells"] = [self._as_json(cell, old.get(cell.cell_id)) for cell in self.cells]
        self.path.write_text(json.dumps(document, indent=2), encoding="utf-8")
        self.client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": self.uri}})

    def close(self) -> None:
        texts = [{"uri": cell.uri} for cell in self.cells]
        params = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": texts}
        self.client.notify("notebookDocument/didClose", params)

    def shown(self) -> list[tuple[str, str]]:
        return [(cell.cell_type, cell.text) for cell in self.cells]

    def _as_json(self, cell: ShownCell, old: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"cell_type": cell.cell_type, "metadata": {} if old is None else old["metadata"]}
        if cell.cell_id is not None:
            made["id"] = cell.cell_id
        if cell.cell_type == "code":
            made |= {"execution_count": None, "outputs": cell.outputs}
        return {**made, "source": cell.text}

    def _changed(self, cells: Any, *, is_counted: bool = True) -> None:
        """is_counted: whether the notebook's version changes; in VS Code it does not if only a text does."""
        self.version += is_counted
        notebook = {"uri": self.uri, "version": self.version}
        self.client.notify("notebookDocument/didChange", {"notebookDocument": notebook, "change": {"cells": cells}})

    # --- the editor, asked -------------------------------------------------------------------------------------------

    async def apply_edit(self, params: Any) -> Any:
        self.asked.append(("workspace/applyEdit", params))
        for change in params["edit"]["documentChanges"]:
            found = [at for at, cell in enumerate(self.cells) if cell.uri == change["textDocument"]["uri"]]
            if not found or self.cells[found[0]].version != change["textDocument"]["version"]:
                return {"applied": False, "failureReason": "the document has changed in the meantime"}
            self.type(found[0], edited(self.cells[found[0]].text, change["edits"]))
        return {"applied": True}

    async def apply_notebook_edit(self, params: Any) -> Any:
        self.asked.append(("fileops/applyNotebookEdit", params))
        versions = {cell.uri: cell.version for cell in self.cells}
        if self.refuses is not None or list(params["cell_versions"].items()) != list(versions.items()):
            return {"applied": False, "failure_reason": self.refuses or "the notebook has changed in the meantime"}
        before = list(self.cells)
        for edit in params["edits"]:
            new = [self._asked_cell(cell, before) for cell in edit["cells"]]
            gone = before[edit["start"] : edit["start"] + edit["delete_count"]]
            self.removed += [cell for cell in gone if cell not in new]
            self.put(edit["start"], edit["delete_count"], new)
        return {"applied": True, "failure_reason": None}

    def _asked_cell(self, asked: Any, before: Sequence[ShownCell]) -> ShownCell:
        index: int | None = asked["moved_from"]
        moved = None if index is None else before[index]
        if moved is not None and (moved.cell_type, moved.text) == (asked["cell_type"], asked["source"]):
            if asked["outputs"] == "none":
                moved.outputs = []
            return moved
        removed = (cell for cell in self.removed if cell.cell_id == asked["cell_id"])
        source = moved or next(removed, None)
        outputs: list[Any] = [] if source is None or asked["outputs"] == "none" else source.outputs
        return self.cell(asked["cell_type"], asked["source"], {"id": asked["cell_id"], "outputs": outputs})


@asynccontextmanager
async def notebook_editor(root: Path, *, edits_cells: bool = True) -> AsyncGenerator[NotebookEditor]:
    """edits_cells: whether the editor announces that it can change cells for others."""
    editor = NotebookEditor()
    handlers = {"workspace/applyEdit": editor.apply_edit, "fileops/applyNotebookEdit": editor.apply_notebook_edit}
    capabilities: dict[str, Any] = {
        "notebookDocument": {"synchronization": {}},
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
        "experimental": {"fileops": {"notebook_edits": edits_cells}},
    }
    async with FileOpsClient.start(
        root=root, handlers=handlers, capabilities=capabilities, timeout_s=PATIENCE_S
    ) as client:
        editor.client = client
        yield editor
