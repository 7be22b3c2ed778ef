"""Parsers that find syntax errors in a text. They run in a child process with limits (process.py, host.py).

A parser may need much time and memory, and deeply nested text may crash the interpreter itself. Here, that ends only a
child. Imports nothing of the daemon, and each parser only when it is first used.
"""

import gc
import json
import re
import warnings
from collections.abc import Callable

MAX_MESSAGE_CHARS = 200
MAX_CELL_FAULTS = 3

Fault = tuple[int, int, str]  # line and column, 1-based, and a clause


def faults_of(language: str, text: str) -> str:
    """Return the first syntax error as a JSON list of Fault."""
    gc.disable()  # it creates thousands of objects, none of them garbage yet
    try:
        faults = _PARSERS[language](text)
    finally:
        gc.enable()
    return json.dumps([(*place, message[:MAX_MESSAGE_CHARS]) for *place, message in faults])


def _python(text: str) -> list[Fault]:
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


def _python_cells(text: str) -> list[Fault]:
    """Return the first error of each cell that had none before.

    text: JSON, for each cell the number of its first line and its source before and after.
    """
    cells: list[tuple[int, str, str]] = json.loads(text)
    found: list[Fault] = []
    for first_line, before, after in cells:
        faults = _ipython(after)
        if faults and not _ipython(before):
            found += [(line + first_line - 1, column, message) for line, column, message in faults]
    return found[:MAX_CELL_FAULTS]


def _ipython(source: str) -> list[Fault]:
    """Return the first error of a cell. What IPython runs itself is left out: magics, shell commands, and help."""
    if not _python(source) or source.lstrip().startswith("%%"):
        return []  # without any of that, or in another language
    return _python(_without_magics(source))


def _without_magics(source: str) -> str:
    """Return the source with `pass` in place of each such statement, and as many lines as before."""
    lines: list[str] = []
    is_continued = False
    for line in source.split("\n"):
        bare = line.strip()
        is_magic = is_continued or _MAGIC.match(bare) is not None
        lines.append(f"{line[: len(line) - len(line.lstrip())]}pass" if is_magic and not is_continued else line)
        if is_continued:
            lines[-1] = ""
        is_continued = is_magic and bare.endswith("\\")
    return "\n".join(lines)


_MAGIC = re.compile(r"[%!?]|[\w.\[\]'\", ()*]+=\s*[%!]|%*[\w.*]+\?{1,2}$")


def _json(text: str) -> list[Fault]:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return [(error.lineno, error.colno, error.msg)]
    return []


def _toml(text: str) -> list[Fault]:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, place, _ = str(error).partition(" (at ")
        found = re.match(r"line (\d+), column (\d+)", str(error)[len(message) + len(place) :])
        end = text.count("\n") + 1
        return [(int(found[1]), int(found[2]), message) if found else (end, 1, f"{message} at the end")]
    return []


_PARSERS: dict[str, Callable[[str], list[Fault]]] = {
    "python": _python,
    "python_cells": _python_cells,
    "json": _json,
    "toml": _toml,
}
