"""Where a text stands in a file that a session has read, for an editor that follows the agent. Decides nothing."""

from fileops.core.matching import find, lines_of
from fileops.core.roots import Roots
from fileops.core.text import detect_format, is_binary
from fileops.errors import FileOpsError, PathMoved
from fileops.freshness import Freshness
from fileops.model import Text
from fileops.ports import FileSystem
from fileops.reading import canonical_path

MAX_SEARCHED_BYTES = 4_000_000  # it is asked while arguments stream in: many times for one call


def line_of(
    fs: FileSystem, freshness: Freshness, session_id: str, file_path: str, old_string: str, roots: Roots | None
) -> int | None:
    """1-based line of the first occurrence; None where there is none, or the session may not know of it."""
    try:
        path = canonical_path(fs, file_path, roots)
        if not freshness.is_tracked(session_id, path):
            return None
        stamp = fs.stat(path)
        if stamp is None or stamp.size_bytes > MAX_SEARCHED_BYTES:
            return None
        data = fs.read(path).data
    except (FileOpsError, PathMoved):
        return None
    fmt = detect_format(data)
    if is_binary(data, fmt):
        return None
    text = Text(data=data, format=fmt)
    starts = find(text, old_string).starts
    return lines_of(text, starts[:1])[0] if starts else None
