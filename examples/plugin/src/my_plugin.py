"""A strategy, a processor and a validator for fileops-server. docs/guide/plugins.md explains them."""

import json
import re
from collections.abc import Iterable


def replace_section(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
    """The body below the Markdown heading that reads as old_string, up to the next heading."""
    for found in re.finditer(rf"(?m)^#+ {re.escape(old_string)}\n((?:(?!#).*\n)*)", text):
        yield found.start(1), found.end(1), new_string


def tidy(file_path: str, before: str | None, after: str) -> str | None:
    """No blanks at the ends of lines, and one line feed at the end of the file."""
    lines = [line.rstrip(" \t") for line in after.split("\n")]
    return "\n".join(lines).rstrip("\n") + "\n"


def json_syntax(file_path: str, before: str | None, after: str) -> str | None:
    """A JSON file that could be parsed has to stay one."""
    if not file_path.endswith(".json") or (before is not None and fault_in(before)):
        return None
    return fault_in(after)


def fault_in(text: str) -> str | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"it would not be JSON any more: {error}"
    return None
