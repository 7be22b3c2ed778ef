"""An editor's part: positions, text edits, and the changes it reports. Over plain strings."""

import re
from collections.abc import Sequence
from typing import Any

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def edited(text: str, edits: Sequence[Any], encoding: str) -> str:
    """edits: LSP TextEdits over the text as it is, in any order."""
    starts = _line_starts(text)

    def span(edit: Any) -> tuple[int, int]:
        return (
            _offset(text, starts, edit["range"]["start"], encoding),
            _offset(text, starts, edit["range"]["end"], encoding),
        )

    for edit in sorted(edits, key=span, reverse=True):
        start, end = span(edit)
        text = text[:start] + edit["newText"] + text[end:]
    return text


def change(old: str, new: str, encoding: str) -> dict[str, Any]:
    """The one incremental change that makes `new` of `old`."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
    if old[:head].endswith("\r"):  # no position lies inside of a line end
        head -= 1
    if tail and old[len(old) - tail] == "\n" and old[: len(old) - tail].endswith("\r"):
        tail -= 1
    if tail and new[len(new) - tail] == "\n" and new[: len(new) - tail].endswith("\r"):
        tail -= 1
    place = {"start": _position(old, head, encoding), "end": _position(old, len(old) - tail, encoding)}
    return {"range": place, "text": new[head : len(new) - tail]}


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]


def _position(text: str, offset: int, encoding: str) -> dict[str, int]:
    starts = _line_starts(text)
    line = max(n for n, start in enumerate(starts) if start <= offset)
    return {"line": line, "character": _n_units(text[starts[line] : offset], encoding)}


def _offset(text: str, starts: list[int], position: dict[str, int], encoding: str) -> int:
    start = at = starts[position["line"]]
    while _n_units(text[start:at], encoding) < position["character"]:
        at += 1
    return at


def _n_units(text: str, encoding: str) -> int:
    codec, width = _CODECS[encoding]
    return len(text.encode(codec, "surrogatepass")) // width
