"""The MCP Inspector's command line lists the tools and calls them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.foreign_packages import node_package
from support.patience import PATIENCE_S
from support.rawclient import DAEMON

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


@pytest.mark.timeout(400)
def test_inspector_lists_the_tools(folder: Path) -> None:
    tools = inspect(folder, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["Read", "Edit", "MultiEdit"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("path", "text", "is_error"),
    [("a.txt", "     1→one\n     2→two\n", False), ("missing", "<tool_use_error>File does not exist", True)],
)
def test_inspector_calls_a_tool(folder: Path, path: str, text: str, is_error: bool) -> None:
    call = ("--method", "tools/call", "--tool-name", "Read", "--tool-arg", f"file_path={folder / path}")
    result = inspect(folder, *call)
    assert result["isError"] is is_error
    assert result["content"][0]["text"].startswith(text)


def inspect(folder: Path, *options: str) -> dict[str, Any]:
    node, modules = node_package(INSPECTOR)
    server = [*DAEMON, "mcp", "--private", "--root", str(folder)]
    done = subprocess.run(
        [node, str(modules / ".bin" / "mcp-inspector"), "--cli", *options, "--", *server],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        cwd=folder,
        env={**os.environ, "HOME": str(folder.parent / "home")},
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
