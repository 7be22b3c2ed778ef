"""The tools' names, descriptions and schemas are the specified ones, byte for byte."""

import json
from importlib.resources import files

import pytest

from fileops.rpc.json import dumps
from fileops.wire.tools import ALL_TOOLS, BASH, general_guidelines, tool_definitions
from fileops.wire.types import ToolsResult

ORDERED = (files("fileops.wire") / "tool_definitions.json").read_bytes()


# R-TOOLS-1
def test_descriptions_and_schemas_are_the_specified_bytes() -> None:
    """Key order included: the specified file, cut down to nothing but its three keys, comes out again."""
    on_the_wire = json.loads(dumps(ToolsResult(tools=tool_definitions(), guidelines=[])))["tools"]
    parts = [{key: tool[key] for key in ("name", "description", "input_schema")} for tool in on_the_wire]
    assert json.dumps(parts) == json.dumps(json.loads(ORDERED))


def test_each_description_is_in_the_specification() -> None:
    for tool in tool_definitions():
        assert json.dumps(tool.description, ensure_ascii=False).encode() in ORDERED


def test_tools_name_their_requests() -> None:
    assert {tool.name: tool.method for tool in tool_definitions()} == {
        "Read": "fileops/read",
        "Edit": "fileops/edit",
        "MultiEdit": "fileops/multiEdit",
    }


# R-TOOLS-2
def test_guidelines_mention_enabled_tools_only() -> None:
    for enabled in ({"Read"}, {"Edit"}, {"Read", "Edit"}, {"MultiEdit"}):
        others = set(ALL_TOOLS) - enabled
        tools = tool_definitions(enabled)
        assert {tool.name for tool in tools} == enabled
        words = " ".join(line for tool in tools for line in tool.prompt_guidelines).replace(".", " ").split()
        assert not others & set(words)


def test_snippets_and_icons_are_as_specified() -> None:
    tools = {tool.name: (tool.prompt_snippet, tool.icon) for tool in tool_definitions((*ALL_TOOLS, BASH))}
    assert tools["Read"][0] == "Read file contents"
    assert tools["Edit"] == ("Edit file contents", "pencil")
    assert tools["MultiEdit"][1] == "pencil"
    assert tools["Bash"][0] == "Run shell commands"


# R-TOOLS-3
@pytest.mark.parametrize(
    ("enabled", "other_tools", "preference"),
    [
        ((), (), []),
        ((), ("grep", "find", "ls"), []),
        ((), ("bash",), []),
        ((), ("ls", "bash", "grep", "find"), ["Prefer grep/find/ls tools over bash"]),
        ((), ("Grep", "Bash", "WebFetch"), ["Prefer Grep tools over Bash"]),
        ((BASH,), ("find", "ls"), ["Prefer find/ls tools over Bash"]),
        ((BASH,), ("findall",), []),
    ],
)
def test_general_guidelines_mention_existing_tools_only(
    enabled: tuple[str, ...], other_tools: tuple[str, ...], preference: list[str]
) -> None:
    assert general_guidelines(enabled, other_tools) == [*preference, "Be concise in your responses"]
