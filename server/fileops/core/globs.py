"""Glob patterns of paths, with the syntax of LSP 3.17 ("Pattern"): `*` `?` `**` `{a,b}` `[a-z]` `[!a-z]`.

A pattern that does not begin with `/` or `**` matches at any depth, as if it began with `**/`.
"""

import re
from collections.abc import Iterator

_TOKENS = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


def pattern_of(glob: str) -> re.Pattern[str]:
    """Return the pattern that matches whole absolute paths. Raises: ValueError, with a clause that says what is bad."""
    if not glob:
        raise ValueError("must not be empty")
    rooted = glob if glob.startswith(("/", "**")) else f"**/{glob}"
    try:
        return re.compile("".join(_translated(rooted)), re.DOTALL)
    except re.error as error:
        raise ValueError(f"is no pattern: {error}") from error


def _translated(glob: str) -> Iterator[str]:
    for found in _TOKENS.finditer(glob):
        token = found.group()
        match token:
            case "**/":
                yield "(?:.*/)?"
            case "/**":
                yield "/.*"
            case "**":
                yield ".*"
            case "*":
                yield "[^/]*"
            case "?":
                yield "[^/]"
            case _ if token[0] == "[" and len(token) > 1:
                negated = token[1] == "!"
                members = re.escape(token[2 if negated else 1 : -1]).replace(r"\-", "-")
                yield f"[^/{members}]" if negated else f"(?!/)[{members}]"
            case _ if token[0] == "{" and len(token) > 1:
                yield f"(?:{'|'.join(''.join(_translated(choice)) for choice in token[1:-1].split(','))})"
            case _ if token in "{}[":
                raise ValueError(f"has a {token} that is not closed or not opened, or is nested")
            case _:
                yield re.escape(token)
