"""The part of a Python file that has to be parsed after an edit, if the file parsed before it.

A block goes from one definition to the next that is not inside it: `def`, `class` or a decorator that follows an empty
line. Parsing it takes a fraction of the time for the file.
"""

import re
from collections.abc import Sequence

from fileops.core import splices as splicing
from fileops.core import text
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

MAX_DISTANCE = 1 << 15  # bytes from the first splice back to the definition before it
_DEFINITION = re.compile(rb"\n\r?\n([ \t]*)(?:def |class |async def |@)")
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


def _has_triple_quotes(data: bytes, splice: Splice) -> bool:
    old = data[splice.start : splice.end]
    return any(quotes in content for quotes in _TRIPLE_QUOTES for content in (old, splice.new))
