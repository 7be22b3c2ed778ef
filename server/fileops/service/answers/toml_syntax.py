"""Whether an edit leaves a TOML file as parsable as it was, found by the entries that it changes or by their table.

What is not noticed: a key that two headers or dotted keys define differently.
"""

import re
import tomllib
from collections.abc import Sequence

from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.service.answers.changed_lines import MAX_PART_BYTES, Part, changed_lines, parts_parse

# Strings and comments are of printable ASCII, without quotation marks of either kind and backslashes.
_VALUE = rb'(?:"[ !#-&(-\[\]-~]*"|[+-]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?|true|false)'
_LIST = rb"\[(?:%b(?:, ?%b)*)?\]" % (_VALUE, _VALUE)
_COMMENT = rb"#[ !#-&(-\[\]-~]*"
_ENTRY = rb"[ \t]*(?P<key>[\w-]+)[ \t]*=[ \t]*(?:%b|%b)[ \t]*(?:%b)?(?:\r?\n|\Z)" % (_VALUE, _LIST, _COMMENT)
_ENTRIES = re.compile(rb"(?:%b)+" % _ENTRY.replace(b"?P<key>", b"?:"))
_KEYS = re.compile(_ENTRY)
_TABLE = re.compile(rb"[ \t]*\[{1,2}[^\[\]{}=,]+\]{1,2}[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)


def still_parses(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """Whether splicing the file surely leaves it as parsable as it was. data: the old content."""
    rest = [change for change in changed_lines(data, splices) if not _changes_entries(data, change)]
    return not rest or parts_parse(data, rest, fmt, _table, _is_toml)


# Why the changed lines suffice if they are simple entries (`key = 1`, of plain strings, numbers and lists of them)
# before and after the change. They are inside a string of several lines, or they are not:
#
# - In a string they are any text. The new ones have nothing that could end it or be an escape: no backslash, no
#   apostrophe, and no three quotation marks in a row.
# - Elsewhere the old ones are entries of a table (no list or inline table of several lines has a line `key = value`).
#   So other entries may be in their place, unless a key is defined twice; but the bytes of a key that is added are
#   nowhere else in the file, and nothing in it is escaped.
#
# Where lines are only added or only removed, the line before them counts as changed, too, and has to be such an entry.


def _changes_entries(data: bytes, change: Splice) -> bool:
    start = change.start
    if start == change.end or not change.new:
        start = data.rfind(b"\n", 0, max(0, start - 1)) + 1
    if change.end - start + len(change.new) > MAX_PART_BYTES:
        return False
    old, new = data[start : change.end], data[start : change.start] + change.new
    if not _ENTRIES.fullmatch(new) or not _ENTRIES.fullmatch(old):
        return False
    keys, present = _KEYS.findall(new), _KEYS.findall(old)
    added = [key for key in keys if key not in present]
    if len(set(keys)) < len(keys) or (added and b"\\" in data):
        return False
    return all(key not in data for key in added)


# Otherwise the table is parsed, from its header to the next one. A change has none if it touches a line that could be a
# header, or the end of a string of several lines.


def _table(data: bytes, change: Splice) -> Part | None:
    start, end = change.start, change.end
    for lines in (data[start:end], change.new):
        if b"\n[" in b"\n" + re.sub(rb"\n[ \t]+", b"\n", lines).lstrip(b" \t"):
            return None
    earliest, latest = start - MAX_PART_BYTES, end + MAX_PART_BYTES
    while start > 0:
        start = data.rfind(b"\n", 0, start - 1) + 1
        if start < earliest:
            return None
        if _TABLE.match(data, start):
            break
    while end < len(data) and not _TABLE.match(data, end):
        end = data.find(b"\n", end) + 1 or len(data)
        if end > latest:
            return None
    return Part(start, end)


def _is_toml(source: str) -> bool:
    try:
        tomllib.loads(source)
    except (ValueError, RecursionError):  # the whole text shows what the error is, if any
        return False
    return True
