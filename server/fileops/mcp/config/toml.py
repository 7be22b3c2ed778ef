"""TOML, changed without losing comments, order and layout.

A separate module, because only hosts with TOML settings need tomlkit; `jsonc.py` is its counterpart.
"""

import tomllib
from typing import Any, cast

import tomlkit

from fileops.mcp.config.changes import Change, carry_out
from fileops.mcp.config.text_splices import find_changed_lines


class TomlError(ValueError):
    """The text is not TOML; the message names the line."""


def parse(text: str) -> dict[str, Any]:
    """Return the data of a document."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None


def apply(text: str, changes: list[Change]) -> str:
    """Return the text with the changes applied. Raises: TomlError."""
    try:
        document = tomlkit.parse(text)
        carry_out(changes, cast("dict[str, Any]", document))
        changed = tomlkit.dumps(document)
    except Exception as error:  # tomlkit fails in many ways in tables that are not in one piece
        raise TomlError(f"its layout cannot be changed ({type(error).__name__})") from error
    return changed if text.count("\r\n") * 2 <= text.count("\n") else _with_crlf(text, changed)


def _with_crlf(before: str, after: str) -> str:
    """Return the text with CR LF in what is new in it; tomlkit ends each line that it makes with LF."""
    for splice in reversed(list(find_changed_lines(before, after))):
        new = splice.new.replace("\r\n", "\n").replace("\n", "\r\n")
        after = after[: splice.start] + new + after[splice.start + len(splice.new) :]
    return after
