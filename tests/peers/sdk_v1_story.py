"""A story that the official SDK's client of version 1 lives through; its results go to stdout as JSON.

Run by test_mcp_sdk.py in a virtual environment that has this version: python sdk_v1_story.py FOLDER COMMAND…
"""

import asyncio
import importlib
import json
import sys
from typing import Any


async def story(folder: str, command: list[str]) -> dict[str, Any]:
    mcp: Any = importlib.import_module("mcp")
    stdio: Any = importlib.import_module("mcp.client.stdio")
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> Any:
        questions.append(params.message)
        return mcp.types.ElicitResult(action="accept", content={"decision": "apply"})

    server = mcp.StdioServerParameters(command=command[0], args=command[1:], cwd=folder)
    async with (
        stdio.stdio_client(server) as (reader, writer),
        mcp.ClientSession(reader, writer, elicitation_callback=answer) as session,
    ):
        begun = await session.initialize()
        tools = await session.list_tools()
        path = {"file_path": f"{folder}/.env"}
        results = [
            await session.call_tool("Read", path),
            await session.call_tool("Edit", {**path, "old_string": "two", "new_string": "2"}),
            await session.call_tool("Edit", {**path, "old_string": "nowhere", "new_string": "2"}),
            await session.call_tool("Read", {"file_path": f"{folder}/a.png"}),
        ]
        await session.send_ping()
    return {
        "version": begun.protocolVersion,
        "tools": [tool.name for tool in tools.tools],
        "kinds": [[item.type for item in result.content] for result in results],
        "errors": [result.isError for result in results],
        "questions": questions,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(story(sys.argv[1], sys.argv[2:]))))  # noqa: T201
