"""A strategy is a function: text, old_string, new_string → places as (start, end, new text), in characters.

A validator is a function: path, text before (None for a new file), text after → why not, or None.
"""

import json
import re
import sys
from collections.abc import Iterable


def replace_section(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
    """The body below the Markdown heading that reads as old_string, up to the next heading."""
    for found in re.finditer(rf"(?m)^#+ {re.escape(old_string)}\n((?:(?!#).*\n)*)", text):
        yield found.start(1), found.end(1), new_string


def broken(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
    """What a faulty plugin may do: here it runs beyond the text."""
    del old_string
    return [(0, len(text) + 1, new_string)]


def json_syntax(file_path: str, before: str | None, after: str) -> str | None:
    """A JSON file that could be parsed has to stay one."""
    if not file_path.endswith(".json") or (before is not None and _fault(before)):
        return None
    return _fault(after)


def _fault(text: str) -> str | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"it would be no JSON any more: {error}"
    return None


def faulty(file_path: str, before: str | None, after: str) -> str | None:
    """What a faulty plugin may do: here it tries to end the process."""
    del file_path, before, after
    sys.exit("no")
