"""`examples/acp_client.py`: the files of an ACP agent, served by the daemon."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.editor_client import editor_client
from support.examples import EXAMPLES, example
from support.patience import PATIENCE_S

AGENT = [sys.executable, str(Path(__file__).parents[1] / "support" / "acp_agent.py")]
READ, WRITE = "fs/read_text_file", "fs/write_text_file"


def read(path: Path, **lines: int) -> Any:
    return (READ, {"path": str(path), **lines})


def write(path: Path, content: str) -> Any:
    return (WRITE, {"path": str(path), "content": content})


async def said(capsys: pytest.CaptureFixture[str], client: Any, folder: Path, *steps: Any) -> list[Any]:
    """What each step came to."""
    await example("acp_client").run(str(folder), json.dumps(steps), AGENT, files=client)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:]]


async def test_agent_reads_unsaved_text_and_writes_into_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("saved\n")
    async with editor_client(tmp_path, "workspace/applyEdit") as editor:
        editor.open(path)
        editor.set_text(path, "typed\nand more\n")
        answers = await said(capsys, editor.client, tmp_path, read(path), write(path, "typed\nand by the agent\n"))
        assert answers == [{"content": "typed\nand more\n"}, None]
        assert editor.text(path) == "typed\nand by the agent\n"
    assert path.read_text() == "saved\n"


async def test_agent_that_would_lose_a_change_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, part, missing = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"
    path.write_text("one\n")
    part.write_text("one\ntwo\nthree\n")
    async with editor_client(tmp_path, "workspace/applyEdit") as editor:
        unread, lines, partly, absent, made = await said(
            capsys,
            editor.client,
            tmp_path,
            write(path, "mine\n"),
            read(part, line=2, limit=1),
            write(part, "mine\n"),
            read(missing),
            write(missing, "new\n"),
        )
    assert (unread["code"], lines, partly["code"], absent["code"], made) == (
        -32000, {"content": "two\n"}, -32000, -32002, None,
    )  # fmt: skip
    assert "has not been read yet" in unread["message"]
    assert (path.read_text(), part.read_text(), missing.read_text()) == ("one\n", "one\ntwo\nthree\n", "new\n")


def test_example_runs_as_a_program_and_offers_the_tools_to_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    steps = json.dumps([read(path), write(path, "two\n"), ("no/such", {})])
    command = [sys.executable, str(EXAMPLES / "acp_client.py"), "--tools", str(tmp_path), steps, "--", *AGENT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    lines = done.stdout.split("\n")
    assert lines[:3] == ["servers: ['fileops']", '{"content": "one\\n"}', "null"]
    assert json.loads(lines[3])["code"] == -32601
    assert lines[5] == "(end_turn)"
    assert path.read_text() == "two\n"
