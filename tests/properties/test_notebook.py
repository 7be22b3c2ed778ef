"""Laws of edits of cells, over random notebooks and over the real ones of a folder.

FILEOPS_NOTEBOOKS names a folder of real notebooks, such as those in the sources of nbformat, nbconvert and jupytext;
without it, nbformat writes some. FILEOPS_NOTEBOOK_EXAMPLES: how many examples each law has.
"""

import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fileops.core import plan as planning
from fileops.core import splices as splicing
from fileops.core.notebook.cell_page import MAX_OUTPUTS, page_of
from fileops.core.notebook.cell_plan import CellsPlan, plan_cells
from fileops.core.notebook.cells import Cell, Notebook, after_splices, fault_of, parse
from fileops.model.edits import Edit, Splice
from fileops.model.errors import CellConflict, MultipleMatches, NoChange, NoMatch, NotebookInvalid
from fileops.model.files import Text
from fileops.model.notebooks import (
    Beside,
    CellChange,
    CellEdit,
    CellType,
    ClearOutputs,
    DeleteCell,
    EditInCell,
    InsertCell,
    MoveCell,
    SetSource,
    SetType,
)
from fileops.model.settings import Limits

nbformat = pytest.importorskip("nbformat", reason="nbformat, which judges the results, is not installed")

ID_WARNINGS = (nbformat.warnings.MissingIDFieldWarning, nbformat.warnings.DuplicateCellId)
N_EXAMPLES = int(os.environ.get("FILEOPS_NOTEBOOK_EXAMPLES", "60"))
FOLDER = os.environ.get("FILEOPS_NOTEBOOKS")
MAX_BYTES = 200_000
BOM = b"\xef\xbb\xbf"
CELL_TYPES: tuple[CellType, ...] = ("code", "markdown", "raw")
TEXTS = st.text(st.sampled_from("ab c\n\n\n\t\"\\/é☃😀\u2028\x00\x0b\x7f'<{}[],:\r"), max_size=24)
REFUSALS = (NoChange, MultipleMatches, CellConflict, NoMatch)

