"""Claude Code edits notebooks with its own tool; hooks record what it wrote: R-NB-41 of docs/protocol/notebooks.md."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from support.hooked_host import HookedHost, written_cell
from support.notebook_editor import NotebookEditor
from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, SharedDaemon, shared_daemon, until_recorded

OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}


def code(cell_id: str, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": 1,
        "id": cell_id,
        "metadata": {},
        "outputs": list(outputs),
    }
    return {**cell, "source": source.splitlines(keepends=True)}


@pytest.fixture(autouse=True)
def record_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "study.ipynb"
    path.parent.mkdir()
    cells = [code("c1", "x = 1\nprint(x)", OUTPUT), code("c2", "y = 1", OUTPUT), code("c3", "z = 1")]
    content: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


@pytest.fixture
async def daemon() -> AsyncIterator[SharedDaemon]:
    async with shared_daemon() as made:
        yield made


@pytest.fixture
async def person(daemon: SharedDaemon, study: Path) -> LspClient:
    editor = await daemon.editor(study.parent)
    await until_recorded(editor, study.parent)
    return editor


@pytest.fixture
async def host(daemon: SharedDaemon, study: Path, person: LspClient) -> HookedHost:
    del person
    host = HookedHost(daemon.state, study.parent)
    about = {"tool_name": "Read", "tool_input": {"file_path": str(study)}, "tool_use_id": "toolu_r"}
    response: dict[str, Any] = {"type": "notebook", "file": {"filePath": str(study), "cells": []}}
    await host.hook("PreToolUse", **about)
    await host.hook("PostToolUse", **about, tool_response=response)
    return host


async def entries(person: LspClient, path: Path, n_expected: int) -> list[dict[str, Any]]:
    """The entries of a file, newest first, once all authors are certain."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await person.call("fileops/log", {"file_path": str(path)}))["entries"]
            if len(found) >= n_expected and all(entry["settled"] for entry in found):
                assert len(found) == n_expected
                return found
            await asyncio.sleep(0.02)


def saved(path: Path, cell_id: str, source: str) -> None:
    """A person's save of one cell."""
    content = json.loads(path.read_text(encoding="utf-8"))
    next(cell for cell in content["cells"] if cell["id"] == cell_id)["source"] = [source]
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


async def cells_of(person: LspClient, entry: dict[str, Any]) -> list[tuple[str, str]]:
    shown = await person.call("fileops/entry", {"entry_id": entry["entry_id"]})
    return [(cell["kind"], cell["cell_id"]) for cell in shown["cells"]]


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({"cell_id": "c2", "new_source": "y = 2"}, ["x = 1\nprint(x)", "y = 2", "z = 1"]),
        (
            {"cell_id": "c2", "new_source": "# new", "edit_mode": "insert", "cell_type": "markdown"},
            ["x = 1\nprint(x)", "y = 1", "# new", "z = 1"],
        ),
        (
            {"new_source": "n = 1", "edit_mode": "insert", "cell_type": "code"},
            ["n = 1", "x = 1\nprint(x)", "y = 1", "z = 1"],
        ),
        ({"cell_id": "c2", "new_source": "", "edit_mode": "delete"}, ["x = 1\nprint(x)", "z = 1"]),
        ({"cell_id": "c2", "new_source": "# y", "cell_type": "markdown"}, ["x = 1\nprint(x)", "# y", "z = 1"]),
    ],
)
async def test_cell_that_the_host_wrote_is_an_edit_of_the_session(
    host: HookedHost, study: Path, person: LspClient, given: dict[str, Any], after: list[str]
) -> None:
    before = study.read_bytes()
    await host.edit_notebook(study, given)
    assert sources(study) == after
    (entry,) = await entries(person, study, 1)
    assert (entry["by"]["session_id"], entry["evidence"]) == ("claude-code:s1", "commit")
    assert len(await cells_of(person, entry)) == 1
    undone = await person.call("fileops/undo", {"edit_id": entry["edit_id"]})
    assert undone["status"] == "success" and study.read_bytes() == before


