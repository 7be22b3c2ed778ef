"""Notebooks over the wire: reads by cells, `fileops/editNotebook`, staleness of cells, and the MCP tools."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.mcp_client import mcp_client, texts_of
from support.rawclient import RawClient, raw_client

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
REMINDER = "<system-reminder>"


def code(
    cell_id: str | None, source: str, outputs: list[Any] | None = None, count: int | None = None
) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": outputs or []}
    lines = source.splitlines(keepends=True)
    return {**cell, **({} if cell_id is None else {"id": cell_id}), "source": lines}


def markdown(cell_id: str | None, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "markdown", **({} if cell_id is None else {"id": cell_id}), "metadata": {}}
    return {**cell, "source": source.splitlines(keepends=True)}


def stream(*lines: str) -> dict[str, Any]:
    return {"name": "stdout", "output_type": "stream", "text": [f"{line}\n" for line in lines]}


def notebook(*cells: dict[str, Any], minor: int = 5) -> str:
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    document = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": minor}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


ERROR = {
    "ename": "NameError",
    "evalue": "name 'x' is not defined",
    "output_type": "error",
    "traceback": ["\x1b[31mline"],
}
FIGURE = {"data": {"image/png": PNG, "text/plain": ["<Figure>"]}, "metadata": {}, "output_type": "display_data"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    with raw_client() as made:
        made.initialize(rootUri=tmp_path.as_uri(), initializationOptions={"notebooks": "cells"})
        yield made


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.ipynb"
    path.write_text(
        notebook(
            markdown("intro", "# Title\ntext"),
            code("c1", "import os\nprint(x)", [FIGURE, stream(*(f"line {n}" for n in range(30))), ERROR], 3),
            code("c2", ""),
        ),
        encoding="utf-8",
    )
    return path


def edit(client: RawClient, path: Path, *steps: dict[str, Any], **more: object) -> Any:
    return client.result("fileops/editNotebook", {"file_path": str(path), "cells": list(steps), **more})


def sources(path: Path) -> list[tuple[str | None, str]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell.get("id"), "".join(cell["source"])) for cell in cells]


# R-NB-3, R-NB-4, R-NB-6, R-NB-7
def test_read_shows_cells_with_numbered_sources_and_summed_up_outputs(client: RawClient, study: Path) -> None:
    read = client.read(study)
    shown, _, reminder = read["output"].partition("\n\n")
    assert shown == (
        "Notebook, 3 cells, nbformat 4.5, kernel Python 3\n"
        '<cell id="intro" index="0" type="markdown">\n'
        "     1→# Title\n"
        "     2→text\n"
        '<cell id="c1" index="1" type="code" run="3">\n'
        "     3→import os\n"
        "     4→print(x)\n"
        "  output 1: display_data, image/png 72 B, text/plain 8 B\n"
        "  | <Figure>\n"
        "  output 2: stdout\n"
        "  | line 0\n  | line 1\n  | line 2\n  | line 3\n  | line 4\n"
        "  | ... 25 more lines\n"
        "  output 3: error NameError: name 'x' is not defined\n"
        '<cell id="c2" index="2" type="code">'
    )
    assert reminder.startswith(REMINDER)
    details = read["details"]
    assert (details["total_lines"], details["next_offset"]) == (4, None)
    assert [(cell["cell_id"], cell["start_line"], cell["end_line"]) for cell in details["cells"]] == [
        ("intro", 1, 2), ("c1", 3, 4), ("c2", 5, 4),
    ]  # fmt: skip
    assert details["cells"][1]["outputs"][2] == {
        "output_type": "error", "name": "NameError", "value": "name 'x' is not defined",
    }  # fmt: skip


# R-NB-5, R-NB-8, R-NB-9
def test_read_of_a_page_and_of_one_cell(client: RawClient, study: Path) -> None:
    page = client.read(study, offset=3, limit=1)
    assert '<cell id="intro"' not in page["output"]
    assert "     3→import os\n... 1 more lines of this cell\n" in page["output"]
    assert page["output"].partition("\n\n<")[0].endswith("... [1 more lines of source, from line 4]")
    assert page["details"]["next_offset"] == 4
    one = client.read(study, cell_id="c1", outputs="none")
    assert one["output"].partition("\n\n")[0].splitlines()[1:] == [
        '<cell id="c1" index="1" type="code" run="3">', "     3→import os", "     4→print(x)",
    ]  # fmt: skip
    full = client.read(study, cell_id="c1", outputs="full")
    assert "  | line 29\n" in full["output"]
    assert "  | line\n" in full["output"] + "\n"  # the traceback without its colours
    assert [image["mime_type"] for image in full["attachments"]] == ["image/png"]
    assert client.read(study, raw=True)["details"]["text"] == study.read_text(encoding="utf-8")
    assert client.read(study, cell_id="c9")["error"]["code"] == "no_cell"
    error = client.error("fileops/read", {"file_path": str(study), "outputs": "full"})
    assert "$.outputs" in error["message"]


# R-NB-11
def test_cell_that_was_not_shown_cannot_be_replaced(client: RawClient, study: Path) -> None:
    client.read(study, limit=2)
    refused = edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})
    assert refused["output"] == "Cell c1 has not been read yet. Read lines 3-4 first."
    assert (refused["error"]["code"], refused["details"]["cell_id"]) == ("not_read", "c1")
    inside = edit(client, study, {"kind": "edit", "cell_id": "c1", "old_string": "print(x)", "new_string": "print(y)"})
    assert inside["status"] == "success"
    client.read(study, offset=3)
    assert edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})["status"] == "success"
    assert sources(study)[1] == ("c1", "x = 1")


# R-NB-14, R-NB-21, R-NB-27, R-NB-28, R-NB-29, R-NB-35
def test_edit_in_a_cell_changes_only_bytes_of_its_source(client: RawClient, study: Path) -> None:
    before = study.read_bytes()
    client.read(study)
    result = edit(client, study, {"kind": "edit", "cell_id": "c1", "old_string": "print(x)", "new_string": "print(1)"})
    assert result["output"] == (
        "Updated code cell c1 (index 1). Its outputs are from before this edit.\n"
        "@@ -1,2 +1,2 @@\n import os\n-print(x)\n+print(1)"
    )
    assert study.read_bytes() == before.replace(b"print(x)", b"print(1)")
    assert result["details"]["cells"] == [{"kind": "edit", "cell_id": "c1", "index": 1, "cell_type": "code"}]
    (shown,) = result["ui_extra"]["cells"]
    assert (shown["stats"], shown["has_old_outputs"]) == ({"added": 1, "removed": 1}, True)
    assert shown["diff"].startswith(f"--- {study}#c1\n")
    undone = client.result("fileops/undo", {"edit_id": result["details"]["edit_id"]})
    assert (undone["status"], study.read_bytes()) == ("success", before)


def in_form(form: str) -> bytes:
    """A notebook of two code cells, `a` and `b`, in nbformat's order of keys."""
    sources: list[Any] = [["x = 1\n", "y = 1"], ["z = 1"]]
    if form == "strings":
        sources = ["".join(source) for source in sources]
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "id": cell_id, "metadata": {}, "outputs": [], "source": source}
        for cell_id, source in zip("ab", sources, strict=True)
    ]
    document: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    indents: dict[str, Any] = {"tabs": "\t", "four blanks": 4, "one line": None}
    text = json.dumps(document, indent=indents.get(form, 1)) + ("" if form == "no final newline" else "\n")
    text = text.replace("\n", "\r\n") if form == "crlf" else text
    return text.encode("utf-8-sig" if form == "byte order mark" else "utf-8")


