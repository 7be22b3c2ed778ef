"""The decorator of the client's values: frozen dataclasses whose methods are shared, so that they are made quickly.

`dataclass` writes and compiles six methods for each class, which for a hundred classes takes longer than a command at
the terminal. These classes get fields, slots and keyword-only arguments from it, and their methods from `Value`.
"""

import inspect
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import Field

T = TypeVar("T")


class _Signature:
    """The signature of a class's constructor, made when it is asked for."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=_default_of(field, inspect.Parameter.empty),
                    annotation=field.type,
                )
                for name, field in _fields_of(owner).items()
            ]
        )


class Value:
    """What `dataclass(frozen=True, slots=True, kw_only=True)` would write for each class."""

    __slots__ = ()
    __signature__ = _Signature()

    def __init__(self, /, **given: Any) -> None:
        kind = type(self)
        for name, field in _fields_of(kind).items():
            value = given.pop(name, MISSING)
            if value is MISSING:
                value = _default_of(field, MISSING)
            if value is MISSING:
                raise TypeError(f"{kind.__name__}.__init__() missing a required keyword-only argument: {name!r}")
            object.__setattr__(self, name, value)
        if given:
            raise TypeError(f"{kind.__name__}.__init__() got an unexpected keyword argument {next(iter(given))!r}")

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in _fields_of(type(self)))
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return _contents(self) == _contents(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_contents(self))

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[Any]:
        return list(_contents(self))

    def __setstate__(self, state: list[Any]) -> None:
        for name, value in zip(_fields_of(type(self)), state, strict=True):
            object.__setattr__(self, name, value)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def value(kind: type[T]) -> type[T]:
    """Make a class that derives from Value a frozen dataclass with slots and keyword-only arguments."""
    return dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(kind)


@cache  # asked for each value that is made or compared
def _fields_of(kind: "type[Any]") -> "dict[str, Field[Any]]":
    """The fields by name, without constants of the class."""
    return {field.name: field for field in fields(kind)}


def _contents(instance: Value) -> tuple[Any, ...]:
    return tuple(getattr(instance, name) for name in _fields_of(type(instance)))


def _default_of(field: "Field[Any]", otherwise: object) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return otherwise if field.default is MISSING else field.default
