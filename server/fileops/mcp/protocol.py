"""The names and shapes of MCP's messages, in both eras. Source: modelcontextprotocol.io/specification.

Legacy: a connection begins with `initialize` (2024-11-05 to 2025-11-25). Modern: 2026-07-28, where each request names
its version and capabilities in `_meta`.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.errors import RequestRefused, RpcError

SERVER_NAME = "fileops-server"

LEGACY_VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25")
LATEST_LEGACY_VERSION = "2025-11-25"
# 2025-03-26 requires batches, which are not supported: its clients are offered the next version.
REPLACED_VERSIONS = {"2025-03-26": "2025-06-18"}
MODERN_VERSION = "2026-07-28"

INITIALIZE = "initialize"
PING = "ping"
DISCOVER = "server/discover"
TOOLS_LIST = "tools/list"
TOOLS_CALL = "tools/call"
ROOTS_LIST = "roots/list"
ELICITATION_CREATE = "elicitation/create"
INITIALIZED = "notifications/initialized"
CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
ROOTS_CHANGED = "notifications/roots/list_changed"

UNSUPPORTED_VERSION = -32022

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

JsonObject = dict[str, object]


class _Params(Struct, frozen=True, kw_only=True, rename="camel"):
    """Accepts unknown keys, as the specification demands."""


class Implementation(_Params, frozen=True, kw_only=True):
    name: str


class McpInitializeParams(_Params, frozen=True, kw_only=True):
    protocol_version: str
    capabilities: JsonObject = {}
    client_info: Implementation | None = None


class CallParams(_Params, frozen=True, kw_only=True):
    """Params of `tools/call`. input_responses, request_state: of a modern call that brings a person's decision."""

    name: str
    arguments: JsonObject | None = None
    input_responses: JsonObject | None = None
    request_state: str | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class CancelledParams(_Params, frozen=True, kw_only=True):
    request_id: str | int


class Root(_Params, frozen=True, kw_only=True):
    uri: str


class RootsResult(_Params, frozen=True, kw_only=True):
    roots: list[Root]


class Peer(Struct, frozen=True, kw_only=True):
    """What is known about the client that made a request. host: None if it has no name."""

    is_modern: bool
    capabilities: JsonObject
    host: str | None

    @property
    def can_elicit(self) -> bool:
        """Whether it can show forms to a person. An empty object means forms; `{"url": {}}` alone does not."""
        elicitation = self.capabilities.get("elicitation")
        return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)

    @property
    def has_roots(self) -> bool:
        return not self.is_modern and isinstance(self.capabilities.get("roots"), dict)


def negotiate_version(wanted: str) -> str:
    """Return the version with which to answer `initialize`."""
    if wanted in LEGACY_VERSIONS:
        return wanted
    return REPLACED_VERSIONS.get(wanted, LATEST_LEGACY_VERSION)


def meta_of(params: object) -> Mapping[str, Any]:
    meta = cast("JsonObject", params).get("_meta") if isinstance(params, dict) else None
    return cast("JsonObject", meta) if isinstance(meta, dict) else {}


def modern_peer(params: object) -> Peer | None:
    """Return who made a modern request; None for a legacy one. Raises: RequestRefused, InvalidParams."""
    meta = meta_of(params)
    if _VERSION_KEY not in meta:
        return None
    version = meta[_VERSION_KEY]
    if version != MODERN_VERSION:
        supported = [MODERN_VERSION, *reversed(LEGACY_VERSIONS)]
        data = {"supported": supported, "requested": version}
        raise RequestRefused(RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version!s:.100}", data))
    place = f"._meta['{_CAPABILITIES_KEY}']"
    if _CAPABILITIES_KEY not in meta:
        raise InvalidParams("is missing", place)
    capabilities = meta[_CAPABILITIES_KEY]
    if not isinstance(capabilities, dict):
        raise InvalidParams("must be an object", place)
    return Peer(is_modern=True, capabilities=cast("JsonObject", capabilities), host=_host_of(meta.get(_CLIENT_KEY)))


def _host_of(client_info: object) -> str | None:
    try:
        return decode(client_info, Implementation).name
    except InvalidParams:
        return None
