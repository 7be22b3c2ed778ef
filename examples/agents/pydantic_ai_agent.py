"""An agent of pydantic-ai. You decide on each of its edits at the terminal.

    pip install /path/to/fileops-server 'pydantic-ai-slim[openai]'
    OPENAI_API_KEY=... python pydantic_ai_agent.py FOLDER "Rename cheese to wine in trip.py."

The variable MODEL names another model than the default, as pydantic-ai writes it.
"""

import asyncio
import os
import sys
from base64 import b64decode

from pydantic_ai import Agent, BinaryContent, Tool
from terminal import review

from fileops_client import FileOpsClient, ToolDefinition

MODEL = os.environ.get("MODEL", "openai:gpt-5")


def tool_of(definition: ToolDefinition, files: FileOpsClient) -> Tool[object]:
    """Return one tool of fileops-server as pydantic-ai takes it: with its own name, description and schema."""

    async def call(**arguments: object) -> "str | list[str | BinaryContent]":
        result = await files.execute(definition, arguments, lenient=True)
        images = [BinaryContent(b64decode(image.data), media_type=image.mime_type) for image in result.attachments]
        text = result.text_for_model
        return [text, *images] if images else text

    return Tool[object].from_schema(
        call, name=definition.name, description=definition.description, json_schema=dict(definition.input_schema)
    )


async def run(folder: str, task: str) -> str:
    """Return what the model says when it calls no tool any more."""
    async with FileOpsClient.start(root=folder, confirm_edit=review) as files:
        agent = Agent(
            MODEL,
            instructions=f"{await files.system_prompt()}\nThe project is in {folder}.",
            tools=[tool_of(definition, files) for definition in await files.tools()],
        )
        answer = await agent.run(task)
        return answer.output


if __name__ == "__main__":
    print(asyncio.run(run(os.path.abspath(sys.argv[1]), sys.argv[2])))
