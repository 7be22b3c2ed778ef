"""Whether an edit leaves a JSON file as parsable as it was, found by the members that it changes or by the whole text.

The whole text is checked without making values of it.
"""

import re
from collections.abc import Sequence

import msgspec

from fileops.core import splices as splicing
from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.service.answers.changed_lines import changed_lines

MAX_BYTES = 1 << 18  # of the whole text; 0.2 ms
_KEY = re.compile(rb'[ \t\r\n]*"[^"\\\n]*"[ \t]*:')
_BLANKS = b" \t\r\n"


def still_parses(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """Whether splicing the file surely leaves it as parsable as it was. data: the old content."""
    return all(_changes_members(data, change) for change in changed_lines(data, splices)) or _is_json(
        data, splices, fmt
    )


# Why the changed lines suffice if they are members of an object (`"name": value, …`) before and after the change:
#
# - No string of JSON has a line end. So a line never begins inside a string, and the tokens of the lines do not depend
#   on what is around them: they are those that are found between a pair of braces put around the lines.
# - A string and a colon can begin only a member. So where the old lines begin, or the line after them that begins with
#   a key, a member may begin; and the grammar allows any list of members in the place of another one, with the same
#   comma or none after it. Before a further member the list and its comma may also be absent.
#
# A key may be there twice: json.loads allows that.


def _changes_members(data: bytes, change: Splice) -> bool:
    old, has_comma = _without_comma(data[change.start : change.end])
    new, has_new_comma = _without_comma(change.new)
    if old and new:
        return has_comma == has_new_comma and _are_members(new) and _are_members(old)
    if (has_comma, has_new_comma) != (bool(old), bool(new)) or not _KEY.match(data, change.end):
        return False
    return _are_members(old or new)


def _without_comma(lines: bytes) -> tuple[bytes, bool]:
    """Return the lines without blanks and a comma at their end, and whether there was one."""
    lines = lines.strip(_BLANKS)
    return lines.removesuffix(b",").rstrip(_BLANKS), lines.endswith(b",")


def _are_members(lines: bytes) -> bool:
    """Whether the lines are one or more members."""
    return lines[:1] == b'"' and _is_value(b"{%b}" % lines)


def _is_json(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    if len(data) + splicing.growth(splices) > MAX_BYTES:
        return False
    return _is_value(splicing.apply(data, splices).removeprefix(fmt.bom))


def _is_value(content: bytes) -> bool:
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):  # also NaN and lone surrogates, which Python's parser allows
        return False
    return True
