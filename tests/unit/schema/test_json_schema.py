"""The schema as a document: valid, complete, and true of the golden messages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.wire_schema import SCHEMA, Json, faults

GOLDEN = Path(__file__).parents[2] / "golden"
DEFS: dict[str, Json] = SCHEMA["$defs"]


def test_definitions_are_schemas_of_their_dialect() -> None:
    for schema in DEFS.values():
        Draft202012Validator.check_schema(schema)


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set[str]()
    return own | {name for item in value.values() for name in references(item)}


def test_every_reference_has_a_definition() -> None:
    assert references(SCHEMA) <= {f"#/$defs/{name}" for name in DEFS}


def test_every_definition_is_used_by_a_message_or_another() -> None:
    further = {"KeepArgument", "UndoArgument"}  # what `arguments` may hold
    further |= {"CompanionReport", "CompanionAnswer"}  # bodies of a control request
    assert set(DEFS) - {reference.rpartition("/")[2] for reference in references(SCHEMA)} == further


def test_names_of_types_are_plain() -> None:
    assert [name for name in DEFS if not re.fullmatch(r"[A-Z][A-Za-z]+", name)] == []


def test_every_type_and_every_key_has_a_description() -> None:
    """They are written where the type is declared, see schema/descriptions.py."""
    keys = [(f"{name}.{key}", value) for name, of in DEFS.items() for key, value in of.get("properties", {}).items()]
    assert [place for place, schema in (*DEFS.items(), *keys) if not schema.get("description")] == []


def test_description_of_a_key_is_that_of_its_declaration() -> None:
    assert (
        DEFS["ConfirmEditParams"]["properties"]["original_text"]["description"]
        == "The whole text before; null over 1 MB."
    )
    inherited, renamed = (
        DEFS["ReadParams"]["properties"]["session_id"],
        DEFS["OpenedDocument"]["properties"]["languageId"],
    )
    assert "session `default`" in inherited["description"]
    assert renamed["description"] == "Ignored."


def golden_messages() -> list[tuple[str, Any]]:
    """(method, params of a notification or result) of each golden message."""
    by_name = {
        "read": "fileops/read", "edit": "fileops/edit", "multi_edit": "fileops/multiEdit", "undo": "fileops/undo",
        "tools": "fileops/tools", "tracked": "fileops/tracked",
    }  # fmt: skip
    found: list[tuple[str, Any]] = []
    for path in sorted(GOLDEN.glob("*.json")):
        message = json.loads(path.read_text("utf-8"))
        if path.stem == "notifications":
            found += message
        else:
            found.append((next(method for name, method in by_name.items() if path.stem.startswith(name)), message))
    return found


@pytest.mark.parametrize(("method", "message"), golden_messages())
def test_golden_message_fits_the_schema(method: str, message: Json) -> None:
    if "status" in message or method in {"fileops/tools", "fileops/tracked"}:
        assert list(faults("client", method, "result", message)) == []
    else:
        assert list(faults("server", method, "params", message)) == []


@pytest.mark.parametrize("key", ["unknown", "status"])
def test_modified_golden_message_does_not_fit(key: str) -> None:
    message = json.loads((GOLDEN / "edit.json").read_text("utf-8"))
    assert list(faults("client", "fileops/edit", "result", {**message, key: 1}))
