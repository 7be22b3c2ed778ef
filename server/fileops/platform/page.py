"""Output of all commands for people: fitted to the terminal, in colour if it has any, in a pager if it is long.

What is not a terminal gets each line as it is, without colours.
"""

import errno
import json
import os
import re
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fileops.platform.programs import find_program

_CODES = {
    "plain": "", "id": "33", "name": "1", "added": "32", "removed": "31", "hunk": "36", "faint": "2", "warning": "33",
    "code": "", "command": "", "added-word": "32;7", "removed-word": "31;7", "column": "", "hang": "",
}  # fmt: skip
Line = list[tuple[str, str]]  # texts with their styles: keys of _CODES
COLUMN = ("  ", "column")  # between two columns: in neighbouring lines they are aligned at a terminal
HANG = ("", "hang")  # what follows is code: a terminal's row ends anywhere in it, and the next one begins below it
MIN_CODE = 20  # columns that code has beside what precedes it; else it is continued below that
CONTINUED = 4  # columns by which the continuation of a line is indented more than its beginning
FOLD_AT = 20  # files of a turn, an undo or a keep


def has_colours() -> bool:
    """Whether stdout is a terminal that shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def plain(text: str) -> Line:
    return [(text, "plain")]


def fold_at() -> int | None:
    """How many files of a group are listed: all of them, unless a person reads."""
    return FOLD_AT if sys.stdout.isatty() else None


def width_for_person() -> int | None:
    """The width of the terminal; None if stdout is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_lines(lines: Iterable[Line], *, may_page: bool = True) -> None:
    """Print to stdout, through $PAGER if that is a terminal with fewer rows than there are lines.

    All text has passed `lines.visible`, so the only escape sequences are our own colours. may_page: False before a
    question, which a pager would hide.
    """
    is_coloured = has_colours()
    fitted, n_rows = list(lines), 0
    if sys.stdout.isatty():
        fitted, n_rows = fit_lines(fitted, shutil.get_terminal_size().columns)
    text = "".join(f"{_text(line, is_coloured=is_coloured)}\n" for line in fitted)
    if not may_page or n_rows < shutil.get_terminal_size().lines or not _page(text):
        sys.stdout.write(text)


def print_text(text: str, *, may_page: bool = True) -> None:
    """Print lines without styles."""
    print_lines((plain(line) for line in text.split("\n")), may_page=may_page)


def say(text: str) -> None:
    """Print sentences to stderr, fitted to the terminal if that is one. An indented line, a command, is not broken."""
    lines: list[Line] = [[(line, "command" if line.startswith(" ") else "plain")] for line in text.split("\n")]
    if sys.stderr.isatty():
        lines = fit_lines(lines, shutil.get_terminal_size().columns)[0]
    sys.stderr.write("".join(f"{_text(line, is_coloured=False)}\n" for line in lines))


def fits_screen(lines: Iterable[Line], n_further: int) -> bool:
    """Whether the terminal shows these lines, and as many further ones, at once."""
    columns, rows = shutil.get_terminal_size()
    return fit_lines(list(lines), columns)[1] + n_further <= rows


