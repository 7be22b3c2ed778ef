"""What `fileops-server schema` says, compared with messages: each has to be in the table, and to fit its schema.

Clients must accept unknown keys; here they are a fault, so that a key which the schema does not name is noticed.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, cast

from jsonschema import Draft202012Validator

from fileops.schema import json_schema

Json = dict[str, Any]
Sender = Literal["client", "server"]
Part = Literal["params", "result"]
SCHEMA = json_schema.document()
ENTRIES: dict[tuple[Sender, str], Json] = {(entry["sender"], entry["method"]): entry for entry in SCHEMA["messages"]}
# LSP's own parts, of which the server reads or writes some keys only.
_OPEN = ("InitializeParams", "ServerCapabilities")


@cache
def closed_definitions() -> Json:
    """The definitions, with unknown keys refused where the server is the author."""
    return {name: schema if name in _OPEN else _closed(schema) for name, schema in SCHEMA["$defs"].items()}


def _closed(schema: Json) -> Json:
    if schema.get("type") == "object" and "properties" in schema:
        return {"additionalProperties": False, **schema}
    return schema


@cache
def validator(sender: Sender, method: str, part: Part) -> Draft202012Validator:
    schema = ENTRIES[sender, method][part]
    return Draft202012Validator({**({"type": "null"} if schema is None else schema), "$defs": closed_definitions()})


def faults(sender: Sender, method: str, part: Part, value: object) -> Iterator[str]:
    """What is wrong with the params or the result of a message. sender: of the message that names the method."""
    if (sender, method) not in ENTRIES:
        yield f"{method} of the {sender} is not in the table"
        return
    if part == "params" and ENTRIES[sender, method]["params"] is None and value in ({}, None):
        return
    for error in cast("Any", validator(sender, method, part)).iter_errors(value):
        yield f"{method}, {part}{error.json_path[1:]}: {error.message[:300]}"


class Transcript:
    """The messages between one client and one server, in order, as JSON values.

    methods: (sender, method) of what was sent; codes: error codes of results and of JSON-RPC errors; faults: what does
    not fit the schema.
    """

    def __init__(self) -> None:
        self.methods = set[tuple[Sender, str]]()
        self.codes = set[str | int]()
        self.faults: list[str] = []
        self._asked: dict[tuple[Sender, str | int], str] = {}

    def note(self, sender: Sender, message: Json) -> None:
        if (method := message.get("method")) is not None:
            self.methods.add((sender, method))
            if "id" in message:
                self._asked[sender, message["id"]] = method
            if sender == "server":  # tests send wrong params on purpose
                self.faults += faults(sender, method, "params", message.get("params"))
            return
        asker: Sender = "server" if sender == "client" else "client"
        method = self._asked.pop((asker, cast("str | int", message.get("id"))), None)
        if "error" in message:
            if sender == "server":
                self.codes.add(message["error"]["code"])
        elif method is not None and sender == "server":
            result = message.get("result")
            self.faults += faults(asker, method, "result", result)
            error = cast("Json", result).get("error") if isinstance(result, dict) else None
            if isinstance(error, dict):
                self.codes.add(cast("Json", error)["code"])
