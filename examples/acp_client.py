"""An ACP client in a terminal: it runs an agent, and serves its files through fileops-server.

The agent reads what an editor has not saved yet, and a write that would lose another writer's change fails.

    python examples/acp_client.py FOLDER PROMPT -- gemini --acp
    python examples/acp_client.py --tools FOLDER PROMPT -- gemini --acp

With --tools the agent also gets the tools of `fileops-server mcp`. Every permission that the agent asks for is granted
once: run it in a folder whose content you can restore. docs/ACP.md explains the messages.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from typing import Any

from fileops_client import FileOpsClient, ToolResult

MAX_LINE_BYTES = 64 << 20  # a message carries whole files
END_S = 3.0  # that an agent has to end by itself
NOT_FOUND, REFUSED, NO_SUCH_METHOD = -32002, -32000, -32601
MCP_SERVER = {
    "name": "fileops",
    "command": "fileops-server",
    "args": ["mcp", "--freshness", "relevant", "--tools", "+write"],
    "env": [],
}
Message = dict[str, Any]


class RequestFailed(Exception):
    """The other side answered with an error, or a request of it cannot be served: a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class AcpClient:
    """One connection to an agent. `files` reads and writes on behalf of its sessions."""

    def __init__(self, agent: Process, files: FileOpsClient) -> None:
        self._agent = agent
        self._files = files
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._reader = asyncio.create_task(self._read())

    async def request(self, method: str, params: Message) -> Any:
        """Raises: RequestFailed; ConnectionError (the agent has ended)."""
        number = len(self._answers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        await asyncio.wait((answer, self._reader), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ConnectionError("the agent has ended")
        return answer.result()

    def _send(self, message: Message) -> None:
        assert self._agent.stdin is not None
        self._agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self._agent.stdout is not None
        while line := await self._agent.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                sys.stderr.write(f"not a message: {line.decode(errors='replace')}")
                continue
            if "method" not in message:
                self._take_answer(message)
            elif "id" in message:
                task = asyncio.create_task(self._answer(message))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)
            else:
                show(message["params"].get("update", {}))

    def _take_answer(self, message: Message) -> None:
        answer = self._answers.get(message["id"])
        if answer is None or answer.done():
            return
        if error := message.get("error"):
            answer.set_exception(RequestFailed(error["code"], error["message"]))
        else:
            answer.set_result(message.get("result"))

    async def _answer(self, message: Message) -> None:
        try:
            result = await self._serve(message["method"], message.get("params") or {})
        except RequestFailed as failure:
            error = {"code": failure.code, "message": str(failure)}
            self._send({"id": message["id"], "error": error})
        else:
            self._send({"id": message["id"], "result": result})

    async def _serve(self, method: str, params: Message) -> Any:
        """Raises: RequestFailed."""
        match method:
            case "fs/read_text_file":
                read = await self._files.read(
                    params["path"],
                    offset=params.get("line"),
                    limit=params.get("limit"),
                    raw=True,
                    session_id=params["sessionId"],
                )
                return {"content": succeeded(read).details.get("text", "")}
            case "fs/write_text_file":
                succeeded(await self._files.write(params["path"], params["content"], session_id=params["sessionId"]))
                return None
            case "session/request_permission":
                allowed = next(option for option in params["options"] if option["kind"] == "allow_once")
                return {"outcome": {"outcome": "selected", "optionId": allowed["optionId"]}}
            case _:
                raise RequestFailed(NO_SUCH_METHOD, f"no such method: {method}")


def succeeded(result: ToolResult) -> ToolResult:
    """Return the result. Raises: RequestFailed, with the sentence for the model."""
    if not result.ok:
        raise RequestFailed(NOT_FOUND if result.code == "not_found" else REFUSED, result.output)
    return result


def show(update: Message) -> None:
    """Print what the agent says, and the titles of its tool calls."""
    match update.get("sessionUpdate"):
        case "agent_message_chunk":
            sys.stdout.write(update["content"].get("text", ""))
        case "tool_call":
            sys.stdout.write(f"\n[{update.get('title', '')}]\n")
        case _:
            return
    sys.stdout.flush()


async def run(
    folder: str,
    prompt: str,
    command: Sequence[str],
    *,
    files: FileOpsClient,
    gives_tools: bool = False,
    env: Mapping[str, str] | None = None,
) -> str:
    """Send one prompt to the agent that `command` starts, in a session for `folder`. Return its reason to stop.

    env: of the agent, None for that of this process. Raises: RequestFailed, ConnectionError.
    """
    agent = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, env=env, limit=MAX_LINE_BYTES, start_new_session=True
    )
    try:
        client = AcpClient(agent, files)
        abilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": abilities})
        servers = [MCP_SERVER] if gives_tools else []
        session = await client.request("session/new", {"cwd": folder, "mcpServers": servers})
        asked = {"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": prompt}]}
        return (await client.request("session/prompt", asked))["stopReason"]
    finally:
        await end(agent)


async def end(agent: Process) -> None:
    """End the agent by the end of its input, then with all processes that it has started."""
    assert agent.stdin is not None
    agent.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            await asyncio.wait_for(agent.wait(), END_S)
        except TimeoutError:
            os.killpg(agent.pid, number)
    await agent.wait()


async def main(folder: str, options: argparse.Namespace) -> None:
    async with FileOpsClient.start(root=folder) as files:
        reason = await run(folder, options.prompt, options.command, files=files, gives_tools=options.tools)
    sys.stdout.write(f"\n({reason})\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run an ACP agent whose files are served by fileops-server.")
    parser.add_argument("--tools", action="store_true", help="give the agent the tools of fileops-server as well")
    parser.add_argument("folder")
    parser.add_argument("prompt")
    parser.add_argument("command", nargs="+", help="the agent, after --")
    given = parser.parse_args()
    asyncio.run(main(os.path.abspath(given.folder), given))