def fit_lines(lines: Sequence[Line], width: int) -> tuple[list[Line], int]:
    """Align columns, and break long lines at words. Also returns how many rows the result takes."""
    fitted = [part for line in _align(lines, width) for part in _break(line, width)]
    return fitted, sum(max(1, -(-_cells_of(line) // width)) for line in fitted)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_CELLS.get(unicodedata.east_asian_width(char), 1) for char in text if not unicodedata.combining(char))


def json_text(value: object) -> str:
    """Returns the value as JSON for programs.

    Bytes of names that are not UTF-8 are escaped as JSON allows.
    """
    try:
        return msgspec.json.format(msgspec.json.encode(value)).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), indent=2)


_CELLS = {"W": 2, "F": 2}  # wide and full-width characters


def _cells_of(line: Line) -> int:
    return sum(cells(text) for text, _ in line)


def _align(lines: Sequence[Line], width: int) -> Iterator[Line]:
    """Give the columns of neighbouring lines the same places."""
    block: list[list[Line]] = []  # the columns of each line
    for line in lines:
        columns = _columns_of(line)
        if block and len(columns) != len(block[0]):
            yield from _align_block(block, width)
            block = []
        if len(columns) > 1:
            block.append(columns)
        else:
            yield line
    yield from _align_block(block, width)


def _columns_of(line: Line) -> list[Line]:
    """Divide a line before each separator, which begins its column."""
    columns: list[Line] = [[]]
    for part in line:
        if part[1] == "column":
            columns.append([])
        columns[-1].append(part)
    return columns


def _align_block(block: Sequence[Sequence[Line]], width: int) -> Iterator[Line]:
    n_columns = len(block[0]) if block else 0
    # A name so long that its line has to be broken anyway does not move the columns of the others.
    widths = [
        max((size for line in block if (size := _cells_of(line[n])) <= width - width // 4), default=0)
        for n in range(n_columns)
    ]
    for columns in block:
        line: Line = []
        for n, column in enumerate(columns):
            n_missing = max(0, widths[n] - _cells_of(column)) if n < n_columns - 1 else 0
            line += [*column, *([(" " * n_missing, "plain")] if n_missing else [])]
        yield line


def _break(line: Line, width: int) -> Iterator[Line]:
    """Break a line at blanks, and a path that fits no line behind a slash. What continues it is indented."""
    if _cells_of(line) <= width or line[0][1] == "command":
        yield line
        return
    if HANG in line:
        yield from _break_code(line, width)
        return
    first = line[0][0]
    indent = len(first) - len(first.lstrip(" ")) + CONTINUED
    row: Line = []
    at = 0
    for text, style in line:
        for word in _parts(text, width - indent):
            size = cells(word)
            is_begun = bool("".join(part for part, _ in row).strip())
            if at + size > width and is_begun:
                yield _without_end(row)
                word = word.lstrip(" ")  # noqa: PLW2901 - the blanks were the break
                row, at = _blanks(indent), indent
                size = cells(word)
            row.append((word, style))
            at += size
    if "".join(part for part, _ in row).strip():
        yield _without_end(row)


def _break_code(line: Line, width: int) -> Iterator[Line]:
    """Break a line where its rows are full. A blank in code has a meaning, so all of them stay."""
    indent = _cells_of(line[: line.index(HANG)])
    if width - indent < MIN_CODE:
        indent = CONTINUED
    row: Line = []
    at = 0
    for text, style in line:
        start = 0
        for n, char in enumerate(text):
            size = cells(char)
            if at + size > width:
                yield [*row, (text[start:n], style)]
                row, at, start = _blanks(indent), indent, n
            at += size
        row.append((text[start:], style))
    yield row


def _parts(text: str, width: int) -> Iterator[str]:
    """The words of a text with the blanks before them. Of one that takes more columns than this, its parts."""
    for word in re.findall(r" *[^ ]+| +", text):
        if cells(word.lstrip(" ")) > width:
            yield from re.findall(r"[^/]*/|[^/]+", word)
        else:
            yield word


def _blanks(n: int) -> Line:
    return [(" " * n, "plain")]


def _without_end(row: Line) -> Line:
    """The row without blanks at its end."""
    while row and not row[-1][0].strip(" "):
        row = row[:-1]
    return row


def _text(line: Line, *, is_coloured: bool) -> str:
    if not is_coloured:
        return "".join(text for text, _ in line)
    return "".join(f"\x1b[{_CODES[style]}m{text}\x1b[0m" if _CODES[style] else text for text, style in line)


def command_of(setting: str) -> list[str]:
    """The words of a command in the user's environment. Its program is never looked up in the current folder.

    Raises: OSError, ValueError.
    """
    name, *words = shlex.split(setting)
    program = name if "/" in name else find_program(name, outside=[os.getcwd()])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return [program, *words]


def _page(text: str) -> bool:
    """Show text in the pager. Returns False if there is none."""
    pager = os.environ.get("FILEOPS_PAGER") or os.environ.get("PAGER") or "less"
    if pager == "cat":
        return False
    import subprocess  # which most commands do not need

    # The options that git sets: quit if everything fits, pass colours through, leave the text on the screen.
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    try:
        with subprocess.Popen(command_of(pager), stdin=subprocess.PIPE, env=environment) as process:
            process.communicate(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    except (OSError, ValueError):
        return False
    except KeyboardInterrupt:
        pass
    return True
