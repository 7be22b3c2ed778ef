"""A story that an agent of openai-agents lives through, its model on loopback; the end goes to stdout as JSON.

Run by test_agent_libraries.py in a virtual environment that has it: python openai_agents_story.py URL FOLDER COMMAND…
"""

import asyncio
import importlib
import json
import sys
from typing import Any


async def story(url: str, folder: str, command: list[str]) -> dict[str, Any]:
    agents: Any = importlib.import_module("agents")
    server: Any = importlib.import_module("agents.mcp")
    openai: Any = importlib.import_module("openai")
    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=url, api_key="none")
    model = agents.OpenAIResponsesModel(model="scripted", openai_client=client)
    params = {"command": command[0], "args": command[1:], "cwd": folder}
    async with server.MCPServerStdio(params=params, client_session_timeout_seconds=60) as files:
        agent = agents.Agent(name="editor", model=model, mcp_servers=[files])
        run = agents.Runner.run_streamed(agent, "Edit a.txt.")
        async for _ in run.stream_events():
            pass
    return {"output": run.final_output}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(story(sys.argv[1], sys.argv[2], sys.argv[3:]))))  # noqa: T201
