"""What the Python client writes by hand against the server's own types of the wire, of which it knows nothing.

What the daemon sends must fit: every field of the wire has its value, and no value is narrower than the wire.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest
from msgspec import inspect

from clients.protocol_types import PYTHON, lua_types, python_modules
from fileops.api.requests import REQUESTS
from fileops.model import approval
from fileops.schema import json_schema
from fileops.wire import commands
from fileops.wire import types as wire
from fileops_client import callbacks, tool_result
from fileops_client._session import WITHOUT_SESSION
from fileops_client.details import Details

GOLDEN = Path(__file__).parents[1] / "golden"
PAIRS: list[tuple[type[Any], type[Any]]] = [  # what is not generated from the schema
    (callbacks.Question, wire.ConfirmEditParams),
    (callbacks.CommandQuestion, commands.ConfirmCommandParams),
    (callbacks.CorrectionRequest, approval.CorrectionRequest),
    (tool_result.ToolResult, wire.ToolResult),
]


def test_values_are_those_of_the_schema() -> None:
    for name, source in python_modules(json_schema.document()).items():
        assert (PYTHON / name).read_text(encoding="utf-8") == source, "run clients/scripts/protocol_types.py"


def test_generator_names_the_type_for_which_it_fails() -> None:
    schema = json_schema.document()
    del schema["$defs"]["CellUiExtra"]["properties"]["index"]["type"]
    schema["$defs"]["CellUiExtra"]["properties"]["index"]["anyOf"] = [{"type": "unheard-of"}]
    with pytest.raises(KeyError) as failed:
        lua_types(schema)
    assert failed.value.__notes__[0].startswith("It was raised for the type CellUiExtra")
    schema = json_schema.document()
    del schema["$defs"]["EntryResult"]["properties"]["cells"]["description"]
    with pytest.raises(KeyError) as failed:
        python_modules(schema)
    assert failed.value.__notes__[0].startswith("It was raised for the type EntryResult")


@pytest.mark.parametrize(("value", "sent"), PAIRS, ids=lambda kind: kind.__name__)
def test_sent_types_fit_the_clients_values(value: type[Any], sent: type[Any]) -> None:
    assert list(misfits(inspect.type_info(value), inspect.type_info(sent), value.__name__)) == []


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_every_key_of_details_is_known_to_the_client(path: Path) -> None:
    answer = json.loads(path.read_text(encoding="utf-8"))
    details = cast("dict[str, dict[str, object]]", answer).get("details", {}) if isinstance(answer, dict) else {}
    assert set(details) <= set(get_type_hints(Details))


def test_requests_without_a_session_are_known() -> None:
    of_any = {
        "fileops/rewind",
        "fileops/log",
        "fileops/unkept",
        "fileops/keep",
    }  # their `session_id` is one of several targets
    fields = {request.method: request.params.__struct_fields__ for request in REQUESTS}
    without = {method for method, names in fields.items() if "session_id" not in names or method in of_any}
    assert without <= WITHOUT_SESSION
    assert not {request.method for request in REQUESTS} - without & WITHOUT_SESSION


def misfits(value: inspect.Type, sent: inspect.Type, where: str) -> Iterator[str]:
    """Where the client's type would refuse, or not name, what is sent."""
    if isinstance(sent, inspect.UnionType):
        for one in sent.types:
            yield from misfits(value, one, where)
    elif isinstance(value, inspect.UnionType):
        if all(list(misfits(one, sent, where)) for one in value.types):
            yield f"{where}: none of the alternatives takes {sent}"
    elif isinstance(sent, (inspect.StructType, inspect.DataclassType)):
        yield from _fields_that_do_not_fit(value, sent, where)
    elif isinstance(sent, inspect.LiteralType):
        if not isinstance(value, inspect.StrType):
            known = value.values if isinstance(value, inspect.LiteralType) else ()
            yield from (f"{where}: {word!r} is not known" for word in sent.values if word not in known)
    elif isinstance(sent, (inspect.ListType, inspect.VarTupleType)):
        if isinstance(value, (inspect.ListType, inspect.VarTupleType)):
            yield from misfits(value.item_type, sent.item_type, where + "[]")
        else:
            yield f"{where}: is a list"
    elif isinstance(sent, inspect.DictType):
        if isinstance(value, inspect.DictType):
            yield from misfits(value.value_type, sent.value_type, where + "{}")
        elif not isinstance(value, inspect.TypedDictType):
            yield f"{where}: is an object"
    elif not isinstance(value, (type(sent), inspect.AnyType)):
        yield f"{where}: {value} does not take {sent}"


def _fields_that_do_not_fit(
    value: inspect.Type, sent: inspect.StructType | inspect.DataclassType, where: str
) -> Iterator[str]:
    if not isinstance(value, (inspect.DataclassType, inspect.TypedDictType)):
        yield f"{where}: is an object"
        return
    known = {field.encode_name: field for field in value.fields}
    given = {field.encode_name: field for field in sent.fields}
    tag = sent.tag_field if isinstance(sent, inspect.StructType) else None
    yield from (
        f"{where}.{name}: is never sent"
        for name, field in known.items()
        if field.required and name not in given and name != tag
    )
    for name, field in given.items():
        if name in known:
            yield from misfits(known[name].type, field.type, f"{where}.{name}")
        else:
            yield f"{where}.{name}: is not named"