async def test_save_of_another_cell_in_between_is_not_the_agents(
    host: HookedHost, study: Path, person: LspClient
) -> None:
    async def meanwhile() -> None:
        saved(study, "c3", "z = 2")
        await entries(person, study, 1)

    await host.edit_notebook(study, {"cell_id": "c2", "new_source": "y = 2"}, meanwhile=meanwhile)
    saved(study, "c1", "x = 3")
    last, agents, first = await entries(person, study, 3)
    assert [entry["by"]["kind"] for entry in (last, agents, first)] == ["outside", "session", "outside"]
    assert await cells_of(person, agents) == [("source", "c2")]
    await person.call("fileops/undo", {"edit_id": agents["edit_id"]})
    assert sources(study) == ["x = 3", "y = 1", "z = 2"]


@pytest.mark.parametrize("is_before", [False, True])
async def test_save_that_was_read_together_with_the_write_makes_both_unsure(
    host: HookedHost, study: Path, person: LspClient, *, is_before: bool
) -> None:
    """Only the last content was on the disk long enough to be read."""

    def work(given: dict[str, Any]) -> dict[str, Any]:
        there, first = study.read_text(encoding="utf-8"), study.with_name("first.json")
        first.write_text(there, encoding="utf-8")
        if is_before:
            saved(first, "c3", "z = 2")
        response = written_cell({**given, "notebook_path": str(first)})
        if not is_before:
            saved(first, "c3", "z = 2")
        first.replace(study)
        return response

    await host.edit_notebook(study, {"cell_id": "c2", "new_source": "y = 2"}, work=work)
    (entry,) = await entries(person, study, 1)
    assert entry["by"]["kind"] == "unsure"


@pytest.mark.parametrize("answer", [None, {"error": "Cell not found", "original_file": "", "updated_file": ""}])
async def test_nothing_after_a_failed_call_is_the_agents(
    host: HookedHost, study: Path, person: LspClient, answer: dict[str, Any] | None
) -> None:
    given = {"cell_id": "c2", "new_source": "y = 2"}
    await host.edit_notebook(study, given, work=lambda _: answer)
    written_cell({"notebook_path": str(study), **given})  # another program writes what the call would have
    (entry,) = await entries(person, study, 1)
    assert entry["by"]["kind"] == "outside"


async def test_save_before_a_failed_call_is_not_the_agents(host: HookedHost, study: Path, person: LspClient) -> None:
    async def meanwhile() -> None:
        saved(study, "c3", "z = 2")
        await entries(person, study, 1)

    given = {"cell_id": "c2", "new_source": "y = 2"}
    await host.edit_notebook(study, given, meanwhile=meanwhile, work=lambda _: None)
    (entry,) = await entries(person, study, 1)
    assert entry["by"]["kind"] == "outside"


async def test_call_that_the_host_refused_needs_no_help(host: HookedHost, study: Path) -> None:
    call = {
        "tool_name": "NotebookEdit",
        "tool_input": {"notebook_path": str(study), "cell_id": "c9", "new_source": "y = 2"},
        "tool_use_id": "toolu_b",
        "tool_response": '<tool_use_error>Cell with ID "c9" not found in notebook.</tool_use_error>',
    }
    assert await host.hook("PostToolBatch", tool_calls=[call]) == {}


async def test_other_form_is_the_sessions_if_the_host_reports_it(
    host: HookedHost, study: Path, person: LspClient
) -> None:
    """R-COMP-22: another version of the host may keep the outputs."""

    def work(_: dict[str, Any]) -> dict[str, Any]:
        original = study.read_text(encoding="utf-8")
        saved(study, "c2", "y = 2")
        return {"error": "", "original_file": original, "updated_file": study.read_text(encoding="utf-8")}

    await host.edit_notebook(study, {"cell_id": "c2", "new_source": "y = 2"}, work=work)
    (entry,) = await entries(person, study, 1)
    assert (entry["by"]["kind"], entry["evidence"]) == ("session", "command")


