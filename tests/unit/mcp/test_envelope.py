"""What each message is answered with, in both eras: tables over an in-process server."""

import asyncio
import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest

from fileops.compose.mcp_connection import NoEvents
from fileops.fs.memory import MemoryFileSystem
from fileops.mcp.elicitation import McpApprover
from fileops.mcp.host_sessions import HostSessions
from fileops.mcp.options import McpOptions
from fileops.mcp.server import McpServer
from fileops.mcp.texts import instructions
from fileops.model.files import Committed, Snapshot
from fileops.service.fileops import FileOps
from support.in_process import asker_of_host, service_over
from support.mcp_client import META_CAPABILITIES, META_VERSION, modern_meta
from support.patience import PATIENCE_S

Message = dict[str, Any]
SUPPORTED = ["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"]


class Peer:
    """A client in the same process. `sent` is what the server wrote."""

    n_pending_bytes = 0

    def __init__(self, disk: MemoryFileSystem, options: McpOptions, environ: Mapping[str, str]) -> None:
        def build(approver: McpApprover, names: HostSessions) -> FileOps:
            return service_over(disk, NoEvents(), asker_of_host(approver), options.settings, agent=names)

        self.sent: list[Message] = []
        self._changed = asyncio.Event()
        self.server = McpServer(build, options, environ)
        self.server.connection.sink = self

    def write(self, body: bytes) -> bool:
        self.sent.append(json.loads(body))
        self._changed.set()
        return True

    @contextmanager
    def batch(self) -> Generator[None]:
        yield

    def send(self, message: object) -> None:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.server.connection.receive(body) is None

    def request(self, msg_id: object, method: str, params: object = None) -> None:
        message = {"jsonrpc": "2.0", "id": msg_id, "method": method}
        self.send(message if params is None else {**message, "params": params})

    async def answer(self, msg_id: object) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in self.sent:
                    if message.get("id") == msg_id and "method" not in message:
                        self.sent.remove(message)
                        return message
                self._changed.clear()
                await self._changed.wait()

    async def call(self, method: str, params: object = None) -> Message:
        self.request("call", method, params)
        return await self.answer("call")

    async def begin(self, version: str = "2025-11-25") -> Message:
        info = {"name": "probe", "version": "1"}
        return await self.call("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})


@contextmanager
def peer_of(
    disk: MemoryFileSystem | None = None, options: McpOptions | None = None, environ: Mapping[str, str] | None = None
) -> Generator[Peer]:
    disk = disk or MemoryFileSystem()
    disk.make_folder("/w")
    peer = Peer(disk, options or McpOptions(roots=["/w"]), environ or {})
    try:
        yield peer
    finally:
        peer.server.close_service()


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-06-18"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
async def test_initialize_agrees_on_a_version(wanted: str, given: str) -> None:
    with peer_of() as peer:
        result = (await peer.begin(wanted))["result"]
        assert result["protocolVersion"] == given
        assert result["capabilities"] == {"tools": {}}
        assert result["serverInfo"]["name"] == "fileops-server"
        assert result["instructions"] == instructions(has_undo=False)


def test_instructions_are_short_and_begin_with_the_tools() -> None:
    """Hosts put them into every conversation, and cut long ones."""
    for has_undo in (False, True):
        text = instructions(has_undo=has_undo)
        assert len(text) <= 800
        assert text.startswith("Read, Edit and MultiEdit for the files of this workspace: use them instead of ")


MODERN = {"_meta": modern_meta()}
UNKNOWN_VERSION: Message = {"_meta": {META_VERSION: "2031-01-01", META_CAPABILITIES: {}}}
NO_CAPABILITIES: Message = {"_meta": {META_VERSION: "2026-07-28"}}
ODD_CAPABILITIES: Message = {"_meta": {META_VERSION: "2026-07-28", META_CAPABILITIES: []}}

# method, params -> the error's code before `initialize`, and after it; None for a result
REQUESTS: list[tuple[str, object, int | None, int | None]] = [
    ("ping", None, None, None),
    ("tools/list", None, -32600, None),
    ("tools/list", {"_meta": {}}, -32600, None),
    ("tools/call", {"name": "Read", "arguments": {}}, -32600, None),
    ("tools/call", {"name": "Delete", "arguments": {}}, -32600, -32602),
    ("tools/call", {"name": "Undo", "arguments": {}}, -32600, -32602),
    ("tools/call", {}, -32600, -32602),
    ("tools/call", [], -32600, -32602),
    ("tools/call", {"name": "Read", "arguments": []}, -32600, -32602),
    ("resources/list", None, -32600, -32601),
    ("no/such", {}, -32600, -32601),
    ("initialize", {}, -32602, -32600),
    ("initialize", {"protocolVersion": 3}, -32602, -32600),
    ("server/discover", None, -32600, -32601),
    ("server/discover", MODERN, None, None),
    ("tools/list", MODERN, None, None),
    ("tools/call", {"name": "Read", "arguments": {}, **MODERN}, None, None),
    ("tools/call", {"name": "Delete", "arguments": {}, **MODERN}, -32602, -32602),
    ("ping", MODERN, -32601, -32601),
    ("initialize", MODERN, -32601, -32601),
    ("subscriptions/listen", MODERN, -32601, -32601),
    ("tools/list", UNKNOWN_VERSION, -32022, -32022),
    ("ping", UNKNOWN_VERSION, -32022, -32022),
    ("tools/list", NO_CAPABILITIES, -32602, -32602),
    ("tools/call", {"name": "Read", **ODD_CAPABILITIES}, -32602, -32602),
]


@pytest.mark.parametrize(("method", "params", "before", "after"), REQUESTS)
async def test_request_is_answered_as_in_the_table(
    method: str, params: object, before: int | None, after: int | None
) -> None:
    with peer_of() as peer:
        answer = await peer.call(method, params)
        assert answer.get("error", {}).get("code") == before
        if method != "initialize" or before is not None:
            await peer.begin()
        answer = await peer.call(method, params)
        assert answer.get("error", {}).get("code") == after


async def test_unknown_modern_version_names_the_supported_ones() -> None:
    with peer_of() as peer:
        error = (await peer.call("tools/list", UNKNOWN_VERSION))["error"]
        assert error["data"] == {"supported": SUPPORTED, "requested": "2031-01-01"}


async def test_modern_results_are_marked_complete_with_a_ttl() -> None:
    with peer_of() as peer:
        for method in ("server/discover", "tools/list"):
            result = (await peer.call(method, MODERN))["result"]
            assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 3_600_000, "private")
        discovered = (await peer.call("server/discover", MODERN))["result"]
        assert discovered["supportedVersions"] == SUPPORTED
        assert discovered["capabilities"] == {"tools": {}}
        assert discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fileops-server"
        called = (await peer.call("tools/call", {"name": "Read", "arguments": {}, **MODERN}))["result"]
        assert called["resultType"] == "complete"


