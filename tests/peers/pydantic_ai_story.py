"""A story that an agent of pydantic-ai with a scripted model lives through; what its model saw goes to stdout as JSON.

Run by test_agent_libraries.py in a virtual environment that has it: python pydantic_ai_story.py FOLDER COMMAND…
"""

import asyncio
import importlib
import json
import sys
from typing import Any


async def story(folder: str, command: list[str]) -> dict[str, Any]:
    ai: Any = importlib.import_module("pydantic_ai")
    messages: Any = importlib.import_module("pydantic_ai.messages")
    function: Any = importlib.import_module("pydantic_ai.models.function")
    mcp: Any = importlib.import_module("pydantic_ai.mcp")
    transports: Any = importlib.import_module("fastmcp.client.transports")
    path = {"file_path": f"{folder}/a.txt"}
    calls = [
        ("Read", path),
        ("Edit", {**path, "old_string": "nowhere", "new_string": "2"}),
        ("Edit", {**path, "old_string": "two", "new_string": "2"}),
        ("Read", {"file_path": f"{folder}/a.png"}),
    ]
    asked: list[Any] = []

    def model(history: list[Any], info: Any) -> Any:
        asked.append((history, info))
        n = len(asked) - 1
        if n < len(calls):
            return messages.ModelResponse(parts=[messages.ToolCallPart(*calls[n])])
        return messages.ModelResponse(parts=[messages.TextPart("done")])

    transport = transports.StdioTransport(command=command[0], args=command[1:], cwd=folder)
    agent = ai.Agent(function.FunctionModel(model), toolsets=[mcp.MCPToolset(transport)], retries=3)
    async with agent:
        run = await agent.run("Edit a.txt.")
    answers = [part for message in run.all_messages() for part in message.parts if part.part_kind in RETURNS]
    return {
        "tools": [tool.name for tool in asked[0][1].function_tools],
        "output": run.output,
        "answers": [str(part.content) for part in answers],
    }


RETURNS = ("tool-return", "retry-prompt")

if __name__ == "__main__":
    print(json.dumps(asyncio.run(story(sys.argv[1], sys.argv[2:]))))  # noqa: T201
