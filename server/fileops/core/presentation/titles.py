"""One-line titles and locations of calls for the user, even while the arguments are still streaming in.

Pure. The arguments are the JSON that a model has produced so far, so any key may be missing or have a wrong type.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from fileops.core.roots import is_inside

Arguments = Mapping[str, object]

MAX_SNIPPET_CHARS = 30  # of the old and of the new text
MAX_NAME_CHARS = 12  # of an edit or a session
MAX_PATH_CHARS = 35  # two snippets and a path fill a line of a pane
METHODS = {"Read": "fileops/read", "Edit": "fileops/edit", "MultiEdit": "fileops/multiEdit", "Bash": "fileops/bash"}


class Location(Struct, frozen=True, kw_only=True):
    """A place that a call concerns."""

    path: str
    """Absolute path."""
    line: int | None
    """1-based line; null if unknown."""


class Description(Struct, frozen=True, kw_only=True):
    """A call in a few words."""

    title: str
    """The title, in one line."""
    locations: tuple[Location, ...]
    """The call's file, if there is one."""


def describe(method: str, arguments: Arguments, folders: Iterable[str], *, edit_line: int | None = None) -> Description:
    """Return the title and the locations of a call.

    method: of the wire, or a tool's name. edit_line: the line of the old text of an edit, if known.
    """
    method = METHODS.get(method, method)
    path = text_of(arguments, "file_path")
    line = number_of(arguments, "offset") if method == "fileops/read" else edit_line
    locations = (Location(path=path, line=line),) if path else ()
    return Description(
        title=one_line(_title(method, arguments, subject_of(method, arguments, folders))), locations=locations
    )


def first_old_string(method: str, arguments: Arguments) -> str:
    """Return the `old_string` of the first edit, or "" if there is none (yet)."""
    steps = steps_of(METHODS.get(method, method), arguments)
    return text_of(steps[0], "old_string") if steps else ""


def _title(method: str, arguments: Arguments, path: str) -> str:
    steps = steps_of(method, arguments)
    if method == "fileops/read":
        return f"Read {path}{line_range(arguments)}"
    if method in {"fileops/edit", "fileops/multiEdit"}:
        return _edit_title(steps, path)
    if method == "fileops/bash":
        return f"Run {_snippet(text_of(arguments, 'command'))}"
    words = re.sub(r"([A-Z])", r" \1", method.removeprefix("fileops/")).lower().strip()
    return f"{words[:1].upper()}{words[1:]}" + (f" {path}" if path != UNKNOWN else "")


def _edit_title(steps: Sequence[Arguments], path: str) -> str:
    if not steps or "old_string" not in steps[0]:
        return f"Edit {path}"
    if not text_of(steps[0], "old_string"):
        return f"Create {path}"
    if all(step.get("old_string") == step.get("new_string") for step in steps):
        return f"No file changes to {path}"
    if len(steps) > 1:
        return f"{path}: {len(steps)} edits"
    return f"{path}: {_snippet(text_of(steps[0], 'old_string'))} => {_snippet(text_of(steps[0], 'new_string'))}"


def _snippet(text: str) -> str:
    """Return the beginning of the first line and dots. The dots are always there, as specified."""
    return text.split("\n", 1)[0][:MAX_SNIPPET_CHARS] + "..."


def subject_of(method: str, arguments: Arguments, folders: Iterable[str], max_chars: int = MAX_PATH_CHARS) -> str:
    """Return the file of a call, or the session or edit that an undo names, or dots."""
    if path := text_of(arguments, "file_path"):
        return shorten_path(path, folders, max_chars)
    for kind in ("edit", "session") if method == "fileops/undo" else ():
        if name := text_of(arguments, f"{kind}_id"):
            return f"{kind} {name[:MAX_NAME_CHARS]}"
    return UNKNOWN


# --- arguments received so far ------------------------------------------------------------------------------------


def steps_of(method: str, arguments: Arguments) -> list[Arguments]:
    if method == "fileops/edit":
        return [arguments]
    edits = arguments.get("edits") if method == "fileops/multiEdit" else None
    if not isinstance(edits, list):
        return []
    return [cast("Arguments", step) for step in cast("list[object]", edits) if isinstance(step, dict)]


def text_of(arguments: Arguments, key: str) -> str:
    value = arguments.get(key)
    return value if isinstance(value, str) else ""


def number_of(arguments: Arguments, key: str) -> int | None:
    """Return the value if it is an integer of at least 1."""
    value = arguments.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or value < 1:
        return None
    return int(value)


def line_range(arguments: Arguments) -> str:
    """Return `:10-50`, `:10` without an end, or "" for a whole file."""
    offset, limit = number_of(arguments, "offset"), number_of(arguments, "limit")
    if offset is None and limit is None:
        return ""
    start = offset or 1
    return f":{start}" if limit is None else f":{start}-{start + limit - 1}"


# --- paths ------------------------------------------------------------------------------------------------------

UNKNOWN = "..."


def shorten_path(path: str, folders: Iterable[str], max_chars: int = MAX_PATH_CHARS) -> str:
    """Return the path, shortened and relative to the innermost folder that contains it; dots if it is unknown."""
    return shorten(relative(path, folders), max_chars) if path else UNKNOWN


def relative(path: str, folders: Iterable[str]) -> str:
    """Return the path relative to the innermost folder, compared literally.

    A path outside all folders stays as it is.
    """
    if not path.startswith("/"):
        return path
    path = posixpath.normpath(path)
    containing = [folder for folder in folders if is_inside(folder, path)]
    if not containing:
        return path
    return path[len(max(containing, key=len).rstrip("/")) :].lstrip("/") or "."


def shorten(path: str, max_chars: int = MAX_PATH_CHARS) -> str:
    """Return the first folder and as many of the last parts as fit: `src/.../widgets/button.py`."""
    if len(path) <= max_chars:
        return path
    root = "/" if path.startswith("/") else ""
    head, *tail = [part for part in path.split("/") if part] or [path]
    for start in range(1, len(tail)):
        candidate = f"{root}{head}/.../{'/'.join(tail[start:])}"
        if len(candidate) <= max_chars:
            return candidate
    return f"...{path[3 - max_chars :]}"


def one_line(text: str) -> str:
    """Replace control characters and other unprintable ones with U+FFFD."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
