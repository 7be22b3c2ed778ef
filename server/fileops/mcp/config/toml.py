"""TOML, changed without losing comments, order and layout.

A separate module, because only hosts with TOML settings need tomlkit; `jsonc.py` is its counterpart.
"""

import tomllib
from typing import Any, cast

import tomlkit

from fileops.mcp.config.changes import Change, Remove, carry_out


class TomlError(ValueError):
    """The text is not TOML; the message names the line."""


def parse(text: str) -> dict[str, Any]:
    """Return the data of a document."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None


def apply(text: str, changes: list[Change]) -> str:
    """Return the text with the changes applied."""
    document = tomlkit.parse(text)
    carry_out(changes, cast("dict[str, Any]", document))
    changed = tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]
    if any(isinstance(change, Remove) for change in changes):
        changed = changed.rstrip() + "\n"  # the blank line before a table that was added
    return changed.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else changed