async def test_cells_that_the_host_wrote_count_as_known(
    daemon: SharedDaemon, host: HookedHost, study: Path, person: LspClient
) -> None:
    await host.edit_notebook(study, {"cell_id": "c2", "new_source": "y = 2"})
    await entries(person, study, 1)
    agent = await daemon.agent(study.parent, host="claude-code", session="s1")

    async def replaced(cell_id: str) -> Any:
        steps = [{"kind": "source", "cell_id": cell_id, "source": "w = 1"}]
        params = {"file_path": str(study), "cells": steps}
        return await agent.call("fileops/editNotebook", params)

    assert (await replaced("c2")).get("error") is None
    assert (await replaced("c1"))["error"]["code"] == "not_read"


async def test_notebook_with_unsaved_cells_is_saved_before_an_agents_own_tool_reads_it(
    daemon: SharedDaemon, study: Path
) -> None:
    """R-COMP-19, R-NB-43: the editor is asked by the URI of the notebook's file, and the version that it reported."""
    client = await daemon.editor(study.parent, saves=True)
    await until_recorded(client, study.parent)
    editor = NotebookEditor()
    editor.client = cast("Any", client)  # it only notifies
    editor.open(study)
    await client.read(study)  # the cells were compared with the file
    editor.type(1, "y = 2")
    await client.call("fileops/sessions", {})  # the change has arrived
    asked: list[Any] = []

    async def save(params: Any) -> Any:
        asked.append(params)
        editor.save()
        return {"saved": True}

    client.answers["fileops/saveDocument"] = save
    host = HookedHost(daemon.state, study.parent)
    seen = await host.read(study)
    assert asked == [{"uri": study.as_uri(), "version": editor.version}]
    assert [cell["source"] for cell in json.loads(study.read_text(encoding="utf-8"))["cells"]][1] == "y = 2"
    assert "unsaved" not in seen.context


# --- an older notebook over fresh cells ----------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [1, 4])
async def test_cells_that_an_older_save_removed_are_named_and_come_back(
    daemon: SharedDaemon, study: Path, person: LspClient, indent: int
) -> None:
    """R-COMP-24: as when a person overwrites in JupyterLab, which may write another form than the file had."""
    older = json.loads(study.read_text(encoding="utf-8"))
    study.write_text(json.dumps(older, indent=indent), encoding="utf-8")
    tools = ["NotebookEdit", "Undo"]
    agent = await daemon.host(study.parent, "claude-code", hints={"session": "s2"}, further_tools=tools)
    await agent.tool("Read", file_path=str(study))
    for cell_id, source in (("c1", "x = 10\nprint(x)"), ("c3", "z = 10")):
        edited = await agent.tool("NotebookEdit", notebook_path=str(study), cell_id=cell_id, new_source=source)
        assert not edited.get("isError"), edited
    older["cells"][1]["source"] = ["y = 2"]
    study.write_text(json.dumps(older, indent=1) + "\n", encoding="utf-8")
    await last_entry_from_outside(person, study)
    read = await agent.tool("Read", file_path=str(study), limit=1)
    said = "\n".join(item["text"] for item in read["content"])
    assert "over 2 lines of your edit of" in said
    assert "The lines:\ncell c1: x = 10\ncell c3: z = 10\n" in said
    loss_id = said.partition("fileops-server undo ")[2].partition("`")[0]
    params = {"edit_id": loss_id, "dry_run": True}
    shown = await person.call("fileops/undo", params)
    cells = [(cell["kind"], cell["cell_id"]) for cell in shown["ui_extra"]["cells"]]
    assert cells == [("source", "c1"), ("source", "c3")]
    undone = await agent.tool("Undo", edit_id=loss_id)
    assert not undone.get("isError"), undone
    assert sources(study) == ["x = 10\nprint(x)", "y = 2", "z = 10"]


async def last_entry_from_outside(person: LspClient, path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await person.call("fileops/log", {"file_path": str(path)}))["entries"]
            if [entry["by"]["kind"] for entry in found[:2]] == ["outside", "session"]:
                return
            await asyncio.sleep(0.02)
