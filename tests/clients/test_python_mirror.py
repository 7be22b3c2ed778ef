"""The Python client's values against the server's own types of the wire, of which it knows nothing.

What the daemon sends must fit: every field of the wire has its value, and no value is narrower than the wire.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import pytest
from msgspec import inspect

from fileops.api.requests import REQUESTS
from fileops.core.presentation.render import View
from fileops.core.presentation.titles import Description
from fileops.model import approval, events, results, statistics
from fileops.model import record as model_record
from fileops.model import rewind as model_rewind
from fileops.model.errors import FAILURES
from fileops.wire import commands, sessions, turns
from fileops.wire import record as wire_record
from fileops.wire import reviews as wire_reviews
from fileops.wire import rewinds as wire_rewinds
from fileops.wire import types as wire
from fileops_client import callbacks, models, options, records, reviews
from fileops_client import events as client_events
from fileops_client._session import WITHOUT_SESSION
from fileops_client.details import Details
from fileops_client.requests import sessions as client_sessions
from fileops_client.requests import turns as client_turns
from fileops_client.requests import views

GOLDEN = Path(__file__).parents[1] / "golden"
PAIRS: list[tuple[type[Any], type[Any]]] = [
    (models.Attachment, wire.Attachment),
    (models.HistoryEntry, wire.HistoryEntry),
    (models.ToolDefinition, wire.ToolDefinition),
    (models.ToolError, wire.ErrorInfo),
    (models.ToolResult, wire.ToolResult),
    (models.TrackedFile, results.TrackedFile),
    (models.UiExtra, wire.UiExtra),
    (callbacks.Question, wire.ConfirmEditParams),
    (callbacks.CommandQuestion, commands.ConfirmCommandParams),
    (callbacks.CorrectionRequest, approval.CorrectionRequest),
    (client_sessions.CallStats, statistics.StatsResult),
    (client_sessions.Conflict, results.Conflict),
    (client_sessions.RecordedRead, sessions.RecordReadResult),
    (client_turns.Turn, turns.Turn),
    (client_turns.EndedCommand, turns.EndCommandResult),
    (client_sessions.SessionFile, results.SessionFile),
    (views.Description, Description),
    (views.View, View),
    (records.RecordEntry, wire_record.RecordEntry),
    (records.RecordedChange, wire_record.EntryResult),
    (records.RecordedFolder, model_record.RecordedFolder),
    (records.Log, wire_record.LogResult),
    (records.BlamedLines, model_rewind.BlamedLines),
    (records.Unkept, model_rewind.UnkeptResult),
    (records.RecordItem, wire_rewinds.RecordItemResult),
    (reviews.Review, wire_reviews.Review),
    (reviews.DidChangeReviews, wire_reviews.DidChangeReviewsParams),
    (reviews.DecideReviewResult, wire_reviews.DecideReviewResult),
    (reviews.DecideReviewsResult, wire_reviews.DecideReviewsResult),
    (client_events.BecameStale, events.BecameStale),
    (client_events.DidConflict, events.DidConflict),
    (client_events.DidEdit, events.DidEdit),
    (client_events.DidRead, events.DidRead),
    (client_events.WatcherHealth, events.WatcherHealth),
    (client_events.DidRecover, events.DidRecover),
]


@pytest.mark.parametrize(("value", "sent"), PAIRS, ids=lambda kind: kind.__name__)
def test_sent_types_fit_the_clients_values(value: type[Any], sent: type[Any]) -> None:
    assert list(misfits(inspect.type_info(value), inspect.type_info(sent), value.__name__)) == []


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_every_key_of_details_is_known_to_the_client(path: Path) -> None:
    answer = json.loads(path.read_text(encoding="utf-8"))
    details = cast("dict[str, dict[str, object]]", answer).get("details", {}) if isinstance(answer, dict) else {}
    assert set(details) <= set(get_type_hints(Details))


def test_options_match_the_wire() -> None:
    wire_options = {"Options", "LimitOptions", "TextOptions", "FilesystemOptions", "EncodingOptions"}
    for name in wire_options:
        assert set(get_type_hints(getattr(options, name))) == set(getattr(wire, name).__struct_fields__), name


def test_codes_match_the_server() -> None:
    assert set(get_args(models.ErrorCode)) == {failure.code for failure in FAILURES} | {"invalid_params"}


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
