"""The protocol as one JSON Schema document (2020-12): the table of messages, and a definition of each type."""

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from fileops import __version__
from fileops.core.presentation import render, titles
from fileops.lsp.server import PROTOCOL_VERSION
from fileops.model import errors, events, settings, suggestions
from fileops.model.approval import CorrectionRequest, FileDecision
from fileops.model.edits import Relevance
from fileops.model.files import CommitReport
from fileops.model.review import SessionInfo
from fileops.schema.descriptions import description_of, descriptions_of_keys
from fileops.schema.messages import Message, OneOf, messages
from fileops.service.companion import answers, report
from fileops.wire import details
from fileops.wire import types as wire

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
REF = "#/$defs/{name}"

_BODIES = (report.CompanionReport, answers.Answer)  # of the control request `companion`
_ARGUMENTS = (wire.KeepArgument, wire.UndoArgument)  # of commands, in an array that holds anything

# The protocol's names of types that have another name in the server.
PUBLIC_NAMES = {
    events.BecameStale.__name__: "DidBecomeStaleParams",
    events.DidRead.__name__: "DidReadParams",
    events.DidEdit.__name__: "DidEditParams",
    events.DidConflict.__name__: "DidConflictParams",
    events.WatcherHealth.__name__: "WatcherHealthParams",
    events.ApprovalModeChanged.__name__: "ApprovalModeParams",
    events.DidRecover.__name__: "DidRecoverParams",
    wire.Params.__name__: "SessionsParams",
    CorrectionRequest.__name__: "CorrectEditParams",
    titles.Description.__name__: "DescribeResult",
    answers.Answer.__name__: "CompanionAnswer",
    answers.CorrectedText.__name__: "CompanionCorrected",
    answers.ShownText.__name__: "CompanionShown",
    render.View.__name__: "RenderResult",
    wire.ErrorInfo.__name__: "ToolError",
    SessionInfo.__name__: "AskingSession",
    FileDecision.__name__: "DecidedFile",
    suggestions.FailedStep.__name__: "FailedStepDetails",
    suggestions.ShownLines.__name__: "ShownDetails",
    suggestions.SyntaxFault.__name__: "SyntaxErrorDetails",
    suggestions.SyntaxReport.__name__: "SyntaxDetails",
    Relevance.__name__: "RelevanceDetails",
    CommitReport.__name__: "CommitDetails",
    settings.Settings.__name__: "InitializationOptions",
    settings.Limits.__name__: "LimitOptions",
    settings.OutputTexts.__name__: "TextOptions",
    settings.EncodingRule.__name__: "EncodingOptions",
    settings.MappedFolder.__name__: "FilesystemOptions",
}
# Fields that are any object for the server's decoder, and their types in the protocol.
REFINED: dict[tuple[str, str], Any] = {
    ("InitializeParams", "initializationOptions"): settings.Settings | None,
    ("HistoryEntry", "rebased"): details.RebasedEntry,
    ("ConfirmEditParams", "rebased"): details.RebasedDetails,
}
# Keys with a default in the server's code that are always sent all the same.
ALWAYS_SENT = {
    "Attachment": ("type",),
    "DidEditParams": ("source",),
    "CommitDetails": ("reason",),
    "FailedStepDetails": ("after", "match_lines", "n_more"),
    "RelevanceDetails": ("ranges",),
    "RewindConflict": ("ranges", "by", "message"),
}
# Unknown keys cause a warning and are ignored, and null is the default.
_TOLERANT = ("InitializationOptions", "LimitOptions", "TextOptions")


_ANYTHING = {"x-any": True}  # msgspec does not accept an empty schema from its hook


def document() -> Json:
    """Return the schema: `messages`, in which types are references, and `$defs`."""
    table = messages()
    defs = definitions(table)
    return {
        "$schema": DIALECT,
        "title": "fileops-server",
        "description": "The messages of fileops-server beside JSON-RPC's envelope. See docs/PROTOCOL.md.",
        "version": __version__,
        "protocol_version": PROTOCOL_VERSION,
        "messages": [_entry(message) for message in table],
        "$defs": defs,
    }


def definitions(table: Iterable[Message]) -> Json:
    """Return the definition of each type in the table, by its name in the protocol, in alphabetical order."""
    shapes = [shape for message in table for shape in (message.params, *_alternatives(message), message.details)]
    listed = [shape for shape in (*shapes, *REFINED.values(), *_ARGUMENTS, *_BODIES) if shape is not None]
    _, components = msgspec.json.schema_components(listed, schema_hook=_any, ref_template=REF)
    for shape in _find_declared(listed):
        _describe(components[shape.__name__], shape)
    defs = {PUBLIC_NAMES.get(name, name): _rename(schema) for name, schema in components.items()}
    for (name, key), shape in REFINED.items():
        defs[name]["properties"][key] = _refine(defs[name]["properties"][key], schema_of(shape))
    for name, keys in ALWAYS_SENT.items():
        defs[name]["required"] += keys
        for key in keys:
            defs[name]["properties"][key].pop("default", None)
    for name in _TOLERANT:
        del defs[name]["additionalProperties"]
        defs[name]["properties"] = {key: _or_null(schema) for key, schema in defs[name]["properties"].items()}
    codes = sorted({failure.code for failure in errors.FAILURES})
    defs["ErrorCode"] = {"enum": codes, "description": "Why a tool failed."}
    code = defs["ToolError"]["properties"]["code"]
    defs["ToolError"]["properties"]["code"] = _refine(code, {"$ref": REF.format(name="ErrorCode")})
    for message in table:
        if message.details is not None:
            defs[result_name(message)] = _tool_result(defs["ToolResult"], message.details)
    for name, schema in defs.items():
        schema["title"] = name
    return dict(sorted(defs.items()))


