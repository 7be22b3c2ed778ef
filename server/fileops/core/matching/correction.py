r"""Deterministic corrections of an `old_string` that is not found as given. Opt-in; never by similarity.

The tiers are, in this order: line ends, over-escaped text (`\\n`, `\\"`), trailing whitespace, uniform indentation,
Unicode look-alikes. A tier counts only if it finds exactly one place, and only the bytes of that place are replaced.
Where the new text repeats the old one, the file keeps its own characters.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal

from msgspec import Struct

from fileops.core.linefeeds import Walk
from fileops.core.matching.exact import Step
from fileops.core.text import count_newlines, encode, to_lf
from fileops.model.edits import Edit, Splice
from fileops.model.files import Text, TextFormat

Tier = Literal["line_ends", "escapes", "trailing_blanks", "indentation", "lookalikes"]

MAX_CORRECTED_BYTES = 4_000_000  # beyond, decoding the file for a guess costs more than the retry it saves
BY_CLIENT = "client"  # the client's model corrected the text
SENTENCES: dict[str, str] = {
    "line_ends": "old_string matched after taking other line separators as newlines.",
    "escapes": "old_string matched after removing one level of backslash escapes; new_string was treated alike.",
    "trailing_blanks": "old_string matched after ignoring blanks at the ends of lines.",
    "indentation": "old_string matched after a uniform change of indentation; new_string was indented alike.",
    "lookalikes": "old_string matched after taking look-alike quotes, dashes or blanks as the same.",
    BY_CLIENT: "old_string was not found as given; a corrected old_string and new_string were used instead.",
}

_NEWLINES = re.compile("\r\n|[\r\x85\u2028\u2029]")  # each counts as "\n"
_LOOKALIKES = (
    "'\u2018\u2019\u201a\u201b\u2032\u02bc\uff07`\u00b4",
    '"\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02',
    "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d",
    " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
)
_PLAIN = str.maketrans({char: group[0] for group in _LOOKALIKES for char in group[1:]})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "`": "`", "\\": "\\", "\n": "\n"}


class _FoundText(Struct, frozen=True, kw_only=True):
    """Characters [start, end) of the decoded content, and their replacement."""

    start: int
    end: int
    new: str


def to_plain(text: str) -> str:
    """Return the text with the plain character for each look-alike quote, dash and space. Its length stays."""
    return text.translate(_PLAIN)


def correct(content: Text, edit: Edit) -> Step | None:
    """Resolve the edit at the only place that the first matching tier finds, or return None. Raises: NotEncodable."""
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
#
# Each tier normalizes the content and the wanted text in one pass and searches one in the other, in linear time.
# A regular expression made from the caller's text would be tried at every place, with the interpreter's lock held.


def _by_line_ends(content: str, edit: Edit) -> _FoundText | None:
    seen, wanted = _NEWLINES.sub("\n", content), _NEWLINES.sub("\n", edit.old_string)
    start = _only(f"{seen}\n" if wanted.endswith("\n") else seen, wanted)  # the last line may lack a newline
    if start < 0:
        return None
    found = _in_original(content, start, min(start + len(wanted), len(seen)))
    return _FoundText(start=found[0], end=found[1], new=_as_it_was(content, found, edit))


def _by_escapes(content: str, edit: Edit) -> _FoundText | None:
    old, new = to_lf(_unescaped(edit.old_string)), _unescaped(edit.new_string)
    if old in {to_lf(edit.old_string), to_lf(new)}:
        return None
    start = _only(to_lf(content), old)
    if start < 0:
        return None
    found = _in_original(content, start, start + len(old))
    return _FoundText(start=found[0], end=found[1], new=new)


def _by_trailing_blanks(content: str, edit: Edit) -> _FoundText | None:
    lines = _Lines(content)
    seen = "\n".join(line.rstrip(" \t") for line in lines.bodies)
    wanted = "\n".join(line.rstrip(" \t\r") for line in edit.old_string.split("\n"))
    to_line_end = edit.old_string.endswith((" ", "\t"))
    start = _only(f"{seen}\n", f"{wanted}\n") if to_line_end else _only(seen, wanted)
    if start < 0:
        return None
    end = start + len(wanted)
    first = seen.count("\n", 0, start)
    last = first + wanted.count("\n")
    found_start = lines.begin(first) + start - seen.rfind("\n", 0, start) - 1
    in_last = len(lines.bodies[last]) if to_line_end else end - seen.rfind("\n", 0, end) - 1
    found = found_start, lines.begin(last) + in_last
    return _FoundText(start=found[0], end=found[1], new=_as_it_was(content, found, edit))


def _by_indentation(content: str, edit: Edit) -> _FoundText | None:
    """Match whole lines only."""
    lines, old_lines = _Lines(content), to_lf(edit.old_string).split("\n")
    seen = "\n" + "\n".join(line.lstrip(" \t") for line in lines.bodies)
    wanted = "\n" + "\n".join(line.lstrip(" \t") for line in old_lines)
    has_end = not old_lines[-1]  # the place then ends before the next line
    start = _only(seen, wanted) if has_end else _only(f"{seen}\n", f"{wanted}\n")
    if start < 0:
        return None
    first = seen.count("\n", 0, start)
    last = first + len(old_lines) - 1
    file_lines = lines.bodies[first : last + 1]
    for change in _indentation_changes(old_lines, file_lines):
        if all(change(old) == present for old, present in zip(old_lines, file_lines, strict=True) if old.strip()):
            new = "\n".join(change(line) if line.strip() else line for line in edit.new_string.split("\n"))
            end = lines.begin(last) + (0 if has_end else len(lines.bodies[last]))
            return _FoundText(start=lines.begin(first), end=end, new=new)
    return None


def _by_lookalikes(content: str, edit: Edit) -> _FoundText | None:
    wanted = to_plain(to_lf(edit.old_string))
    start = _only(to_plain(to_lf(content)), wanted)
    if start < 0:
        return None
    found = _in_original(content, start, start + len(wanted))
    return _FoundText(start=found[0], end=found[1], new=_as_it_was(content, found, edit))


_TIERS: dict[Tier, Callable[[str, Edit], _FoundText | None]] = {
    "line_ends": _by_line_ends,
    "escapes": _by_escapes,
    "trailing_blanks": _by_trailing_blanks,
    "indentation": _by_indentation,
    "lookalikes": _by_lookalikes,
}


# --- helpers --------------------------------------------------------------------------------------------------


class _Lines:
    """The lines of a content. `bodies` are the lines without their ends, LF or CRLF."""

    def __init__(self, content: str) -> None:
        self._pieces = content.split("\n")
        self.bodies = [piece.removesuffix("\r") for piece in self._pieces[:-1]]
        self.bodies.append(self._pieces[-1])

    def begin(self, number: int) -> int:
        """Return the offset at which a line begins. Lines count from 0."""
        return sum(map(len, self._pieces[:number])) + number


def _only(seen: str, wanted: str) -> int:
    """Return the only place of `wanted`, or -1 if there is none or more than one."""
    first = seen.find(wanted)
    return -1 if first < 0 or seen.find(wanted, first + 1) >= 0 else first


def _in_original(content: str, start: int, end: int) -> tuple[int, int]:
    """Translate a place from the content with LF line ends to the content as it is."""
    walk = Walk(content, "\r\n")
    return walk.to(start), walk.to(end)


def _as_it_was(content: str, found: tuple[int, int], edit: Edit) -> str:
    """Return the new text. Its head and tail that equal the old text keep the file's own characters."""
    there = content[found[0] : found[1]]
    old, new = to_lf(edit.old_string), edit.new_string
    if len(there) != len(old):  # characters do not correspond one to one
        return new
    limit = min(len(old), len(new))
    head = next((n for n in range(limit) if old[n] != new[n]), limit)
    tail = next((n for n in range(limit - head) if old[-1 - n] != new[-1 - n]), limit - head)
    return there[:head] + new[head : len(new) - tail] + there[len(there) - tail :]


