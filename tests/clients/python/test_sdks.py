"""What is made for the model APIs, judged by their own SDKs at run time. tests/examples/test_types.py judges the types.

They are installed in folders in the cache (support/foreign_packages.py), but for that of MCP, which is here anyway.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fileops_client import Attachment, FileOpsClient, ResultFormat, ToolError, ToolFormat, ToolResult
from support.examples import SDKS
from support.foreign_packages import python_with

CLIENT = Path(__file__).parents[3] / "clients" / "python"
IMAGE = Attachment(type="image", mime_type="image/png", data=base64.b64encode(b"\x89PNG").decode(), width=1, height=1)
RESULTS = {
    "success": ToolResult(status="success", output="     1→one", tool_name="Read"),
    "error": ToolResult(status="error", output="no", error=ToolError(code="not_read", message="no"), tool_name="Edit"),
    "image": ToolResult(status="success", output="Read image file", attachments=(IMAGE,), tool_name="Read"),
}
# What an SDK is asked: `lists` are the tools with and without extensions, `results` the messages, of its format.
CHECKS: list[tuple[str | None, ToolFormat | ResultFormat, str]] = [
    (SDKS, "anthropic", """
from pydantic import TypeAdapter
from anthropic.types import ToolParam, ToolResultBlockParam
for tools in lists: TypeAdapter(list[ToolParam]).validate_python(tools)
for result in results.values():
    assert TypeAdapter(ToolResultBlockParam).validate_python(result)["tool_use_id"] == "c1"
"""),
    (SDKS, "openai", """
from pydantic import TypeAdapter
from openai.types.chat import ChatCompletionToolParam, ChatCompletionToolMessageParam
for tools in lists: TypeAdapter(list[ChatCompletionToolParam]).validate_python(tools)
for result in results.values():
    assert TypeAdapter(ChatCompletionToolMessageParam).validate_python(result)["tool_call_id"] == "c1"
"""),
    (SDKS, "openai-responses", """
from pydantic import TypeAdapter
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_item_param import FunctionCallOutput
for tools in lists: TypeAdapter(list[FunctionToolParam]).validate_python(tools)
for result in results.values():
    assert TypeAdapter(FunctionCallOutput).validate_python(result)["call_id"] == "c1"
"""),
    ("google-genai", "gemini", """
from google.genai import types
for tools in lists: types.GenerateContentConfig(tools=tools)
parts = {name: types.Part.model_validate(result) for name, result in results.items()}
assert [part.function_response.id for part in parts.values()] == ["c1"] * 3
assert parts["error"].function_response.response == {"error": "no"}
assert parts["image"].function_response.parts[0].inline_data.data.startswith(b"\\x89PNG")
"""),
    (None, "mcp", """
from mcp import types
for tools in lists:
    for tool in tools: types.Tool.model_validate(tool)
for result in results.values(): types.CallToolResult.model_validate(result)
assert types.CallToolResult.model_validate(results["image"]).content[1].type == "image"
"""),
    (SDKS, "pydantic-ai", """
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelRequest
for result in results.values():
    (part,) = TypeAdapter(ModelRequest).validate_python({"kind": "request", "parts": [result]}).parts
    assert (part.tool_call_id, part.tool_name) in {("c1", "Read"), ("c1", "Edit")}
assert part.content[1].data.startswith(b"\\x89PNG")
"""),
]  # fmt: skip
WRONG = """
from fileops_client import FileOpsClient, Options, ToolResult

options: Options = {"freshnes": "content"}

async def misspelt(client: FileOpsClient, result: ToolResult) -> bool:
    await client.tools("anthropik")
    result.for_model("anthropik", "c1")
    return result.code == "not_raed"
