"""The MCP server's answers about itself, in both eras, and the message that withdraws one of its requests."""

from fileops import __version__
from fileops.mcp import protocol, texts
from fileops.mcp.protocol import JsonObject

TTL_MS = 3_600_000

CACHEABLE: JsonObject = {"resultType": "complete", "ttlMs": TTL_MS, "cacheScope": "private"}  # of the modern era
_CAPABILITIES: JsonObject = {"tools": {}}
_SERVER_INFO: JsonObject = {"name": protocol.SERVER_NAME, "version": __version__}


def answer_initialize(wanted_version: str, notice: str | None, *, has_undo: bool) -> JsonObject:
    """Return the result of `initialize`, which begins the legacy era. Args: notice: see McpServer."""
    return {
        "protocolVersion": protocol.negotiate_version(wanted_version),
        "capabilities": _CAPABILITIES,
        "serverInfo": _SERVER_INFO,
        "instructions": _instructions(notice, has_undo=has_undo),
    }


def answer_discover(notice: str | None, *, has_undo: bool) -> JsonObject:
    """Return the result of `server/discover`, in the modern era. Args: notice: see McpServer."""
    return {
        **CACHEABLE,
        "supportedVersions": [protocol.MODERN_VERSION, *reversed(protocol.LEGACY_VERSIONS)],
        "capabilities": _CAPABILITIES,
        "instructions": _instructions(notice, has_undo=has_undo),
        "_meta": {protocol.SERVER_KEY: _SERVER_INFO},
    }


def _instructions(notice: str | None, *, has_undo: bool) -> str:
    return "\n".join(filter(None, (texts.instructions(has_undo=has_undo), notice)))


def withdrawal(msg_id: str) -> dict[str, object]:
    """Return the message that withdraws one of the server's requests."""
    params = {"requestId": msg_id, "reason": "no longer needed"}
    return {"jsonrpc": "2.0", "method": protocol.CANCELLED, "params": params}
