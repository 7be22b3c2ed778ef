"""The diff of an entry of the record, and how many lines it changed. Reads no file: its callers pass the contents."""

from collections import Counter

from msgspec.structs import replace

from fileops.core import text
from fileops.core.diff.contents import common_lines, splices_between
from fileops.core.diff.unified import change_of, diff_name, format_unified_diff
from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.model.record import Contents, Entry
from fileops.model.settings import Limits

MAX_COUNTED_BYTES = 200_000  # of the parts that differ: longer ones are not compared line by line


def diff_of(entry: Entry, contents: Contents) -> str:
    """Return the unified diff of an entry; "" if a content is not kept."""
    is_whole = (contents.before is not None) == (entry.before is not None) and (
        (contents.after is not None) == (entry.after is not None)
    )
    if not is_whole or entry.gap == "baseline" or entry.content != "kept":
        return ""
    before, after = contents.before or b"", contents.after or b""
    fmt = text.detect_format(before or after)
    splices = (Splice(0, 0, after),) if not before else splices_between(before, after, fmt)
    change = change_of(
        before,
        fmt,
        splices,
        file_path=entry.path,
        operation="create" if entry.before is None else "modify",
        limits=Limits(),
        with_snippet=False,
    )
    if entry.after is None:
        return format_unified_diff(change.hunks, file_path=entry.path, removes=True)
    return change.unified


def diff_of_rename(departure: Entry, arrival: Entry, contents: Contents) -> str:
    """Return the unified diff of a renamed file, with the headers that git has for a rename.

    Args: contents: the one before under the old name, and the one after under the new name.
    """
    old, new = diff_name(departure.path), diff_name(arrival.path)
    renamed = "".join(f"rename {word} {name.rstrip()}\n" for word, name in (("from", old), ("to", new)))
    _, _, rest = diff_of(replace(arrival, before=departure.before), contents).partition("\n")
    return renamed + (f"--- {old}\n{rest}" if rest else "")


def count_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return how many lines were added and removed.

    Between long contents that differ in many places, lines are counted that only one of them has, which is as exact
    unless lines were moved.
    """
    fmt = text.detect_format(before or after)
    if not before or not after:
        n_before, n_after = (text.count_lines(data, fmt) if data else 0 for data in (before, after))
        return n_after, n_before
    if len(before) + len(after) > MAX_COUNTED_BYTES:
        head, tail = common_lines(before, after, fmt)
        old, new = before[head : len(before) - tail], after[head : len(after) - tail]
        if len(old) + len(new) > MAX_COUNTED_BYTES:
            return _lines_of_one(old, new, fmt)
    change = change_of(
        before,
        fmt,
        splices_between(before, after, fmt),
        file_path="",
        operation="modify",
        limits=Limits(),
        with_snippet=False,
    )
    return change.n_added, change.n_removed


def _lines_of_one(old: bytes, new: bytes, fmt: TextFormat) -> tuple[int, int]:
    """Return how many lines are in one of two different contents only; of equal lines in another order, all."""
    removed, added = (Counter(text.split_lines(data, fmt)) for data in (old, new))
    counts = (added - removed).total(), (removed - added).total()
    return counts if any(counts) else (added.total(), removed.total())
