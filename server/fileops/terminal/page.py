"""Output for people: in colour if the terminal shows it, and in a pager if it is longer than the screen."""

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable

import msgspec

from fileops.platform.programs import find_program

_CODES = {
    "plain": "", "id": "33", "name": "1", "added": "32", "removed": "31", "hunk": "36", "faint": "2", "warning": "33",
}  # fmt: skip
Line = list[tuple[str, str]]  # texts with their styles: keys of _CODES


def has_colours() -> bool:
    """Whether stdout is a terminal that shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def plain(text: str) -> Line:
    return [(text, "plain")]


def print_lines(lines: Iterable[Line]) -> None:
    """Print to stdout, through $PAGER if that is a terminal with fewer rows than there are lines.

    All text has passed `lines.visible`, so the only escape sequences are our own colours.
    """
    is_coloured = has_colours()
    shown = [_text(line, is_coloured=is_coloured) for line in lines]
    text = "".join(f"{line}\n" for line in shown)
    if not sys.stdout.isatty() or len(shown) < shutil.get_terminal_size().lines or not _page(text):
        sys.stdout.write(text)


def json_text(value: object) -> str:
    """Returns the value as JSON for programs.

    Bytes of names that are not UTF-8 are escaped as JSON allows.
    """
    try:
        return msgspec.json.format(msgspec.json.encode(value)).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), indent=2)


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
