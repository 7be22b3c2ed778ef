"""A file that parsed before an edit, and does not parse after it (R-ANS-7)."""

from pathlib import Path
from typing import Any

import pytest

from support.mcp_client import McpClient, mcp_client, texts_of

ROUNDS = 30  # an edit does not wait for a parser that has not started yet; on a busy machine that takes a while
METHODS = "class A:\n    def one(self):\n        pass\n\n    def two(self):\n        pass\n\n    def three(self): ...\n"


def reported(client: McpClient, path: Path, whole: str, broken: str) -> str:
    """Break and mend the file until a report comes, as an edit may be answered before its parser has started."""
    for _ in range(ROUNDS):
        path.write_text(whole)
        client.tool("Read", file_path=str(path))
        result: Any = client.tool("Edit", file_path=str(path), old_string=whole, new_string=broken)
        assert result["isError"] is False
        if found := [text for text in texts_of(result) if "no longer parses" in text]:
            return found[0]
    pytest.fail("no report")


@pytest.mark.parametrize(
    ("name", "whole", "broken", "report"),
    [
        ("a.py", "x = 1\ny = 2\n", "x = 1\ny = (2\n", "a.py no longer parses: line 2: '(' was never closed"),
        ("a.json", '{"a": 1}\n', '{"a": 1,}\n', "a.json no longer parses: line 1: "),
        ("a.toml", "a = 1\nb = 2\n", "a = 1\nb =\n", "a.toml no longer parses: line 2: Invalid value"),
        (
            "a.py",
            METHODS,
            METHODS.replace("two(self)", "two(self"),
            "a.py no longer parses: line 5: '(' was never closed",
        ),
        ("a.py", "x = 1\n", "x = " + "(" * 3000 + "\n", "a.py no longer parses: line 1: too many nested parentheses"),
    ],
    ids=["python", "json", "toml", "method", "nested"],
)
def test_edit_that_breaks_a_file_is_applied_and_reported(
    tmp_path: Path, name: str, whole: str, broken: str, report: str
) -> None:
    with mcp_client(tmp_path) as client:
        client.begin()
        path = tmp_path / name
        assert reported(client, path, whole, broken).startswith(report)
        assert path.read_text() == broken


def test_file_that_did_not_parse_before_is_not_reported(tmp_path: Path) -> None:
    with mcp_client(tmp_path) as client:
        client.begin()
        reported(client, tmp_path / "first.py", "x = 1\n", "x = (\n")  # the parser has started
        path = tmp_path / "a.py"
        path.write_text("x = (\n")
        client.tool("Read", file_path=str(path))
        result = client.tool("Edit", file_path=str(path), old_string="x", new_string="y")
        assert not any("parses" in text for text in texts_of(result))


def test_broken_file_is_not_reported_if_suggestions_are_off(tmp_path: Path) -> None:
    with mcp_client(tmp_path, "--suggestions", "off") as client:
        client.begin()
        path = tmp_path / "a.py"
        path.write_text("x = 1\n")
        client.tool("Read", file_path=str(path))
        result = client.tool("Edit", file_path=str(path), old_string="x = 1", new_string="x = (")
        assert not any("parses" in text for text in texts_of(result))


def test_odd_escape_is_no_error_and_no_warning_in_the_log(tmp_path: Path) -> None:
    with mcp_client(tmp_path, env={"PYTHONWARNINGS": "default"}) as client:
        client.begin()
        path = tmp_path / "a.py"
        path.write_text("x = 1\n")
        client.tool("Read", file_path=str(path))
        result = client.tool("Edit", file_path=str(path), old_string="x = 1", new_string="x = '\\d'")
        assert not any("parses" in text for text in texts_of(result))
    assert "escape" not in client.stderr