@pytest.mark.parametrize(
    ("body", "msg_id", "code"),
    [
        (b"nonsense", None, -32700),
        (b"\xff", None, -32700),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
        (b"3", None, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        (b'{"id":1,"method":"ping"}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":3}', 1, -32600),
    ],
)
async def test_malformed_message_is_refused(body: bytes, msg_id: object, code: int) -> None:
    with peer_of() as peer:
        peer.send(body)
        (error,) = peer.sent
        assert (error["id"], error["error"]["code"]) == (msg_id, code)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "never"}},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "id": "fileops-99", "result": {}},
        {"jsonrpc": "2.0", "id": "fileops-99", "error": {"code": 1}},
    ],
)
async def test_message_without_an_answer_gets_none(message: Message) -> None:
    with peer_of() as peer:
        peer.send(message)
        await asyncio.sleep(0)
        assert peer.sent == []


# --- the tools ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [None, MODERN])
@pytest.mark.parametrize("further", [(), ("Undo",)])
async def test_tools_are_listed_with_the_specified_texts(params: object, further: tuple[str, ...]) -> None:
    ordered = json.loads((files("fileops.wire") / "tool_definitions.json").read_bytes())
    with peer_of(options=McpOptions(roots=["/w"], further_tools=further)) as peer:
        await peer.begin()
        tools = (await peer.call("tools/list", params))["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["Read", "Edit", "MultiEdit", *further]
        for tool, wanted in zip(tools, ordered, strict=False):
            assert (tool["description"], tool["inputSchema"]) == (wanted["description"], wanted["input_schema"])
        assert tools[0]["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
        assert tools[0]["_meta"] == {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 200000}
        for tool in tools[1:]:
            assert tool["annotations"] == {
                "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False,
            }  # fmt: skip
            assert tool["_meta"] == {"anthropic/alwaysLoad": True}
        titles = ["Read a file", "Edit a file", "Edit a file in several places", "Undo your edits"]
        assert [tool["title"] for tool in tools] == titles[: len(tools)]
        assert not any("outputSchema" in tool for tool in tools)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("Read", {}, "$.file_path is missing"),
        ("Read", {"file_path": 3}, "$.file_path must be a string, not a number"),
        ("Read", {"file_path": "/w/a", "limit": 0}, "$.limit must be at least 1"),
        ("Read", {"file_path": "/w/a", "session_id": "s"}, "$.session_id unknown key"),
        ("Edit", {"file_path": "/w/a", "old_string": "x"}, "$.new_string is missing"),
        ("Edit", {"file_path": "/w/a", "old_string": "", "new_string": "", "dry_run": True}, "$.dry_run unknown key"),
        ("Edit", {"file_path": "/w/a", "old_string": "", "new_string": "", "strategy": "x"}, "$.strategy unknown key"),
        ("MultiEdit", {"file_path": "/w/a", "edits": []}, "$.edits At least one edit operation is required"),
    ],
)
async def test_invalid_arguments_are_a_tool_error(name: str, arguments: object, sentence: str) -> None:
    with peer_of() as peer:
        await peer.begin()
        result = (await peer.call("tools/call", {"name": name, "arguments": arguments}))["result"]
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith(f"Invalid params: {sentence}")
        assert result["_meta"] == {"fileops/result": {"code": "invalid_params"}}


