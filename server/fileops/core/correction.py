r"""Deterministic corrections of a text that does not stand in the file as given. Opt-in; never by similarity.

Tiers, in this order: line ends, over-escaped text (`\\n`, `\\"`), trailing blanks, uniform indentation, Unicode
look-alikes. A tier counts only where it finds exactly one place, and only that place's bytes are replaced. What the
new text leaves as the old one had it keeps the file's own characters.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal

from msgspec import Struct

from fileops.core.matching import Step
from fileops.core.text import count_newlines, encode
from fileops.model import Edit, Splice, Text, TextFormat

Tier = Literal["line_ends", "escapes", "trailing_blanks", "indentation", "lookalikes"]

MAX_CORRECTED_BYTES = 4_000_000  # beyond, decoding the file for a guess costs more than the retry it saves
BY_CLIENT = "client"  # the match of a text that the client's model proposed
SENTENCES: dict[str, str] = {
    "line_ends": "old_string matched after taking other line separators as newlines.",
    "escapes": "old_string matched after removing one level of backslash escapes; new_string was treated alike.",
    "trailing_blanks": "old_string matched after ignoring blanks at the ends of lines.",
    "indentation": "old_string matched after a uniform change of indentation; new_string was indented alike.",
    "lookalikes": "old_string matched after taking look-alike quotes, dashes or blanks as the same.",
    BY_CLIENT: "old_string was not found as given; a corrected old_string and new_string were used instead.",
}

_NEWLINE = "(?:\r\n|[\n\r\x85\u2028\u2029])"
_BLANKS = "[ \t]*"
_LOOKALIKES = (
    "'\u2018\u2019\u201a\u201b\u2032\u02bc\uff07`\u00b4",
    '"\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02',
    "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d",
    " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
)
_CLASS_OF = {char: f"[{re.escape(group)}]" for group in _LOOKALIKES for char in group}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "`": "`", "\\": "\\", "\n": "\n"}


class _Found(Struct, frozen=True, kw_only=True):
    """Characters [start, end) of the decoded content, and what is to stand there."""

    start: int
    end: int
    new: str


def correct(content: Text, edit: Edit) -> Step | None:
    """The edit at the one place that the first fitting tier finds, or None. Raises: NotEncodable."""
    if len(content.data) > MAX_CORRECTED_BYTES or not edit.old_string.strip():
        return None
    decoded = _decoded(content)
    if decoded is None:
        return None
    for tier, find in _TIERS.items():
        found = find(decoded, edit)
        if found is not None:
            return _step(content, decoded, found, tier)
    return None


# --- the tiers ------------------------------------------------------------------------------------------------


def _by_line_ends(content: str, edit: Edit) -> _Found | None:
    lines = re.split(_NEWLINE, edit.old_string)
    ends_in_newline = len(lines) > 1 and not lines[-1]
    pattern = _NEWLINE.join(map(re.escape, lines[:-1] if ends_in_newline else lines))
    if ends_in_newline:
        pattern += rf"(?:{_NEWLINE}|\Z)"
    found = _only(pattern, content)
    return None if found is None else _Found(start=found[0], end=found[1], new=_as_it_was(content, found, edit))


def _by_escapes(content: str, edit: Edit) -> _Found | None:
    old, new = _unescaped(edit.old_string), _unescaped(edit.new_string)
    if old in {edit.old_string, new}:
        return None
    found = _only(re.escape(old).replace("\\\n", "\r?\n"), content)
    return None if found is None else _Found(start=found[0], end=found[1], new=new)


def _by_trailing_blanks(content: str, edit: Edit) -> _Found | None:
    lines = edit.old_string.split("\n")
    stripped = [re.escape(line.rstrip(" \t\r")) for line in lines]
    pattern = f"{_BLANKS}\r?\n".join(stripped)
    if lines[-1] != lines[-1].rstrip(" \t"):
        pattern += rf"{_BLANKS}(?=\r?\n|\Z)"
    found = _only(pattern, content)
    return None if found is None else _Found(start=found[0], end=found[1], new=_as_it_was(content, found, edit))


def _by_indentation(content: str, edit: Edit) -> _Found | None:
    lines = edit.old_string.split("\n")
    pattern = "\r?\n".join(_BLANKS + re.escape(line.lstrip(" \t")) for line in lines)
    found = _only(rf"(?m:^){pattern}" + ("" if not lines[-1] else r"(?=\r?\n|\Z)"), content)
    if found is None:
        return None
    there = content[found[0] : found[1]].replace("\r\n", "\n").split("\n")
    for change in _indentation_changes(lines, there):
        if all(change(line) == other for line, other in zip(lines, there, strict=True) if line.strip()):
            new = "\n".join(change(line) if line.strip() else line for line in edit.new_string.split("\n"))
            return _Found(start=found[0], end=found[1], new=new)
    return None


def _by_lookalikes(content: str, edit: Edit) -> _Found | None:
    if len(edit.old_string) > 100_000:  # a class per character makes a large pattern
        return None
    pieces = (
        "\r?\n" if char == "\n" else _CLASS_OF.get(char) or re.escape(char)
        for char in edit.old_string.replace("\r\n", "\n")
    )
    found = _only("".join(pieces), content)
    return None if found is None else _Found(start=found[0], end=found[1], new=_as_it_was(content, found, edit))


_TIERS: dict[Tier, Callable[[str, Edit], _Found | None]] = {
    "line_ends": _by_line_ends,
    "escapes": _by_escapes,
    "trailing_blanks": _by_trailing_blanks,
    "indentation": _by_indentation,
    "lookalikes": _by_lookalikes,
}


# --- helpers --------------------------------------------------------------------------------------------------


def _only(pattern: str, content: str) -> tuple[int, int] | None:
    """The one place where the pattern stands; None for no place or several."""
    compiled = re.compile(pattern)
    first = compiled.search(content)
    if first is None or first.start() == first.end():
        return None
    return None if compiled.search(content, first.start() + 1) is not None else first.span()


def _as_it_was(content: str, found: tuple[int, int], edit: Edit) -> str:
    """The new text; at both ends, as far as it equals the old one, with the file's own characters."""
    there = content[found[0] : found[1]]
    old, new = edit.old_string.replace("\r\n", "\n"), edit.new_string
    if len(there) != len(old):  # blanks differ: the characters do not pair up
        return new
    limit = min(len(old), len(new))
    head = next((n for n in range(limit) if old[n] != new[n]), limit)
    tail = next((n for n in range(limit - head) if old[-1 - n] != new[-1 - n]), limit - head)
    return there[:head] + new[head : len(new) - tail] + there[len(there) - tail :]


