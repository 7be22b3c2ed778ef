"""Cells as an editor shows them, in the bytes of the file: what it has not changed keeps them (R-NB-43)."""

import json

from fileops.core.notebook.cells import parse
from fileops.core.notebook.editor_cells import with_cells
from fileops.model.notebooks import ShownCell

SOURCES = ["one\r\ntwo\rthree\n", "x = '☃'", "", "# text"]


def notebook(*, has_ids: bool) -> bytes:
    cells = [{"cell_type": "raw", "metadata": {"n": n}, "source": [source]} for n, source in enumerate(SOURCES)]
    if has_ids:
        cells = [{"id": f"c{n}", **cell} for n, cell in enumerate(cells)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=2).encode()


def shown_in(data: bytes) -> list[ShownCell]:
    """The cells as VS Code shows them: with one kind of line end."""
    return [
        ShownCell(
            key=str(cell.index),
            cell_id=cell.name if cell.has_own_id else None,
            cell_type=cell.cell_type,
            source=cell.source.replace("\r\n", "\n").replace("\r", "\n"),
            place=cell.index,
        )
        for cell in parse(data).cells
    ]


def test_cells_that_an_editor_has_not_changed_keep_their_bytes() -> None:
    for has_ids in (True, False):
        data = notebook(has_ids=has_ids)
        shown = shown_in(data)
        assert with_cells(data, shown) == data
        typed = [*shown[:1], ShownCell(key="1", cell_id=shown[1].cell_id, cell_type="raw", source="x = 2", place=1)]
        assert with_cells(data, [*typed, *shown[2:]]) == data.replace(b"'\\u2603'", b"2")


def test_cells_that_moved_in_an_editor_take_their_bytes_along() -> None:
    for has_ids in (True, False):
        data = notebook(has_ids=has_ids)
        before = parse(data)
        after = parse(with_cells(data, list(reversed(shown_in(data)))))
        assert [after.data[cell.start : cell.end] for cell in after.cells] == [
            before.data[cell.start : cell.end] for cell in reversed(before.cells)
        ]
