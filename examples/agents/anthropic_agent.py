"""An agent on Anthropic's Messages API. You decide on each of its edits at the terminal.

    pip install /path/to/fileops-server anthropic
    ANTHROPIC_API_KEY=... python anthropic_agent.py FOLDER "Rename cheese to wine in trip.py."

The variable MODEL names another model than the default.
"""

import asyncio
import os
import sys

from anthropic import AsyncAnthropic
from anthropic.types import MessageParam, ToolResultBlockParam
from terminal import review

from fileops_client import FileOpsClient

MODEL = os.environ.get("MODEL", "claude-sonnet-4-5")
MAX_TURNS = 30


async def run(folder: str, task: str) -> str:
    """Return what the model says when it calls no tool any more."""
    async with AsyncAnthropic() as api, FileOpsClient.start(root=folder, confirm_edit=review) as files:
        tools = await files.tools("anthropic")
        system = f"{await files.system_prompt()}\nThe project is in {folder}."
        messages: list[MessageParam] = [{"role": "user", "content": task}]
        for _ in range(MAX_TURNS):
            answer = await api.messages.create(
                model=MODEL, max_tokens=8192, system=system, tools=tools, messages=messages
            )
            messages.append({"role": "assistant", "content": answer.content})
            results: list[ToolResultBlockParam] = []
            for block in answer.content:
                if block.type == "tool_use":
                    result = await files.call(block.name, block.input, lenient=True)
                    results.append(result.for_model("anthropic", block.id))
            if not results:
                return "".join(block.text for block in answer.content if block.type == "text")
            messages.append({"role": "user", "content": results})
        return f"stopped after {MAX_TURNS} turns"


if __name__ == "__main__":
    print(asyncio.run(run(os.path.abspath(sys.argv[1]), sys.argv[2])))
