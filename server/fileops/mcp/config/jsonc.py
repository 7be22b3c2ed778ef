"""JSON with comments and trailing commas: parsed with positions, and changed without touching other bytes.

Editors and hosts allow comments in their settings. The maintained parsers for Python drop them, and the one that keeps
them has had no release since 2024. A change here is an insertion or a replacement at a position, so that comments,
order and layout stay.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fileops.mcp.config.changes import Add, Append, Change, KeyPath, Remove, RemoveItems, Replace
from fileops.mcp.config.documents import to_json

TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
REST_OF_LINE = re.compile(r"(?:[ \t]+|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")
LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
MAX_DEPTH = 100


class JsonError(ValueError):
    """The text is not JSON with comments; the message names the line."""


@dataclass(frozen=True)
class Node:
    start: int
    end: int  # after the last character
    value: Any
    members: dict[str, "Node"] = field(default_factory=dict[str, "Node"])  # of an object
    items: list["Node"] = field(default_factory=list["Node"])  # of an array
    comma: int | None = None  # position after a trailing comma
    name_start: int | None = None  # of a member
    comma_after: int | None = None  # of a child: position after the comma that follows it

    @property
    def children(self) -> list["Node"]:
        return [*self.members.values(), *self.items]


def parse(text: str) -> Node:
    """Return the root of a document. A text of nothing but comments is an empty object, as editors read it."""
    if is_blank(text):
        return Node(len(text), len(text), {})
    parser = _JsoncParser(text)
    root = parser.value(parser.skip(0), 0)
    if parser.skip(root.end) != len(text):
        raise parser.error("extra text", root.end)
    return root


def is_blank(text: str) -> bool:
    """Return whether there are only spaces and comments."""
    trivia = TRIVIA.match(text)  # not fullmatch, which takes what is between two comments for a part of one
    return trivia is not None and trivia.end() == len(text)


def apply(text: str, changes: list[Change]) -> str:
    """Return the text, which has an object, with the changes applied."""
    root, layout = parse(text), _Layout.of(text)
    splices = [splice for change in _group(changes) for splice in _splices(text, root, layout, change)]
    splices += _removals(text, root, changes)
    for start, end, new in sorted(splices, key=lambda splice: splice[0], reverse=True):
        text = text[:start] + new + text[end:]
    return text


@dataclass(frozen=True)
class _Insertion:
    """New children of one object or array."""

    path: KeyPath
    children: list[tuple[str | None, object]]  # (key of a member or None, value)


@dataclass(frozen=True)
class _Layout:
    step: str
    newline: str

    @classmethod
    def of(cls, text: str) -> "_Layout":
        indent = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
        return cls(indent[1] if indent else "  ", "\r\n" if "\r\n" in text else "\n")


def _group(changes: list[Change]) -> Iterator[_Insertion | Replace]:
    """Yield one insertion for all members that are added to one object."""
    added: dict[KeyPath, list[tuple[str | None, object]]] = {}
    for change in changes:
        if isinstance(change, Add):
            added.setdefault(change.path[:-1], []).append((change.path[-1], change.value))
        elif isinstance(change, Append):
            yield _Insertion(change.path, [(None, item) for item in change.items])
        elif isinstance(change, Replace):
            yield change
    for path, members in added.items():
        yield _Insertion(path, members)


def _splices(text: str, root: Node, layout: _Layout, change: _Insertion | Replace) -> Iterator[tuple[int, int, str]]:
    node = root
    for key in change.path:
        node = node.members[key]
    if not isinstance(change, _Insertion):
        yield node.start, node.end, to_json(change.value, _indent_at(text, node.start), layout.step, layout.newline)
        return
    outer = _indent_at(text, node.start)
    is_spread = not node.children or layout.newline in text[node.start : node.children[-1].start]
    inner = _indent_at(text, node.children[0].start) if is_spread and node.children else outer + layout.step
    parts = [_child(key, value, inner, layout) for key, value in change.children]
    if not node.children:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        start = node.start + 1 + len(inside)
        lines = "".join(f"{layout.newline}{inner}{part}" for part in _separate(parts))
        yield start, node.end - 1, lines + layout.newline + outer
        return
    last = node.comma or node.children[-1].end
    if not is_spread:
        yield last, last, ("" if node.comma else ",") + " " + ", ".join(parts)
        return
    rest = REST_OF_LINE.match(text, last)  # a comment after the last child belongs to it
    at = rest.end() if rest is not None and text[rest.end() : rest.end() + 1] in {"\r", "\n"} else last
    lines = "".join(f"{layout.newline}{inner}{part}" for part in _separate(parts))
    if node.comma is not None:
        yield at, at, lines + ","
    elif at == last:
        yield at, at, "," + lines
    else:
        yield last, last, ","
        yield at, at, lines


def _removals(text: str, root: Node, changes: list[Change]) -> Iterator[tuple[int, int, str]]:
    """Yield the splices that remove members and items with their lines and commas; comments beside them stay."""
    gone: dict[int, tuple[Node, list[Node]]] = {}  # by where the object or list begins
    for change in changes:
        if isinstance(change, Remove | RemoveItems):
            node = _node_at(root, change.path[:-1] if isinstance(change, Remove) else change.path)
            wanted = change.items if isinstance(change, RemoveItems) else []
            children = [item for item in node.items if item.value in wanted]
            if isinstance(change, Remove):
                children = [node.members[change.path[-1]]]
            gone.setdefault(node.start, (node, []))[1].extend(children)
    for node, children in gone.values():
        kept = [child for child in node.children if child not in children]
        if not kept and not _has_comment(text, node):
            yield node.start + 1, node.end - 1, ""
            continue
        for child in children:
            yield from _extents(text, child)
        last = kept[-1] if kept else None
        if last is not None and last is not node.children[-1] and node.comma is None and last.comma_after is not None:
            yield last.comma_after - 1, last.comma_after, ""


def _node_at(root: Node, path: KeyPath) -> Node:
    for key in path:
        root = root.members[key]
    return root


def _has_comment(text: str, node: Node) -> bool:
    """Return whether there is anything except spaces and commas between the children of an object or list."""
    at, rest = node.start + 1, ""
    for child in node.children:
        rest += text[at : child.start if child.name_start is None else child.name_start]
        at = child.end
    return bool((rest + text[at : node.end - 1]).replace(",", "").strip())


def _extents(text: str, child: Node) -> Iterator[tuple[int, int, str]]:
    """Yield the splices that remove a child and its comma: with its lines, if nothing else is on them."""
    start = child.start if child.name_start is None else child.name_start
    end = child.comma_after or child.end
    if text[child.end : end].strip(" \t\r\n,"):  # a comment between the child and its comma
        yield end - 1, end, ""
        end = child.end
    line_start = len(text[:start].rstrip(" \t"))
    line_end = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    is_first = text[line_start - 1 : line_start] in {"\n", "\r"}
    newline = re.compile(r"\r?\n").match(text, line_end)
    if is_first and newline:
        yield line_start, newline.end(), ""
    else:
        yield start if is_first else line_start, end, ""


def _separate(parts: list[str]) -> list[str]:
    return [f"{part}," for part in parts[:-1]] + parts[-1:]


def _child(key: str | None, value: object, indent: str, layout: _Layout) -> str:
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    return name + to_json(value, indent or layout.step, layout.step, layout.newline)


def _indent_at(text: str, position: int) -> str:
    """Return the spaces at the start of the line that contains a position."""
    line = text[max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


class _JsoncParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self._decoder = json.JSONDecoder()

    def error(self, what: str, position: int) -> JsonError:
        return JsonError(f"{what} in line {self.text.count(chr(10), 0, position) + 1}")

    def skip(self, position: int) -> int:
        found = TRIVIA.match(self.text, position)
        return found.end() if found is not None else position

    def value(self, position: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.error("too many levels", position)
        match self.text[position : position + 1]:
            case "{":
                return self._object(position, depth)
            case "[":
                return self._array(position, depth)
            case '"':
                text, end = self._string(position)
                return Node(position, end, text)
            case _:
                literal = LITERAL.match(self.text, position)
                if literal is None:
                    raise self.error("no value", position)
                return Node(position, literal.end(), json.loads(literal[0]))

    def _string(self, position: int) -> tuple[str, int]:
        if self.text[position : position + 1] != '"':
            raise self.error("no string", position)
        try:
            text, end = self._decoder.raw_decode(self.text, position)
        except ValueError:
            raise self.error("a string without end, or with a character that is not allowed", position) from None
        return str(text), end

    def _object(self, start: int, depth: int) -> Node:
        members: dict[str, Node] = {}
        position, comma = self.skip(start + 1), None
        while self.text[position : position + 1] != "}":
            if members and comma is None:
                raise self.error("no comma", position)
            name_start = position
            key, end = self._string(position)
            if key in members:
                raise self.error(f"a second {json.dumps(key)}", position)
            position = self.skip(end)
            if self.text[position : position + 1] != ":":
                raise self.error("no colon", position)
            member = self.value(self.skip(position + 1), depth + 1)
            position, comma = self._comma(member.end)
            members[key] = replace(member, name_start=name_start, comma_after=comma)
        return Node(start, position + 1, {key: node.value for key, node in members.items()}, members, comma=comma)

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        position, comma = self.skip(start + 1), None
        while self.text[position : position + 1] != "]":
            if items and comma is None:
                raise self.error("no comma", position)
            item = self.value(position, depth + 1)
            position, comma = self._comma(item.end)
            items.append(replace(item, comma_after=comma))
        return Node(start, position + 1, [node.value for node in items], items=items, comma=comma)

    def _comma(self, end: int) -> tuple[int, int | None]:
        """Return where the next child or the end is, and the position after a comma before it."""
        position = self.skip(end)
        if self.text[position : position + 1] != ",":
            return position, None
        return self.skip(position + 1), position + 1
