"""Whether an edit leaves a file as parsable as it was, found by parsing the part around the change.

A yes means that nothing has to be said. A no proves nothing: if the part does not parse, or is too large, the whole
text is parsed before and after the edit, in a child process (syntax.py). So no error is invented here; which errors may
be missed is written at each language. Runs in worker threads, and holds the interpreter's lock for the fraction of a
millisecond that it takes to parse a few kilobytes.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Sequence

import msgspec

from fileops.core import splices as splicing
from fileops.core import text
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

# 4 kB of Python are parsed within 0.3 ms, and even deep nesting needs less than 512 kB of stack (CPython 3.11).
MAX_PART_BYTES = 1 << 12
MAX_JSON_BYTES = 1 << 18  # 0.2 ms
_OTHER_LINE_ENDS = re.compile("\r(?!\n)|\f")  # Python ends a line; the indentation is 0 again
_SOURCE = "<a part of an edited file>"
# An odd escape sequence is a warning, which no log of the daemon needs. Filters are of the whole process, and other
# threads may replace them, so none is set and reset around a call.
warnings.filterwarnings("ignore", module=re.escape(_SOURCE))


class _Part(msgspec.Struct, frozen=True):
    """The bytes [start, end) of the old content. before, after: texts that represent what is around them."""

    start: int
    end: int
    before: bytes = b""
    after: bytes = b""


def still_parses(language: str, data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """Whether splicing the file surely leaves it as parsable as it was.

    data: the old content. splices: at least one.
    """
    if fmt.unit_bytes > 1:
        return False
    if language == "json":
        return _is_json(data, splices, fmt)
    if language == "python":
        return _parts_parse(data, splices, fmt, _python_part, _is_python)
    return language == "toml" and _parts_parse(data, splices, fmt, _toml_part, _is_toml)


def _parts_parse(
    data: bytes,
    splices: Sequence[Splice],
    fmt: TextFormat,
    part_of: Callable[[bytes, Splice], _Part | None],
    parses: Callable[[str], bool],
) -> bool:
    """Whether the parts around the splices parse, of which those that overlap are one."""
    groups: list[tuple[_Part, list[Splice]]] = []
    for splice in splices:
        part = part_of(data, splice)
        if part is None:
            return False
        changes = [splice]
        while groups and part.start < groups[-1][0].end:
            earlier, its_changes = groups.pop()
            first = min(earlier, part, key=lambda each: each.start)
            last = max(earlier, part, key=lambda each: each.end)
            part = _Part(first.start, last.end, first.before, last.after)
            changes = its_changes + changes
        groups.append((part, changes))
    n_bytes = sum(part.end - part.start + sum(len(each.new) for each in changes) for part, changes in groups)
    return n_bytes <= MAX_PART_BYTES and all(
        not _OTHER_LINE_ENDS.search(source) and parses(source)
        for part, changes in groups
        for source in _sources(data, part, changes, fmt)
    )


def _sources(data: bytes, part: _Part, changes: Sequence[Splice], fmt: TextFormat) -> Iterable[str]:
    """Yield what has to parse: the new text of the part, and the old one if the changed lines have triple quotes.

    Where the old text of the part does not parse, one of its ends is inside a string. That matters only to a change
    that may move the ends of strings.
    """
    contents = [splicing.apply_within(data, changes, part.start, part.end)]
    if any(_touches_triple_quotes(data, each) for each in changes):
        contents.append(data[part.start : part.end])
    for content in contents:
        yield text.decode(part.before + content + part.after, fmt)


def _touches_triple_quotes(data: bytes, splice: Splice) -> bool:
    """Whether triple quotes are in a line that the splice touches, old or new: a `#` before them undoes them."""
    start, end = data.rfind(b"\n", 0, splice.start) + 1, data.find(b"\n", splice.end)
    end = len(data) if end < 0 else end
    contents = data[start:end], splicing.apply_within(data, [splice], start, end)
    return any(quotes in content for quotes in (b'"""', b"'''") for content in contents)


# --- Python --------------------------------------------------------------------------------------------------------

# Why the part suffices. It goes from a line before the change at which a statement begins to one after it, or to the
# end of the file. What counts as such a line cannot be within brackets: it begins with a word that only begins
# statements, or is the head of an `if` or a `for`, with its colon. The statements before the part and after it are
# those of the old text, which parses. So four things could go wrong:
#
# - The new part could end inside a string, brackets or a continued line, and take in what follows. Then it does not
#   parse, because a statement that represents the line after the part is put after it.
# - Its indentation could not fit what is before. But its first line is unchanged, and sets the indentation.
# - It could leave other open blocks than the old part, in which what follows does not fit. But the line after the part
#   is at most as indented as each changed line, old and new. So the blocks that are open there began in unchanged
#   lines. If that line is less indented than the first one of the part, it ends a block that began before the part;
#   then a head is put before the part that allows a clause (`else`) after it only if the line is one.
# - Either line could be inside a string. Then the old part has only one end of this string and does not parse, and
#   neither does the new part, unless changed lines have the quotes of such strings; `_sources` sees to those.
#
# One kind of errors is not noticed, in a file that has code in its strings: if the part begins in such code, and parses
# with code and string interchanged. Of 44,000 random changes of this project and the standard library whose part
# parsed, 5 were such, in two files that mainly have programs as strings. Errors that only the compiler finds (`return`
# outside a function) are no syntax errors here, nor in the child.

