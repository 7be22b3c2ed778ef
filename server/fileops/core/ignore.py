"""Patterns of an ignore file, with the syntax and meaning of `.gitignore` (gitignore(5)). Pure.

The patterns are those of `pathspec`, which is imported with the first file of patterns. This module adds:

- A pattern that can match nothing is an error. Git drops it silently, which would give access to a file here.
- Names are also compared without case and in one normal form of Unicode, as some filesystems do. A path is matched if
  either comparison matches it.
- Matching takes time proportional to the length of the path times that of the pattern; see `_linear`.
"""

import codecs
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from fileops.core import text
from fileops.core.globs import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    Patterns = list[tuple[re.Pattern[str], bool]]  # and whether a match is ignored

FILE_NAME = ".agentsignore"
MAX_KNOWN = 10_000  # paths
MAX_BYTES = 1_000_000  # per file; the longest that people write have a few thousand lines


class BadPatternsError(ValueError):
    """The patterns cannot be used. The message is a clause with the reason, such as "line 3 is not a pattern"."""


class IgnorePatterns:
    """The patterns of one file. Raises: BadPatternsError; ImportError, OSError (pathspec cannot be loaded)."""

    def __init__(self, data: bytes) -> None:
        lines = _lines_of(data)
        self._exact = _patterns_of(lines)
        self._folded = _patterns_of([_fold_line(line) for line in lines])
        self._known: dict[str, bool] = {}  # by path; agents name the same files repeatedly

    def match(self, path: str) -> bool:
        """Return whether the patterns match a file, or a folder that contains it.

        Args: path: relative to the folder of the patterns, without `.` and `..`.

        As in git, folders decide first: a file in a folder that is matched cannot be re-included.
        """
        known = self._known.get(path)
        if known is None:
            known = _is_matched(self._exact, path) or _is_matched(self._folded, fold(path))
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[path] = known
        return known


class GitPatterns:
    """The patterns of one `.gitignore` file, as git reads them: a line that can match nothing is dropped.

    Raises: OSError, ImportError (pathspec cannot be loaded).
    """

    def __init__(self, data: bytes) -> None:
        lines = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")
        self._patterns: Patterns = []
        for line in lines:
            with suppress(BadPatternsError):
                self._patterns += _patterns_of([line.removesuffix("\r")])

    def verdict(self, entry: str) -> bool | None:
        """Return whether an entry of a folder is ignored; None if no pattern matches the entry itself.

        Args: entry: relative to the folder of the patterns; a folder's ends in a slash. The folders that contain it
        must be checked first.
        """
        return _verdict(self._patterns, entry)


def _is_matched(patterns: "Patterns", path: str) -> bool:
    at = path.find("/")
    while at >= 0:
        if _is_ignored(patterns, path[: at + 1]):  # with the slash that marks a folder
            return True
        at = path.find("/", at + 1)
    return _is_ignored(patterns, path)


def _is_ignored(patterns: "Patterns", entry: str) -> bool:
    return _verdict(patterns, entry) is True


def _verdict(patterns: "Patterns", entry: str) -> bool | None:
    """Return the verdict of the last pattern that matches an entry of a folder; None if none matches."""
    for regex, is_ignored in reversed(patterns):
        if regex.fullmatch(entry) is not None:
            return is_ignored
    return None


def _lines_of(data: bytes) -> "list[str]":
    """Return the lines. Bytes that are not UTF-8 are lone surrogates, as in paths."""
    if len(data) > MAX_BYTES:
        raise BadPatternsError(f"it has more than {MAX_BYTES:,} bytes")
    fmt = text.detect_format(data)
    if text.is_binary(data, fmt):
        raise BadPatternsError("it is not text")
    content = data[len(fmt.bom) :].decode(fmt.encoding, "surrogateescape" if fmt.unit_bytes == 1 else "replace")
    return [line.removesuffix("\r") for line in content.split("\n")]


def _fold_line(line: str) -> str:
    """Return the line for the comparison without case; unchanged if it would be no pattern (`[Z-a]`)."""
    try:
        _patterns_of([fold(line)])
    except BadPatternsError:
        return line
    return fold(line)


