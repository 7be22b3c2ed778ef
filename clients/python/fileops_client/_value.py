"""The base of the client's values: frozen dataclasses that cost little until they are used.

`dataclass` writes and compiles six methods for each class and looks at each field, which for a hundred classes takes
longer than a command at the terminal. Here the methods are shared, and `dataclass` describes the fields of a class when
they are first asked for: a command uses few of the classes.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import Field


class _Values(type):
    """Makes a class with a slot for each of its fields. Its annotations have to be strings, as those of Values are."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Values:
        annotations: dict[str, str] = body.get("__annotations__", {})
        names = [name for name, annotation in annotations.items() if not annotation.startswith("ClassVar")]
        defaults = {name: body.pop(name) for name in names if name in body}
        return super().__new__(cls, name, bases, {"__slots__": tuple(names), "_defaults": defaults, **body})


class _MadeByDataclass:
    """An attribute by which the standard library recognises a dataclass, made when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Value]) -> Any:
        body = {
            "__module__": owner.__module__,
            "__doc__": owner.__doc__,
            "__annotations__": inspect.get_annotations(owner),
            **owner._defaults,  # noqa: SLF001
        }
        plain = dataclass(init=False, repr=False, eq=False, kw_only=True)(type(owner.__name__, (), body))
        made = getattr(plain, self._name)
        setattr(owner, self._name, made)
        return made


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


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value(metaclass=_Values):
    """What `dataclass(frozen=True, slots=True, kw_only=True)` would write for each class."""

    if TYPE_CHECKING:
        _defaults: ClassVar[dict[str, Any]]
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:  # msgspec evaluates annotations of this class as well
        __dataclass_fields__ = _MadeByDataclass()
        __dataclass_params__ = _MadeByDataclass()
    __match_args__ = ()
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

    def __replace__(self, /, **changes: Any) -> Self:
        return replace(self, **changes)


@cache  # asked for each value that is made or compared
def _fields_of(kind: type[Any]) -> dict[str, Field[Any]]:
    """The fields by name, without constants of the class."""
    return {field.name: field for field in fields(kind)}


def _contents(instance: Value) -> tuple[Any, ...]:
    return tuple(getattr(instance, name) for name in _fields_of(type(instance)))


def _default_of(field: Field[Any], otherwise: object) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return otherwise if field.default is MISSING else field.default
