"""The protocol as an OpenRPC document (1.3), for generators and explorers that read OpenRPC.

OpenRPC has one direction and no notion of options. `x-sender` names the sender of a method, `x-needs` what it depends
on, `x-since` the first version; a method without a result is a notification. Params are an object, by name.

Names must be unique, and two methods exist in both directions. The server's is then `server:METHOD`; `x-method` is what
is sent.
"""

from collections.abc import Sequence
from typing import Any

from fileops import __version__
from fileops.rpc import errors
from fileops.schema.json_schema import definitions, result_schema, schema_of
from fileops.schema.messages import Message, messages

Json = dict[str, Any]
OPENRPC = "1.3.2"
_REF = "#/components/schemas/"

ERRORS = {
    errors.PARSE_ERROR: "Parse error",
    errors.INVALID_REQUEST: "Invalid request",
    errors.METHOD_NOT_FOUND: "Method not found",
    errors.INVALID_PARAMS: "Invalid params",
    errors.INTERNAL_ERROR: "Internal error",
    errors.SERVER_NOT_INITIALIZED: "Server not initialized",
    errors.REQUEST_CANCELLED: "Request cancelled",
}


def document() -> Json:
    table = messages()
    defs = definitions(table)
    return _move_references(
        {
            "openrpc": OPENRPC,
            "info": {
                "title": "fileops-server",
                "version": __version__,
                "description": "JSON-RPC 2.0 in LSP frames, in both directions. See docs/PROTOCOL.md.",
            },
            "methods": _methods(table, defs),
            "components": {
                "schemas": defs,
                "errors": {str(code): {"code": code, "message": text} for code, text in ERRORS.items()},
            },
        }
    )


def _methods(table: Sequence[Message], defs: Json) -> list[Json]:
    of_clients = {message.method for message in table if message.sender == "client"}
    return [
        _method(message, defs, is_name_taken=message.sender == "server" and message.method in of_clients)
        for message in table
    ]


def _method(message: Message, defs: Json, *, is_name_taken: bool) -> Json:
    method: Json = {
        "name": f"server:{message.method}" if is_name_taken else message.method,
        "x-method": message.method,
        "paramStructure": "by-name",
        "params": _params(message, defs),
        "x-sender": message.sender,
        "x-since": message.since,
    }
    if message.needs:
        method["x-needs"] = message.needs
    if message.kind == "request":
        method["result"] = {"name": "result", "schema": result_schema(message)}
        method["errors"] = [{"$ref": f"#/components/errors/{code}"} for code in ERRORS]
    return method


def _params(message: Message, defs: Json) -> list[Json]:
    """Return a descriptor of each key, the required ones first, as OpenRPC requires."""
    if message.params is None:
        return []
    schema = defs[schema_of(message.params)["$ref"].rpartition("/")[2]]
    required = schema.get("required", [])
    listed = [{"name": name, "required": name in required, "schema": key} for name, key in schema["properties"].items()]
    return sorted(listed, key=lambda key: not key["required"])


def _move_references(value: Any) -> Any:
    """Return a copy whose references lead to OpenRPC's place for schemas."""
    if isinstance(value, list):
        return [_move_references(item) for item in value]
    if not isinstance(value, dict):
        return value
    moved: Json = {str(key): _move_references(item) for key, item in value.items()}
    if isinstance(moved.get("$ref"), str):
        moved["$ref"] = moved["$ref"].replace("#/$defs/", _REF)
    return moved
