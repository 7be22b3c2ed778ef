"""What a document lacks of a wanted configuration, as changes that any format can apply, and the reverse.

Objects are merged key by key, and lists get the items that they lack. Nothing is removed. A value that differs is a
conflict, and is replaced only on request. The reverse takes back the changes that were made: it removes
what was added and has not changed since, and keeps objects and lists that were there before, even if they are empty.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
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
    """Replaces `old`, a value that is not the wanted one."""

    path: KeyPath
    value: object
    old: object


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
            yield Replace(below, value, present[key])


def content_of(changes: Iterable[Change]) -> dict[str, Any]:
    """Return a document with nothing but what these changes add or replace."""
    root: dict[str, Any] = {}
    for change in changes:
        parent = root
        for key in change.path[:-1]:
            parent = parent.setdefault(key, {})
        if isinstance(change, Add | Replace):
            parent[change.path[-1]] = change.value
        elif isinstance(change, Append):
            parent[change.path[-1]] = change.items
    return root


def find_replaced(changes: Iterable[Change], written: Sequence[Mapping[str, Any]]) -> Iterator[KeyPath]:
    """Yield the paths of the values that changes replace, except those that we have written ourselves."""
    for change in changes:
        if isinstance(change, Replace):
            ours = [_object_at(content, change.path[:-1]) or {} for content in written]
            if not any(_is_same(parent.get(change.path[-1]), change.old) for parent in ours):
                yield change.path


def reverse_of(present: Mapping[str, Any], changes: Iterable[Change]) -> Iterator[Change]:
    """Yield what takes back these changes of `present`, as far as what they added or replaced is still there.

    Our server's entry is removed even if it was changed since. All else that was changed since stays.
    """
    for change in changes:
        parent = _object_at(present, change.path[:-1])
        key = change.path[-1]
        if parent is None or key not in parent:
            continue
        match change:
            case Add(path=path, value=value):
                yield from _removals_of(parent[key], value, path)
            case Append(path=path, items=added) if _is_list(parent[key]):
                if items := [item for item in parent[key] if item in added]:
                    yield RemoveItems(path, items)
            case Replace(path=path, value=value, old=old) if _is_same(parent[key], value):
                yield Replace(path, old, value)
            case _:
                pass


def _removals_of(present: object, added: object, path: KeyPath) -> Iterator[Change]:
    """Yield the changes that remove what was added at a key. An object that loses all its parts goes, too."""
    if path[-1] == SERVER or _is_same(present, added):
        yield Remove(path)
    elif _is_object(present) and _is_object(added):
        inner = [
            removal
            for key, value in added.items()
            if key in present
            for removal in _removals_of(present[key], value, (*path, key))
        ]
        gone = {removal.path[-1] for removal in inner if isinstance(removal, Remove) and removal.path[:-1] == path}
        if inner and gone == set(present):
            yield Remove(path)
        else:
            yield from inner
    elif _is_list(present) and _is_list(added):
        items = [item for item in present if item in added]
        if items and len(items) == len(present):
            yield Remove(path)
        elif items:
            yield RemoveItems(path, items)


def _object_at(root: Mapping[str, Any], path: KeyPath) -> Mapping[str, Any] | None:
    found: object = root
    for key in path:
        if not _is_object(found) or key not in found:
            return None
        found = found[key]
    return found if _is_object(found) else None


def apply(present: Mapping[str, Any], changes: list[Change]) -> dict[str, Any]:
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
