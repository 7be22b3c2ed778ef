"""What a document lacks of a wanted configuration, as changes that any format can apply, and the reverse.

Objects are merged key by key, and lists get the items that they lack. Nothing is removed. A value that differs is a
conflict, and is replaced only on request. The reverse removes what was added and has not changed since.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

SERVER = "fileops"  # our server's entry: its lists are command lines, not sets

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


@dataclass(frozen=True)
class Remove:
    """A key that the object at `path[:-1]` has."""

    path: KeyPath


@dataclass(frozen=True)
class RemoveItems:
    """Items that the list at `path` has, beside others."""

    path: KeyPath
    items: list[object]


Change = Add | Append | Replace | Remove | RemoveItems


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


def added_by(changes: Sequence[Change]) -> dict[str, Any]:
    """Return what changes that make a document contain something add to it, as such a document."""
    root: dict[str, Any] = {}
    for change in changes:
        if isinstance(change, Add | Append):
            parent = root
            for key in change.path[:-1]:
                parent = parent.setdefault(key, {})
            parent[change.path[-1]] = change.value if isinstance(change, Add) else change.items
    return root


def removals_of(present: Mapping[str, Any], added: Mapping[str, Any], path: KeyPath = ()) -> Iterator[Change]:
    """Yield the changes that remove from `present` what was added, as far as it is still there.

    Our server's entry is removed whatever was changed in it. Nothing else that was changed since is. An object or a
    list that becomes empty is removed as well.
    """
    for key, value in added.items():
        if key not in present:
            continue
        below, there = (*path, key), present[key]
        if key == SERVER or _is_same(there, value):
            yield Remove(below)
        elif _is_object(there) and _is_object(value):
            inner = list(removals_of(there, value, below))
            rest = changed({key: there}, [replace(change, path=change.path[len(path) :]) for change in inner])
            if rest[key] or not inner:
                yield from inner
            else:
                yield Remove(below)
        elif _is_list(there) and _is_list(value):
            items = [item for item in there if item in value]
            if len(items) == len(there):
                yield Remove(below)
            elif items:
                yield RemoveItems(below, items)


def changed(present: Mapping[str, Any], changes: list[Change]) -> dict[str, Any]:
    """Return a copy of the data with the changes applied."""
    root: dict[str, Any] = deepcopy(dict(present))
    carry_out(changes, root)
    return root


def carry_out(changes: list[Change], root: dict[str, Any]) -> None:
    """Change the data in place. A document that keeps its layout, like tomlkit's, is also such data."""
    for change in changes:
        parent: Any = root
        for key in change.path[:-1]:
            parent = parent[key]
        key = change.path[-1]
        match change:
            case Append(items=items):
                parent[key].extend(items)
            case Remove():
                del parent[key]
            case RemoveItems(items=items):
                for item in items:
                    parent[key].remove(item)
            case Add(value=value) | Replace(value=value):
                parent[key] = value


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other  # True == 1


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)
