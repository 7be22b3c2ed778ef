"""Parsers that find syntax errors in a text. They run in a child process with limits (process.py, host.py).

A parser may need much time and memory, and deeply nested text may crash the interpreter itself. Here, that ends only a
child. Imports nothing of the daemon, and each parser only when it is first used.
"""

import gc
import json
import warnings
from collections.abc import Callable

MAX_MESSAGE_CHARS = 200

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


def _json(text: str) -> list[Fault]:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return [(error.lineno, error.colno, error.msg)]
    return []


def _toml(text: str) -> list[Fault]:
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


_PARSERS: dict[str, Callable[[str], list[Fault]]] = {"python": _python, "json": _json, "toml": _toml}
