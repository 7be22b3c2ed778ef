"""Parsers that say where a text has syntax errors. They run in a child process with limits (process.py, host.py).

A parser may need much time and memory, and a deeply nested text may end the interpreter itself; here that ends a child
alone. Imports nothing of the daemon, and each parser at its first use.
"""

import gc
import json
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

MAX_ERRORS = 3
MAX_MESSAGE_CHARS = 200

Fault = tuple[int, int, str]  # line and column, 1-based, and a clause


def faults_of(language: str, text: str) -> str:
    """Return the first syntax errors as a JSON list of Fault; "null" if there is no parser for the language."""
    parser = _PARSERS.get(language, _by_tree_sitter)
    gc.disable()  # thousands of objects are made, and none of them is garbage yet
    try:
        faults = parser(language, text)
    finally:
        gc.enable()
    return json.dumps(None if faults is None else [(*place, message[:MAX_MESSAGE_CHARS]) for *place, message in faults])


def _python(_language: str, text: str) -> list[Fault]:
    import ast

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return [(error.lineno or 1, error.offset or 1, error.msg)]
        except ValueError as error:  # a null byte
            return [(1, 1, str(error))]
    return []


def _json(_language: str, text: str) -> list[Fault]:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return [(error.lineno, error.colno, error.msg)]
    return []


def _toml(_language: str, text: str) -> list[Fault]:
    import re
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, place, _ = str(error).partition(" (at ")
        found = re.match(r"line (\d+), column (\d+)", str(error)[len(message) + len(place) :])
        end = text.count("\n") + 1
        return [(int(found[1]), int(found[2]), message) if found else (end, 1, f"{message} at the end")]
    return []


_PARSERS: dict[str, Callable[[str, str], list[Fault] | None]] = {"python": _python, "json": _json, "toml": _toml}


def _by_tree_sitter(language: str, text: str) -> list[Fault] | None:
    """None without the extra `fileops-server[syntax]`."""
    try:
        pack: Any = import_module("tree_sitter_language_pack")
    except ImportError:
        return None
    data = text.encode("utf-8", "replace")
    root: Any = pack.get_parser(language).parse(data).root_node
    return [_fault_at(node, data) for node in _faulty_nodes(root)] if root.has_error else []


def _faulty_nodes(root: Any) -> Iterator[Any]:
    """Yield the first nodes that are errors themselves, from top to bottom."""
    nodes, n_found = [root], 0
    while nodes and n_found < MAX_ERRORS:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            n_found += 1
            yield node
        elif node.has_error:
            nodes += reversed(node.children)


def _fault_at(node: Any, data: bytes) -> Fault:
    row: int
    column: int
    row, column = node.start_point
    line = data.split(b"\n", row + 1)[row]
    place = row + 1, len(line[:column].decode("utf-8", "replace")) + 1
    if node.is_missing:
        return (*place, f"{node.type} is missing")
    found = data[node.start_byte : node.end_byte].decode("utf-8", "replace").split("\n", 1)[0].strip()
    return (*place, f"unexpected {found[:40]!r}" if found else "syntax error")