# --- cancelling --------------------------------------------------------------------------------------------------


class SlowCommit(MemoryFileSystem):
    """A disk whose commits, once they have begun, wait until `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = threading.Event()
        self.go_on = threading.Event()

    def replace(self, snapshot: Snapshot, splices: Any, hooks: Any) -> Committed:
        committed = super().replace(snapshot, splices, hooks)
        self.has_begun.set()
        assert self.go_on.wait(PATIENCE_S)
        return committed


async def test_edit_cancelled_too_late_is_reported_with_the_next_result() -> None:
    disk = SlowCommit()
    with peer_of(disk) as peer:
        await peer.begin()
        arguments = {"file_path": "/w/new.txt", "old_string": "", "new_string": "text\n"}
        peer.request(7, "tools/call", {"name": "Edit", "arguments": arguments})
        assert await asyncio.to_thread(disk.has_begun.wait, PATIENCE_S)
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        disk.go_on.set()
        while peer.server.connection.in_flight():
            await asyncio.wait(peer.server.connection.in_flight())
        assert peer.sent == []
        read = {"name": "Read", "arguments": {"file_path": "/w/new.txt"}}
        for expected in (["An edit of /w/new.txt that was cancelled had been applied already."], []):
            result = (await peer.call("tools/call", read))["result"]
            assert [item["text"] for item in result["content"][1:]] == expected
