"""Who changed which cell of a notebook: in the log, in an entry, in blame, and at the terminal (R-NB-33, R-NB-47)."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient
from fileops_client.values import RecordEntry
from support.daemon_process import Place, place_of_test
from support.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("shared")
FIRST = "import os\nprint(x)\n"


def cell(cell_id: str, source: str, kind: str = "code", outputs: tuple[Any, ...] = ()) -> dict[str, Any]:
    of_code = {"execution_count": None, "outputs": list(outputs)} if kind == "code" else {}
    return {"cell_type": kind, "id": cell_id, "metadata": {}, "source": source.splitlines(keepends=True), **of_code}


def written(cells: list[dict[str, Any]], indent: int = 1) -> str:
    document: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=indent, sort_keys=True) + "\n"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with place_of_test(monkeypatch) as made:
        yield made


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    path = folder / "study.ipynb"
    path.write_text(written([cell("intro", "# Title\n\ntext", "markdown"), cell("c1", FIRST), cell("c2", "")]))
    return path


@pytest.fixture
async def agent(shared: Place, study: Path) -> AsyncIterator[FileOpsClient]:
    async with FileOpsClient.attach(root=study.parent, host="codex") as made:
        async with asyncio.timeout(PATIENCE_S):
            await until_started(made)
        yield made


@pytest.fixture
async def person(study: Path, agent: FileOpsClient) -> AsyncIterator[FileOpsClient]:
    """An editor of the person, who sees what everybody changed."""
    async with FileOpsClient.attach(root=study.parent, role="editor") as made:
        yield made


async def until_started(client: FileOpsClient) -> None:
    while not (folders := await client.record_status()) or folders[0].state == "starting" or folders[0].n_to_copy:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def entries_of(client: FileOpsClient, n_entries: int) -> Any:
    """Wait until so many changes are recorded, and return them, the newest first."""
    async with asyncio.timeout(PATIENCE_S):
        while len(entries := (await client.log()).entries) < n_entries:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return entries


async def edited(agent: FileOpsClient, study: Path) -> str:
    await agent.read(study)
    steps = [
        {"kind": "edit", "cell_id": "c1", "old_string": "print(x)", "new_string": "print(1)"},
        {"kind": "insert", "cell_type": "code", "source": "y = 2", "after": "c1"},
    ]
    result = await agent.edit_notebook(study, steps)
    assert result.ok, result.output
    return str(result.details.get("cells", [])[1]["cell_id"])


def saved_by_a_person(cells: list[dict[str, Any]]) -> str:
    cells[0]["source"] = ["# Mine\n", "\n", "text"]
    return written(cells)


def written_anew(cells: list[dict[str, Any]]) -> str:
    """As Jupyter saves: all of it, in another form."""
    return written(cells, indent=2)


def run_again(cells: list[dict[str, Any]]) -> str:
    cells[1]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}]
    return written(cells, indent=2)


def is_of_c2(entry: RecordEntry) -> bool:
    return [each.cell_id for each in entry.cells] == ["c2"]


async def terminal(shared: Place, study: Path, *arguments: str) -> list[str]:
    done = await asyncio.to_thread(shared.run, *arguments, cwd=study.parent)
    assert done.stderr == b"", done.stderr
    return done.stdout.decode().splitlines()


async def test_log_and_history_name_cells_whoever_changed_them(
    agent: FileOpsClient, person: FileOpsClient, study: Path, shared: Place
) -> None:
    new = await edited(agent, study)
    (edit,) = await agent.history()
    assert [(each.kind, each.cell_id, each.index) for each in edit.cells] == [("edit", "c1", 1), ("insert", new, 2)]
    n_entries = 1
    for change in (saved_by_a_person, written_anew, run_again):
        study.write_text(change(json.loads(study.read_text())["cells"]))
        await entries_of(person, n_entries + 1)
        step = {"kind": "source", "cell_id": "c2", "source": f"z = {n_entries}"}
        assert (await agent.edit_notebook(study, [step])).ok  # else what one program writes in a row is one change
        n_entries += 2
        await entries_of(person, n_entries)
    run, form, saved, made = [entry for entry in await entries_of(person, n_entries) if not is_of_c2(entry)]
    assert [(each.other_change, len(each.cells)) for each in (run, form)] == [("outputs only", 0), ("form only", 0)]
    assert [(each.kind, each.cell_id) for each in saved.cells] == [("source", "intro")]
    assert [(each.kind, each.cell_id) for each in made.cells] == [("source", "c1"), ("insert", new)]
    shown = await terminal(shared, study, "log", "--all")
    assert [line.rpartition("  (")[2] for line in shown] == [
        "cell c2)", "outputs only)", "cell c2)", "form only)", "cell c2)", "cell intro)", f"cells c1, {new})",
    ]  # fmt: skip


async def test_lists_of_what_is_not_kept_name_the_cells(
    agent: FileOpsClient, person: FileOpsClient, study: Path, shared: Place
) -> None:
    new = await edited(agent, study)
    await entries_of(person, 1)
    (file,) = (await person.unkept()).files
    assert [change.cell_ids for change in file.changes] == [("c1", new)]
    assert (await agent.edit_notebook(study, [{"kind": "delete", "cell_id": "c1"}])).ok
    await entries_of(person, 2)
    listed = await terminal(shared, study, "changes")
    assert any(line.endswith(f"  (cell {new})") for line in listed), listed
    (file,) = (await person.unkept()).files
    assert {name for change in file.changes for name in change.cell_ids or ()} == {new}


async def test_entry_and_diff_show_cells_below_their_names(
    agent: FileOpsClient, person: FileOpsClient, study: Path, shared: Place
) -> None:
    new = await edited(agent, study)
    (entry,) = await entries_of(person, 1)
    of_entry = await terminal(shared, study, "log", entry.entry_id)
    changed = [
        "cell c1 · code · index 1", "@@ -1,3 +1,3 @@", " import os", "-print(x)", "+print(1)", " ",
        f"cell {new} · code · index 2 · inserted", "@@ -0,0 +1 @@", "+y = 2",
    ]  # fmt: skip
    assert of_entry[of_entry.index("") + 1 :] == changed
    assert (await terminal(shared, study, "diff", entry.entry_id))[1:] == changed
    in_json = json.loads("\n".join(await terminal(shared, study, "log", entry.entry_id, "--json")))
    assert [each["cell_id"] for each in in_json["cells"]] == ["c1", new]
    assert "print(1)" in in_json["diff"]


async def test_blame_names_who_wrote_each_line_of_a_source_also_after_jupyter_wrote_the_file_anew(
    agent: FileOpsClient, person: FileOpsClient, study: Path, shared: Place
) -> None:
    new = await edited(agent, study)
    cells = json.loads(study.read_text())["cells"]
    study.write_text(written(cells, indent=4))
    await entries_of(person, 2)
    by_cells = await person.blame(study, cells=True)
    (by_text, *_) = await person.blame(study)
    found = [(each.cell_id, each.first_line, each.n_lines, each.by and each.by.label) for each in by_cells]
    assert found == [
        ("intro", 1, 3, None), ("c1", 4, 1, None), ("c1", 5, 1, "Codex"), ("c1", 6, 1, None), (new, 7, 1, "Codex"),
    ]  # fmt: skip
    assert by_text.cell_id is None
    lines = await terminal(shared, study, "blame", str(study))
    headings = [line for line in lines if line.startswith("cell ")]
    assert headings == ["cell intro", "cell c1", f"cell {new}"]
    (mine,) = [line for line in lines if line.endswith("5) print(1)")]
    assert "Codex" in mine
    assert os.path.basename(study) not in "".join(lines)
