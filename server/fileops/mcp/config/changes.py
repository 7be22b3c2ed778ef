"""What a document lacks of the configuration that is wanted, as changes that any format can carry out.

Objects are merged key by key, and lists get the items that they lack. Nothing is removed. A value that differs is a
conflict; it is replaced only on request.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeGuard

SERVER = "fileops"  # the entry of our server: its lists are command lines, which are no sets of items

KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class Add:
    """A key that the object at `path[:-1]` does not have."""

    path: KeyPath
    value: object


@dataclass(frozen=True)
class Append:
    """Items that the list at `path` does not have."""

    path: KeyPath
    items: list[object]


@dataclass(frozen=True)
class Replace:
    """A value that is not the wanted one."""

    path: KeyPath
    value: object


Change = Add | Append | Replace


def changes_to(present: Mapping[str, Any], wanted: Mapping[str, Any], path: KeyPath = ()) -> Iterator[Change]:
    """Yield the changes that make `present` contain `wanted`."""
    for key, value in wanted.items():
        below = (*path, key)
        if key not in present:
            yield Add(below, value)
        elif _is_object(present[key]) and _is_object(value):
            yield from changes_to(present[key], value, below)
        elif SERVER not in below and _is_list(present[key]) and _is_list(value):
            lacking = [item for item in value if item not in present[key]]
            if lacking:
                yield Append(below, lacking)
        elif not _is_same(present[key], value):
            yield Replace(below, value)


def changed(present: Mapping[str, Any], changes: list[Change]) -> dict[str, Any]:
    """Return a copy of the data in which the changes are carried out."""
    root: dict[str, Any] = deepcopy(dict(present))
    carry_out(changes, root)
    return root


def carry_out(changes: list[Change], root: dict[str, Any]) -> None:
    """Change the data in place. A document that keeps its layout, as that of tomlkit, is such data too."""
    for change in changes:
        parent: Any = root
        for key in change.path[:-1]:
            parent = parent[key]
        if isinstance(change, Append):
            parent[change.path[-1]].extend(change.items)
        else:
            parent[change.path[-1]] = change.value


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other  # True == 1


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)