def _indentation_changes(lines: list[str], there: list[str]) -> list[Callable[[str], str]]:
    """Return the changes that may turn the indentation of the first nonblank line into that of the file."""
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
    r"""Remove one level of backslash escapes: `\\n` becomes a newline, `\\"` a quote."""
    return re.sub(r"\\([ntr\"'`\\\n])", lambda found: _ESCAPES[found[1]], string)


def _decoded(content: Text) -> str | None:
    """Decode reversibly, so that offsets can be translated back; None if that is impossible."""
    body = content.data[len(content.format.bom) :]
    try:
        return body.decode(content.format.encoding, _errors(content.format))
    except UnicodeDecodeError:
        return None


def _errors(fmt: TextFormat) -> str:
    return "surrogateescape" if fmt.encoding == "utf-8" else "surrogatepass"


def _step(content: Text, decoded: str, found: _FoundText, tier: Tier) -> Step:
    fmt = content.format

    def encoded(part: str) -> bytes:
        return part.encode(fmt.encoding, _errors(fmt))

    start = len(fmt.bom) + len(encoded(decoded[: found.start]))
    there = decoded[found.start : found.end]
    new = found.new
    if "\r\n" in there or ("\n" not in there and "\r\n" in decoded):
        new = to_lf(new).replace("\n", "\r\n")
    elif "\n" in decoded:
        new = to_lf(new)
    encode(re.sub("[\udc80-\udcff]", "", new), fmt)  # raises NotEncodable for the caller's characters
    splice = Splice(start, start + len(encoded(there)), encoded(new))
    return Step(
        splices=(splice,),
        n_replacements=1,
        match=tier,
        match_lines=(1 + count_newlines(content.data, fmt, 0, start),),
    )
