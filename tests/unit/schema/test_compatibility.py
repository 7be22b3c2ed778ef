"""The schema may grow, and nothing that a client relies on may go. Requirements: R-COMPAT-* of docs/PROTOCOL.md.

protocol-1.json is protocol version 1, frozen: messages and types may be added, and nothing in it may change. What was
added is frozen at a release, by `FILEOPS_FREEZE_PROTOCOL=additions pytest tests/unit/schema/test_compatibility.py`.
With `=anew` the file is written whatever changed, which is for the time before a release of its version.
"""

import json
import os
import re
from pathlib import Path
from typing import Any, cast

import pytest

from fileops.schema import json_schema
from support.wire_schema import SCHEMA, Json

FROZEN = Path(__file__).parent / f"protocol-{json_schema.PROTOCOL_VERSION}.json"
REFERENCE = re.compile(r'"#/\$defs/(\w+)"')


def outline(schema: Json) -> Json:
    """What counts for compatibility: methods, keys, which are required, and their types."""
    return {
        "messages": {
            f"{message['sender']} {message['method']}": {
                key: message[key] for key in ("kind", "params", "result") if key in message
            }
            for message in schema["messages"]
        },
        "types": {name: type_outline(definition) for name, definition in schema["$defs"].items()},
    }


def type_outline(definition: Json) -> Json:
    if "enum" in definition:
        return {"enum": definition["enum"]}
    keys = {
        key: {name: value for name, value in schema.items() if name not in {"description", "default"}}
        for key, schema in definition["properties"].items()
    }
    return {"required": sorted(definition.get("required", [])), "keys": keys}


def received_by_clients() -> set[str]:
    """The types that clients receive, which may gain required keys and lose none; of others it is the reverse."""
    defs = SCHEMA["$defs"]
    below = {name: set(REFERENCE.findall(json.dumps(schema))) for name, schema in defs.items()}
    parts = [message.get("params" if message["sender"] == "server" else "result") for message in SCHEMA["messages"]]
    found: set[str] = set()
    waiting = {"ToolResult", *REFERENCE.findall(json.dumps(parts))}
    while waiting:
        found |= waiting
        waiting = {other for name in waiting for other in below[name]} - found
    return found


RECEIVED = received_by_clients()


def losses(old: Json, new: Json) -> list[str]:
    """What a client of `old` would miss in `new`."""
    found = [f"{name}: changed or gone" for name, m in old["messages"].items() if new["messages"].get(name) != m]
    for name, was in old["types"].items():
        now = new["types"].get(name)
        if now is None:
            found.append(f"{name}: gone")
        elif "enum" in was:
            found += [f"{name}: {value} is gone" for value in was["enum"] if value not in now["enum"]]
        else:
            wider = name not in RECEIVED  # a value that clients only send may be left out as null
            found += [
                f"{name}.{key}: {fault}" for key in was["keys"] if (fault := key_fault(was, now, key, wider=wider))
            ]
            more, less = set(now["required"]) - set(was["required"]), set(was["required"]) - set(now["required"])
            changed = less if name in RECEIVED else more
            found += [f"{name}.{key}: whether it is required has changed" for key in sorted(changed)]
    return found


def key_fault(was: Json, now: Json, key: str, *, wider: bool) -> str | None:
    if key not in now["keys"]:
        return "gone"
    if wider and now["keys"][key] == {"anyOf": [was["keys"][key], {"type": "null"}]}:
        return None
    return None if holds(was["keys"][key], now["keys"][key]) else "has another type, or a value is gone"


def holds(old: Any, new: Any) -> bool:
    """Whether a schema is the same, but for added values of enumerations."""
    if isinstance(old, dict) and isinstance(new, dict):
        was, now = cast("Json", old), cast("Json", new)
        return was.keys() == now.keys() and all(
            set(was[name]) <= set(now[name]) if name == "enum" else holds(was[name], now[name]) for name in was
        )
    if isinstance(old, list) and isinstance(new, list):
        listed, present = cast("list[Any]", old), cast("list[Any]", new)
        return len(listed) == len(present) and all(map(holds, listed, present))
    return old == new


def test_schema_is_compatible_with_the_frozen_one() -> None:
    """R-COMPAT-1"""
    now = outline(SCHEMA)
    freeze = os.environ.get("FILEOPS_FREEZE_PROTOCOL")
    if freeze != "anew":
        assert losses(json.loads(FROZEN.read_text("utf-8")), now) == []
    if freeze in {"additions", "anew"}:
        FROZEN.write_text(json.dumps(now, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


def without_message(new: Json) -> None:
    del new["messages"]["client fileops/undo"]


def without_key(new: Json) -> None:
    del new["types"]["UiExtra"]["keys"]["exact"]


def with_a_required_param(new: Json) -> None:
    new["types"]["ReadParams"]["required"].append("limit")


def with_an_optional_result(new: Json) -> None:
    new["types"]["ToolResult"]["required"].remove("output")


def with_another_type(new: Json) -> None:
    new["types"]["Stats"]["keys"]["added"] = {"type": "string"}


def with_another_type_in_a_list(new: Json) -> None:
    new["types"]["UiExtra"]["keys"]["hunks"]["items"] = {"type": "string"}


def without_a_value_of_a_key(new: Json) -> None:
    new["types"]["UiExtra"]["keys"]["operation"]["enum"].pop()


def renamed(new: Json) -> None:
    keys = new["types"]["EditParams"]["keys"]
    keys["old_text"] = keys.pop("old_string")


def without_code(new: Json) -> None:
    new["types"]["ErrorCode"]["enum"].remove("no_match")


CHANGES = [
    without_message, without_key, renamed, with_a_required_param, with_an_optional_result, with_another_type,
    with_another_type_in_a_list, without_a_value_of_a_key, without_code,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_incompatible_change_is_detected(change: Any) -> None:
    new = json.loads(json.dumps(outline(SCHEMA)))
    change(new)
    assert len(losses(outline(SCHEMA), new)) == 1


def test_additions_are_compatible() -> None:
    """R-COMPAT-1, R-RESULT-2"""
    new = json.loads(json.dumps(outline(SCHEMA)))
    new["messages"]["client fileops/new"] = {"kind": "request", "params": None, "result": {}}
    new["types"]["ReadParams"]["keys"]["extra"] = {"type": "string"}
    new["types"]["ToolResult"]["keys"]["extra"] = {"type": "string"}
    new["types"]["ToolResult"]["required"].append("extra")
    new["types"]["ErrorCode"]["enum"].append("new_code")
    new["types"]["UiExtra"]["keys"]["operation"]["enum"].append("new_operation")
    assert losses(outline(SCHEMA), new) == []
