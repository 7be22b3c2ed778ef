"""The text of a patch as values: which of the two formats it has, and what both have in common."""

from fileops.core.patch import dialect, unified
from fileops.core.patch.source import Source
from fileops.model.changes import Patch
from fileops.model.errors import InvalidPatch

MAX_PATCH_CHARS = 16 << 20  # as much new content as a change set may have
MAX_PATCH_LINES = 1_000_000


def parse_patch(text: str) -> Patch:
    """Parse a patch in the dialect of `apply_patch` or as unified diffs, in time linear in its length.

    Raises: InvalidPatch, with the line at which the text cannot be understood.
    """
    if len(text) > MAX_PATCH_CHARS:
        raise InvalidPatch(line=1, reason=f"it has over {MAX_PATCH_CHARS >> 20} million characters")
    source = Source(text)
    if len(source.lines) > MAX_PATCH_LINES:
        raise InvalidPatch(line=1, reason=f"it has over {MAX_PATCH_LINES:,} lines")
    first = next((number for number, line in enumerate(source.lines) if line.strip()), None)
    if first is None:
        raise InvalidPatch(line=1, reason="it is empty")
    if source.lines[first].strip() == dialect.BEGIN:
        return Patch(format="apply_patch", files=dialect.parse(source, first))
    return Patch(format="unified", files=unified.parse(source, first))
