"""The part of a Python file that has to be parsed after an edit, if the file parsed before it.

Nothing has to be parsed if the edit only puts names in place of names and numbers in place of numbers.

A block goes from one definition to the next that is not inside it: `def`, `class` or a decorator that follows an empty
line. Parsing it takes a fraction of the time for the file.
"""

import keyword
import re
from collections.abc import Sequence

from fileops.core import splices as splicing
from fileops.core import text
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

MAX_DISTANCE = 1 << 15  # bytes from the first splice back to the definition before it
_DEFINITION = re.compile(rb"\n\r?\n([ \t]*)(?:def |class |async def |@)")
MAX_COMPARED_BYTES = 1 << 12  # of the changed lines; more are parsed
_WORD = re.compile(r"\w+|\W")
_NUMBER = re.compile(r"(?:0|[1-9]\d{0,17})")
_NOT_NAMES = {*keyword.kwlist, *keyword.softkwlist, "__debug__"}
_TRIPLE_QUOTES = (b'"""', b"'''")

# Why it suffices to parse the block. All statements before it and after it are those of the old text, which parses, so
# only two things could go wrong outside:
#
# - The block could end inside a string, brackets or a continued line, and take in what follows. Then it does not parse
#   alone.
# - Its last statements could be indented so that those after it no longer fit. `pass` is parsed after the block with
#   the indentation of the definition that follows it. An indented block is parsed inside `with a:`, which allows
#   nothing after it that a class or a function does not. The next definition is as far indented as the block, or not at
#   all: Python can leave all blocks anywhere, but the block does not show which lie between.
#
# What looks like a definition may be part of a string. There an edit changes the syntax of the file only if it
# has quotes, and one with triple quotes has no block here. What is left is rare (a new statement that ends a `try`
# around two definitions; an f-string of code), and then an error is not noticed. None is invented, because a block that
# does not parse is no proof: then the whole text is parsed, the old one and the new one.


def changed_block(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> str | None:
    """Return a text that parses only if splicing the file leaves it as parsable as it was.

    None if all of the new text is needed for that. data: the old content. splices: at least one.
    """
    first, last = splices[0].start, splices[-1].end
    if fmt.unit_bytes > 1 or any(_has_triple_quotes(data, splice) for splice in splices):
        return None
    start, indent = 0, b""
    earliest = max(0, first - MAX_DISTANCE)
    for found in _DEFINITION.finditer(data, earliest, first):
        start, indent = found.start(1), found[1]
    if start == 0 and earliest > 0:
        return None
    end, next_indent = len(data), b""
    for found in _DEFINITION.finditer(data, last):
        if len(found[1]) <= len(indent):
            end, next_indent = found.start(1), found[1]
            break
    if next_indent not in {b"", indent}:
        return None
    block = text.decode(splicing.apply_within(data, splices, start, end), fmt)
    before = "with a:\n" if indent else ""
    after = f"{next_indent.decode()}pass\n" if end < len(data) else ""
    return f"{before}{block}{after}"


# Why such an edit leaves a file that parses as parsable as it was. The changed lines have the same words and signs in
# the same order, but for some words, and a changed word is in one of three places:
#
# - In code a name is one token of the grammar, as each other name is, and so is a number. Keywords are excluded, soft
#   ones too; so are a word before a quotation mark (the prefix of a string), a name after a number and a dot (the
#   exponent of `1.e5`), and numbers with a leading zero, letters or underscores.
# - In a string nothing but an escape could break it, so a line with a backslash is parsed; and in an f-string the
#   conversion after `!`. All is ASCII, for strings of bytes.
# - In a comment nothing could, apart from the name of an encoding in the first two lines.


def only_renames(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """Whether splicing the file only puts other names or numbers in their places. data: the old content."""
    if (
        fmt.unit_bytes > 1
        or sum(len(splice.new) + splice.end - splice.start for splice in splices) > MAX_COMPARED_BYTES
    ):
        return False
    start = data.rfind(b"\n", 0, splices[0].start) + 1
    end = data.find(b"\n", splices[-1].end)
    end = len(data) if end < 0 else end
    if end - start > MAX_COMPARED_BYTES or data.count(b"\n", 0, start) < 2:
        return False
    old, new = data[start:end], splicing.apply_within(data, splices, start, end)
    if not (old.isascii() and new.isascii()) or b"\\" in old or b"__future__" in old:
        return False
    old_words, new_words = (_WORD.findall(part.decode("ascii")) for part in (old, new))
    if len(old_words) != len(new_words):
        return False
    changed = [at for at, (was, now) in enumerate(zip(old_words, new_words, strict=True)) if was != now]
    return all(
        _is_renamed(old_words[at], new_words[at], old_words[max(0, at - 2) : at], old_words[at + 1 : at + 2])
        for at in changed
    )


def _is_renamed(was: str, now: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a word may be another one. before, after: up to two old words and signs, and one."""
    if _NUMBER.fullmatch(was) and _NUMBER.fullmatch(now):
        return True
    if not (was.isidentifier() and now.isidentifier()) or _NOT_NAMES & {was, now}:
        return False
    is_exponent = len(before) > 1 and before[-1] == "." and before[-2][-1].isdigit()
    return not is_exponent and before[-1:] != ["!"] and after not in (["'"], ['"'])


def _has_triple_quotes(data: bytes, splice: Splice) -> bool:
    old = data[splice.start : splice.end]
    return any(quotes in content for quotes in _TRIPLE_QUOTES for content in (old, splice.new))
