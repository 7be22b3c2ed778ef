"""The request with which an editor is asked to insert, move, remove and change cells of a notebook with unsaved cells.

LSP carries texts of cells only, so `workspace/applyEdit` cannot do this.
"""

from typing import Literal, TypedDict

import msgspec

from fileops.model.documents import NotebookBufferEdit
from fileops.model.notebooks import CellType

APPLY_NOTEBOOK_EDIT = "fileops/applyNotebookEdit"


class NotebookEditCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell to show."""

    cell_id: str | None
    """Its id in the file; null if it has none."""
    cell_type: CellType
    """Its type."""
    source: str
    """Its whole source."""
    outputs: Literal["keep", "none"]
    """`keep`: those of `moved_from`; if that is null, those of the removed cell with this id or source."""
    moved_from: int | None
    """The index of the cell that it is, before all edits; null for a new one."""


class NotebookCellsEdit(msgspec.Struct, frozen=True, kw_only=True):
    """A run of cells to replace."""

    start: int
    """The index of the first cell, before all edits."""
    delete_count: int
    """How many cells are replaced."""
    cells: list[NotebookEditCell]
    """The cells to show there."""


class ApplyNotebookEditParams(msgspec.Struct, frozen=True, kw_only=True):
    """Asks an editor to replace cells of a notebook."""

    file_path: str
    """The notebook's file."""
    uri: str
    """The notebook's URI, as the editor opened it."""
    version: int
    """The version that the editor reported last."""
    cell_versions: dict[str, int]
    """The versions of the cells' texts, by their URIs, in order; the editor refuses the edits if one differs."""
    edits: list[NotebookCellsEdit]
    """The last run first, so that indexes hold while the edits are made in order."""


class ApplyNotebookEditResult(TypedDict):
    """Whether the editor has made all edits."""

    applied: bool
    """False if it has made none."""
    failure_reason: str | None
    """Why not, for a person; null if they were made."""


def notebook_edit_params(edit: NotebookBufferEdit) -> ApplyNotebookEditParams:
    return ApplyNotebookEditParams(
        file_path=edit.path,
        uri=edit.uri,
        version=edit.version,
        cell_versions=edit.cell_versions,
        edits=[
            NotebookCellsEdit(
                start=run.start,
                delete_count=run.delete_count,
                cells=[
                    NotebookEditCell(
                        cell_id=cell.cell_id,
                        cell_type=cell.cell_type,
                        source=cell.source,
                        outputs=cell.outputs,
                        moved_from=cell.moved_from,
                    )
                    for cell in run.cells
                ],
            )
            for run in edit.edits
        ],
    )