def _indentation_changes(lines: list[str], there: list[str]) -> list[Callable[[str], str]]:
    """Ways in which the first line that is not blank may have become the one that stands there."""
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    old, new = _indentation(lines[first]), _indentation(there[first])
    changes: list[Callable[[str], str]] = []
    if new.endswith(old):
        prefix = new[: len(new) - len(old)]
        changes.append(lambda line: prefix + line)
    if new.startswith(old):
        suffix = new[len(old) :]
        changes.append(lambda line: _indentation(line) + suffix + line.lstrip(" \t"))
    if old.endswith(new):
        removed = old[: len(old) - len(new)]
        changes.append(lambda line: line.removeprefix(removed))
    for width in (4, 2, 8, 3):
        changes += (partial(_reindented, old=" " * width, new="\t"), partial(_reindented, old="\t", new=" " * width))
    return changes


def _reindented(line: str, *, old: str, new: str) -> str:
    return _indentation(line).replace(old, new) + line.lstrip(" \t")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unescaped(string: str) -> str:
    r"""One level of backslash escapes less: `\\n` becomes a newline, `\\"` a quote."""
    return re.sub(r"\\([ntr\"'`\\\n])", lambda found: _ESCAPES[found[1]], string)


def _decoded(content: Text) -> str | None:
    """Reversible, so that offsets can be told back; None where it cannot be."""
    body = content.data[len(content.format.bom) :]
    try:
        return body.decode(content.format.encoding, _errors(content.format))
    except UnicodeDecodeError:
        return None


def _errors(fmt: TextFormat) -> str:
    return "surrogateescape" if fmt.encoding == "utf-8" else "surrogatepass"


def _step(content: Text, decoded: str, found: _Found, tier: Tier) -> Step:
    fmt = content.format

    def encoded(part: str) -> bytes:
        return part.encode(fmt.encoding, _errors(fmt))

    start = len(fmt.bom) + len(encoded(decoded[: found.start]))
    there = decoded[found.start : found.end]
    new = found.new
    if "\r\n" in there or ("\n" not in there and "\r\n" in decoded):
        new = re.sub("\r?\n", "\r\n", new)
    encode(re.sub("[\udc80-\udcff]", "", new), fmt)  # raises NotEncodable for what the caller gave
    splice = Splice(start, start + len(encoded(there)), encoded(new))
    return Step(
        splices=(splice,),
        n_replacements=1,
        match=tier,
        match_lines=(1 + count_newlines(content.data, fmt, 0, start),),
    )
