"""Files of the demonstration: an example, or copies of the user's files; and a foreign write to one of them."""

import os
import time
from collections.abc import Iterator

from msgspec import Struct

MAX_FILES = 100
N_LINES = 5  # lines that the demonstration changes in one file
MAX_FILE_BYTES = 50_000  # well below the limit of one read
MARK = " (edited by the demo)"
VISITOR = "A line that another program wrote."
UNFORMATTED = b"""\
import sys

def mean(numbers):
    total = sum( numbers )
    count = len(numbers)
    if count == 0:
        return None
    quotient = total / count
    return quotient
"""
FORMATTED = UNFORMATTED.replace(b"( numbers )", b"(numbers)")

TRIP = """\
# A day out: who brings what

bread = 2
cheese = 1
apples = 4

def portions(people):
    return {"bread": bread / people, "cheese": cheese / people}

print(portions(people=4))
"""
NOTES = "Notes for the day\r\n=================\r\n\r\nMeet at the station at nine.\r\nBring an umbrella."


class Cast(Struct, frozen=True, kw_only=True):
    """The files and their edits: `edits` apply to `second`, the others to `first`."""

    n_files: int
    first: str
    edit: tuple[str, str]
    late_edit: tuple[str, str]
    asked_edit: tuple[str, str]
    second: str
    edits: tuple[tuple[str, str], ...]


def example(folder: str) -> Cast:
    for name, text in (("trip.py", TRIP), ("notes.txt", NOTES)):
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return Cast(
        n_files=2,
        first="trip.py",
        edit=("cheese = 1", "cheese = 3"),
        late_edit=("people=4", "people=6"),
        asked_edit=("apples = 4", "apples = 6"),
        second="notes.txt",
        edits=(("at nine", "at half past nine"), ("an umbrella", "a hat")),
    )


def copies(directory: str, folder: str) -> Cast | None:
    """Copy text files. Return None if none of them is suitable."""
    lines_of: dict[str, list[str]] = {}
    n_files = 0
    for name, content in _text_files(directory):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        n_files += 1
        lines_of[name] = _lines_of_its_own(content.decode())
        if n_files == MAX_FILES:
            break
    fit = [name for name, lines in lines_of.items() if len(lines) >= N_LINES]
    if not fit:
        return None
    first, second = fit[0], fit[-1]
    wishes = [(line, line + MARK) for line in lines_of[first][:N_LINES]]
    return Cast(
        n_files=n_files,
        first=first,
        edit=wishes[0],
        late_edit=wishes[3],
        asked_edit=wishes[4],
        second=second,
        edits=tuple(wishes[1:3]) if first == second else tuple((line, line + MARK) for line in lines_of[second][:2]),
    )


def _text_files(directory: str) -> Iterator[tuple[str, bytes]]:
    """Yield names below the directory and contents, of files that are neither hidden nor other than UTF-8."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "node_modules")))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.startswith(".") or name.endswith(".ipynb") or os.path.islink(path) or not os.path.isfile(path):
                continue
            try:
                if os.path.getsize(path) > MAX_FILE_BYTES:
                    continue
                content = bytes_of(path)
                content.decode()
            except (OSError, UnicodeDecodeError):
                continue
            if content and b"\0" not in content:
                yield os.path.relpath(path, directory), content


def _lines_of_its_own(text: str) -> list[str]:
    """Return lines that occur once in the text and have a good length for a diff."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return [line for line in lines if 8 <= len(line) <= 100 and line.strip() and text.count(line) == 1]


def bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def replace_pair(path: str, *edits: tuple[str, str]) -> bytes:
    content = bytes_of(path)
    for old, new in edits:
        content = content.replace(old.encode(), new.encode(), 1)
    return content


def write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def write_behind_its_back(path: str) -> float:
    """Append a line as another program does. Return the time, on the performance counter."""
    content = bytes_of(path)
    line_end = b"\r\n" if b"\r\n" in content else b"\n"
    with open(path, "ab") as file:
        file.write((b"" if content.endswith(b"\n") else line_end) + VISITOR.encode() + line_end)
    return time.perf_counter()
