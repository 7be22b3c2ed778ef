"""A strategy is a function: text, old_string, new_string → places as (start, end, new text), in characters."""

import re
from collections.abc import Iterable


def replace_section(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
    """The body below the Markdown heading that reads as old_string, up to the next heading."""
    for found in re.finditer(rf"(?m)^#+ {re.escape(old_string)}\n((?:(?!#).*\n)*)", text):
        yield found.start(1), found.end(1), new_string


def broken(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
    """What a faulty plugin may do: here it runs beyond the text."""
    del old_string
    return [(0, len(text) + 1, new_string)]