law = settings(
    max_examples=N_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


# --- notebooks and edits ---------------------------------------------------------------------------------------------


@st.composite
def random_notebooks(draw: st.DrawFn) -> bytes:
    minor = draw(st.sampled_from([0, 2, 4, 5, 5]))
    cells = [draw(_cells(minor, index)) for index in range(draw(st.integers(0, 5)))]
    document = [("cells", cells), ("metadata", {"x": "ü"}), ("nbformat", 4), ("nbformat_minor", minor)]
    text = json.dumps(
        dict(draw(st.permutations(document))),
        indent=draw(st.sampled_from([None, 0, 1, 2, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    data = text.encode() + draw(st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"]))
    return draw(st.sampled_from([data] * 9 + [BOM + data]))


@st.composite
def _cells(draw: st.DrawFn, minor: int, index: int) -> dict[str, object]:
    cell_type = draw(st.sampled_from([*CELL_TYPES, "code"]))
    metadata = draw(st.sampled_from([{}, {"tags": ["é"]}]))
    members: list[tuple[str, object]] = [("cell_type", cell_type), ("metadata", metadata), ("source", draw(_sources()))]
    if cell_type == "code":
        stream = {"output_type": "stream", "name": "stdout", "text": ['a]}"\n', "é"]}
        members += [
            ("execution_count", draw(st.sampled_from([None, 3]))),
            ("outputs", draw(st.sampled_from([[], [stream]]))),
        ]
    if cell_type == "markdown" and draw(st.booleans()):
        members.append(("attachments", {}))
    if minor >= 5:
        members.append(("id", draw(st.sampled_from(["id", "cell-", f"cell-{(index + 1) % 5}x"])) + str(index)))
    return dict(draw(st.permutations(members)))


@st.composite
def _sources(draw: st.DrawFn) -> str | list[str]:
    text = draw(TEXTS)
    middle = len(text) // 2
    return draw(
        st.sampled_from(
            [text, text.splitlines(keepends=True), list(text), [text], [text[:middle], text[middle:]], ["", text]]
        )
    )


@st.composite
def cell_edits(draw: st.DrawFn, notebook: Notebook) -> CellEdit:
    if not notebook.cells:
        return InsertCell(cell_type=draw(st.sampled_from(CELL_TYPES)), source=draw(TEXTS))
    cell, other = draw(st.sampled_from(notebook.cells)), draw(st.sampled_from(notebook.cells))
    place = Beside(cell_id=other.name, is_after=draw(st.booleans()))
    cell_type = draw(st.sampled_from(CELL_TYPES))
    kind = draw(
        st.sampled_from(
            [EditInCell, EditInCell, SetSource, SetSource, InsertCell, DeleteCell, MoveCell, SetType, ClearOutputs]
        )
    )
    if kind is EditInCell and cell.source:
        start = draw(st.integers(0, len(cell.source) - 1))
        end = draw(st.integers(start + 1, min(len(cell.source), start + 30)))
        old = cell.source[start:end].replace("\r\n", "\n")
        return EditInCell(cell_id=cell.name, old_string=old, new_string=draw(TEXTS), replace_all=draw(st.booleans()))
    if kind in {EditInCell, SetSource}:
        return SetSource(
            cell_id=cell.name, source=draw(TEXTS), cell_type=draw(st.sampled_from([None, None, cell_type]))
        )
    if kind is InsertCell:
        return InsertCell(cell_type=cell_type, source=draw(TEXTS), place=place)
    if kind is MoveCell:
        return MoveCell(cell_id=cell.name, place=place)
    if kind is SetType:
        return SetType(cell_id=cell.name, cell_type=cell_type)
    if kind is DeleteCell:
        return DeleteCell(cell_id=cell.name)
    return ClearOutputs(cell_id=draw(st.sampled_from([None, cell.name])))


@cache
def real_notebooks() -> tuple[bytes, ...]:
    """The notebooks of the folder, else some as Jupyter writes them: in nbformat 4.5 and, without ids, in 4.4."""
    if FOLDER is not None:
        contents = [path.read_bytes() for path in sorted(Path(FOLDER).rglob("*.ipynb"))]
        return tuple(data for data in contents if len(data) < MAX_BYTES and fault_of(data) is None)
    new = nbformat.v4
    figure = new.new_output("display_data", {"text/plain": "<Figure>", "image/png": "iVBORw0KGgo=\n"})
    error = new.new_output("error", ename="NameError", evalue="é", traceback=["\x1b[31mline\x1b[0m"])
    written = new.new_notebook(
        metadata={"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        cells=[
            new.new_markdown_cell(
                "# Title\n\nSome *text* with é and 😀.", attachments={"a.png": {"image/png": "aQ=="}}
            ),
            new.new_code_cell("import os\n\n%matplotlib inline\n", execution_count=1),
            new.new_code_cell(
                "plot(x)", execution_count=2, outputs=[figure, new.new_output("stream", text="1\n2\n"), error]
            ),
            new.new_raw_cell("---\ntitle: raw\n---"),
            new.new_code_cell(""),
        ],
    )
    notebooks = [nbformat.writes(written), nbformat.writes(new.new_notebook())]
    written["nbformat_minor"] = 4
    for cell in written["cells"]:
        del cell["id"]
    return tuple(f"{text}\n".encode() for text in (*notebooks, nbformat.writes(written)))


# --- laws ------------------------------------------------------------------------------------------------------------


# R-NB-14, R-NB-15, R-NB-16, R-NB-22
@law
@given(st.data())
def test_edits_of_cells_of_random_notebooks_obey_the_laws(draw: st.DataObject) -> None:
    _edit_three_times(draw, draw.draw(random_notebooks()))


@law
@given(st.data())
def test_edits_of_cells_of_real_notebooks_obey_the_laws(draw: st.DataObject) -> None:
    _edit_three_times(draw, draw.draw(st.sampled_from(real_notebooks())))


# R-NB-4, R-NB-12
@law
@given(st.one_of(random_notebooks(), st.sampled_from(real_notebooks())))
def test_read_has_numbers_for_sources_only_and_a_bounded_length(data: bytes) -> None:
    notebook = parse(data)
    page = page_of(notebook, None, None, Limits())
    sources = [line.removesuffix("\r") for cell in notebook.cells if cell.source for line in cell.source.split("\n")]
    n_outputs = sum(min(len(cell.outputs), MAX_OUTPUTS) for cell in notebook.cells)
    n_names = sum(max(0, len(cell.name) - 36) for cell in notebook.cells)
    most = sum(map(len, sources)) + 8 * len(sources) + 81 * len(notebook.cells) + 900 * n_outputs + n_names + 300
    assert len(page.text) <= most
    assert page.total_lines == len(sources)
    if len(sources) <= Limits().max_lines and all(len(line) <= 2000 for line in sources):
        assert page.is_whole
        numbered = [line for line in page.text.split("\n") if re.match(r" *\d+→", line)]
        assert numbered == [f"{number:>6}→{line}" for number, line in enumerate(sources, 1)]


@law
@given(st.one_of(random_notebooks(), st.sampled_from(real_notebooks())), st.data())
def test_damaged_notebook_has_a_fault_or_cells(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data)))
    damaged = draw.draw(
        st.sampled_from(
            [data[:at], data[:at] + b'"' + data[at:], data[:at] + data[at + 1 :], data[:at] + b"\xff" + data[at:]]
        )
    )
    try:
        parsed = parse(damaged)
    except NotebookInvalid as invalid:
        assert invalid.reason
    else:
        for cell, value in zip(parsed.cells, json.loads(damaged.removeprefix(BOM))["cells"], strict=True):
            assert json.loads(damaged[cell.start : cell.end]) == value
            assert cell.source == _source_of(value)


def _edit_three_times(draw: st.DataObject, data: bytes) -> None:
    before, edits = data, list[CellEdit]()
    for _ in range(3):
        edit = draw.draw(cell_edits(parse(data)))
        try:
            planned = plan_cells(data, [edit], _resolve)
        except REFUSALS:
            continue
        edits.append(edit)
        data = _require_lawful(data, edit, planned)
    together = plan_cells(before, edits, _resolve)
    assert splicing.apply(before, together.splices) == data


def _resolve(text: Text, edit: Edit) -> tuple[Splice, ...]:
    return tuple(planning.resolve(text, edit).splices)


def _require_lawful(data: bytes, edit: CellEdit, planned: CellsPlan) -> bytes:
    """Return the notebook after the edit."""
    after = splicing.apply(data, planned.splices)
    old, new = parse(data), parse(after)
    (change,) = planned.changes
    assert splicing.apply(after, splicing.invert(data, planned.splices)) == data
    _require_same_places(after_splices(old, planned.splices), new)
    _require_cells(edit, change, old, new)
    _LAWS[type(edit)](edit, change, old, new)
    if not isinstance(edit, ClearOutputs):
        assert after[: new.cells_start] == data[: old.cells_start]
        assert after[new.cells_end :] == data[old.cells_end :]
    if _is_valid(data):
        nbformat.validate(json.loads(after.removeprefix(BOM)), relax_add_props=False)
    assert json.loads(after.removeprefix(BOM)) == _expected(edit, change, json.loads(data.removeprefix(BOM)), new)
    return after


def _require_same_places(carried: Notebook, scanned: Notebook) -> None:
    """Require that the places which were carried over a step are those of a scan of the result."""
    assert [_place(cell) for cell in carried.cells] == [_place(cell) for cell in scanned.cells]
    assert (carried.data, carried.members) == (scanned.data, scanned.members)
    assert (carried.cells_start, carried.cells_end) == (scanned.cells_start, scanned.cells_end)


def _place(cell: Cell) -> tuple[object, ...]:
    return (cell.name, cell.index, cell.start, cell.end, cell.inside, cell.cell_type, [*cell.texts], cell.is_list)


def _is_valid(data: bytes) -> bool:
    try:
        nbformat.validate(json.loads(data.removeprefix(BOM)))
    except (nbformat.ValidationError, *ID_WARNINGS, KeyError):
        return False
    return True


def _bytes_of(notebook: Notebook) -> list[bytes]:
    return [notebook.data[cell.start : cell.end] for cell in notebook.cells]


def _require_cells(edit: CellEdit, change: CellChange, old: Notebook, new: Notebook) -> None:
    """Require that no other cell's bytes have changed."""
    before, after = _bytes_of(old), _bytes_of(new)
    if isinstance(edit, DeleteCell):
        del before[change.index]
    elif isinstance(edit, MoveCell):
        assert change.old_index is not None
        before.insert(change.index, before.pop(change.old_index))
    elif isinstance(edit, InsertCell):
        del after[change.index]
    elif change.index >= 0:
        del before[change.index], after[change.index]
    else:
        return
    assert after == before


def _require_source(edit: CellEdit, change: CellChange, old: Notebook, new: Notebook) -> None:
    before, after = old.cells[change.index], new.cells[change.index]
    was, now = before.source_member, after.source_member
    if not (isinstance(edit, SetSource) and edit.cell_type is not None):
        assert old.data[before.start : was.start] == new.data[after.start : now.start]
        assert old.data[was.end : before.end] == new.data[now.end : after.end]
    assert after.source == change.new
    assert after.is_list == before.is_list
    if isinstance(edit, SetSource) and "\r" not in before.source + edit.source:
        assert after.source == edit.source
    if _has_a_line_each(before) and "\r" not in after.source:
        assert _has_a_line_each(after)


def _has_a_line_each(cell: Cell) -> bool:
    texts = list(cell.texts)
    return (
        cell.is_list
        and all(texts)
        and "".join(texts).split("\n")
        == [text.removesuffix("\n") for text in texts] + [""] * ("".join(texts).endswith("\n") or not texts)
    )


def _require_inserted(edit: CellEdit, change: CellChange, _old: Notebook, new: Notebook) -> None:
    cell = new.cells[change.index]
    assert isinstance(edit, InsertCell)
    assert (cell.source, cell.name, cell.cell_type) == (edit.source, change.cell_id, edit.cell_type)
    assert new.has_ids == ("id" in cell.values)


def _require_name(edit: CellEdit, change: CellChange, _old: Notebook, new: Notebook) -> None:
    if isinstance(edit, ClearOutputs) and edit.cell_id is None:
        return
    assert new.cells[change.index].name == change.cell_id


def _require_gone(_edit: CellEdit, change: CellChange, old: Notebook, _new: Notebook) -> None:
    assert old.cells[change.index].name == change.cell_id


_LAWS: dict[type, Callable[[Any, CellChange, Notebook, Notebook], None]] = {
    EditInCell: _require_source, SetSource: _require_source, InsertCell: _require_inserted, DeleteCell: _require_gone,
    MoveCell: _require_name, SetType: _require_name, ClearOutputs: _require_name,
}  # fmt: skip


def _expected(edit: CellEdit, change: CellChange, document: dict[str, Any], new: Notebook) -> dict[str, Any]:
    """Return the decoded notebook after the edit, by a model that knows nothing of bytes."""
    cells = cast("list[dict[str, Any]]", document["cells"])
    match edit:
        case InsertCell():
            cells.insert(change.index, dict(new.cells[change.index].values))
        case DeleteCell():
            del cells[change.index]
        case MoveCell():
            cells.insert(change.index, cells.pop(cast("int", change.old_index)))
        case ClearOutputs():
            for cell in cells if edit.cell_id is None else [cells[change.index]]:
                if cell["cell_type"] == "code":
                    cell |= {"outputs": [], "execution_count": None}
        case SetType():
            _retype(cells[change.index], edit.cell_type)
        case EditInCell() | SetSource():
            cell = cells[change.index]
            if isinstance(edit, SetSource) and edit.cell_type is not None:
                _retype(cell, edit.cell_type)
            cell["source"] = new.cells[change.index].values["source"]
    return document


def _retype(cell: dict[str, Any], cell_type: CellType) -> None:
    if cell["cell_type"] == cell_type:
        return
    if cell["cell_type"] == "code":
        del cell["outputs"], cell["execution_count"]
    elif cell_type == "code":
        cell |= {"outputs": cell.get("outputs", []), "execution_count": cell.get("execution_count")}
    cell["cell_type"] = cell_type


def _source_of(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return "".join(cast("list[str]", source)) if isinstance(source, list) else cast("str", source)
