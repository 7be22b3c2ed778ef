"""The official Python SDK as the judge: its clients are served, and its types accept each message that we send.

Version 2 is a test dependency, imported by the process that runs these tests: it takes longer than all other imports.
Version 1 cannot be installed beside it, so it gets a virtual environment in the cache.
"""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from support.foreign_packages import python_with
from support.mcp_client import McpClient, mcp_client, modern_meta
from support.patience import PATIENCE_S
from support.pictures import picture
from support.rawclient import DAEMON, Message

if TYPE_CHECKING:
    from mcp.client.context import ClientRequestContext
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

pytestmark = pytest.mark.xdist_group("mcp sdk")
VERSION_1 = "mcp==1.30.0"
LEGACY = ("2024-11-05", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
COMMAND = (*DAEMON, "mcp", "--private", "--tools", "+undo")
FORMS: Message = {"elicitation": {"form": {}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".env").write_text("one\ntwo\nthree\n")
    (tmp_path / "a.png").write_bytes(picture("PNG"))
    return tmp_path


# --- version 2, both eras ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", MODERN), (MODERN, MODERN)])
async def test_client_of_version_2_is_served(folder: Path, mode: Any, version: str) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters
    from mcp_types import ElicitResult, ImageContent

    questions: list[str] = []

    async def answer(context: "ClientRequestContext", params: "ElicitRequestParams") -> "ElicitResult":
        questions.append(params.message)
        return ElicitResult(action="accept", content={"decision": "apply"})

    server = StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), cwd=folder)
    async with Client(server, mode=mode, elicitation_callback=answer) as client:
        assert client.protocol_version == version
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["Read", "Edit", "MultiEdit", "Undo"]
        assert all(tool.output_schema is None for tool in tools)
        path = str(folder / ".env")
        read = await client.call_tool("Read", {"file_path": path})
        assert _text(read).startswith("     1→one\n")
        edited = await client.call_tool("Edit", {"file_path": path, "old_string": "two", "new_string": "2"})
        assert edited.is_error is False, edited
        assert (folder / ".env").read_text() == "one\n2\nthree\n"
        assert [question.split("\n")[0] for question in questions] == ["Confirm Edit: .env"]
        image = (await client.call_tool("Read", {"file_path": str(folder / "a.png")})).content[1]
        assert isinstance(image, ImageContent)
        undone = await client.call_tool("Undo", {"file_path": path})
        assert undone.is_error is False
    assert (folder / ".env").read_text() == "one\ntwo\nthree\n"


def _text(result: "CallToolResult") -> str:
    from mcp_types import TextContent

    item = result.content[0]
    assert isinstance(item, TextContent)
    return item.text


# --- version 1 ---------------------------------------------------------------------------------------------------


@pytest.mark.timeout(400)
def test_client_of_version_1_is_served(folder: Path) -> None:
    script = Path(__file__).with_name("sdk_v1_story.py")
    done = subprocess.run(
        [python_with(VERSION_1), str(script), str(folder), *COMMAND],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["version"] == "2025-11-25"
    assert told["tools"] == ["Read", "Edit", "MultiEdit", "Undo"]
    assert told["kinds"] == [["text"], ["text"], ["text"], ["text", "image"]]
    assert told["errors"] == [False, False, True, False]
    assert len(told["questions"]) == 1
    assert (folder / ".env").read_text() == "one\n2\nthree\n"


# --- the types of each revision ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_types_of_a_legacy_revision_accept_each_message(folder: Path, version: str) -> None:
    from mcp_types.methods import parse_server_request, validate_server_result

    with mcp_client(folder, "--tools", "+undo") as client:
        capabilities: Message = {"roots": {}, **(FORMS if version != "2024-11-05" else {})}
        validate_server_result("initialize", version, client.begin(version, capabilities))
        question = client.question("roots/list")
        parse_server_request("roots/list", version, question.get("params"))
        client.reply(question["id"], {"roots": [{"uri": folder.as_uri()}]})
        validate_server_result("tools/list", version, client.result("tools/list"))
        for name, arguments in calls(folder):
            validate_server_result("tools/call", version, client.tool(name, **arguments))
        if version != "2024-11-05":
            _check_question(client, folder, version)


def _check_question(client: McpClient, folder: Path, version: str) -> None:
    from mcp_types.methods import parse_server_notification, parse_server_request

    arguments = edit_of_protected(folder)
    edit = client.start_tool("Edit", {"progressToken": 7}, **arguments)
    question = client.question("elicitation/create")
    parse_server_request("elicitation/create", version, question["params"])
    parse_server_notification("notifications/progress", version, client.notification("notifications/progress"))
    client.notify("notifications/cancelled", {"requestId": edit})
    withdrawn = client.notification("notifications/cancelled")
    parse_server_notification("notifications/cancelled", version, withdrawn)


def test_types_of_the_modern_revision_accept_each_message(folder: Path) -> None:
    from mcp_types.methods import validate_server_result

    with mcp_client(folder, "--tools", "+undo") as client:
        meta = {"_meta": modern_meta(FORMS)}
        validate_server_result("server/discover", MODERN, client.result("server/discover", meta))
        validate_server_result("tools/list", MODERN, client.result("tools/list", meta))
        for name, arguments in calls(folder):
            result = client.result("tools/call", {"name": name, "arguments": arguments, **meta})
            validate_server_result("tools/call", MODERN, result)
        asked = client.result("tools/call", {"name": "Edit", "arguments": edit_of_protected(folder), **meta})
        assert asked["resultType"] == "input_required"
        validate_server_result("tools/call", MODERN, asked)


def calls(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    path = str(folder / ".env")
    return [
        ("Read", {"file_path": path}),
        ("Read", {"file_path": str(folder / "a.png")}),
        ("Read", {"file_path": str(folder / "missing")}),
        ("Read", {"file_path": 3}),
        ("Edit", {"file_path": path, "old_string": "nowhere", "new_string": "x"}),
        ("Undo", {}),
    ]


def edit_of_protected(folder: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", {"file_path": str(folder / ".env"), "old_string": "two", "new_string": "2"})
