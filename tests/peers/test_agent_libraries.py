"""Libraries that agents are built with, each with a scripted model: their agents read and edit through us.

What counts is what the model sees: the specified texts whole, an error that it can act on, a picture as a picture.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hosts.scripted_model import Call, Say, ScriptedModel, serving
from support.foreign_packages import python_with
from support.patience import PATIENCE_S
from support.pictures import picture
from support.rawclient import DAEMON

PYDANTIC_AI = "pydantic-ai-slim[mcp]==2.68.0"
OPENAI_AGENTS = "openai-agents==0.24.0"
COMMAND = (*DAEMON, "mcp", "--private")
NOT_FOUND = "String to replace not found in file."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "a.png").write_bytes(picture("PNG"))
    return tmp_path


@pytest.mark.timeout(400)
def test_agent_of_pydantic_ai_reads_fails_edits_and_sees_an_image(folder: Path) -> None:
    told = run_story("pydantic_ai_story.py", PYDANTIC_AI, str(folder))
    assert told["tools"] == ["Read", "Edit", "MultiEdit"]
    assert told["output"] == "done"
    read, refused, edited, image = told["answers"]
    assert read.startswith("     1→one\n     2→two\n")
    assert NOT_FOUND in refused
    assert "The file has been updated: line 2." in edited
    assert "Read image file [image/png]" in image
    assert "BinaryImage" in image
    assert (folder / "a.txt").read_text() == "one\n2\nthree\n"


@pytest.mark.timeout(400)
def test_agent_of_openai_agents_reads_fails_edits_and_sees_an_image(folder: Path) -> None:
    path = {"file_path": f"{folder}/a.txt"}
    calls = [
        Call("Read", path),
        Call("Edit", {**path, "old_string": "nowhere", "new_string": "2"}),
        Call("Edit", {**path, "old_string": "two", "new_string": "2"}),
        Call("Read", {"file_path": f"{folder}/a.png"}),
    ]
    with serving(ScriptedModel([*calls, Say("done")])) as model:
        told = run_story("openai_agents_story.py", OPENAI_AGENTS, f"http://127.0.0.1:{model.port}/v1", str(folder))
    assert told == {"output": "done"}
    assert model.tools_at_first == ["Read", "Edit", "MultiEdit"]
    read, refused, edited, image = model.results
    assert read.text.startswith("     1→one\n     2→two\n")
    assert NOT_FOUND in refused.text
    assert edited.text.startswith("The file has been updated: line 2.")
    assert image.has_image
    assert (folder / "a.txt").read_text() == "one\n2\nthree\n"


def run_story(script: str, requirement: str, *arguments: str) -> dict[str, Any]:
    command = [python_with(requirement), str(Path(__file__).with_name(script)), *arguments, *COMMAND]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
