"""The OpenRPC document against OpenRPC's own schema.

openrpc-meta-schema.json is the npm package @open-rpc/meta-schema 1.14.9 (Apache License 2.0), unchanged.
"""

import json
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from jsonschema import Draft7Validator
from jsonschema_specifications import REGISTRY
from referencing import Resource
from referencing.jsonschema import DRAFT7

from fileops.schema import json_schema, openrpc

META: dict[str, Any] = json.loads((Path(__file__).parent / "openrpc-meta-schema.json").read_text("utf-8"))
# What it takes for a schema is defined in another document, which is JSON Schema's draft 7 under other names.
DIALECT = {
    "allOf": [{"$ref": "http://json-schema.org/draft-07/schema#"}],
    "definitions": {"JSONSchemaObject": {"properties": {"$ref": {"type": "string"}}}},
}
PLACES = ("https://meta.json-schema.tools", "https://meta.json-schema.tools/")
SCHEMAS = cast("Any", REGISTRY).with_resources([(place, Resource(DIALECT, DRAFT7)) for place in PLACES])  # pyrefly: ignore[bad-argument-count]


def require_valid(document: dict[str, Any]) -> None:
    cast("Any", Draft7Validator(META, registry=SCHEMAS)).validate(document)


def test_document_is_valid() -> None:
    require_valid(openrpc.document())


def test_invalid_document_is_detected() -> None:
    document = openrpc.document()
    del document["methods"][5]["name"]
    with pytest.raises(jsonschema.ValidationError):
        require_valid(document)


def test_names_are_unique_as_generators_need_them() -> None:
    """OpenRPC: "The name MUST be unique within the methods array", which its schema cannot express."""
    names = [method["name"] for method in openrpc.document()["methods"]]
    assert sorted(names) == sorted(set(names))


def test_message_of_both_sides_is_named_after_its_second_sender() -> None:
    named = {method["name"]: (method["x-method"], method["x-sender"]) for method in openrpc.document()["methods"]}
    assert named["fileops/approvalMode"] == ("fileops/approvalMode", "client")
    assert named["server:fileops/approvalMode"] == ("fileops/approvalMode", "server")
    assert named["server:$/cancelRequest"] == ("$/cancelRequest", "server")
    assert [name for name, (method, _) in named.items() if name not in {method, f"server:{method}"}] == []


def test_document_has_every_message_of_the_schema() -> None:
    methods = openrpc.document()["methods"]
    assert [(method["x-method"], method["x-sender"]) for method in methods] == [
        (message["method"], message["sender"]) for message in json_schema.document()["messages"]
    ]
    kinds = ["request" if "result" in method else "notification" for method in methods]
    assert kinds == [message["kind"] for message in json_schema.document()["messages"]]
