"""An agent on OpenAI's Responses API. You decide on each of its edits at the terminal.

    pip install /path/to/fileops-server openai
    OPENAI_API_KEY=... python openai_agent.py FOLDER "Rename cheese to wine in trip.py."

The variable MODEL names another model than the default. The agent joins the daemon that all agents and editors of the
user share: it reads what your editor has not saved, and its edits wait for you in an editor that has the folder open.
Without such an editor they are written at once, apart from protected files such as `.env`.
"""

import asyncio
import os
import sys

from openai import AsyncOpenAI
from openai.types.responses import ResponseInputParam

from fileops_client import FileOpsClient

MODEL = os.environ.get("MODEL", "gpt-5")
MAX_TURNS = 30


async def run(folder: str, task: str) -> str:
    """Return what the model says when it calls no tool any more."""
    async with AsyncOpenAI() as api, FileOpsClient.attach(root=folder, host="openai-agent") as files:
        tools = await files.tools("openai-responses")
        instructions = f"{await files.system_prompt()}\nThe project is in {folder}."
        conversation: ResponseInputParam = [{"role": "user", "content": task}]
        for _ in range(MAX_TURNS):
            answer = await api.responses.create(
                model=MODEL, instructions=instructions, tools=tools, input=conversation, store=False
            )
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return answer.output_text
            for call in calls:
                conversation.append(
                    {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
                )
                result = await files.call(call.name, call.arguments, lenient=True)
                conversation.append(result.for_model("openai-responses", call.call_id))
        return f"stopped after {MAX_TURNS} turns"


if __name__ == "__main__":
    print(asyncio.run(run(os.path.abspath(sys.argv[1]), sys.argv[2])))
