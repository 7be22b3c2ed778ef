"""What is made for the model APIs, judged by their own SDKs at run time. tests/examples/test_types.py judges the types.

They are installed in folders in the cache (support/foreign_packages.py), but for that of MCP, which is here anyway.
"""

import asyncio
import base64
import json
import os
import subprocess
import sys
from dataclasses import dataclass
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
PROGRAM = """
import asyncio, json, sys, traceback

given, uses = json.loads(sys.argv[1])
wrong = {}, {}

def tried(code, values):
    exec(code, values)
    return values

for name, (values, check) in given.items():
    try:
        tried(check, values)
        wrong[0][name] = ""
    except Exception:
        wrong[0][name] = traceback.format_exc()

async def use_all(command, root):
    from fileops_client import FileOpsClient
    async with FileOpsClient.start(command, root=root) as client:
        tool = (await client.toolbox(enabled=["Read"]))[0]
        assert tool.name == "Read"
        for name, code in uses.items():
            try:
                said = await tried(code, {})["use"](tool.agent_tool(), root + "/a.txt")
                wrong[1][name] = "" if "\\u2192bread" in str(said) else f"it said {said}"
            except Exception:
                wrong[1][name] = traceback.format_exc()

if uses:
    asyncio.run(use_all([sys.argv[2], "-P", "-m", "fileops"], sys.argv[3]))
print(json.dumps(wrong))
"""


@dataclass(frozen=True, slots=True)
class Report:
    """What was wrong with each format and each function of a tool, by name; "" for nothing."""

    formats: dict[str, str]
    functions: dict[str, str]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One process for all that an environment has: most of its time goes into imports."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "a.txt").write_text("bread\n")
    formats: dict[str, str] = {}
    functions: dict[str, str] = {}
    for package in dict.fromkeys(package for package, _, _ in CHECKS):
        given = {name: (asyncio.run(values_of(name, folder)), check) for at, name, check in CHECKS if at == package}
        uses = RUN_BY_SDK if package == SDKS else {}
        packages = tmp_path_factory.mktemp("packages")
        (packages / "msgspec").symlink_to(Path(msgspec.__file__).parent)
        python = sys.executable if package is None else python_with(package)
        done = subprocess.run(
            [python, "-c", PROGRAM, json.dumps([given, uses]), sys.executable, str(folder)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": f"{packages}:{CLIENT}"} if uses else None,
        )
        assert (done.returncode, done.stderr) == (0, "")
        said: tuple[dict[str, str], dict[str, str]] = json.loads(done.stdout)
        formats |= said[0]
        functions |= said[1]
    return Report(formats, functions)


async def values_of(name: Any, folder: Path) -> dict[str, Any]:
    async with FileOpsClient.in_process(root=folder) as client:
        plain = [] if name == "pydantic-ai" else [await client.tools(name), await client.tools(name, extended=True)]
    return {"lists": plain, "results": {case: result.for_model(name, "c1") for case, result in RESULTS.items()}}


@pytest.mark.xdist_group("sdks")
@pytest.mark.parametrize(("name", "check"), [check[1:] for check in CHECKS], ids=[name for _, name, _ in CHECKS])
def test_tool_lists_and_results_are_accepted_by_the_sdk(report: Report, name: str, check: str) -> None:
    assert report.formats[name] == "", check


async def test_schemas_for_gemini_have_no_key_that_its_subset_lacks(tmp_path: Path) -> None:
    async with FileOpsClient.in_process(root=tmp_path) as client:
        others, geminis = [json.dumps(await client.tools(name, extended=True)) for name in ("mcp", "gemini")]
    for key in ('"additionalProperties"', '"default"'):
        assert key in others
        assert key not in geminis


@pytest.mark.xdist_group("sdks")
@pytest.mark.parametrize("name", RUN_BY_SDK)
def test_function_of_an_agent_tool_is_run_by_the_sdk(report: Report, name: str) -> None:
    assert report.functions[name] == "", RUN_BY_SDK[name]


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