FORMS = ("as Jupyter", "byte order mark", "crlf", "no final newline", "tabs", "four blanks", "one line", "strings")


# R-NB-14, R-NB-15, R-NB-16
def test_edits_and_new_cells_have_the_form_of_the_file(client: RawClient, tmp_path: Path) -> None:
    for form in FORMS:
        path = tmp_path / f"{form}.ipynb"
        before = in_form(form)
        path.write_bytes(before)
        assert client.read(path)["details"]["total_lines"] == 3
        changed = edit(client, path, {"kind": "edit", "cell_id": "a", "old_string": "y = 1", "new_string": "y = 2"})
        assert (changed["error"], path.read_bytes()) == (None, before.replace(b"y = 1", b"y = 2")), form
        step = {"kind": "insert", "cell_type": "code", "source": "x = 1\ny = 2", "after": "b"}
        inserted = edit(client, path, step)
        new = inserted["details"]["cells"][0]["cell_id"].encode()
        after = path.read_bytes()
        # The new cell is the first one again, byte for byte, but for its id.
        cell = after[after.index(b"[") + 1 : after.index(b"}", after.index(b'"source"')) + 1].lstrip()
        assert after.count(cell.replace(b'"a"', b'"%s"' % new)) == 1, form
        assert len(json.loads(after.decode("utf-8-sig"))["cells"]) == 3
        assert client.result("fileops/undo", {"edit_id": inserted["details"]["edit_id"]})["error"] is None
        assert path.read_bytes() == before.replace(b"y = 1", b"y = 2"), form


# R-NB-25
def test_cell_that_another_program_made_a_code_cell_is_changed(client: RawClient, study: Path) -> None:
    client.read(study)
    document = json.loads(study.read_text(encoding="utf-8"))
    document["cells"][0] = code("intro", "# Title\ntext")
    study.write_text(json.dumps(document, indent=1))
    refused = edit(client, study, {"kind": "edit", "cell_id": "intro", "old_string": "text", "new_string": "Text"})
    assert (refused["error"]["code"], refused["details"]["relevance"]["cell_id"]) == ("modified_externally", "intro")


# R-NB-15
def test_escapes_in_the_code_of_a_cell_are_no_escapes_of_the_file(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "escapes.ipynb"
    path.write_text(notebook(code("c1", 's = "\\u2603"\nt = 1')), encoding="utf-8")
    before = path.read_bytes()
    client.read(path)
    assert (
        edit(client, path, {"kind": "edit", "cell_id": "c1", "old_string": "1", "new_string": "'é'"})["error"] is None
    )
    assert path.read_bytes() == before.replace(b"t = 1", "t = 'é'".encode())


# R-NB-27
def test_answer_to_an_edit_keeps_the_lines_of_a_cell_whole(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "separators.ipynb"
    path.write_text(notebook(code("c1", "x = '\u2028\x0b\x85'")), encoding="utf-8")
    client.read(path)
    result = edit(client, path, {"kind": "edit", "cell_id": "c1", "old_string": "x", "new_string": "y"})
    assert result["output"].endswith("@@ -1 +1 @@\n-x = '\u2028\x0b\x85'\n+y = '\u2028\x0b\x85'")


# R-NB-27
def test_clearing_of_an_execution_count_alone_is_not_called_outputs(client: RawClient, study: Path) -> None:
    study.write_text(notebook(code("c1", "x = 1", [], 3), code("c2", "y = 1", [], 4)), encoding="utf-8")
    client.read(study)
    cleared = edit(client, study, {"kind": "clear_outputs", "cell_id": "c1"})
    assert cleared["output"] == "Removed the execution count of code cell c1 (index 0)."
    assert edit(client, study, {"kind": "clear_outputs"})["output"] == "Removed the execution count of all code cells."


# R-NB-8
def test_whole_output_of_one_long_line_is_cut_inside_it(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "long.ipynb"
    text = "a" * 1_000_000
    path.write_text(notebook(code("c1", "x", [{"name": "stdout", "output_type": "stream", "text": text}])))
    shown = client.read(path, cell_id="c1", outputs="full")["output"]
    (line,) = [line for line in shown.split("\n") if line.startswith("  | a")]
    assert line == f"  | {'a' * (len(line) - 5)}…"
    assert 50_000 < len(line) <= 60_000  # `max_chars`


# R-NB-6
def test_outputs_are_summed_up_by_six_of_a_cell_and_lines_of_160_characters(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "outputs.ipynb"
    html = {"data": {"text/html": ["<b>secret</b>"], "text/plain": ["é" * 200]}, "metadata": {}}
    many = [{**html, "output_type": "execute_result", "execution_count": 1}, *(stream(str(n)) for n in range(8))]
    path.write_text(notebook(code("c1", "x", many)), encoding="utf-8")
    lines = client.read(path)["output"].partition("\n\n")[0].split("\n")[3:]
    assert lines[:2] == ["  output 1: execute_result, text/html 13 B, text/plain 400 B", f"  | {'é' * 159}…"]
    assert lines[2:4] == ["  output 2: stdout", "  | 0"]
    assert lines[-3:] == ["  output 6: stdout", "  | 4", "  3 more outputs"]


# R-NB-8
def test_attachments_of_a_text_are_shown_as_images_eight_at_most(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "attached.ipynb"
    attachments = {f"{n}.png": {"image/png": PNG} for n in range(10)} | {"note.txt": {"text/plain": "a"}}
    path.write_text(notebook({**markdown("m1", "![](attachment:0.png)"), "attachments": attachments}))
    shown = client.read(path, cell_id="m1", outputs="full")
    assert [image["mime_type"] for image in shown["attachments"]] == ["image/png"] * 8
    assert "attachments" not in client.read(path, cell_id="m1")


# R-NB-17
def test_steps_are_made_together_each_on_the_result_of_the_one_before(client: RawClient, study: Path) -> None:
    client.read(study)
    steps: list[dict[str, Any]] = [
        {"kind": "insert", "cell_type": "code", "source": "y = 2", "after": "intro"},
        {"kind": "delete", "cell_id": "c1"},
        {"kind": "type", "cell_id": "c2", "cell_type": "markdown"},
    ]
    preview = edit(client, study, *steps, dry_run=True)
    result = edit(client, study, *steps)
    new = result["details"]["cells"][0]["cell_id"]
    assert preview["details"]["cells"] == result["details"]["cells"]
    assert sources(study) == [("intro", "# Title\ntext"), (new, "y = 2"), ("c2", "")]
    assert result["output"] == (
        f"Made 3 changes in {study}:\n1. Inserted code cell {new} (index 1).\n"
        "2. Deleted code cell c1 (index 2) and its 3 outputs.\n3. Cell c2 (index 2) is a markdown cell now."
    )
    follow_up = edit(client, study, {"kind": "source", "cell_id": new, "source": "y = 3"})
    assert follow_up["status"] == "success"
    before = study.read_bytes()
    failed = edit(client, study, {"kind": "delete", "cell_id": new}, {"kind": "delete", "cell_id": "gone"})
    assert (failed["error"]["code"], failed["details"]["edit_index"]) == ("no_cell", 1)
    assert study.read_bytes() == before


BAD_STEPS = [
    ({"kind": "edit", "cell_id": "c1", "old_string": "x"}, "$.cells[0].new_string"),
    ({"kind": "edit", "cell_id": "c1", "old_string": "", "new_string": "x"}, "$.cells[0].old_string"),
    ({"kind": "source", "cell_id": "c1", "source": "x", "after": "c2"}, "$.cells[0].after"),
    ({"kind": "insert", "cell_type": "code", "source": "x", "after": "a", "before": "b"}, "$.cells[0].before"),
    ({"kind": "insert", "cell_type": "sql", "source": "x"}, "$.cells[0].cell_type"),
    ({"kind": "move", "cell_id": "c1"}, "$.cells[0].after"),
    ({"kind": "paint", "cell_id": "c1"}, "$.cells[0].kind"),
]


# R-NB-13
@pytest.mark.parametrize(("step", "place"), BAD_STEPS, ids=[place for _, place in BAD_STEPS])
def test_step_with_wrong_keys_is_invalid(client: RawClient, study: Path, step: dict[str, Any], place: str) -> None:
    error = client.error("fileops/editNotebook", {"file_path": str(study), "cells": [step]})
    assert place in error["message"]
    assert "$.cells" in client.error("fileops/editNotebook", {"file_path": str(study), "cells": []})["message"]


# R-NB-18, R-NB-19, R-NB-20, R-NB-23, R-NB-24, R-NB-30
def test_cells_that_cannot_be_changed_are_refused_with_what_to_do(client: RawClient, study: Path) -> None:
    client.read(study)
    refusals = {
        "no_cell": (
            {"kind": "insert", "cell_type": "code", "source": "x"},
            'The edit names no cell: say after which one, by its id. The last cell is "c2".',
        ),
        "no_change": ({"kind": "type", "cell_id": "c1", "cell_type": "code"}, "the notebook is so already"),
        "cell_conflict": ({"kind": "clear_outputs", "cell_id": "intro"}, "it is a markdown cell, which has no outputs"),
    }
    for error_code, (step, text) in refusals.items():
        refused = edit(client, study, step)
        assert (refused["error"]["code"], text in refused["output"]) == (error_code, True), refused["output"]
    elsewhere = {"kind": "edit", "cell_id": "intro", "old_string": "import os", "new_string": "import sys"}
    assert "not found in the source of the cell. It is in cell c1." in edit(client, study, elsewhere)["output"]
    in_two = {"kind": "edit", "cell_id": "c2", "old_string": "x", "new_string": "y"}  # in two others
    assert "not found in the source of the cell.\nString: x" in edit(client, study, in_two)["output"]
    by_index = edit(client, study, {"kind": "delete", "cell_id": "cell-1"})
    assert 'The cell at this index has the id "c1": use that.' in by_index["output"]
    assert (by_index["details"]["at_index"], by_index["details"]["last"]) == ("c1", "c2")


# R-NB-25, R-NB-26, in every setting of `freshness`
@pytest.mark.parametrize("freshness", ["mtime", "content", "relevant"])
def test_change_of_another_cell_does_not_hinder_an_edit(study: Path, tmp_path: Path, freshness: str) -> None:
    with raw_client() as client:
        options = {"notebooks": "cells", "freshness": freshness}
        client.initialize(rootUri=tmp_path.as_uri(), initializationOptions=options)
        client.read(study)
        study.write_text(study.read_text(encoding="utf-8").replace("# Title", "# Other"), encoding="utf-8")
        result = edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})
        assert result["status"] == "success", result["output"]
        rebased = result["details"]["rebased"]
        assert rebased["changed_by"] == "external"
        assert_cell_of_others(rebased, study)
        assert sources(study)[:2] == [("intro", "# Other\ntext"), ("c1", "x = 1")]
        steps = [{"kind": "source", "cell_id": cell_id, "source": "# Mine"} for cell_id in ("c2", "intro")]
        refused = edit(client, study, *steps)
        assert (refused["error"]["code"], refused["details"]["relevance"]["cell_id"]) == (
            "modified_externally",
            "intro",
        )
        assert refused["details"]["edit_index"] == 1
        assert_cell_of_others(refused["details"], study)
        assert refused["output"] == (
            "Cell intro was changed or removed since you read it. Other cells can still be edited. Read the notebook "
            "again before you change this one."
        )
        client.read(study)
        assert edit(client, study, {"kind": "source", "cell_id": "intro", "source": "# Mine"})["status"] == "success"


def assert_cell_of_others(details: dict[str, Any], study: Path) -> None:
    """What others changed is there by cells, as in `ui_extra`."""
    (cell,) = details["cells_since_read"]
    assert (cell["kind"], cell["cell_id"], cell["stats"]) == ("source", "intro", {"added": 1, "removed": 1})
    assert cell["diff"] == f"--- {study}#intro\n+++ {study}#intro\n@@ -1,2 +1,2 @@\n-# Title\n+# Other\n text\n"


def test_run_of_a_cell_hinders_its_removal_but_not_its_edit(client: RawClient, study: Path) -> None:
    client.read(study)
    study.write_text(study.read_text(encoding="utf-8").replace("line 29", "new"), encoding="utf-8")
    removal = edit(client, study, {"kind": "delete", "cell_id": "c1"})
    assert removal["error"]["code"] == "modified_externally"
    assert removal["details"]["other_change"] == "outputs only"
    # An edit of another cell is no look at these outputs, and neither is one of the cell's source.
    for other in ({"cell_id": "intro", "source": "# Mine"}, {"cell_id": "c1", "source": "x = 0"}):
        assert edit(client, study, {"kind": "source", **other})["status"] == "success"
        removal = edit(client, study, {"kind": "delete", "cell_id": "c1"})
        assert removal["status"] == "error"
        assert removal["error"]["code"] == "modified_externally"
    assert edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})["status"] == "success"


def test_names_that_are_places_go_stale_when_cells_move(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    path.write_text(notebook(code(None, "a = 1"), code(None, "b = 2"), minor=4))
    client.read(path)
    inserted = edit(client, path, {"kind": "insert", "cell_type": "markdown", "source": "# New", "before": "cell-0"})
    assert inserted["output"] == (
        "Inserted markdown cell cell-0 (index 0).\n"
        "Cells after it have new ids: read the notebook again before you name one of them."
    )
    refused = edit(client, path, {"kind": "source", "cell_id": "cell-1", "source": "b = 3"})
    assert refused["error"]["code"] == "modified_externally"
    assert edit(client, path, {"kind": "source", "cell_id": "cell-0", "source": "# Newer"})["status"] == "success"
    client.read(path)
    assert edit(client, path, {"kind": "source", "cell_id": "cell-2", "source": "b = 3"})["status"] == "success"
    assert [source for _, source in sources(path)] == ["# Newer", "a = 1", "b = 3"]


# R-NB-24, and what a name is
def test_cells_whose_ids_name_no_single_cell_are_named_by_their_places(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "names.ipynb"
    ids = ("same", "same", "two words", "x" * 65, "cell-5", None, "fine")
    path.write_text(notebook(*(code(cell_id, f"v{n} = 1") for n, cell_id in enumerate(ids))), encoding="utf-8")
    before = path.read_bytes()
    read = client.read(path)
    names = ["cell-0", "cell-1", "cell-2", "cell-3", "cell-5", "#5", "fine"]
    assert [cell["cell_id"] for cell in read["details"]["cells"]] == names
    assert read["output"].count('note="its own id is not usable"') == 4
    shared = edit(client, path, {"kind": "source", "cell_id": "same", "source": "w = 1"})
    assert shared["output"].endswith('2 cells have the id "same". Use instead one of: cell-0, cell-1.</tool_use_error>')
    assert (shared["error"]["code"], shared["details"]["same_id"]) == ("no_cell", ["cell-0", "cell-1"])
    by_place = edit(client, path, {"kind": "edit", "cell_id": "#6", "old_string": "v6", "new_string": "w6"})
    assert (by_place["error"]["code"], by_place["details"]["at_index"]) == ("no_cell", "fine")
    assert path.read_bytes() == before
    for n, name in enumerate(names):
        step = {"kind": "edit", "cell_id": name, "old_string": f"v{n}", "new_string": f"w{n}"}
        assert edit(client, path, step)["error"] is None
        before = before.replace(f"v{n} ".encode(), f"w{n} ".encode())
        assert path.read_bytes() == before


# R-NB-25
@pytest.mark.parametrize(
    "step",
    [
        {"kind": "insert", "cell_type": "code", "source": "c = 3", "after": "cell-0"},
        {"kind": "move", "cell_id": "cell-0", "after": "cell-1"},
        {"kind": "move", "cell_id": "cell-1", "before": "cell-0"},
    ],
    ids=["insert", "move", "move-to"],
)
def test_place_where_another_program_put_another_cell_is_refused(
    client: RawClient, tmp_path: Path, step: dict[str, Any]
) -> None:
    path = tmp_path / "old.ipynb"
    path.write_text(notebook(code(None, "a = 1"), code(None, "b = 2"), minor=4))
    client.read(path)
    path.write_text(notebook(code(None, "new = 0"), code(None, "b = 2"), code(None, "a = 1"), minor=4))
    before = path.read_bytes()
    refused = edit(client, path, step)
    assert (refused["error"]["code"], refused["details"]["relevance"]["cell_id"]) == ("modified_externally", "cell-0")
    assert path.read_bytes() == before


FAULTS = [
    (b'{"cells": [', "json", True),
    (b"\xff\xfe{\x00}\x00", "encoding", True),
    (b"[]", "no_notebook", False),
    (b'{"nbformat": "4", "cells": []}', "no_notebook", False),
    (b'{"nbformat": 3, "cells": []}', "version", False),
    (b'{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cell", False),
    (b'{"nbformat": 4, "cells": [], "\\u0063ells": []}', "cell", False),
    (b'{"nbformat": 4, "cells": [[]]}', "cell", False),
    (b'{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "", "source": "x"}]}', "cell", False),
    (b'{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "", "outputs": [], "outputs": [1]}]}', "cell", False),
]


# R-NB-2, R-NB-10
@pytest.mark.parametrize(
    ("data", "fault", "is_mended"), FAULTS, ids=[f"{n}-{fault[1]}" for n, fault in enumerate(FAULTS)]
)
def test_notebook_with_a_fault_is_read_as_text(
    client: RawClient, tmp_path: Path, data: bytes, fault: str, is_mended: bool
) -> None:
    path = tmp_path / "torn.ipynb"
    path.write_bytes(data)
    read = client.read(path)
    assert read["details"]["not_cells"]["fault"] == fault
    assert read["output"].startswith("This .ipynb is not a notebook that can be shown by cells: ")
    by_cells = edit(client, path, {"kind": "clear_outputs"})
    assert (by_cells["error"]["code"], by_cells["details"]["fault"]) == ("notebook_invalid", fault)
    assert ("Its text can be edited instead." in by_cells["output"]) == is_mended
    as_text = client.result("fileops/edit", {"file_path": str(path), "old_string": "{", "new_string": "{ "})
    assert as_text["status" if is_mended else "error"] == ("success" if is_mended else as_text["error"])
    if not is_mended:
        assert as_text["error"]["code"] in {"notebook", "no_match"}
        assert path.read_bytes() == data


def test_other_files_and_missing_ones_are_no_notebooks(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(notebook(code("c1", "x")))
    client.read(path)
    assert edit(client, path, {"kind": "delete", "cell_id": "c1"})["error"]["code"] == "notebook_invalid"
    missing = edit(client, tmp_path / "new.ipynb", {"kind": "insert", "cell_type": "code", "source": "x"})
    assert missing["error"]["code"] == "not_found"
    assert '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}' in missing["output"]


# R-NB-1
@pytest.mark.parametrize(
    ("mode", "text_code", "cells_code"), [("refuse", "notebook", "notebook"), ("text", None, None)]
)
def test_options_refuse_and_text_show_the_json(
    study: Path, tmp_path: Path, mode: str, text_code: str | None, cells_code: str | None
) -> None:
    with raw_client() as client:
        client.initialize(rootUri=tmp_path.as_uri(), initializationOptions={"notebooks": mode})
        assert client.read(study)["output"].startswith("     1→{")
        by_cell = edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})
        as_text = client.result("fileops/edit", {"file_path": str(study), "old_string": "# Title", "new_string": "# T"})
        codes = [None if result["error"] is None else result["error"]["code"] for result in (as_text, by_cell)]
        assert codes == [text_code, cells_code]


def saved_anew(path: Path, **more: Any) -> None:
    """Write the file as Jupyter does: all of it, in its own form."""
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | more, indent=2, sort_keys=True), encoding="utf-8")


# R-NB-31
def test_undo_after_jupyter_wrote_the_file_anew_is_by_cell(client: RawClient, study: Path) -> None:
    client.read(study)
    replaced = edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})
    saved_anew(study)
    undone = client.result("fileops/undo", {"edit_id": replaced["details"]["edit_id"]})
    assert undone["status"] == "success", undone["output"]
    assert sources(study)[1] == ("c1", "import os\nprint(x)")
    assert [cell["cell_id"] for cell in undone["ui_extra"]["cells"]] == ["c1"]
    assert undone["output"].startswith(f"1 edit of {study} has been undone. Updated code cell c1 (index 1).")
    inserted = edit(client, study, {"kind": "insert", "cell_type": "code", "source": "y", "after": "c1"})
    new = inserted["details"]["cells"][0]["cell_id"]
    saved_anew(study, metadata={})
    assert client.result("fileops/undo", {"edit_id": inserted["details"]["edit_id"]})["status"] == "success"
    assert [name for name, _ in sources(study)] == ["intro", "c1", "c2"]
    client.read(study)
    last = edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 2"})
    study.write_text(study.read_text(encoding="utf-8").replace("x = 2", "x = 3"), encoding="utf-8")
    saved_anew(study)
    before = study.read_bytes()
    refused = client.result("fileops/undo", {"edit_id": last["details"]["edit_id"]})
    assert (refused["error"]["code"], refused["details"]["cell_ids"]) == ("undo_conflict", ["c1"])
    assert "Read the notebook and edit cell c1." in refused["error"]["message"] + refused["output"]
    assert (study.read_bytes(), new in study.read_text(encoding="utf-8")) == (before, False)


# R-NB-31
def test_undo_after_a_new_save_leaves_a_cell_that_is_only_named_by_its_place(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    path.write_text(notebook(code(None, "a = 1\nb = 1"), code(None, "c = 1"), minor=4))
    client.read(path)
    changed = edit(client, path, {"kind": "source", "cell_id": "cell-0", "source": "a = 2\nb = 2\n\nd = 2"})
    document = json.loads(path.read_text(encoding="utf-8"))
    for cell in document["cells"]:
        cell["source"] = "".join(cell["source"])  # so the bytes of the edit are gone
    path.write_text(json.dumps(document), encoding="utf-8")
    before = path.read_bytes()
    refused = client.result("fileops/undo", {"edit_id": changed["details"]["edit_id"]})
    assert (refused["error"]["code"], refused["details"]["cell_ids"]) == ("undo_conflict", ["cell-0"])
    assert path.read_bytes() == before


# R-NB-32
def test_review_has_a_part_for_each_cell_and_takes_no_text_without_cells(study: Path, tmp_path: Path) -> None:
    with raw_client() as client:
        capabilities = {"experimental": {"fileops": {"reviews": True}}}
        options = {"notebooks": "cells", "approval": "reviews", "approval_mode": "default"}
        client.initialize(capabilities, rootUri=tmp_path.as_uri(), initializationOptions=options)
        client.read(study)
        steps = [
            {"kind": "source", "cell_id": "intro", "source": "# Mine"},
            {"kind": "source", "cell_id": "c1", "source": "x = 1\ny = 2"},
        ]
        waiting = client.request("fileops/editNotebook", {"file_path": str(study), "cells": steps})
        (review,) = client.notification("fileops/didChangeReviews")["opened"]
        assert [change["cell_id"] for change in review["changes"]] == ["intro", "c1"]
        assert [cell["stats"] for cell in review["cells"]] == [{"added": 1, "removed": 2}, {"added": 2, "removed": 2}]
        decision = {"review_id": review["review_id"], "outcome": "modify", "text": "{"}
        assert "$.text" in client.error("fileops/decideReview", decision)["message"]
        decision = {"review_id": review["review_id"], "outcome": "accept", "change_ids": [review["changes"][1]["id"]]}
        client.result("fileops/decideReview", decision)
        result = client.answer(waiting)["result"]
        assert (result["status"], result["details"]["modified_by_user"]) == ("success", True)
        assert [cell["cell_id"] for cell in result["details"]["cells"]] == ["c1"]
        assert sources(study)[:2] == [("intro", "# Title\ntext"), ("c1", "x = 1\ny = 2")]


@pytest.fixture
def person(tmp_path: Path) -> Iterator[RawClient]:
    """A client that is asked about each edit."""
    with raw_client() as made:
        capabilities = {"experimental": {"fileops": {"reviews": True}}}
        options = {"approval": "reviews", "approval_mode": "default"}
        made.initialize(capabilities, rootUri=tmp_path.as_uri(), initializationOptions=options)
        yield made


def of_cells(intro: str, c1: str) -> str:
    return f"# %% intro · markdown\n{intro}\n\n# %% c1 · code · 3 outputs\n{c1}\n\n# %% c2 · code\n\n"


STEPS = (
    {"kind": "source", "cell_id": "intro", "source": "# Mine\ntext"},
    {"kind": "source", "cell_id": "c1", "source": "import os\nx = 1"},
)


# R-NB-49
def test_review_has_the_cells_as_texts_with_its_parts(person: RawClient, study: Path) -> None:
    person.read(study)
    person.request("fileops/editNotebook", {"file_path": str(study), "cells": STEPS})
    (review,) = person.notification("fileops/didChangeReviews")["opened"]
    shown = review["by_cells"]
    assert shown["original_text"] == of_cells("# Title\ntext", "import os\nprint(x)")
    assert shown["proposed_text"] == of_cells("# Mine\ntext", "import os\nx = 1")
    assert [(change["id"], change["cell_id"], change["diff"]) for change in shown["changes"]] == [
        (review["changes"][0]["id"], "intro", "@@ -2 +2 @@\n-# Title\n+# Mine\n"),
        (review["changes"][1]["id"], "c1", "@@ -7 +7 @@\n-print(x)\n+x = 1\n"),
    ]
    assert shown["previous_text"] is None


# R-NB-49
def test_text_of_cells_that_a_person_writes_is_written_by_cells(person: RawClient, study: Path) -> None:
    person.read(study)
    waiting = person.request("fileops/editNotebook", {"file_path": str(study), "cells": STEPS})
    (review,) = person.notification("fileops/didChangeReviews")["opened"]
    decision = {"review_id": review["review_id"], "outcome": "modify"}
    typed = of_cells("# Mine\ntext", "import os\nx = 2").replace("# %% c2 · code\n\n", "")
    for wrong in (typed.replace("· markdown", "· code"), f"typed above\n{typed}", typed + typed):
        assert "$.text" in person.error("fileops/decideReview", {**decision, "text": wrong})["message"]
    assert person.result("fileops/decideReview", {**decision, "text": typed})["error"] is None
    result = person.answer(waiting)["result"]
    assert (result["status"], result["details"]["modified_by_user"]) == ("success", True)
    assert sources(study) == [("intro", "# Mine\ntext"), ("c1", "import os\nx = 2")]
    assert len(json.loads(study.read_text(encoding="utf-8"))["cells"][1]["outputs"]) == 3


# R-NB-48
def test_contents_are_shown_as_texts_of_cells(client: RawClient, study: Path) -> None:
    before = study.read_text(encoding="utf-8")
    after = before.replace("print(x)", "print(y)")
    shown = client.result("fileops/cellTexts", {"file_path": str(study), "before": before, "after": after})
    assert shown["before"] == of_cells("# Title\ntext", "import os\nprint(x)")
    assert shown["after"] == of_cells("# Title\ntext", "import os\nprint(y)")
    assert [(cell["cell_id"], cell["stats"]) for cell in shown["cells"]] == [("c1", {"added": 1, "removed": 1})]
    created = client.result("fileops/cellTexts", {"file_path": str(study), "before": "", "after": after})
    assert (created["before"], len(created["cells"])) == ("", 3)
    torn = client.result("fileops/cellTexts", {"file_path": str(study), "before": before, "after": after[:-3]})
    assert (torn["after"], torn["not_cells"]["fault"]) == ("", "json")


# R-NB-34
def test_change_set_edits_a_notebook_by_cells_together_with_another_file(client: RawClient, study: Path) -> None:
    module = study.with_name("a.py")
    module.write_text("x = 1\n")
    client.read(study)
    client.read(module)
    changes: list[dict[str, Any]] = [
        {"kind": "edit", "file_path": str(module), "edits": [{"old_string": "x", "new_string": "y"}]},
        {"kind": "edit", "file_path": str(study), "cells": [{"kind": "source", "cell_id": "c1", "source": "import a"}]},
    ]
    result = client.result("fileops/applyChanges", {"changes": changes})
    assert result["status"] == "success", result["output"]
    assert (module.read_text(), sources(study)[1]) == ("y = 1\n", ("c1", "import a"))
    assert [cell["cell_id"] for cell in result["details"]["files"][1]["ui_extra"]["cells"]] == ["c1"]
    both = [{**changes[1], "edits": changes[0]["edits"]}]
    assert "$.changes[0].edits" in client.error("fileops/applyChanges", {"changes": both})["message"]


# R-NB-37, R-NB-38, R-NB-39
def test_mcp_tools_take_the_arguments_of_claude_code(study: Path) -> None:
    with mcp_client(study.parent, "--tools", "+notebook") as host:
        host.begin()
        names = [tool["name"] for tool in host.result("tools/list")["tools"]]
        assert names[-2:] == ["NotebookEdit", "NotebookRead"]
        host.tool("Read", file_path=str(study))

        def edit_cell(**arguments: Any) -> str:
            return texts_of(host.tool("NotebookEdit", notebook_path=str(study), **arguments))[0]

        assert edit_cell(cell_id="c1", new_source="x = 1").startswith("Updated code cell c1 (index 1).")
        assert "Inserted code cell" in edit_cell(cell_id="intro", new_source="z", cell_type="code", edit_mode="insert")
        assert edit_cell(cell_id="c2", target_id="intro", position="before", edit_mode="move").startswith("Moved")
        assert [source for _, source in sources(study)] == ["", "# Title\ntext", "z", "x = 1"]
        shown = host.tool("NotebookRead", notebook_path=str(study), cell_id="c1", outputs="full")
        assert [item["type"] for item in shown["content"]] == ["text", "image"]
        without_key = host.answer(host.start_tool("NotebookEdit", notebook_path=str(study), cell_id="c1"))
        assert "$.new_source" in json.dumps(without_key)


CLAUDES_CALLS: list[tuple[dict[str, Any], list[tuple[str, str]] | str]] = [
    ({"cell_id": "b", "new_source": "x"}, [("code", "1"), ("code", "x"), ("code", "3")]),
    ({"cell_id": "b", "new_source": ""}, [("code", "1"), ("code", ""), ("code", "3")]),
    (
        {"cell_id": "b", "new_source": "x", "edit_mode": "replace", "cell_type": "markdown"},
        [("code", "1"), ("markdown", "x"), ("code", "3")],
    ),
    (
        {"cell_id": "b", "new_source": "x", "old_string": "2"},
        [("code", "1"), ("code", "x"), ("code", "3")],
    ),
    (
        {"cell_id": "b", "new_source": "x", "edit_mode": "insert", "cell_type": "raw"},
        [("code", "1"), ("code", "2"), ("raw", "x"), ("code", "3")],
    ),
    (
        {"cell_id": "b", "new_source": "x", "edit_mode": "insert", "cell_type": "code", "position": "before"},
        [("code", "1"), ("code", "x"), ("code", "2"), ("code", "3")],
    ),
    ({"cell_id": "b", "new_source": "", "edit_mode": "delete"}, [("code", "1"), ("code", "3")]),
    ({"cell_id": "c", "edit_mode": "move", "target_id": "a"}, [("code", "1"), ("code", "3"), ("code", "2")]),
    ({"new_source": "x", "edit_mode": "insert", "cell_type": "code"}, 'The last cell is \\"c\\".'),
    ({"cell_id": "cell-1", "new_source": "x"}, 'The cell at this index has the id \\"b\\": use that.'),
    ({"cell_id": "b", "new_source": "x", "edit_mode": "insert"}, "$.cell_type"),
    ({"cell_id": "b"}, "$.new_source"),
    ({"new_source": "x"}, "$.cell_id"),
    ({"edit_mode": "delete", "new_source": ""}, "$.cell_id"),
    ({"cell_id": "b", "edit_mode": "move"}, "$.target_id"),
    ({"cell_id": "b", "edit_mode": "delete", "old_string": "2"}, "$.old_string"),
    (
        {"cell_id": "b", "edit_mode": "insert", "new_source": "x", "cell_type": "code", "old_string": "2"},
        "$.old_string",
    ),
    ({"edit_mode": "insert", "new_source": "x", "cell_type": "code", "target_id": "b"}, "$.target_id"),
]


# R-NB-38
def test_arguments_of_claude_code_mean_what_they_mean_there(tmp_path: Path) -> None:
    path = tmp_path / "calls.ipynb"
    with mcp_client(tmp_path, "--tools", "+notebook") as host:
        host.begin()
        for arguments, outcome in CLAUDES_CALLS:
            path.write_text(notebook(code("a", "1"), code("b", "2", [stream("out")], 7), code("c", "3")))
            before = path.read_bytes()
            host.tool("Read", file_path=str(path))
            answer = host.answer(host.start_tool("NotebookEdit", notebook_path=str(path), **arguments))
            if isinstance(outcome, str):
                assert outcome in json.dumps(answer), (arguments, answer)
                assert path.read_bytes() == before
                continue
            cells = json.loads(path.read_bytes())["cells"]
            assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == outcome, (arguments, answer)
            kept = [cell for cell in cells if cell["id"] == "b" and cell["cell_type"] == "code"]
            assert [(cell["execution_count"], len(cell["outputs"])) for cell in kept] in ([(7, 1)], [])


# R-NB-3
def test_half_of_a_surrogate_pair_does_not_reach_a_host(study: Path) -> None:
    cells = (code("c1", "x = '\ud800'", [stream("\udcff")]), code("c2", "y = 1"))
    study.write_text(json.dumps(json.loads(notebook(*cells))))
    before = study.read_bytes()
    with mcp_client(study.parent, "--tools", "+notebook") as host:
        host.begin()
        (text,) = texts_of(host.tool("Read", file_path=str(study)))
        assert "     1→x = '\ufffd'\n  output 1: stdout\n  | \ufffd\n" in text
        changed = host.tool(
            "NotebookEdit", notebook_path=str(study), cell_id="c1", old_string="x = '\ud800'", new_source="y"
        )
        refused, *_ = texts_of(changed)
        assert "not found in the source of the cell.</tool_use_error>" in refused
    assert study.read_bytes() == before


# R-NB-15
def test_half_of_a_surrogate_pair_is_written_as_an_escape_or_refused(client: RawClient, study: Path) -> None:
    client.read(study)
    inserted = edit(client, study, {"kind": "insert", "cell_type": "code", "source": "é '\ud800'", "after": "c1"})
    new = inserted["details"]["cells"][0]["cell_id"]
    assert ("\"é '\\ud800'\"").encode() in study.read_bytes()
    changed = edit(client, study, {"kind": "edit", "cell_id": new, "old_string": "é", "new_string": "è"})
    assert (changed["error"], ("\"è '\\ud800'\"").encode() in study.read_bytes()) == (None, True)
    before = study.read_bytes()
    refused = edit(client, study, {"kind": "source", "cell_id": new, "source": "x = '\ud800'"})
    assert (refused["error"]["code"], study.read_bytes()) == ("not_encodable", before)


# R-NB-30
def test_text_that_is_almost_in_the_cell_is_suggested_with_cell_and_line(client: RawClient, study: Path) -> None:
    functions = "def area(width, height):\n    return width * height\n\ndef half(width):\n    return width / 2\n"
    source = f"{functions}x = 1\nx = 1"
    study.write_text(notebook(markdown("intro", "# Title\ntext"), code("c1", source), code("c2", "x = 1")))
    client.read(study)
    step = {"kind": "edit", "cell_id": "c1", "old_string": "return width*height", "new_string": "return height"}
    refused = edit(client, study, step)
    assert refused["error"]["code"] == "no_match"
    (offered,) = refused["details"]["suggestions"]
    assert (offered["cell_id"], offered["start_line"], offered["kind"]) == ("c1", 4, "similar")
    assert offered["note"].startswith("Line 4 in cell c1 is closest; it differs in ")
    assert refused["details"]["suggested_place"]["start_line"] == 4
    assert any(text.startswith(offered["note"]) for text in refused["details"]["suggestion_texts"])
    ambiguous = edit(client, study, {**step, "old_string": "x = 1"})
    assert ambiguous["details"]["match_lines"] == [8, 9]
    (unique, *_) = ambiguous["details"]["suggestions"]
    assert (unique["kind"], unique["cell_id"]) == ("unique", "c1")
    assert unique["note"].startswith("For the place at line 8 in cell c1.")
    first = {"kind": "edit", "cell_id": "c2", "old_string": "x = 1", "new_string": "x = 2"}
    second = edit(client, study, first, step)
    assert (second["details"]["edit_index"], second["details"]["suggestions"][0]["edit_index"]) == (1, 1)
    assert second["details"]["suggestion_texts"][0].startswith("Edit 2 of 2 fails: ")
    again = edit(client, study, first, {**step, "old_string": offered["old_string"]})
    assert again["status"] == "success", again["output"]
    whole = {"kind": "source", "cell_id": "c1", "source": "return width * height"}
    made_before = edit(client, study, whole, {**step, "old_string": "y"})
    assert (made_before["error"]["code"], "suggestions" in made_before["details"]) == ("no_match", False)


# R-NB-30, R-ANS-10
def test_near_match_in_a_cell_is_suggested_for_a_change_set_and_not_without_the_option(
    study: Path, tmp_path: Path
) -> None:
    step = {"kind": "edit", "cell_id": "c1", "old_string": "import  os", "new_string": "import sys"}
    for suggestions, is_offered in (("details", True), ("off", False)):
        with raw_client() as client:
            options = {"notebooks": "cells", "suggestions": suggestions}
            client.initialize(rootUri=tmp_path.as_uri(), initializationOptions=options)
            client.read(study)
            changes = [{"kind": "edit", "file_path": str(study), "cells": [step]}]
            for refused in (edit(client, study, step), client.result("fileops/applyChanges", {"changes": changes})):
                assert refused["error"]["code"] == "no_match"
                offered = refused["details"].get("suggestions", [])
                assert [each["cell_id"] for each in offered] == (["c1"] if is_offered else [])


# R-NB-47, R-NOTE-1
def test_notice_of_a_notebook_shows_cells_and_does_not_count_as_a_read_of_them(study: Path, tmp_path: Path) -> None:
    other = tmp_path / "a.txt"
    other.write_text("one\n")
    with raw_client() as client:
        options = {"notebooks": "cells", "notices": "output", "freshness": "relevant"}
        client.initialize(rootUri=tmp_path.as_uri(), initializationOptions=options)
        client.read(study)
        study.write_text(study.read_text(encoding="utf-8").replace("print(x)", "print(2)"), encoding="utf-8")
        noticed = client.read(other)["output"]
        assert noticed.endswith(
            "What changed:\nUpdated code cell c1 (index 1). Its outputs are from before this edit.\n"
            "@@ -1,2 +1,2 @@\n import os\n-print(x)\n+print(2)"
        )
        assert '"source"' not in noticed
        refused = edit(client, study, {"kind": "source", "cell_id": "c1", "source": "x = 1"})
        assert refused["error"]["code"] == "modified_externally"
        assert "counts as read" not in refused["output"]
        client.read(study)
        saved_anew(study)
        assert client.read(other)["output"].endswith("Only how the file is written. The cells are the same.")
