"""Strict decoding: each refusal names the place and the reason. R-PARAMS-* of docs/PROTOCOL.md."""

# ruff: noqa: E501 - tables are read by the line

from typing import Any

import msgspec
import pytest

from fileops.rpc.decode import InvalidParams, decode
from fileops.wire import types as wire
from fileops.wire.commands import BashParams

READ: dict[str, Any] = {"file_path": "/a"}
EDIT: dict[str, Any] = {"file_path": "/a", "old_string": "x", "new_string": "y"}
MULTI: dict[str, Any] = {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]}

TAKEN: list[tuple[str, dict[str, Any], type[msgspec.Struct], dict[str, Any]]] = [
    ("only what is required", READ, wire.ReadParams, {"offset": None, "limit": None, "session_id": None}),
    ("a float without fraction is an integer", {**READ, "offset": 3.0}, wire.ReadParams, {"offset": 3}),
    ("offset below one", {**READ, "offset": -4}, wire.ReadParams, {"offset": -4}),
    ("a huge integer", {**READ, "offset": 10**30}, wire.ReadParams, {"offset": 10**30}),
    ("null for an optional key", {**READ, "limit": None}, wire.ReadParams, {"limit": None}),
    ("null for an optional boolean", {**EDIT, "replace_all": None}, wire.EditParams, {"replace_all": None}),
    ("LSP's tokens", {**READ, "workDoneToken": 1, "partialResultToken": "p"}, wire.ReadParams, {"work_done_token": 1}),
    ("text with lone surrogates", {**READ, "file_path": "/\udce9"}, wire.ReadParams, {"file_path": "/\udce9"}),
    ("an empty text", {**EDIT, "old_string": ""}, wire.EditParams, {"old_string": ""}),
    ("a key named jsonrpc inside a text", {**EDIT, "new_string": '{"jsonrpc": "2.0"}'}, wire.EditParams, {}),
]
KEYS_OF_READ = "unknown key; there are: session_id, file_path, offset, limit, raw, cell_id, outputs"
MODES = 'must be one of "default", "auto_edit", "yolo"'
REFUSED: list[tuple[str, object, type[msgspec.Struct], str, str]] = [
    ("missing key", {}, wire.ReadParams, "$.file_path", "is missing"),
    ("null for a required key", {"file_path": None}, wire.ReadParams, "$.file_path", "must be a string, not null"),
    ("number for text", {"file_path": 5}, wire.ReadParams, "$.file_path", "must be a string, not a number"),
    ("text for a boolean", {**EDIT, "replace_all": "false"}, wire.EditParams, "$.replace_all", "must be true or false, not a string"),
    ("number for a boolean", {**EDIT, "dry_run": 1}, wire.EditParams, "$.dry_run", "must be true or false, not a number"),
    ("text for an integer", {**READ, "offset": "3"}, wire.ReadParams, "$.offset", "must be an integer, not a string"),
    ("boolean for an integer", {**READ, "offset": True}, wire.ReadParams, "$.offset", "must be an integer, not a boolean"),
    ("a fraction", {**READ, "offset": 1.5}, wire.ReadParams, "$.offset", "must be an integer, not a number with a fraction"),
    ("limit of zero", {**READ, "limit": 0}, wire.ReadParams, "$.limit", "must be at least 1"),
    ("unknown key", {**READ, "path": "/b"}, wire.ReadParams, "$.path", KEYS_OF_READ),
    ("odd unknown key", {**READ, "a b": 1}, wire.ReadParams, "$['a b']", KEYS_OF_READ),
    ("unknown key that is no Unicode", {**READ, "\udce9": 1}, wire.ReadParams, "$['\udce9']", KEYS_OF_READ),
    ("unknown key with null", {**READ, "path": None}, wire.ReadParams, "$.path", KEYS_OF_READ),
    ("a list for params", [], wire.ReadParams, "$", "must be an object, not an array"),
    ("a text for params", "x", wire.ReadParams, "$", "must be an object, not a string"),
    ("no edits", {**MULTI, "edits": []}, wire.MultiEditParams, "$.edits", "At least one edit operation is required"),
    ("edits no list", {**MULTI, "edits": {}}, wire.MultiEditParams, "$.edits", "must be an array, not an object"),
    ("edits null", {**MULTI, "edits": None}, wire.MultiEditParams, "$.edits", "must be an array, not null"),
    ("null in a step", {**MULTI, "edits": [{"old_string": None, "new_string": "y"}]}, wire.MultiEditParams, "$.edits[0].old_string", "must be a string, not null"),
    ("unknown key in a later step", {**MULTI, "edits": [*MULTI["edits"], {"old_string": "x", "new_string": "y", "all": 1}]}, wire.MultiEditParams, "$.edits[1].all", "unknown key; there are: old_string, new_string, replace_all, strategy"),
    ("a step that is no object", {**MULTI, "edits": ["x"]}, wire.MultiEditParams, "$.edits[0]", "must be an object, not a string"),
    ("no count", {**EDIT, "expected_replacements": 0}, wire.EditParams, "$.expected_replacements", "must be at least 1"),
    ("a timeout in milliseconds", {"command": "true", "timeout_s": 3_600_000}, BashParams, "$.timeout_s", "must be at most 86400"),
    ("a timeout of nothing", {"command": "true", "timeout_s": 0}, BashParams, "$.timeout_s", "must be greater than 0"),
    ("session of null", {"session_id": None}, wire.CloseSessionParams, "$.session_id", "must be a string, not null"),
    ("a text that is no Unicode for an object", "\udce9", wire.ReadParams, "$", "must be an object, not a string"),
    ("a text that is no Unicode for a step", {**MULTI, "edits": ["\udce9"]}, wire.MultiEditParams, "$.edits[0]", "must be an object, not a string"),
    ("a text that is no Unicode for a choice", {"mode": "\udce9"}, wire.SetApprovalModeParams, "$.mode", MODES),
    ("a text that looks like a place for a choice", {"mode": "a` - at `$.b`"}, wire.SetApprovalModeParams, "$.mode", MODES),
    ("unknown key that looks like a place", {**READ, "a` - at `$.b": 1}, wire.ReadParams, "$['a` - at `$.b']", KEYS_OF_READ),
    ("a number for a choice", {"mode": 1}, wire.SetApprovalModeParams, "$.mode", MODES),
    ("no text", {"command": ""}, BashParams, "$.command", "must not be empty"),
    ("a timeout beyond numbers", {"command": "true", "timeout_s": 10**400}, BashParams, "$.timeout_s", "must be a number that is not that large"),
    ("a token that is a list", {**READ, "workDoneToken": []}, wire.ReadParams, "$.workDoneToken", "must be a string or an integer, not an array"),
]  # fmt: skip


