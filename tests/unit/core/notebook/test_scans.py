"""Many steps of one request look at the notebook once, and then only at what they change (R-NB-36)."""

import json
import sys
from collections.abc import Sequence
from types import FrameType

from fileops.core.notebook import cells as scanner
from fileops.core.notebook.cell_plan import plan_cells
from fileops.core.notebook.known_cells import CellGuard, cells_of_read
from fileops.model.edits import Edit, Splice
from fileops.model.files import Text
from fileops.model.notebooks import Beside, CellEdit, DeleteCell, InsertCell, MoveCell, SetSource

N_CELLS = 400
N_STEPS = 40
MAX_VALUES_OF_A_STEP = 40  # members of the cells that it writes


def notebook_of(n_cells: int) -> bytes:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "id": f"c{n}", "metadata": {}, "outputs": [], "source": ["x\n"]}
        for n in range(n_cells)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def steps(n_steps: int) -> list[CellEdit]:
    made: list[CellEdit] = []
    for n in range(n_steps):
        place = Beside(cell_id=f"c{n + 100}", is_after=True)
        made.append(
            [
                SetSource(cell_id=f"c{n}", source=f"y = {n}"),
                InsertCell(cell_type="code", source=f"z = {n}", place=place),
                DeleteCell(cell_id=f"c{n}"),
                MoveCell(cell_id=f"c{n}", place=place),
            ][n % 4]
        )
    return made


def no_edit(text: Text, edit: Edit) -> Sequence[Splice]:
    raise AssertionError


def values_seen(data: bytes, n_steps: int) -> int:
    """Return of how many JSON values the end is searched while this many steps are planned and checked."""
    notebook = scanner.parse(data)
    guard = CellGuard(cells_of_read(notebook, [cell.name for cell in notebook.cells]), shows_cells=True)
    n_values = 0

    def count(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal n_values
        name = frame.f_code.co_name
        n_values += event == "call" and name == "_value_end" and frame.f_code.co_filename == scanner.__file__

    sys.setprofile(count)
    try:
        plan_cells(data, steps(n_steps), no_edit, before=guard)
    finally:
        sys.setprofile(None)
    return n_values


def test_steps_after_the_first_scan_only_what_they_change() -> None:
    data = notebook_of(N_CELLS)
    first = values_seen(data, 1)
    assert first > N_CELLS
    assert values_seen(data, N_STEPS) - first < (N_STEPS - 1) * MAX_VALUES_OF_A_STEP


# R-NB-36
def test_notebook_of_more_bytes_or_cells_than_the_limits_has_a_fault() -> None:
    cell = b'{"cell_type": "raw", "source": ""}'
    full = b'{"nbformat": 4, "cells": [%s]}' % b", ".join([cell] * scanner.MAX_CELLS)
    assert scanner.fault_of(full) is None
    for data in (full.replace(b"[", b"[%s, " % cell), b" " * scanner.MAX_BYTES + b"{}"):
        fault = scanner.fault_of(data)
        assert fault is not None
        assert fault.fault == "too_large"
