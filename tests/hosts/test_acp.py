"""Gemini CLI as an ACP agent whose files are those of a person's editor, with a scripted model."""

import asyncio
from pathlib import Path

import pytest

from hosts.hosts import CONVERSATION_S, Place, start_gemini_acp
from hosts.scripted_model import CallOfHost, Say, ScriptedModel, serving
from support.editor_client import editor_client
from support.examples import example
from support.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(900)


async def test_gemini_reads_an_unsaved_buffer_and_writes_without_clobbering(tmp_path: Path) -> None:
    """The old text is in the buffer only, and the person types on: the buffer has both changes, the disk neither."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    path = project / "a.txt"
    path.write_text("saved\n")
    loop = asyncio.get_running_loop()
    async with editor_client(project, "workspace/applyEdit") as editor:
        editor.open(path)
        editor.set_text(path, "hello x\nlast\n")

        def type_more() -> None:
            asyncio.run_coroutine_threadsafe(typed(), loop).result(PATIENCE_S)

        async def typed() -> None:
            editor.type(path, "last", "last, typed meanwhile")

        arguments = {"file_path": str(path), "old_string": "hello x", "new_string": "hello y"}
        model = ScriptedModel(
            [
                CallOfHost("replace", {**arguments, "instruction": "Greet y instead of x."}, before=type_more),
                Say("ALL-DONE"),
            ]
        )
        with serving(model):
            start = start_gemini_acp(Place(home, project, model.port))
            run = example("acp_client").run(
                str(project), "Please edit a.txt", start.arguments, files=editor.client, env=start.environment
            )
            assert await asyncio.wait_for(run, CONVERSATION_S) == "end_turn"
        assert editor.text(path) == "hello y\nlast, typed meanwhile\n", [result.text for result in model.results]
    assert path.read_text() == "saved\n"
