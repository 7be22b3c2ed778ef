"""Glob patterns of paths, with the syntax of LSP 3.17 ("Pattern"): `*` `?` `**` `{a,b}` `[a-z]` `[!a-z]`.

A pattern that does not begin with `/` or `**` matches at any depth, as if it began with `**/`. The patterns are the
user's, and the paths an agent's: see `_linear` for how long matching a path can take.
"""

import re
import unicodedata
from functools import cache, lru_cache

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)

MAX_CHOICES = 1_000  # people write fewer than ten
MAX_VERDICTS = 10_000  # pairs of a glob and a path, of `is_below`


class Glob:
    """A pattern of whole absolute paths. Raises: ValueError, with a clause that names the fault."""

    def __init__(self, glob: str) -> None:
        if not glob:
            raise ValueError("must not be empty")
        choices = _choices(glob if glob.startswith(("/", "**")) else f"**/{glob}")
        self._regex = re.compile("|".join(map(_linear, choices)), re.DOTALL)

    def fullmatch(self, path: str) -> bool:
        """Return whether the whole path matches."""
        return self._regex.fullmatch(path) is not None


def _choices(glob: str) -> list[list[str]]:
    """Return the sequences of tokens that the braces and each `**/`, which may be empty, allow."""
    sequences: list[list[str]] = [[]]
    for token in _TOKENS.findall(glob):
        options = [[token]]
        if token == "**/":
            options = [[], ["**", "/"]]
        elif token[0] == "{" and len(token) > 1:
            options = [tokens for choice in token[1:-1].split(",") for tokens in _choices(choice)]
        sequences = [[*sequence, *tokens] for sequence in sequences for tokens in options]
        if len(sequences) > MAX_CHOICES:
            raise ValueError(f"has more than {MAX_CHOICES:,} combinations of choices in {{}} and **/")
    return sequences


def _linear(tokens: list[str]) -> str:
    """Return a regular expression that `re` matches without repeated backtracking.

    For `a*b*c`, the plain `a[^/]*b[^/]*c`, `re` tries each place of the first b with each place of the second. So the
    time grows with the power of the number of stars, and the path is an agent's. But the first place where the part
    after a star fits is always enough, because the next star covers what lies between it and any later place: the parts
    have fixed lengths, and two places of one part have no slash between them unless the part begins with `**`, which
    covers slashes too. So each part is searched for once, in an atomic group (as `fnmatch.translate` does). Only the
    last star and the last `**` are tried again, because the end of the path decides where they end. Their product
    limits the time to the square of the path's length, and paths have at most 4,096 bytes (PATH_MAX). In globs whose
    `**` are beside slashes, as people write them, the time grows with the length.
    """
    parts = [[""]]  # between `**`; each consists of the texts between `*`
    for token in tokens:
        if token == "**":
            parts.append([""])
        elif token == "*":
            parts[-1].append("")
        else:
            parts[-1][-1] += _character(token)
    *searched, last = parts
    if not searched:
        return _name(last, is_last=True)
    first, *others = [_name(part, is_last=False) for part in searched]
    return first + "".join(f"(?>.*?{other})" for other in others) + ".*" + _name(last, is_last=True)


def _name(part: list[str], *, is_last: bool) -> str:
    first, *others = part
    last = others.pop() if is_last and others else None
    return first + "".join(f"(?>[^/]*?{other})" for other in others) + ("" if last is None else f"[^/]*{last}")


def _character(token: str) -> str:
    """Return the regular expression of a token for one character."""
    if token == "?":
        return "[^/]"
    if token[0] == "[" and len(token) > 1:
        return _class(token[1:-1])
    if token in "{}[":
        raise ValueError(f"has a {token} that is not closed or not opened, or is nested")
    return re.escape(token)


def _class(members: str) -> str:
    is_negated = members[0] == "!" and len(members) > 1
    ranges = [
        (found["first"], found["last"] or found["first"])
        for found in re.finditer(r"(?P<first>.)(?:-(?P<last>.))?", members[is_negated:], re.DOTALL)
    ]
    if backwards := [f"{first}-{last}" for first, last in ranges if first > last]:
        raise ValueError(f"has a range that ends before it begins: {backwards[0]}")
    inside = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)
    return f"(?!/)[{'^' if is_negated else ''}{inside}]"


# --- globs of unreadable files ---------------------------------------------------------------------------------


def fold(path: str) -> str:
    """Return the path in the form that filesystems which ignore case and character forms compare."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def fault_of_glob(glob: str) -> str | None:
    """Return what is wrong with a glob of the option `unreadable`; None if nothing is."""
    if glob.startswith("!"):
        return "must not begin with `!`: it only adds files. Use an .agentsignore file to take some out"
    try:
        _globs_of(glob)
    except ValueError as error:
        return str(error)
    return None


@cache
def _globs_of(glob: str) -> tuple[Glob, Glob]:
    """Return the globs for the file itself and for everything below it. Raises: ValueError."""
    bare = fold(glob).rstrip("/") or glob
    return Glob(bare), Glob(f"{bare}/**")


@lru_cache(maxsize=MAX_VERDICTS)
def is_below(glob: str, path: str) -> bool:
    """Return whether a valid glob matches a canonical path or a folder above it, ignoring case."""
    name = fold(path)
    return any(pattern.fullmatch(name) for pattern in _globs_of(glob))
