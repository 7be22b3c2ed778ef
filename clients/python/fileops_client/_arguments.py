"""A model's arguments for a tool: parsed, limited to the schema, and, on request, read leniently."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fileops_client.details import CoercedArgument
from fileops_client.requests.sender import Arguments
from fileops_client.values import ToolDefinition

_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


class BadArguments(Exception):
    """The arguments cannot be the tool's; the message says why."""


def arguments_of(definition: ToolDefinition, arguments: Arguments | str) -> dict[str, Any]:
    """Return the arguments, limited to the schema: a model must not set other parameters. Raises: BadArguments."""
    given_arguments: Any = arguments
    if isinstance(arguments, str):
        try:
            given_arguments = json.loads(arguments or "{}")
        except ValueError as fault:
            raise BadArguments(f"the arguments are not JSON: {fault}") from None
    if not isinstance(given_arguments, Mapping):
        raise BadArguments("the arguments must be an object")
    known = cast("Mapping[str, Any]", definition.input_schema.get("properties", {}))
    unknown = [key for key in cast("Mapping[str, Any]", given_arguments) if key not in known]
    if unknown:
        raise BadArguments(f"$.{unknown[0]} unknown key; there are: {', '.join(known)}")
    return dict(cast("Mapping[str, Any]", given_arguments))


def read_leniently(
    definition: ToolDefinition, arguments: Arguments | str
) -> tuple[dict[str, Any], list[CoercedArgument]]:
    """Return the arguments in the schema's types, allowing for models' habits, and what was read differently.

    `"true"`, `"False"`, `"1"`, 1 are booleans; `"10"`, `"10.0"` are integers; JSON in a string is an array or an
    object; one object is an array of one. Strings stay as they are where the schema expects strings. Raises:
    BadArguments, as `arguments_of`.
    """
    coerced: list[CoercedArgument] = []
    if isinstance(arguments, str):
        parsed = _parse(arguments or "{}", str)
        if isinstance(parsed, str):  # the object was encoded twice
            coerced.append({"path": "$", "given": arguments, "read_as": (arguments := parsed)})
    values = arguments_of(definition, arguments)
    return cast("dict[str, Any]", _read(values, definition.input_schema, "$", coerced)), coerced


def _read(value: Any, schema: Mapping[str, Any], path: str, coerced: list[CoercedArgument]) -> object:
    read: Any = _as_type(value, schema.get("type"))
    if read is not value:
        coerced.append({"path": path, "given": value, "read_as": read})
    if isinstance(read, list) and isinstance(items := schema.get("items"), Mapping):
        below = cast("Mapping[str, Any]", items)
        return [_read(one, below, f"{path}[{n}]", coerced) for n, one in enumerate(cast("Sequence[Any]", read))]
    if isinstance(read, dict):
        properties = cast("Mapping[str, Any]", schema.get("properties", {}))
        fields = cast("Mapping[str, Any]", read)
        return {
            key: _read(one, properties[key], f"{path}.{key}", coerced) if key in properties else one
            for key, one in fields.items()
        }
    return cast("object", read)


def _as_type(value: Any, kind: Any) -> object:
    """Return the value in the schema's type, or the same object if that is not obvious."""
    if kind == "boolean" and not isinstance(value, bool):
        return _BOOLEANS.get(str(value).strip().lower(), value) if isinstance(value, (str, int)) else value
    if kind in {"integer", "number"} and isinstance(value, str):
        number = _parse(value, (int, float))
        return value if isinstance(number, bool) else number
    if kind == "array" and isinstance(value, str):
        value = _parse(value, (list, dict))
    if kind == "array" and isinstance(value, dict):
        return [cast("object", value)]
    return _parse(value, dict) if kind == "object" and isinstance(value, str) else cast("object", value)


def _parse(text: str, kinds: type | tuple[type, ...]) -> Any:
    """Return the JSON value in the text if it is one of these types, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, kinds) else text