# R-PARAMS-1, R-PARAMS-2, R-PARAMS-5
@pytest.mark.parametrize(("value", "into", "fields"), [case[1:] for case in TAKEN], ids=[case[0] for case in TAKEN])
def test_valid_params_are_accepted(value: dict[str, Any], into: type[msgspec.Struct], fields: dict[str, Any]) -> None:
    decoded = decode(value, into)
    assert {name: getattr(decoded, name) for name in fields} == fields
    assert all(type(getattr(decoded, name)) is type(expected) for name, expected in fields.items())


# R-PARAMS-1, R-PARAMS-2, R-PARAMS-3, R-EDIT-1, R-EDIT-5, R-READ-1
@pytest.mark.parametrize(
    ("value", "into", "path", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_invalid_params_are_refused(value: object, into: type[msgspec.Struct], path: str, reason: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        decode(value, into)
    assert (caught.value.path, caught.value.reason) == (path, reason)


def test_path_of_a_huge_key_stays_short() -> None:
    with pytest.raises(InvalidParams) as caught:
        decode({**READ, "x" * 1_000_000: 1}, wire.ReadParams)
    assert len(caught.value.path) < 200


def test_repeated_refusal_names_the_same_place() -> None:
    for _ in range(2):
        with pytest.raises(InvalidParams) as caught:
            decode({"file_path": "/a", "edits": [dict[str, object]()]}, wire.MultiEditParams)
        assert caught.value.path == "$.edits[0].old_string"
