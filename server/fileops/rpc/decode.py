"""Strict decoding of params into a type, by msgspec. An error names its place in our words; nothing is coerced.

`null` means that a key is absent if the key has a default; otherwise it is refused. A number without a fraction is an
integer, with or without a decimal point. Structs that forbid unknown keys refuse them by name.
"""

import re
from collections.abc import Iterable
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard, TypeVar, Union, cast, get_args, get_origin

import msgspec

from fileops.rpc.json import OUT_OF_RANGE

if TYPE_CHECKING:
    from msgspec.structs import FieldInfo

T = TypeVar("T")

LSP_TOKENS = ("workDoneToken", "partialResultToken")  # every request may have them


class InvalidParams(Exception):
    """Params that do not fit their type: what is wrong, and where, like a JSONPath from `$`."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self._path = path

    @property
    def path(self) -> str:
        return "$" + self._path

    def below(self, segment: str) -> "InvalidParams":
        """Prepend a segment to the path, and return this exception."""
        self._path = segment + self._path
        return self


def decode(value: object, into: type[T]) -> T:
    """Raises: InvalidParams."""
    try:
        return msgspec.convert(value, into)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: a key that is not Unicode
        normalised = _normalise(value, into)
    try:
        return msgspec.convert(normalised, into)
    except msgspec.ValidationError as fault:
        raise _to_invalid_params(str(fault), value, into) from None


class _ParamPlace:
    """A key or an index below another place. The path is joined only for an error, because it may be long."""

    __slots__ = ("below", "key")

    def __init__(self, key: str | int, below: "_ParamPlace | None") -> None:
        self.key = key
        self.below = below


def require_in_range(params: object) -> None:
    """Raises: InvalidParams, if a number is out of range (see json.OUT_OF_RANGE)."""
    waiting: list[tuple[object, _ParamPlace | None]] = [(params, None)]
    while waiting:
        value, place = waiting.pop()
        if value is OUT_OF_RANGE:
            fault = InvalidParams("is a number out of range")
            while place is not None:
                fault.below(_segment(place.key) if isinstance(place.key, str) else f"[{place.key}]")
                place = place.below
            raise fault
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            waiting += [(member, _ParamPlace(key, place)) for key, member in members.items()]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [(item, _ParamPlace(index, place)) for index, item in enumerate(items)]


# --- what msgspec is given ------------------------------------------------------------------------------------------


def _normalise(value: object, wanted: Any) -> object:
    """Return a copy that msgspec reads as we do: without nulls that mean an absent key, and with integers as integers.

    Nothing is refused here. What does not fit the type stays in its place, so that msgspec names it.
    """
    members = _members(wanted)
    if isinstance(value, str):
        return value if any(_takes_text(member, value) for member in members) else _REFUSED
    for member in members:
        if member is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, list) and get_origin(member) in _ARRAYS:
            item = get_args(member)[0]
            return [_normalise(element, item) for element in cast("list[object]", value)]
        if isinstance(value, dict) and _is_struct(member):
            return _normalise_object(cast("dict[str, object]", value), member)
    return value


def _normalise_object(value: dict[str, object], wanted: type[msgspec.Struct]) -> dict[str, object]:
    fields, copy = _fields(wanted), dict[str, object]()
    for key, member in value.items():
        field = fields.get(key)
        if field is None:
            copy[_REFUSED] = None  # msgspec skips it in an open Struct
        elif member is not None or field.required:
            copy[key] = _normalise(member, field.type)
    return copy


@cache
def _members(wanted: Any) -> tuple[Any, ...]:
    """Return the types of a union except null, without their annotations; of another type, the type itself."""
    if get_origin(wanted) is Annotated:
        return _members(get_args(wanted)[0])
    if get_origin(wanted) in {Union, UnionType}:
        members = [_members(member) for member in get_args(wanted) if member is not NoneType]
        return tuple(member for group in members for member in group)
    return (wanted,)


def _bounds(wanted: Any) -> msgspec.Meta | None:
    """Return the bounds of a type, even inside a union."""
    if get_origin(wanted) is Annotated:
        return get_args(wanted)[1]
    members = get_args(wanted) if get_origin(wanted) in {Union, UnionType} else ()
    return next((bounds for member in members if (bounds := _bounds(member)) is not None), None)


def _is_struct(wanted: Any) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(wanted, type) and issubclass(wanted, msgspec.Struct)


def _takes_text(wanted: Any, text: str) -> bool:
    return wanted in {str, object} or (get_origin(wanted) is Literal and text in get_args(wanted))


@cache
def _fields(wanted: type[msgspec.Struct]) -> "dict[str, FieldInfo]":
    return {field.encode_name: field for field in msgspec.structs.fields(wanted)}


# --- what msgspec answers -------------------------------------------------------------------------------------------


def _to_invalid_params(message: str, value: object, wanted: Any) -> InvalidParams:
    """Say in our words what msgspec found, as in "Object missing required field `edits` - at `$.a[0]`".

    Nothing that a client wrote is in its message: unknown keys and texts that do not fit were replaced by _REFUSED.
    """
    reason, _, path = message.partition(" - at `")
    place = ""
    for key, index in re.findall(_SEGMENT, path):
        value, wanted = _below(value, wanted, key or int(index))
        place += f".{key}" if key else f"[{index}]"
    if match := re.match(_MISSING, reason):
        return InvalidParams("is missing", f"{place}.{match[1]}")
    members = _members(wanted)
    if reason.startswith("Object contains unknown field"):
        (struct,) = (member for member in members if _is_struct(member))
        keys = cast("dict[str, object]", value)
        return InvalidParams(
            unknown_key(_fields(struct)), place + _segment(next(key for key in keys if key not in _fields(struct)))
        )
    return InvalidParams(_mismatch(reason, value, members, _bounds(wanted)), place)


def _below(value: object, wanted: Any, key: str | int) -> tuple[object, Any]:
    """Return the value and the type at a key of an object, or at an index of an array."""
    for member in _members(wanted):
        if isinstance(key, str) and _is_struct(member):
            return cast("dict[str, object]", value)[key], _fields(member)[key].type
        if isinstance(key, int) and get_origin(member) in _ARRAYS:
            return cast("list[object]", value)[key], get_args(member)[0]
    raise TypeError(f"no {key!r} in {wanted!r}")


def _mismatch(reason: str, value: object, members: tuple[Any, ...], bounds: msgspec.Meta | None) -> str:
    if get_origin(members[0]) is Literal:
        return "must be one of " + ", ".join(f'"{choice}"' for choice in get_args(members[0]))
    if reason == "Number out of range":
        return "must be a number that is not that large"
    if bounds is not None and (match := re.match(_OUT_OF_BOUNDS, reason)):
        match match[1]:
            case ">=":
                return f"must be at least {bounds.ge}"
            case ">":
                return f"must be greater than {bounds.gt}"
            case "<=":
                return f"must be at most {bounds.le}"
            case _:
                return bounds.description or "must not be empty"
    is_fraction = members == (int,) and isinstance(value, float)
    names = " or ".join(_NAMES.get(get_origin(member) or member, "an object") for member in members)
    return f"must be {names}, not {'a number with a fraction' if is_fraction else _kind(value)}"


_ARRAYS = (list, tuple)  # `tuple[T, ...]`
_REFUSED = "?"  # replaces a bad key or text, which may be no Unicode, or look like msgspec's path
_SEGMENT = r"\.(\w+)|\[(\d+)\]"
_MISSING = r"Object missing required field `(\w+)`"
_OUT_OF_BOUNDS = r"Expected `\w+` (>=|>|<=|of length >=) "
_NAMES: dict[Any, str] = {
    str: "a string", bool: "true or false", int: "an integer", float: "a number", NoneType: "null",
    list: "an array", tuple: "an array",
}  # fmt: skip


def unknown_key(keys: Iterable[str]) -> str:
    """Return the error about a key that is none of these. It lists them, for a client that misspelt one."""
    return f"unknown key; there are: {', '.join(key for key in keys if key not in LSP_TOKENS)}"


def _segment(key: str) -> str:
    """Format a key as in JSONPath; cut it, because a client's key may be a whole file."""
    shown = key if len(key) <= 100 else key[:100] + "…"
    return f".{shown}" if shown.isidentifier() else f"[{_quote(shown)}]"


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _kind(value: object) -> str:
    if value is None:
        return "null"
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "that"


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"), (str, "a string"), (int, "a number"), (float, "a number"), (list, "an array"),
    (dict, "an object"),
)  # fmt: skip
