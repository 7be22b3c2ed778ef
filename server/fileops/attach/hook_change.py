"""What one of our tools changed, or why it failed, for the person, from the call and its lean answer: a hook shows it.

The model is not sent these lines again, since it has just written them. The answer names the lines of the file.
"""

import os
import re
from difflib import SequenceMatcher
from typing import Any, cast

MAX_SHOWN_LINES = 10  # as in mcp/results.py, including the line that counts the rest
MAX_REASON_CHARS = 300  # a host shows a hook's message whole
_PLACE = r"\d+(?:-\d+)?\b"
_DONE = re.compile(
    r"(?:The file has been updated(?: at \d+ places)?|Applied \d+ edits?): "
    rf"lines? ({_PLACE}(?:, {_PLACE})*(?: and {_PLACE}(?! more))?)"
)


def message_of(arguments: object, answer: str, cwd: object) -> str | None:
    """Return the changed lines of an Edit or a MultiEdit, after the file and the counts; None for any other answer.

    arguments: of the call. answer: the text for the model. cwd: the session's folder.
    """
    done = _DONE.match(answer)
    if done is None or not isinstance(arguments, dict):
        return None
    given = cast("dict[str, Any]", arguments)
    path, steps = given.get("file_path"), given.get("edits", [given])
    if not isinstance(path, str) or not isinstance(steps, list):
        return None
    places = [int(found.partition("-")[0]) for found in re.findall(_PLACE, done[1])]
    shown: list[str] = []
    for index, step in enumerate(cast("list[dict[str, Any]]", steps)):
        old, new = step.get("old_string"), step.get("new_string")
        if not isinstance(old, str) or not isinstance(new, str):
            return None
        lines = _list_changed_lines(old, new)
        shown += ([f"@@ line {places[index]}"] if index < len(places) else []) + lines
    n_added, n_removed = (sum(line.startswith(sign) for line in shown) for sign in "+-")
    name = _name_of(path, cwd)
    if len(shown) > MAX_SHOWN_LINES:
        shown = [*shown[: MAX_SHOWN_LINES - 1], f"… {len(shown) - MAX_SHOWN_LINES + 1} more"]
    return "\n".join((f"{name} +{n_added} −{n_removed}", *shown))


def failure_of(arguments: object, error: object, cwd: object) -> str | None:
    """Return why a call failed, in one line after the file, such as the reason of a rejection. Args: as above."""
    text = error.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>") if isinstance(error, str) else ""
    said = text.strip().partition("\n")[0]
    if not said:
        return None
    path = cast("dict[str, Any]", arguments).get("file_path") if isinstance(arguments, dict) else None
    said = said if len(said) <= MAX_REASON_CHARS else f"{said[:MAX_REASON_CHARS]}…"
    return f"{_name_of(path, cwd)}: {said}" if isinstance(path, str) else said


def _name_of(path: str, cwd: object) -> str:
    return os.path.relpath(path, cwd) if isinstance(cwd, str) and path.startswith(f"{cwd}/") else path


def _list_changed_lines(old: str, new: str) -> list[str]:
    before, after = (text.removesuffix("\n").split("\n") if text else [] for text in (old, new))
    lines: list[str] = []
    for kind, start, stop, new_start, new_stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += [f"-{line}" for line in before[start:stop]]
            lines += [f"+{line}" for line in after[new_start:new_stop]]
    return lines
