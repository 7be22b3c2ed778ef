r"""Deterministic corrections of an `old_string` that is not found as given. Never by similarity.

The tiers are, in this order: line ends, line numbers that were copied with the text, over-escaped text (`\\n`, `\\"`),
blank lines at the ends, trailing whitespace, uniform indentation, Unicode look-alikes, decomposed accents. A tier
counts only if it finds exactly one place, and if no other place is like it without regard to blanks, look-alikes,
accents and case. Only the bytes of that place are replaced. Where the new text repeats the old one, the file keeps its
own characters, and lines that the edit keeps stay as they are in the file.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from fileops.core.diff.lines import find_changed_ranges
from fileops.core.linefeeds import Walk
from fileops.core.matching.exact import Step
from fileops.core.text import count_newlines, encode, to_lf
from fileops.model.edits import Edit, Splice
from fileops.model.files import Text, TextFormat

Tier = Literal[
    "line_ends",
    "line_numbers",
    "escapes",
    "blank_lines",
    "trailing_blanks",
    "indentation",
    "lookalikes",
    "accents",
]

MAX_CORRECTED_BYTES = 4_000_000  # beyond, decoding the file for a guess costs more than the retry it saves
MAX_ACCENT_CHARS = 256_000  # of a text whose characters are decomposed one by one
BY_CLIENT = "client"  # the client's model corrected the text
SENTENCES: dict[str, str] = {
    "line_ends": "old_string matched after taking other line separators as newlines.",
    "line_numbers": "old_string matched after removing line numbers that were copied with the text.",
    "escapes": "old_string matched after removing one level of backslash escapes; new_string was treated alike.",
    "blank_lines": "old_string matched after leaving out blank lines at its ends, which new_string repeats.",
    "trailing_blanks": "old_string matched after ignoring blanks at the ends of lines.",
    "indentation": "old_string matched after a uniform change of indentation; new_string was indented alike.",
    "lookalikes": "old_string matched after taking look-alike quotes, dashes or blanks as the same.",
    "accents": "old_string matched after taking composed and decomposed accents as the same.",
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
_NUMBERED = re.compile(r" *(\d+)[\u2192\t](.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\([ntr\"'`\\\n])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "`": "`", "\\": "\\", "\n": "\n"}


class _FoundText(Struct, frozen=True, kw_only=True):
    """Characters [start, end) of the decoded content, and their replacement. meant: the text that was searched."""

    start: int
    end: int
    new: str
    meant: str


def to_plain(text: str) -> str:
    """Return the text with the plain character for each look-alike quote, dash and space. Its length stays."""
    return text.translate(_PLAIN)


def correct(content: Text, edit: Edit) -> Step | None:
    """Resolve the edit at the only place that the first matching tier finds, or return None. Raises: NotEncodable."""
    if len(content.data) > MAX_CORRECTED_BYTES or not edit.old_string.strip():
        return None
    decoded = _decode(content)
    if decoded is None:
        return None
    for tier, find in _TIERS.items():
        found = find(decoded, edit)
        if found is not None:
            return _step(content, decoded, found, tier) if _is_only_like(decoded, found.meant) else None
    return None


def _is_only_like(content: str, meant: str) -> bool:
    """Return whether no other place is like the text without regard to blanks, look-alikes, accents and case."""
    folded, wanted = _fold(content), _fold(meant)
    first = folded.find(wanted)
    return bool(wanted) and first >= 0 and folded.find(wanted, first + 1) < 0


def _fold(text: str) -> str:
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFD", to_plain(text)) if not unicodedata.combining(char))
    return "".join(text.split()).casefold()


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
    return _FoundText(start=found[0], end=found[1], new=_as_it_was(content, found, edit), meant=wanted)


def _by_line_numbers(content: str, edit: Edit) -> _FoundText | None:
    """Each number and its text must be those of the file."""
    old_lines, new_lines = to_lf(edit.old_string).split("\n"), to_lf(edit.new_string).split("\n")
    numbered = [_NUMBERED.fullmatch(line) for line in old_lines]
    numbers = [int(found[1]) for found in numbered if found]
    if len(numbers) != len(old_lines) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    lines = _ContentLines(content)
    texts = [found[2] for found in numbered if found]
    first, last = numbers[0] - 1, numbers[-1] - 1
    if first < 0 or lines.bodies[first : last + 1] != texts:
        return None
    new_numbered = [_NUMBERED.fullmatch(line) for line in new_lines]
    if all(new_numbered):
        new_lines = [found[2] for found in new_numbered if found]
    elif any(new_numbered):
        return None
    return _FoundText(
        start=lines.begin(first),
        end=lines.begin(last) + len(lines.bodies[last]),
        new="\n".join(new_lines),
        meant="\n".join(texts),
    )


def _by_escapes(content: str, edit: Edit) -> _FoundText | None:
    """Not if the file itself has one of these escapes: then it may be meant."""
    old, new = to_lf(_unescape(edit.old_string)), _unescape(edit.new_string)
    if old in {to_lf(edit.old_string), to_lf(new)}:
        return None
    if any(escape in content for escape in {found[0] for found in _ESCAPE.finditer(edit.old_string)}):
        return None
    start = _only(to_lf(content), old)
    if start < 0:
        return None
    found = _in_original(content, start, start + len(old))
    return _FoundText(start=found[0], end=found[1], new=new, meant=old)


def _by_blank_lines(content: str, edit: Edit) -> _FoundText | None:
    """Only if the new text has the same blank lines at its ends, so that none of them was meant to change."""
    old, new = to_lf(edit.old_string), to_lf(edit.new_string)
    bare = old.strip("\n")
    above, below = len(old) - len(old.lstrip("\n")), len(old) - len(old.rstrip("\n"))
    if bare == old or new.strip("\n") != new[above : len(new) - below]:
        return None
    lines = to_lf(content)
    start = _only(f"\n{lines}\n", f"\n{bare}\n")  # whole lines
    if start < 0:
        return None
    found = _in_original(content, start, start + len(bare))
    return _FoundText(start=found[0], end=found[1], new=new[above : len(new) - below], meant=bare)


def _by_trailing_blanks(content: str, edit: Edit) -> _FoundText | None:
    lines = _ContentLines(content)
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
    new = _as_it_was(content, found, edit)
    there = to_lf(content[found[0] : found[1]]).split("\n")
    new = _with_kept_lines(there, to_lf(edit.old_string).split("\n"), to_lf(edit.new_string).split("\n"), new)
    return _FoundText(start=found[0], end=found[1], new=new, meant=wanted)


def _by_indentation(content: str, edit: Edit) -> _FoundText | None:
    """Match whole lines only."""
    lines, old_lines = _ContentLines(content), to_lf(edit.old_string).split("\n")
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
            new_lines = to_lf(edit.new_string).split("\n")
            changed = [change(line) if line.strip() else line for line in new_lines]
            there = [*file_lines[:-1], ""] if has_end else file_lines
            new = _with_kept_lines(there, old_lines, new_lines, "\n".join(changed), changed)
            end = lines.begin(last) + (0 if has_end else len(lines.bodies[last]))
            return _FoundText(start=lines.begin(first), end=end, new=new, meant=edit.old_string)
    return None


def _by_lookalikes(content: str, edit: Edit) -> _FoundText | None:
    wanted = to_plain(to_lf(edit.old_string))
    start = _only(to_plain(to_lf(content)), wanted)
    if start < 0:
        return None
    found = _in_original(content, start, start + len(wanted))
    return _FoundText(start=found[0], end=found[1], new=_as_it_was(content, found, edit), meant=wanted)


def _by_accents(content: str, edit: Edit) -> _FoundText | None:
    old, new = to_lf(edit.old_string), to_lf(edit.new_string)
    if len(content) > MAX_ACCENT_CHARS or (content.isascii() and old.isascii()):
        return None
    parts = [unicodedata.normalize("NFD", char) for char in content]
    wanted = unicodedata.normalize("NFD", old)
    seen = "".join(parts)
    start = _only(seen, wanted)
    if start < 0:
        return None
    places = {at: index for index, at in enumerate(accumulate(map(len, parts), initial=0))}
    limit = min(len(old), len(new))
    head = next((n for n in range(limit) if old[n] != new[n]), limit)
    tail = next((n for n in range(limit - head) if old[-1 - n] != new[-1 - n]), limit - head)
    kept_head = start + len(unicodedata.normalize("NFD", old[:head]))
    kept_tail = start + len(wanted) - len(unicodedata.normalize("NFD", old[len(old) - tail :]))
    borders = [places.get(at) for at in (start, kept_head, kept_tail, start + len(wanted))]
    is_cut = any(at < len(seen) and unicodedata.combining(seen[at]) for at in (start, start + len(wanted)))
    first, middle, rest, end = (-1 if border is None else border for border in borders)
    if None in borders or is_cut:
        return None
    text = content[first:middle] + new[head : len(new) - tail] + content[rest:end]
    return _FoundText(start=first, end=end, new=text, meant=old)


_TIERS: dict[Tier, Callable[[str, Edit], _FoundText | None]] = {
    "line_ends": _by_line_ends,
    "line_numbers": _by_line_numbers,
    "escapes": _by_escapes,
    "blank_lines": _by_blank_lines,
    "trailing_blanks": _by_trailing_blanks,
    "indentation": _by_indentation,
    "lookalikes": _by_lookalikes,
    "accents": _by_accents,
}


# --- helpers --------------------------------------------------------------------------------------------------


class _ContentLines:
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


def _with_kept_lines(
    there: Sequence[str], old: Sequence[str], wanted: Sequence[str], new: str, changed: Sequence[str] | None = None
) -> str:
    """Return the new text, in which each line that the edit keeps is the line of the file.

    there: the lines at the place, one for each of `old`. changed: the lines of the new text as they are to be written.
    """
    if len(there) != len(old) or len(old) == 1:
        return new
    lines = list(wanted if changed is None else changed)
    result: list[str] = []
    reached = 0
    for a, a_end, b, b_end in [*find_changed_ranges(old, wanted), (len(old), len(old), len(wanted), len(wanted))]:
        result += there[reached:a]
        result += lines[b:b_end]
        reached = a_end
    return "\n".join(result)


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
        changes += (partial(_reindent, old=" " * width, new="\t"), partial(_reindent, old="\t", new=" " * width))
    return changes


def _reindent(line: str, *, old: str, new: str) -> str:
    return _indentation(line).replace(old, new) + line.lstrip(" \t")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unescape(string: str) -> str:
    r"""Remove one level of backslash escapes: `\\n` becomes a newline, `\\"` a quote."""
    return _ESCAPE.sub(lambda found: _ESCAPES[found[1]], string)


def _decode(content: Text) -> str | None:
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

    def encode_part(part: str) -> bytes:
        return part.encode(fmt.encoding, _errors(fmt))

    start = len(fmt.bom) + len(encode_part(decoded[: found.start]))
    there = decoded[found.start : found.end]
    new = found.new
    if "\r\n" in there or ("\n" not in there and "\r\n" in decoded):
        new = to_lf(new).replace("\n", "\r\n")
    elif "\n" in decoded:
        new = to_lf(new)
    encode(re.sub("[\udc80-\udcff]", "", new), fmt)  # raises NotEncodable for the caller's characters
    splice = Splice(start, start + len(encode_part(there)), encode_part(new))
    return Step(
        splices=(splice,),
        n_replacements=1,
        match=tier,
        match_lines=(1 + count_newlines(content.data, fmt, 0, start),),
    )