"""


@pytest.mark.parametrize(("package", "name", "check"), CHECKS, ids=[name for _, name, _ in CHECKS])
async def test_tool_lists_and_results_are_accepted_by_the_sdk(
    package: str | None, name: Any, check: str, tmp_path: Path
) -> None:
    async with FileOpsClient.in_process(root=tmp_path) as client:
        plain = [] if name == "pydantic-ai" else [await client.tools(name), await client.tools(name, extended=True)]
    results = {case: result.for_model(name, "c1") for case, result in RESULTS.items()}
    values = json.dumps({"lists": plain, "results": results})
    program = f"import json, sys\nvalues = json.loads(sys.argv[1])\nlists, results = values.values()\n{check}"
    python = sys.executable if package is None else python_with(package)
    assert run([python, "-c", program, values]) == (0, "")


async def test_schemas_for_gemini_have_no_key_that_its_subset_lacks(tmp_path: Path) -> None:
    async with FileOpsClient.in_process(root=tmp_path) as client:
        others, geminis = [json.dumps(await client.tools(name, extended=True)) for name in ("mcp", "gemini")]
    for key in ('"additionalProperties"', '"default"'):
        assert key in others
        assert key not in geminis


RUN_BY_SDK = {
    "anthropic": """
from anthropic import beta_async_tool
async def use(tool, path):
    made = beta_async_tool(
        tool.as_function(), name=tool.name, description=tool.description, input_schema=tool.input_schema
    )
    assert made.to_dict()["input_schema"] == tool.input_schema
    return await made.call({"file_path": path})
""",
    "pydantic-ai": """
from pydantic_ai import Agent, Tool
from pydantic_ai.models.test import TestModel
async def use(tool, path):
    def called(**arguments): return tool.as_function()(file_path=path)
    made = Tool(tool.as_function(), takes_ctx=False)
    schema = made.function_schema.json_schema
    assert set(schema["properties"]) == set(tool.input_schema["properties"]), schema
    assert schema["required"] == tool.input_schema["required"]
    named = Tool.from_schema(
        called, name=tool.name, description=tool.description, json_schema=tool.input_schema
    )
    answer = await Agent(TestModel(call_tools=[tool.name]), tools=[named]).run("Read it.")
    return answer.output
""",
}


@pytest.mark.parametrize("name", RUN_BY_SDK)
def test_function_of_an_agent_tool_is_run_by_the_sdk(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bread\n")
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    program = f"""
import asyncio, sys
from fileops_client import FileOpsClient
{RUN_BY_SDK[name]}
async def main(root):
    async with FileOpsClient.start([sys.argv[2], "-P", "-m", "fileops"], root=root) as client:
        tool = (await client.toolbox(enabled=["Read"]))[0]
        assert tool.name == "Read"
        print(await use(tool.agent_tool(), root + "/a.txt"))
asyncio.run(main(sys.argv[1]))
"""
    environment = {**os.environ, "PYTHONPATH": f"{packages}:{CLIENT}"}
    done = subprocess.run(
        [python_with(SDKS), "-c", program, str(tmp_path), sys.executable],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.stderr == ""
    assert "→bread" in done.stdout


def test_bedrock_receives_the_bytes_of_an_image() -> None:
    answer = RESULTS["image"].for_model("bedrock", "c1")["toolResult"]
    assert (answer["toolUseId"], answer["status"]) == ("c1", "success")
    assert answer["content"][1] == {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    assert RESULTS["error"].for_model("bedrock", "c1")["toolResult"]["status"] == "error"


def test_format_that_needs_the_tool_name_reports_its_absence() -> None:
    unnamed = ToolResult(status="success", output="x")
    with pytest.raises(ValueError, match="give `name`"):
        unnamed.for_model("gemini", "c1")
    assert unnamed.for_model("gemini", "c1", name="Read")["functionResponse"]["name"] == "Read"
    with pytest.raises(ValueError, match="no format abacus"):
        unnamed.for_model("abacus", "c1")  # pyrefly: ignore[bad-argument-type]


def test_strict_type_checker_finds_misspelt_options_formats_and_codes(tmp_path: Path) -> None:
    shown = checked(WRONG, tmp_path)
    found = {line.split(":")[1] for line in shown.splitlines() if "error:" in line}
    assert found == {"4", "7", "8", "9"}, shown


def run(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def checked(snippet: str, folder: Path) -> str:
    """What basedpyright prints in strict mode."""
    (folder / "snippet.py").write_text(snippet)
    roots = [str(Path(__file__).parents[3] / place) for place in ("clients/python", "server")]
    (folder / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "strict", "include": ["snippet.py"], "extraPaths": roots})
    )
    done = subprocess.run(
        [str(Path(sys.executable).with_name("basedpyright")), "-p", str(folder), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout
