"""What a hook tells the daemon of a command that may have shown files, in the form of each host."""

from pathlib import Path

import pytest

from fileops.attach.hook_views import unpack, views_of


@pytest.mark.parametrize(
    ("response", "output"),
    [
        ("one\n", "one\n"),
        ([{"type": "text", "text": "one"}, {"type": "image"}, "two"], "one\ntwo"),
        ({"stdout": "one\n", "stderr": "two\n"}, "one\n"),
        ({"content": [{"type": "text", "text": "one"}]}, "one"),
        ({"llmContent": "Output: one"}, "one"),
        ({"llmContent": [{"text": "Output: one"}]}, "one"),
    ],
)
def test_output_of_a_command_is_found_in_the_response_of_each_host(
    tmp_path: Path, response: object, output: str
) -> None:
    (tmp_path / "a").touch()
    views = views_of({"tool_input": {"command": "cat a"}, "tool_response": response, "cwd": str(tmp_path)})
    assert views is not None
    assert views["files"] == [str(tmp_path / "a")]
    assert unpack(str(views["output"])) == output


@pytest.mark.parametrize("response", ["", " \n", [], {}, {"exit_code": 0}, None, 1])
def test_command_without_output_has_shown_nothing(tmp_path: Path, response: object) -> None:
    (tmp_path / "a").touch()
    event = {"tool_input": {"command": "cat a"}, "tool_response": response, "cwd": str(tmp_path)}
    assert views_of(event) is None
