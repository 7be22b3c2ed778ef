"""A person works in Jupyter while an agent edits the same notebook: JupyterLab's requests to a real Jupyter server.

JupyterLab reads the whole notebook and saves the whole notebook, which the server writes in nbformat's form.
"""

import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient
from support.ending import end_process
from support.foreign_packages import python_with
from support.patience import PATIENCE_S, wait_until

JUPYTER = "jupyter-server==2.21.1"
TOKEN = "of-this-test"
PICTURE = {"data": {"image/png": "iVBORw0KGgo="}, "metadata": {}, "output_type": "display_data"}
PRINTED = {"name": "stdout", "output_type": "stream", "text": "3\n"}


@dataclass(frozen=True)
class Jupyter:
    """The requests of JupyterLab for one notebook."""

    port: int
    name: str

    def opened(self) -> dict[str, Any]:
        """Return the notebook as JupyterLab has it when a person opens or reloads it."""
        model = self._ask("GET", f"{self.name}?content=1&type=notebook", None)
        assert "message" not in model, model["message"]  # what nbformat finds wrong with it
        content: dict[str, Any] = model["content"]
        return content

    def last_modified(self) -> str:
        """Return what JupyterLab compares before it saves: if it has changed, the person is asked."""
        return str(self._ask("GET", f"{self.name}?content=0", None)["last_modified"])

    def save(self, content: dict[str, Any]) -> None:
        self._ask("PUT", self.name, {"type": "notebook", "format": "json", "content": content})

    def make_checkpoint(self) -> None:
        self._ask("POST", f"{self.name}/checkpoints", {})

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"/api/contents/{path}", sent, {"Authorization": f"token {TOKEN}"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status in {200, 201}, text
        return json.loads(text)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A notebook in a form that Jupyter does not write: its save changes nearly every line."""
    path = tmp_path / "project" / "study.ipynb"
    path.parent.mkdir()
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": "# Title"},
        code("load", "x = 1\nprint(x)", [PRINTED]),
        code("plot", "plot(x)", [PICTURE]),
        code("last", "y = 2", []),
    ]
    document: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    path.write_text(json.dumps(document, indent=4))
    return path


def code(cell_id: str, source: str, outputs: list[Any]) -> dict[str, Any]:
    own = {"cell_type": "code", "id": cell_id, "metadata": {"tags": [cell_id]}, "source": source}
    return {**own, "outputs": outputs, "execution_count": 1 if outputs else None}


@pytest.fixture
def jupyter(tmp_path: Path, study: Path) -> Iterator[Jupyter]:
    own = tmp_path / "jupyter"
    folders = {name: str(own) for name in ("HOME", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    command = [python_with(JUPYTER), "-m", "jupyter_server", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += ["--port=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={study.parent}"]
    own.mkdir()
    with (own / "log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **folders}, stdout=log, stderr=log, cwd=own)
    try:
        wait_until(lambda: process.poll() is not None or port_of(own) is not None)
        port = port_of(own)
        assert port is not None, (own / "log").read_text()
        yield Jupyter(port, study.name)
    finally:
        end_process(process)
        process.wait()


def port_of(runtime: Path) -> int | None:
    """Return the port of the server once it listens, which its file then says."""
    for path in runtime.glob("jpserver-*.json"):
        try:
            return int(json.loads(path.read_text())["port"])
        except ValueError:  # it is being written
            return None
    return None


def sources(content: dict[str, Any]) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in content["cells"]}


def outputs(content: dict[str, Any]) -> dict[str, list[str]]:
    of_code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    return {cell["id"]: [output["output_type"] for output in cell["outputs"]] for cell in of_code}


def in_cell(cell_id: str, old: str, new: str) -> dict[str, str]:
    return {"kind": "edit", "cell_id": cell_id, "old_string": old, "new_string": new}


# R-NB-14, R-NB-25, R-NB-31, R-NB-46
@pytest.mark.timeout(400)
async def test_person_in_jupyter_and_agent_lose_no_cell_and_no_output(jupyter: Jupyter, study: Path) -> None:
    async with FileOpsClient.start(root=study.parent) as agent:
        jupyter.make_checkpoint()
        assert (await agent.read(study)).ok
        edited = await agent.edit_notebook(study, [in_cell("load", "x = 1", "x = 10")])
        assert edited.ok, edited.output
        inserted = await agent.edit_notebook(
            study, [{"kind": "insert", "cell_type": "code", "source": "z = 3", "after": "plot"}]
        )
        new = inserted.details.get("cells", [])[0]["cell_id"]

        # The person has nothing unsaved, so JupyterLab shows the agent's edits. They type, run a cell, and it saves.
        shown = jupyter.opened()
        assert sources(shown) == {
            "intro": "# Title", "load": "x = 10\nprint(x)", "plot": "plot(x)", new: "z = 3", "last": "y = 2",
        }  # fmt: skip
        assert outputs(shown) == {"load": ["stream"], "plot": ["display_data"], new: [], "last": []}
        last = shown["cells"][4]
        last["source"], last["outputs"], last["execution_count"] = "y = 20\nprint(y)", [PRINTED], 2
        before = study.read_bytes()
        jupyter.save(shown)
        assert before.splitlines()[1:3] != study.read_bytes().splitlines()[1:3]  # another form

        # The agent goes on in its own cells without reading again, and not in the one that the person has changed.
        again = await agent.edit_notebook(study, [in_cell("load", "print(x)", "print(x + 1)")])
        assert again.ok, again.output
        refused = await agent.edit_notebook(study, [in_cell("last", "y = 2", "y = 3")])
        assert refused.error is not None
        assert refused.error.code == "modified_externally"
        assert "Cell last was changed" in refused.output
        seen = jupyter.last_modified()
        assert (await agent.edit_notebook(study, [in_cell("plot", "plot(x)", "plot(x, y)")])).ok
        assert jupyter.last_modified() != seen  # a save of what is unsaved would ask

        # Saved once more as a whole; then edits of the agent are undone, by their cells.
        jupyter.save(jupyter.opened())
        for result in (again, inserted, edited):
            undone = await agent.undo(edit_id=result.details.get("edit_id"))
            assert undone.ok, undone.output
        shown = jupyter.opened()
        assert sources(shown) == {
            "intro": "# Title", "load": "x = 1\nprint(x)", "plot": "plot(x, y)", "last": "y = 20\nprint(y)",
        }  # fmt: skip
        assert outputs(shown) == {"load": ["stream"], "plot": ["display_data"], "last": ["stream"]}
        assert [cell["metadata"].get("tags") for cell in shown["cells"]] == [None, ["load"], ["plot"], ["last"]]
