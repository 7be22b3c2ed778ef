"""Tools for agents in Python: definitions, bare tools, lists for model APIs, calls by name."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient, Options, ResponseError, ToolFormat, system_prompt

NAMES = ["Read", "Edit", "MultiEdit"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
async def client(file: Path) -> AsyncIterator[FileOpsClient]:
    async with FileOpsClient.start(root=file.parent) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("openai", ("function", "parameters")), ("openai-responses", ("parameters",)), ("anthropic", ("input_schema",)),
        ("bedrock", ("toolSpec", "inputSchema", "json")), ("mcp", ("inputSchema",)),
    ],
)  # fmt: skip
async def test_tool_list_has_the_specified_texts(
    client: FileOpsClient, name: ToolFormat, where: tuple[str, ...]
) -> None:
    definitions = await client.tools()
    listed = await client.tools(name)
    assert [definition.name for definition in definitions] == NAMES
    for definition, function in zip(definitions, listed, strict=True):
        schema: Any = function
        for key in where:
            schema = schema[key]
        described = function.get("function") or function.get("toolSpec") or function
        assert schema == definition.input_schema
        assert (described["name"], described["description"]) == (definition.name, definition.description)


async def test_gemini_gets_no_unknown_key(client: FileOpsClient) -> None:
    (listed,) = await client.tools("gemini")
    functions = listed["functionDeclarations"]
    assert [function["name"] for function in functions] == NAMES
    assert '"additionalProperties"' not in json.dumps(functions)
    assert '"default"' not in json.dumps(functions)
    edits = functions[2]["parameters"]["properties"]["edits"]
    assert edits["items"]["required"] == ["old_string", "new_string"]


async def test_unknown_format_is_refused(client: FileOpsClient) -> None:
    with pytest.raises(ValueError, match="no format"):
        await client.tools("abacus")  # pyrefly: ignore[no-matching-overload]


# R-TOOLS-2
async def test_prompt_mentions_enabled_tools_only(client: FileOpsClient) -> None:
    everything = system_prompt(await client.tools())
    assert "- Read: Read file contents\n" in everything
    assert "MultiEdit rather than several Edits" in everything
    some = system_prompt(await client.tools(enabled=["Edit", "Read"]))
    assert "MultiEdit" not in some
    assert "Read a file before editing it" in some
    assert "editing" not in system_prompt(await client.tools(enabled=["Read"]))
    assert [function["name"] for function in await client.tools("anthropic", enabled=["Edit"])] == ["Edit"]
    with pytest.raises(ResponseError) as refused:
        await client.tools(enabled=["Read", "Write"])
    assert (refused.value.code, refused.value.data["path"]) == (-32602, "$.enabled[1]")


# R-TOOLS-3
async def test_prompt_has_the_general_guidelines_of_the_agents_tools(client: FileOpsClient) -> None:
    prompt = await client.system_prompt(enabled=["Read"], other_tools=["bash", "grep", "find", "ls"])
    assert prompt.startswith("Available tools:\n- Read: Read file contents\n\nGuidelines:\n- Use Read to examine files")
    assert prompt.endswith("- Prefer grep/find/ls tools over bash\n- Be concise in your responses")
    assert "bash" not in await client.system_prompt(other_tools=["grep"])


async def test_call_by_name_does_what_the_request_does(client: FileOpsClient, file: Path) -> None:
    reading = await client.call("Read", {"file_path": str(file), "offset": 1.0}, session_id="s")
    assert reading.output == (await client.read(file, offset=1, session_id="s")).output
    edit = {"file_path": str(file), "old_string": "one", "new_string": "1"}
    assert (await client.call("Edit", json.dumps(edit), session_id="s")).ok
    assert (await client.call("Edit", edit)).code == "not_read"
    edits = [{"old_string": "1", "new_string": "2"}, {"old_string": "2\ntwo", "new_string": "3"}]
    assert (await client.call("MultiEdit", {"file_path": str(file), "edits": edits}, session_id="s")).ok
    assert file.read_text() == "3\n"
    nothing = await client.call("Write", {})
    told = "<tool_use_error>No such tool: Write. Available tools: Read, Edit, MultiEdit</tool_use_error>"
    assert (nothing.code, nothing.output) == ("invalid_params", told)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"file_path": "/a"', "are not JSON"), ("[]", "must be an object"), ("", "$.file_path is missing"),
        ({"file_path": 3}, "$.file_path must be a string"), ({"file_path": "/a", "limit": 0}, "$.limit"),
        ({"file_path": "/a", "session_id": "other"}, "$.session_id unknown key; there are: file_path, offset, limit"),
    ],
    ids=str,
)  # fmt: skip
async def test_invalid_arguments_are_reported_to_the_model(client: FileOpsClient, arguments: Any, reason: str) -> None:
    result = await client.call("Read", arguments)
    assert result.code == "invalid_params"
    assert result.output.startswith("<tool_use_error>Invalid parameters. Reason: ")
    assert reason in result.output


async def test_full_tool_executes_and_renders_and_the_plain_one_executes(client: FileOpsClient, file: Path) -> None:
    read, edit, _ = await client.toolbox(session_id="s")
    arguments = {"file_path": str(file)}
    assert await read.render_call({}, is_partial=True) == "read ..."
    result = await read.execute(arguments)
    view = await read.render_result(arguments, result)
    assert (view.call, [line.text for line in view.lines]) == ("read a.txt", ["one", "two"])
    assert read.definition.prompt_snippet == "Read file contents"
    bare = edit.agent_tool()
    assert (bare.name, bare.input_schema) == ("Edit", edit.definition.input_schema)
    assert not {"prompt_snippet", "render_call", "label"} & set(dir(bare))
    calls = [arguments | {"old_string": old, "new_string": new} for old, new in (("one", "1"), ("two", "2"))]
    assert all(result.ok for result in await asyncio.gather(*(bare.execute(call) for call in calls)))
    assert file.read_text() == "1\n2\n"


# --- what models write in practice ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "written", "coerced"),
    [
        ("Read", {"offset": "2", "limit": "1.0"}, [("$.offset", "2", 2), ("$.limit", "1.0", 1.0)]),
        ("Edit", {"old_string": "one", "new_string": "1", "replace_all": "False"}, [("$.replace_all", "False", False)]),
        ("Edit", {"old_string": "one", "new_string": "1", "replace_all": "1"}, [("$.replace_all", "1", True)]),
        ("Edit", {"old_string": "true", "new_string": "[]"}, []),
        (
            "MultiEdit",
            {"edits": '[{"old_string": "one", "new_string": "1", "replace_all": "true"}]'},
            [
                (
                    "$.edits",
                    '[{"old_string": "one", "new_string": "1", "replace_all": "true"}]',
                    [{"old_string": "one", "new_string": "1", "replace_all": "true"}],
                ),
                ("$.edits[0].replace_all", "true", True),
            ],
        ),
        (
            "MultiEdit",
            {"edits": {"old_string": "one", "new_string": "1"}},
            [
                (
                    "$.edits",
                    {"old_string": "one", "new_string": "1"},
                    [{"old_string": "one", "new_string": "1"}],
                )
            ],
        ),
    ],
)
async def test_lenient_call_accepts_common_mistakes_and_reports_them(
    client: FileOpsClient, file: Path, name: str, written: dict[str, Any], coerced: list[tuple[str, Any, Any]]
) -> None:
    await client.read(file)
    arguments = {"file_path": str(file), **written}
    result = await client.call(name, arguments, lenient=True)
    assert result.code in {None, "no_match"}, result.output
    said = [(entry["path"], entry["given"], entry["read_as"]) for entry in result.details.get("coerced", [])]
    assert said == coerced
    if coerced:
        assert (await client.call(name, arguments)).code == "invalid_params"


async def test_lenient_call_refuses_ambiguous_arguments(client: FileOpsClient, file: Path) -> None:
    for written in ({"limit": "many"}, {"limit": "true"}, {"offset": [1]}, {"lines": 3}):
        assert (await client.call("Read", {"file_path": str(file), **written}, lenient=True)).code == "invalid_params"
    twice = await client.call("Read", json.dumps(json.dumps({"file_path": str(file)})), lenient=True)
    assert (twice.ok, [entry["path"] for entry in twice.details.get("coerced", [])]) == (True, ["$"])


async def test_extended_tools_have_and_accept_more_parameters(client: FileOpsClient, file: Path) -> None:
    _, edit, multi = await client.tools(extended=True)
    assert {"strategy", "expected_replacements"} <= set(edit.input_schema["properties"])
    step = multi.input_schema["properties"]["edits"]["items"]["properties"]
    assert step["strategy"]["enum"] == ["exact", "regex", "block"]
    assert "strategy" not in (await client.tools())[1].input_schema["properties"]
    await client.read(file)
    arguments = {"file_path": str(file), "old_string": "o(n)e", "new_string": r"\1", "strategy": "regex"}
    assert (await client.call("Edit", arguments)).code == "invalid_params"
    assert (await client.call("Edit", arguments, extended=True)).ok
    assert file.read_text() == "n\ntwo\n"


async def test_tools_are_requested_once(client: FileOpsClient, file: Path) -> None:
    for _ in range(3):
        await client.call("Read", {"file_path": str(file)})
        await client.session("s").tools("openai")
    assert (await client.stats()).calls.get("fileops/tools") == 1


async def test_texts_of_the_author_replace_the_default_ones(file: Path) -> None:
    large, book = file.with_name("large.txt"), file.with_name("a.ipynb")
    large.write_text("x" * 300_000)
    book.write_text("{}")
    own: Options = {"texts": {"read_reminder": "", "read_advice": "Read a part.", "notebook_advice": ""}}
    async with FileOpsClient.in_process(root=file.parent, initialization_options=own) as client:
        reading = await client.read(file)
        assert reading.output == "     1→one\n     2→two"
        assert (await client.read(large)).output.endswith("maximum allowed size (256KB). Read a part.")
        await client.read(book)
        refused = await client.edit(book, "{", "[")
        assert refused.output == "<tool_use_error>File is a Jupyter Notebook.</tool_use_error>"
    reminder: Options = {"texts": {"read_reminder": "Mind the style guide."}}
    async with FileOpsClient.in_process(root=file.parent, initialization_options=reminder) as client:
        reading = await client.read(file)
        assert reading.output == "     1→one\n     2→two\n\nMind the style guide."
        view = await client.render("Read", {"file_path": str(file)}, result=reading)
        assert [line.text for line in view.lines] == ["one", "two"]
