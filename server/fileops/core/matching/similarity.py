"""Similarity of two lines, and which look the same: equal except for spaces, case, quotes and invisible characters."""

import re
from difflib import SequenceMatcher

_MAX_COMPARED_CHARS = 300  # of two differing lines, compared by character

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_QUOTES = str.maketrans("‘’‚‛′`´“”„‟″«»", "'''''''\"\"\"\"\"\"\"")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\r": "\r", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"'r\\]")


def ratio_of(old: str, new: str) -> float:
    if not old.strip() and not new.strip():
        return 0.9  # the lines differ only in spaces
    a, b = old[:_MAX_COMPARED_CHARS], new[:_MAX_COMPARED_CHARS]
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def fold(line: str) -> str:
    """Return a key that is equal for lines that look the same."""
    return without_blanks(with_plain_quotes(visible(line)).casefold())


def visible(text: str) -> str:
    """Remove invisible characters and replace other whitespace with spaces."""
    return _BLANKS.sub(" ", _INVISIBLE.sub("", text))


def with_plain_quotes(text: str) -> str:
    return text.translate(_QUOTES)


def unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found.group()], text)


def without_blanks(text: str) -> str:
    return "".join(text.split())
