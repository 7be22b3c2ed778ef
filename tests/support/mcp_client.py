"""An MCP client that speaks lines: what an SDK would never send can be sent, and stdout is checked strictly."""

import contextlib
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

from support.rawclient import DAEMON, Message, RawClient

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"


def modern_meta(capabilities: object = None, host: str = "probe", **more: object) -> Message:
    return {
        META_VERSION: "2026-07-28",
        META_CAPABILITIES: {} if capabilities is None else capabilities,
        META_CLIENT: {"name": host, "version": "1"},
        **more,
    }


class McpClient(RawClient):
    """A process of `fileops-server mcp`. Each line of its stdout is one message.

    It serves by itself, unless the environment names the socket of a shared daemon.
    """

    def __init__(self, folder: Path, *options: str, env: dict[str, str] | None = None) -> None:
        where = () if "FILEOPS_SOCKET" in (env or {}) else ("--private",)
        no_host = {"CLAUDE_PROJECT_DIR": "", "CLAUDE_CODE_SESSION_ID": "", "HOME": "/nonexistent"}
        super().__init__((*DAEMON, "mcp", *where, *options), env={**no_host, **(env or {})}, cwd=str(folder))

    def send(self, message: object) -> None:
        self.send_bytes(json.dumps(message).encode("ascii") + b"\n")

    def _take_frames(self, data: bytearray) -> None:
        *lines, rest = bytes(data).split(b"\n")
        data[:] = rest
        with self._changed:
            for line in lines:
                try:
                    self.received.append(json.loads(line))
                except ValueError:
                    self.garbage.append(line)
            self._changed.notify_all()

    def start_to_begin(self, version: str = "2025-11-25", capabilities: object = None, host: str = "probe") -> Any:
        """Ask to `initialize` without waiting; returns the request's id."""
        params = {
            "protocolVersion": version, "capabilities": {} if capabilities is None else capabilities,
            "clientInfo": {"name": host, "version": "1"},
        }  # fmt: skip
        return self.request("initialize", params)

    def begin(self, version: str = "2025-11-25", capabilities: object = None, host: str = "probe") -> Any:
        """The legacy handshake; returns the result of `initialize`."""
        answer = self.answer(self.start_to_begin(version, capabilities, host))
        assert "result" in answer, answer
        self.notify("notifications/initialized")
        return answer["result"]

    def start_tool(self, name: str, meta: Message | None = None, **arguments: object) -> Any:
        """Call a tool without waiting; returns the request's id."""
        params: Message = {"name": name, "arguments": arguments}
        return self.request("tools/call", params if meta is None else {**params, "_meta": meta})

    def tool(self, name: str, meta: Message | None = None, **arguments: object) -> Any:
        """The result of a tool."""
        answer = self.answer(self.start_tool(name, meta, **arguments))
        assert "result" in answer, answer
        return answer["result"]


@contextlib.contextmanager
def mcp_client(folder: Path, *options: str, **more: Any) -> Generator[McpClient]:
    client = McpClient(folder, *options, **more)
    try:
        yield client
    finally:
        client.close()


def texts_of(result: Any) -> list[str]:
    return [item["text"] for item in result["content"] if item["type"] == "text"]
