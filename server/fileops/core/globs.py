"""Glob patterns of paths, with the syntax of LSP 3.17 ("Pattern"): `*` `?` `**` `{a,b}` `[a-z]` `[!a-z]`.

A pattern that does not begin with `/` or `**` matches at any depth, as if it began with `**/`. A glob is matched by a
set of positions in it, as Thompson described, so the time is at most the length of the path times that of the glob.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)

MAX_VERDICTS = 10_000  # pairs of a glob and a path, of `is_below`

_Test = Callable[[str], bool]  # of one character


class Glob:
    """A pattern of whole absolute paths. Raises: ValueError, with a clause that says what is bad."""

    def __init__(self, glob: str) -> None:
        if not glob:
            raise ValueError("must not be empty")
        self._moves: list[list[tuple[_Test, int]]] = []  # by position: where a character leads
        self._jumps: list[list[int]] = []  # by position: where one also is, without a character
        self._end = self._add(glob if glob.startswith(("/", "**")) else f"**/{glob}", self._new_position())

    def fullmatch(self, path: str) -> bool:
        """Return whether the whole path matches."""
        positions = self._reached([0])
        for char in path:
            positions = self._reached(to for at in positions for test, to in self._moves[at] if test(char))
        return self._end in positions

    def _reached(self, positions: Iterable[int]) -> set[int]:
        """Return the positions, and those that they jump to."""
        reached = set[int]()
        pending = list(positions)
        while pending:
            if (at := pending.pop()) not in reached:
                reached.add(at)
                pending += self._jumps[at]
        return reached

    # --- construction ------------------------------------------------------------------------------------------

    def _new_position(self, *jumps_from: int) -> int:
        position = len(self._moves)
        self._moves.append([])
        self._jumps.append([])
        for origin in jumps_from:
            self._jumps[origin].append(position)
        return position

    def _add(self, glob: str, at: int) -> int:
        """Add a pattern that begins at a position; returns the position at its end."""
        for found in _TOKENS.finditer(glob):
            at = self._add_token(found.group(), at)
        return at

    def _add_token(self, token: str, at: int) -> int:
        match token:
            case "**/":
                inside = self._add_repeated(_is_any, at)
                end = self._new_position(at)
                self._moves[inside].append(("/".__eq__, end))
                return end
            case "**":
                return self._add_repeated(_is_any, at)
            case "*":
                return self._add_repeated(_is_in_name, at)
            case _ if token[0] == "{" and len(token) > 1:
                return self._new_position(
                    *[self._add(choice, self._new_position(at)) for choice in token[1:-1].split(",")]
                )
            case _:
                end = self._new_position()
                self._moves[at].append((_test_of(token), end))
                return end

    def _add_repeated(self, test: _Test, at: int) -> int:
        end = self._new_position(at)
        self._moves[end].append((test, end))
        return end


def _is_any(_: str) -> bool:
    return True


def _is_in_name(char: str) -> bool:
    return char != "/"


def _test_of(token: str) -> _Test:
    """Return the test of a token for one character."""
    if token == "?":
        return _is_in_name
    if token[0] == "[" and len(token) > 1:
        return _class_test(token[1:-1])
    if token in "{}[":
        raise ValueError(f"has a {token} that is not closed or not opened, or is nested")
    return token.__eq__


def _class_test(members: str) -> _Test:
    is_negated = members[0] == "!" and len(members) > 1
    ranges = [
        (found["first"], found["last"] or found["first"])
        for found in re.finditer(r"(?P<first>.)(?:-(?P<last>.))?", members[is_negated:], re.DOTALL)
    ]
    if backwards := [f"{first}-{last}" for first, last in ranges if first > last]:
        raise ValueError(f"has a range that ends before it begins: {backwards[0]}")
    return lambda char: char != "/" and any(first <= char <= last for first, last in ranges) != is_negated


# --- globs of unreadable files ---------------------------------------------------------------------------------


def folded(path: str) -> str:
    """Return the path as filesystems that ignore case and the form of characters compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def fault_of_glob(glob: str) -> str | None:
    """Return what is wrong with a glob of the option `unreadable`, None if nothing is."""
    if glob.startswith("!"):
        return "must not begin with `!`: it only adds files. Use an .agentsignore file to take some out"
    try:
        _globs_of(glob)
    except ValueError as error:
        return str(error)
    return None


@cache
def _globs_of(glob: str) -> tuple[Glob, Glob]:
    """Return the glob for the file itself, and for all that is below it. Raises: ValueError."""
    bare = folded(glob).rstrip("/") or glob
    return Glob(bare), Glob(f"{bare}/**")


@lru_cache(maxsize=MAX_VERDICTS)
def is_below(glob: str, path: str) -> bool:
    """Return whether a glob without a fault matches a canonical path or a folder above it, without regard to case."""
    name = folded(path)
    return any(pattern.fullmatch(name) for pattern in _globs_of(glob))
