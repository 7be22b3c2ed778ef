"""Strict decoding of params into a type. An error names its place; nothing is coerced.

`null` for a key that has a default means that the key is absent; for one that has none it is refused. A number
without a fraction is an integer, whether or not it is written with a point. Unknown keys are refused by name, in
Structs that forbid them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from fileops.rpc.json import OUT_OF_RANGE

T = TypeVar("T")
Decoder = Callable[[object], Any]

LSP_TOKENS = ("workDoneToken", "partialResultToken")  # every request may have them


class InvalidParams(Exception):
    """Params that do not fit their type: what is wrong, and its place, like a JSONPath from `$`."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self._path = path

    @property
    def path(self) -> str:
        return "$" + self._path

    def below(self, segment: str) -> "InvalidParams":
        """Put a segment before the path, and return this exception."""
        self._path = segment + self._path
        return self


def decode(value: object, into: type[T]) -> T:
    """Raises: InvalidParams."""
    try:
        return msgspec.convert(value, into)  # strict as well, and far faster; but it refuses 3.0, and in other words
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):  # the last: of a key that is no Unicode
        return decoder_of(into)(value)


class _Place:
    """A key or an index below another place. The path is joined only for an error, because it may be long."""

    __slots__ = ("below", "key")

    def __init__(self, key: str | int, below: "_Place | None") -> None:
        self.key, self.below = key, below


def require_in_range(params: object) -> None:
    """Raises: InvalidParams, if a number is out of range (see json.OUT_OF_RANGE)."""
    waiting: list[tuple[object, _Place | None]] = [(params, None)]
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
            waiting += [(member, _Place(key, place)) for key, member in members.items()]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [(item, _Place(index, place)) for index, item in enumerate(items)]


@cache
def decoder_of(wanted: Any) -> Decoder:
    """Return the decoder of a type.

    It is a Struct, list, tuple of any length, Literal, str, bool, int, float, object, or a union of those.
    """
    origin, args = get_origin(wanted), get_args(wanted)
    if wanted in _SCALARS:
        return _SCALARS[wanted]
    if origin is Annotated:
        return _bounded(decoder_of(args[0]), args[1])
    if origin is Literal:
        return _literal(args)
    if origin in {Union, UnionType}:
        return _union(args)
    if origin in {list, tuple}:
        return _array(decoder_of(args[0]), origin)
    if origin is dict:
        return _object
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return _struct(wanted)
    raise TypeError(f"no strict decoder for {wanted!r}")


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise InvalidParams(f"must be a string, not {_kind(value)}")


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidParams(f"must be true or false, not {_kind(value)}")


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParams(f"must be an integer, not {_kind(value)}")
    if isinstance(value, float) and not value.is_integer():
        raise InvalidParams("must be an integer, not a number with a fraction")
    return int(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParams(f"must be a number, not {_kind(value)}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidParams("must be a number that is not that large") from None


def _anything(value: object) -> object:
    return value


def _object(value: object) -> object:
    """Accept any JSON object."""
    if not isinstance(value, dict):
        raise InvalidParams(f"must be an object, not {_kind(value)}")
    return cast("dict[str, object]", value)


def _null(value: object) -> None:
    if value is not None:
        raise InvalidParams(f"must be null, not {_kind(value)}")


_SCALARS: dict[Any, Decoder] = {
    str: _string, bool: _boolean, int: _integer, float: _number, object: _anything, NoneType: _null,
}  # fmt: skip


def _literal(allowed: tuple[Any, ...]) -> Decoder:
    def literal(value: object) -> object:
        if any(type(value) is type(literal) and value == literal for literal in allowed):
            return value
        raise InvalidParams("must be one of " + ", ".join(f'"{literal}"' for literal in allowed))

    return literal


_BOUNDS_NOT_KNOWN = ("lt", "max_length", "multiple_of", "pattern")


def _bounded(inner: Decoder, bounds: msgspec.Meta) -> Decoder:
    if any(getattr(bounds, name) is not None for name in _BOUNDS_NOT_KNOWN):
        raise TypeError(f"no strict decoder for {bounds!r}")

    def bounded(value: object) -> object:
        decoded = inner(value)
        if bounds.ge is not None and decoded < bounds.ge:
            raise InvalidParams(f"must be at least {bounds.ge}")
        if bounds.gt is not None and decoded <= bounds.gt:
            raise InvalidParams(f"must be greater than {bounds.gt}")
        if bounds.le is not None and decoded > bounds.le:
            raise InvalidParams(f"must be at most {bounds.le}")
        if bounds.min_length is not None and len(decoded) < bounds.min_length:
            raise InvalidParams(bounds.description or "must not be empty")
        return decoded

    return bounded


def _union(members: tuple[Any, ...]) -> Decoder:
    wanted = [member for member in members if member is not NoneType]
    decoders = [decoder_of(member) for member in wanted]
    names = "a string or an integer" if wanted == [str, int] else None
    optional = NoneType in members

    def union(value: object) -> object:
        if value is None and optional:
            return None
        for decoder in decoders[:-1]:
            try:
                return decoder(value)
            except InvalidParams:
                continue
        try:
            return decoders[-1](value)
        except InvalidParams:
            if names is None:
                raise
            raise InvalidParams(f"must be {names}, not {_kind(value)}") from None

    return union


def _array(item: Decoder, make: type[list[object] | tuple[object, ...]]) -> Decoder:
    def array(value: object) -> Sequence[object]:
        if not isinstance(value, list):
            raise InvalidParams(f"must be an array, not {_kind(value)}")
        decoded: list[object] = []
        for index, element in enumerate(cast("list[object]", value)):
            try:
                decoded.append(item(element))
            except InvalidParams as fault:
                raise fault.below(f"[{index}]") from None
        return make(decoded)

    return array


def _struct(wanted: type[msgspec.Struct]) -> Decoder:
    fields = {field.encode_name: field for field in msgspec.structs.fields(wanted)}
    decoders = {key: (field.name, decoder_of(field.type), field.required) for key, field in fields.items()}
    required = [key for key, field in fields.items() if field.required]
    is_open = not wanted.__struct_config__.forbid_unknown_fields

    def struct(value: object) -> object:
        if not isinstance(value, dict):
            raise InvalidParams(f"must be an object, not {_kind(value)}")
        decoded: dict[str, object] = {}
        for key, member in cast("dict[str, object]", value).items():
            field = decoders.get(key)
            if field is None and is_open:
                continue
            if field is None:
                raise InvalidParams(unknown_key(decoders), _segment(key))
            name, decoder, is_required = field
            if member is None and not is_required:
                continue
            try:
                decoded[name] = decoder(member)
            except InvalidParams as fault:
                raise fault.below(_segment(key)) from None
        for key in required:
            if key not in value:
                raise InvalidParams("is missing", _segment(key))
        return wanted(**decoded)

    return struct


def unknown_key(keys: Iterable[str]) -> str:
    """Return the reason against a key that is none of these. It lists them, for a client that misspelt one."""
    return f"unknown key; there are: {', '.join(key for key in keys if key not in LSP_TOKENS)}"


def _segment(key: str) -> str:
    """Format a key as in JSONPath; cut, because a client's key may be a whole file."""
    shown = key if len(key) <= 100 else key[:100] + "…"
    return f".{shown}" if shown.isidentifier() else f"[{_quoted(shown)}]"


def _quoted(text: str) -> str:
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