def _patterns_of(lines: "Sequence[str]") -> "Patterns":
    """Return the pattern of each line that has one. Raises: BadPatternsError, ImportError, OSError."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns: Patterns = []
    for number, line in enumerate(lines, start=1):
        is_below = line.rstrip().endswith("/**/")  # the folders below a folder, which pathspec takes for that folder
        try:
            regex, is_ignored = GitIgnoreSpecPattern.pattern_to_regex(line.rstrip()[:-1] if is_below else line)
            if regex is not None and is_ignored is not None:
                patterns.append((re.compile(_linear(regex) + ("/" if is_below else "")), is_ignored))
        except (ValueError, re.error) as error:
            raise BadPatternsError(f"line {number} is not a pattern") from error
        if regex is None and line.strip() and not line.startswith("#"):
            raise BadPatternsError(f"line {number} matches nothing")
    return patterns


_STAR = "[^/]*"
_FOLDERS_FIRST, _FOLDERS = "^(?:.+/)?", "(?:/.+)?"  # `**/` at the beginning, and `/**` before another slash
_ALL = {".": ".+", "(?P<ps_d>/)": ".+/", "/": "[^/]+/.+"}  # `*`, `*/` and `*/**`
_WITHOUT_SLASH = re.compile(r"\[\^(?!/)")  # `[!a]` must not match a slash either, but pathspec's does
_ENDS = "(?:(?P<ps_d>/)|$)", "(?P<ps_d>/)", "/"


def _linear(regex: str) -> str:
    """Return a regular expression of pathspec in a form that `re` matches without repeated backtracking.

    `a*b*c` is `a[^/]*b[^/]*c`, for which `re` tries each place of the first b with each place of the second: the time
    grows with the power of the number of stars. The first place where the part after a star fits is always enough,
    because what follows is found in every rest that any later place would leave. That holds because the parts
    between stars have fixed lengths, and for `**` because the parts between them are whole names. So each part is
    searched once, in an atomic group (as `fnmatch.translate` does); only the last star and the last `**` may be
    tried again, since the end of the path decides where they end.
    The result matches the whole of what the pattern names, where that of pathspec matches all that is below as well.
    `.` also matches a line feed, which a name may contain.
    """
    if regex in _ALL:
        return "(?s)" + _ALL[regex]
    first, *others = regex.split(_FOLDERS)
    parts = [_linear_in_names(part) for part in (first, *others)]
    n_last = len(parts) - 1
    for n, part in enumerate(parts):
        ends_here = "" if n == n_last else "(?=/)"
        if n == 0 and part.startswith(_FOLDERS_FIRST):
            names = part.removeprefix(_FOLDERS_FIRST)
            parts[0] = part if n == n_last else f"^(?>(?:.+?/)??{names}{ends_here})"
        elif n:
            parts[n] = f"{_FOLDERS}{part}" if n == n_last else f"(?>(?:/.+?)??{part}{ends_here})"
    below = ".+" if regex.endswith("/") else ""
    return "(?s)" + "".join(parts) + below


def _linear_in_names(regex: str) -> str:
    """Return the names and slashes between two `**`, with atomic groups for all stars of a name but the last."""
    end = next((end for end in _ENDS if regex.endswith(end)), "")
    start = next((start for start in (_FOLDERS_FIRST, "^") if regex.startswith(start)), "")
    names = regex[len(start) : len(regex) - len(end)]
    return start + "/".join(map(_linear_in_name, _names_of(names))) + end


def _names_of(regex: str) -> "list[str]":
    """Split at the slashes that are not in `[^/]`."""
    return [name.replace("\0", "[^/]") for name in regex.replace("[^/]", "\0").split("/")]


def _linear_in_name(regex: str) -> str:
    first, *others = _WITHOUT_SLASH.sub("[^/", regex).split(_STAR)
    others = [other for n, other in enumerate(others) if other or n == len(others) - 1]  # `**` in a name is one star
    searched = [f"(?>[^/]*?{other})" for other in others[:-1]]
    return "".join([first, *searched, *(_STAR + other for other in others[-1:])])