def schema_of(shape: Any) -> Json:
    """Return the schema of a type, with references into `$defs`."""
    if shape is None:
        return {"type": "null"}
    (schema,), _ = msgspec.json.schema_components([shape], schema_hook=_any, ref_template=REF)
    return _rename(schema)


def result_schema(message: Message) -> Json:
    if message.details is not None:
        return {"$ref": REF.format(name=result_name(message))}
    first, *others = (schema_of(shape) for shape in _alternatives(message))
    return {"anyOf": [first, *others]} if others else first


def result_name(message: Message) -> str:
    """Return `EditResult` for a ToolResult with `EditDetails`."""
    return cast("str", message.details.__name__).removesuffix("Details") + "Result"


def _alternatives(message: Message) -> tuple[Any, ...]:
    return message.result.shapes if isinstance(message.result, OneOf) else (message.result,)


def _any(shape: type) -> Json:
    """Return the schema of a type that msgspec leaves to us. Raises: NotImplementedError."""
    if shape is object:
        return {**_ANYTHING}  # msgspec adds a default to it
    raise NotImplementedError


def _entry(message: Message) -> Json:
    entry: Json = {
        "method": message.method,
        "sender": message.sender,
        "kind": message.kind,
        "params": None if message.params is None else schema_of(message.params),
    }
    if message.kind == "request":
        entry["result"] = result_schema(message)
    return {**entry, "needs": message.needs, "since": message.since}


def _tool_result(general: Json, shape: Any) -> Json:
    properties = general["properties"]
    return {**general, "properties": {**properties, "details": _refine(properties["details"], schema_of(shape))}}


def _refine(general: Json, narrow: Json) -> Json:
    """Return the narrower schema of a key, with its description."""
    return {**narrow, "description": general["description"]}


def _or_null(schema: Json) -> Json:
    """Return the schema of an option, for which null means the default."""
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    about = {key: value for key, value in schema.items() if key in {"description", "default"}}
    shape = {key: value for key, value in schema.items() if key not in about}
    return {"anyOf": [shape, {"type": "null"}], **about}


def _rename(schema: Any) -> Any:
    """Return a copy in which references have the protocol's names."""
    if isinstance(schema, list):
        return [_rename(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    copy = {key: _rename(value) for key, value in cast("Json", schema).items() if key not in _ANYTHING}
    if copy.get("default", 0) is None or isinstance(copy.get("default"), dict):
        del copy["default"]  # it is empty, or repeats the keys of the object
    prefix, _, name = str(copy.get("$ref", "")).rpartition("/")
    if name in PUBLIC_NAMES:
        copy["$ref"] = f"{prefix}/{PUBLIC_NAMES[name]}"
    return copy


def _describe(schema: Json, shape: type) -> None:
    """Put in the descriptions; msgspec's own description would be a docstring with its line breaks."""
    schema["description"] = description_of(shape)
    tag_field: str | None = shape.__struct_config__.tag_field if isinstance(shape, msgspec.StructMeta) else None
    if tag_field is not None:  # msgspec generates this key, so no declaration describes it
        schema["properties"][tag_field] = {**schema["properties"][tag_field], "description": "Names the type."}
    for key, text in descriptions_of_keys(shape).items():
        schema["properties"][key] = {**schema["properties"][key], "description": text}


def _find_declared(shapes: Iterable[Any]) -> set[type]:
    """Return the Structs and TypedDicts to which these types refer."""
    found: set[type] = set()
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(shapes))
    while waiting:
        match waiting.pop():
            case (
                msgspec.inspect.StructType(cls=cls, fields=fields)
                | msgspec.inspect.TypedDictType(cls=cls, fields=fields)
            ):
                if cls not in found:
                    found.add(cls)
                    waiting += [field.type for field in fields]
            case msgspec.inspect.UnionType(types=types) | msgspec.inspect.TupleType(item_types=types):
                waiting += types
            case msgspec.inspect.DictType(value_type=item):
                waiting.append(item)
            case msgspec.inspect.CollectionType(item_type=item) | msgspec.inspect.Metadata(type=item):
                waiting.append(item)
            case _:
                pass
    return found