_STATEMENT = re.compile(
    rb"([ \t]*)"
    rb"(?:(?P<clause>else(?=:)|elif\b|except\b|finally(?=:)|case\b(?=[^\n]*:[ \t\r]*$))"
    rb"|(?P<definition>(?:async +def|def|class)\b|@\w)"
    rb"|(?:return|raise|pass|break|continue|del|assert|with|async +with|while|global|nonlocal|import)\b"
    rb"|(?P<try>try:)|from [\w.]+ import\b|(?:if|for)\b(?![^\n]*\belse\b)[^\n]*:[ \t\r]*$)",
    re.MULTILINE,
)
_INDENT = re.compile(rb"^([ \t]*)[^\s#]", re.MULTILINE)
# The line before a less indented one, the head of the suite that ends there, and the statement or clause that follows.
_AROUND = {
    b"else": (b"with a:\n", b"while a:\n", b"else: pass\n"),
    b"elif": (b"with a:\n", b"if a:\n", b"elif a: pass\n"),
    b"except": (b"with a:\n", b"try:\n", b"finally: pass\n"),
    b"finally": (b"with a:\n", b"try:\n", b"finally: pass\n"),
    b"case": (b"match a:\n", b"case a:\n", b"case a: pass\n"),
    b"definition": (b"with a:\n", b"with a:\n", b"class a: pass\n"),
    b"": (b"with a:\n", b"with a:\n", b"pass\n"),
}


def _is_python(source: str) -> bool:
    try:
        compile(source, _SOURCE, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the whole text shows what the error is, if any
        return False
    return True


def _python_part(data: bytes, splice: Splice) -> _Part | None:
    least = _least_indent(data, splice)
    began = _python_start(data, splice.start, least)
    if began is None:
        return None
    start, indent = began
    at = splice.end
    while 0 <= (at := data.find(b"\n", at)) <= splice.end + MAX_PART_BYTES:
        at += 1
        found = _STATEMENT.match(data, at)
        if found is None or len(found[1]) > least or (found["clause"] and len(found[1]) >= len(indent)):
            continue
        next_indent = found[1]
        outer, head, tail = _AROUND[found["clause"] or (found["definition"] and b"definition") or b""]
        if len(next_indent) < len(indent):
            before = (outer if next_indent else b"") + next_indent + head
        else:
            before = b"with a:\n" if indent else b""
        return _Part(start, at, before, next_indent + tail)
    return None if at >= 0 else _Part(start, len(data), b"with a:\n" if indent else b"")


def _least_indent(data: bytes, splice: Splice) -> int:
    """The least indentation, in bytes, of the old and new lines that the splice touches."""
    start = data.rfind(b"\n", 0, splice.start) + 1
    end = data.find(b"\n", splice.end)
    end = len(data) if end < 0 else end
    lines = splicing.apply_within(data, [splice], start, end)
    return min(map(len, _INDENT.findall(data, start, end) + _INDENT.findall(lines)), default=MAX_PART_BYTES)


def _python_start(data: bytes, changed_at: int, least: int) -> tuple[int, bytes] | None:
    """Where a statement begins in the lines before the change, no line from there on being less indented, nor `least`.

    Returns the place and the indentation; None if that is too far away. After `try:` it is the next line, with more
    than the indentation of `try:`, because what follows `try:` may end at an `except` only.
    """
    start = data.rfind(b"\n", 0, changed_at) + 1
    while start > 0:
        line = data.rfind(b"\n", 0, start - 1) + 1
        if line < changed_at - MAX_PART_BYTES:
            return None
        found = _STATEMENT.match(data, line)
        if found is not None and not found["clause"] and len(found[1]) + bool(found["try"]) <= least:
            return (start, found[1] + b" ") if found["try"] else (line, found[1])
        if indent := _INDENT.match(data, line):
            least = min(least, len(indent[1]))
        start = line
    return 0, b""


# --- TOML ----------------------------------------------------------------------------------------------------------

# A part goes from one header of a table to the next. A change has none if it touches a line that could be a header, or
# the end of a string of several lines. What is not noticed: a key that two headers or dotted keys define differently.

_TABLE = re.compile(rb"[ \t]*\[{1,2}[^\[\]{}=,]+\]{1,2}[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)


def _toml_part(data: bytes, splice: Splice) -> _Part | None:
    start = data.rfind(b"\n", 0, splice.start) + 1
    end = data.find(b"\n", splice.end) + 1 or len(data)
    after = splicing.apply_within(data, [splice], start, end)
    if any(b"\n[" in b"\n" + re.sub(rb"\n[ \t]+", b"\n", lines).lstrip(b" \t") for lines in (data[start:end], after)):
        return None
    earliest, latest = start - MAX_PART_BYTES, end + MAX_PART_BYTES
    while start > 0 and not _TABLE.match(data, start):
        start = data.rfind(b"\n", 0, start - 1) + 1
        if start < earliest:
            return None
    while end < len(data) and not _TABLE.match(data, end):
        end = data.find(b"\n", end) + 1 or len(data)
        if end > latest:
            return None
    return _Part(start, end)


def _is_toml(source: str) -> bool:
    import tomllib  # only at the first edit of such a file

    try:
        tomllib.loads(source)
    except (ValueError, RecursionError):  # the whole text shows what the error is, if any
        return False
    return True


# --- JSON ----------------------------------------------------------------------------------------------------------


def _is_json(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """The whole text is checked, without making values of it."""
    if len(data) + splicing.growth(splices) > MAX_JSON_BYTES:
        return False
    try:
        msgspec.json.decode(splicing.apply(data, splices).removeprefix(fmt.bom), type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):  # also NaN and lone surrogates, which Python's parser allows
        return False
    return True
