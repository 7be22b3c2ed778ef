"""Notebooks that are open in an editor with unsaved cells: what is read, where edits go, what is undone."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from support.notebook_editor import NotebookEditor, notebook_editor

STREAM = [{"name": "stdout", "output_type": "stream", "text": ["42\n"]}]
UNSAVED = "unsaved in an editor; outputs as last saved"


def cell(cell_id: str | None, source: str, cell_type: str = "code", outputs: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": cell_type, "metadata": {"kept": [1, 2]}}
    if cell_id is not None:
        made["id"] = cell_id
    if cell_type == "code":
        made |= {"execution_count": None, "outputs": outputs or []}
    return {**made, "source": source.splitlines(keepends=True)}


def written(path: Path, *cells: dict[str, Any], minor: int = 5) -> bytes:
    document: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path.read_bytes()


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.ipynb"
    written(path, cell("intro", "# Title", "markdown"), cell("c1", "x = 1\nprint(x)", outputs=STREAM), cell("c2", ""))
    return path


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[NotebookEditor]:
    async with notebook_editor(tmp_path) as editor:
        yield editor


async def edit(editor: NotebookEditor, *steps: dict[str, Any]) -> Any:
    return await editor.client.edit_notebook(editor.path, list(steps))


# R-NB-42
async def test_synchronisation_is_announced_to_clients_that_have_it(editor: NotebookEditor) -> None:
    selector = [{"notebook": "jupyter-notebook"}]
    assert editor.client.capabilities["notebookDocumentSync"] == {"notebookSelector": selector, "save": True}


# R-NB-43
async def test_read_shows_unsaved_cells_with_the_outputs_of_the_file(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    clean = await editor.client.read(study)
    assert (clean.details.get("source"), UNSAVED in clean.output) == ("buffer", False)
    editor.type(1, "x = 2\nprint(x)")
    editor.put(3, 0, [editor.cell("raw", "typed", {"id": "new-1"})])
    dirty = await editor.client.read(study)
    assert dirty.output.splitlines()[0] == f"Notebook, 4 cells, nbformat 4.5, {UNSAVED}"
    assert (dirty.details.get("source"), dirty.details.get("document_version")) == ("buffer", 2)
    shown = dirty.output.partition("\n\n")[0].splitlines()[3:]
    assert shown == [
        '<cell id="c1" index="1" type="code">', "     2→x = 2", "     3→print(x)", "  output 1: stdout", "  | 42",
        '<cell id="c2" index="2" type="code">', '<cell id="new-1" index="3" type="raw">', "     4→typed",
    ]  # fmt: skip
    editor.close()
    assert UNSAVED not in (await editor.client.read(study)).output


# R-NB-44
async def test_source_of_an_unsaved_cell_is_edited_in_the_editor(editor: NotebookEditor, study: Path) -> None:
    before = study.read_bytes()
    editor.open(study)
    editor.type(0, "# Typed")
    await editor.client.read(study)
    edited = await edit(
        editor,
        {"kind": "edit", "cell_id": "c1", "old_string": "1", "new_string": "10"},
        {"kind": "source", "cell_id": "c2", "source": "y = 2\n"},
    )
    assert (edited.ok, edited.details.get("applied_to")) == (True, "buffer"), edited.output
    assert editor.shown() == [("markdown", "# Typed"), ("code", "x = 10\nprint(x)"), ("code", "y = 2\n")]
    ((method, asked),) = editor.asked
    assert (method, len(asked["edit"]["documentChanges"])) == ("workspace/applyEdit", 2)
    assert editor.cells[1].outputs == STREAM
    assert study.read_bytes() == before


# R-NB-44
async def test_cells_are_inserted_moved_and_removed_in_the_editor(editor: NotebookEditor, study: Path) -> None:
    before = study.read_bytes()
    editor.open(study)
    editor.type(0, "# Typed")
    await editor.client.read(study)
    edited = await edit(
        editor,
        {"kind": "insert", "cell_type": "code", "source": "new", "after": "c2"},
        {"kind": "move", "cell_id": "c1", "before": "intro"},
        {"kind": "delete", "cell_id": "c2"},
    )
    assert (edited.ok, edited.details.get("applied_to")) == (True, "buffer"), edited.output
    assert editor.shown() == [("code", "x = 1\nprint(x)"), ("markdown", "# Typed"), ("code", "new")]
    assert editor.cells[0].outputs == STREAM
    assert [method for method, _ in editor.asked] == ["fileops/applyNotebookEdit"]
    assert study.read_bytes() == before
    again = await edit(editor, {"kind": "edit", "cell_id": "c1", "old_string": "1", "new_string": "2"})
    assert again.ok, again.output
    editor.save()
    cells = json.loads(study.read_text("utf-8"))["cells"]
    assert [(one["id"], one["source"]) for one in cells] == [
        ("c1", "x = 2\nprint(x)"), ("intro", "# Typed"), (edited.details["cells"][0]["cell_id"], "new"),
    ]  # fmt: skip
    assert cells[0]["outputs"] == STREAM


# R-NB-44
async def test_outputs_are_cleared_and_the_type_is_changed_in_the_editor(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    editor.type(0, "# Typed")
    await editor.client.read(study)
    cleared = await edit(editor, {"kind": "clear_outputs", "cell_id": "c1"})
    assert (cleared.ok, editor.cells[1].outputs) == (True, [])
    await editor.client.read(study)
    typed = await edit(editor, {"kind": "type", "cell_id": "c1", "cell_type": "markdown"})
    assert (typed.ok, editor.shown()[1]) == (True, ("markdown", "x = 1\nprint(x)")), typed.output


# R-NB-44
async def test_editor_that_cannot_change_cells_is_asked_for_texts_only(tmp_path: Path, study: Path) -> None:
    async with notebook_editor(tmp_path, edits_cells=False) as editor:
        editor.open(study)
        editor.type(0, "# Typed")
        await editor.client.read(study)
        refused = await edit(editor, {"kind": "insert", "cell_type": "code", "source": "new", "after": "c2"})
        assert refused.code == "apply_refused"
        assert "ask the user to save it" in refused.output
        assert editor.asked == []
        edited = await edit(editor, {"kind": "source", "cell_id": "c2", "source": "y"})
        assert (edited.ok, editor.shown()[2]) == (True, ("code", "y"))


async def test_refusal_of_the_editor_leaves_all_cells(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    editor.type(0, "# Typed")
    await editor.client.read(study)
    editor.refuses = "the notebook is read-only"
    refused = await edit(editor, {"kind": "delete", "cell_id": "c2"})
    assert (refused.code, "read-only" in refused.output) == ("apply_refused", True)
    assert len(editor.cells) == 3


# R-NB-25, R-NB-43
async def test_typing_in_one_cell_hinders_edits_of_that_cell_only(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    await editor.client.read(study)
    editor.type(1, "x = 1\nprint(x)  # typed")
    refused = await edit(editor, {"kind": "edit", "cell_id": "c1", "old_string": "x = 1", "new_string": "x = 2"})
    assert refused.code == "modified_externally"
    other = await edit(editor, {"kind": "source", "cell_id": "c2", "source": "y"})
    assert (other.ok, editor.shown()[2]) == (True, ("code", "y"))


# R-NB-3, R-DOC-3
async def test_clean_notebook_is_edited_on_the_disk(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    await editor.client.read(study)
    edited = await edit(editor, {"kind": "source", "cell_id": "c2", "source": "y"})
    assert (edited.details.get("applied_to"), editor.asked) == ("disk", [])
    editor.type(2, "y")  # the editor has reloaded it
    read = await editor.client.read(study)
    assert UNSAVED not in read.output


# R-NB-45
async def test_undo_takes_cells_back_in_the_editor(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    editor.type(0, "# Typed")
    await editor.client.read(study)
    edited = await edit(
        editor,
        {"kind": "delete", "cell_id": "c1"},
        {"kind": "source", "cell_id": "c2", "source": "y"},
    )
    assert edited.ok, edited.output
    editor.type(0, "# Typed more")
    undone = await editor.client.undo(edit_id=edited.details["edit_id"])
    assert undone.ok, undone.output
    assert editor.shown() == [("markdown", "# Typed more"), ("code", "x = 1\nprint(x)"), ("code", "")]
    assert editor.cells[1].outputs == STREAM


# R-NB-45
async def test_undo_takes_a_cell_back_in_the_file_after_it_was_saved(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    editor.type(0, "# Typed")
    await editor.client.read(study)
    edited = await edit(editor, {"kind": "source", "cell_id": "c1", "source": "x = 2"})
    assert edited.ok, edited.output
    editor.save()
    undone = await editor.client.undo(edit_id=edited.details["edit_id"])
    assert undone.ok, undone.output
    cells = json.loads(study.read_text("utf-8"))["cells"]
    assert ["".join(one["source"]) for one in cells] == ["# Typed", "x = 1\nprint(x)", ""]
    assert cells[1]["outputs"] == STREAM


# R-NB-43
async def test_cells_without_ids_keep_their_outputs(editor: NotebookEditor, tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    written(path, cell(None, "same", outputs=STREAM), cell(None, "same"), cell(None, "last"), minor=2)
    editor.open(path)
    await editor.client.read(path)
    editor.put(0, 0, [editor.cell("code", "same")])
    editor.type(1, "changed")
    read = await editor.client.read(path)
    assert "cells" in read.details
    cells = read.details["cells"]
    assert [(one["cell_id"], len(one["outputs"])) for one in cells] == [
        ("cell-0", 0), ("cell-1", 1), ("cell-2", 0), ("cell-3", 0),
    ]  # fmt: skip
    edited = await edit(editor, {"kind": "move", "cell_id": "cell-1", "after": "cell-3"})
    assert edited.ok, edited.output
    assert [(one.text, one.outputs) for one in editor.cells] == [
        ("same", []), ("same", []), ("last", []), ("changed", STREAM),
    ]  # fmt: skip


# R-NB-43
async def test_broken_file_under_unsaved_cells_is_read_but_not_edited(editor: NotebookEditor, study: Path) -> None:
    editor.open(study)
    editor.type(1, "x = 2")
    await editor.client.read(study)
    study.write_text("<<<<<<< ours\n", encoding="utf-8")
    read = await editor.client.read(study)
    assert ("x = 2" in read.output, "<<<<<<<" in read.output) == (True, False)
    refused = await edit(editor, {"kind": "source", "cell_id": "c2", "source": "y"})
    assert refused.code == "apply_refused"
    assert "no notebook any more" in refused.output


UNKNOWN_CELL = {"document": {"uri": "vscode-notebook-cell:/other#1", "version": 2}, "changes": [{"text": "x"}]}


@pytest.mark.parametrize(
    "cells",
    [
        {"textContent": [UNKNOWN_CELL]},
        {"structure": {"array": {"start": 9, "deleteCount": 0}}},
        {"structure": {"array": {"start": 0, "deleteCount": 9}}},
    ],
    ids=["text of another cell", "after the last cell", "more than all cells"],
)
async def test_change_that_does_not_fit_puts_the_notebook_in_doubt(
    editor: NotebookEditor, study: Path, cells: Any
) -> None:
    editor.open(study)
    editor.put(1, 1, [])
    assert (await editor.client.read(study)).ok
    editor.version += 1
    editor.client.notify(
        "notebookDocument/didChange",
        {"notebookDocument": {"uri": editor.uri, "version": editor.version}, "change": {"cells": cells}},
    )
    assert (await editor.client.read(study)).code == "apply_refused"
    editor.close()
    editor.open(study)
    assert (await editor.client.read(study)).ok
