"""Whether an edit leaves a Python file as parsable as it was, found by the words or the statements that it changes."""

import ast
import keyword
import re
import symtable
import warnings
from collections.abc import Callable, Sequence

from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.service.answers.changed_lines import MAX_PART_BYTES, Part, changed_lines, parts_parse

_SOURCE = "<a part of an edited file>"
# An odd escape sequence is a warning, which no log of the daemon needs. Filters are of the whole process, and other
# threads may replace them, so none is set and reset around a call.
warnings.filterwarnings("ignore", module=re.escape(_SOURCE))


def still_parses(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> bool:
    """Whether splicing the file surely leaves it as parsable as it was. data: the old content."""
    rest = [
        change
        for change in changed_lines(data, splices)
        if not _only_renames(data[change.start : change.end], change.new)
    ]
    return not rest or parts_parse(data, rest, fmt, _statements_around, _is_python)


# --- words ---------------------------------------------------------------------------------------------------------

# Why nothing has to be parsed where names only take the place of names, and numbers that of numbers. The lines have the
# same signs and blanks before and after the change, so a changed word is in one of three places:
#
# - In code, a name is one token of the grammar, as any other name is, and so is a number. Keywords are excluded, soft
#   ones too; so are a name after a number and a dot (the exponent of `1.e5`), and numbers with a leading zero, letters
#   or underscores, and those of so many digits that Python refuses them.
# - In a string, only an escape could break it, so a line with a backslash is parsed; and in an f-string the conversion
#   after `!`. All is ASCII, for strings of bytes.
# - In a comment, nothing could.
#
# A word immediately before a quotation mark may be the prefix of a string. Those have two letters at most; longer words
# in such a place are the end of a string or a comment.

_WORDS = re.compile(rb"([\w\x80-\xff]+)")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_NUMBER = re.compile(rb"0|[1-9][0-9]{0,17}")
_NOT_NAMES = {word.encode() for word in (*keyword.kwlist, *keyword.softkwlist, "__debug__")}
_MAX_PREFIX = 2


def _only_renames(old: bytes, new: bytes) -> bool:
    if b"\\" in old or old.count(b"\n") != new.count(b"\n") or len(old) + len(new) > MAX_PART_BYTES:
        return False
    was, now = _WORDS.split(old), _WORDS.split(new)  # signs and blanks at even places, words at odd ones
    return len(was) == len(now) and all(
        before == after or (at % 2 == 1 and _is_renamed(was, at, after))
        for at, (before, after) in enumerate(zip(was, now, strict=True))
    )


def _is_renamed(was: Sequence[bytes], at: int, now: bytes) -> bool:
    """Whether a word may become another one. was: old signs and words in turn."""
    word, signs_before, signs_after = was[at], was[at - 1], was[at + 1]
    if _NUMBER.fullmatch(word) and _NUMBER.fullmatch(now):
        return True
    if not (_NAME.fullmatch(word) and _NAME.fullmatch(now)) or word in _NOT_NAMES or now in _NOT_NAMES:
        return False
    if signs_after[:1] in {b"'", b'"'} and min(len(word), len(now)) <= _MAX_PREFIX:
        return False
    is_exponent = signs_before == b"." and at > 1 and was[at - 2][-1:].isdigit()
    return not is_exponent and not signs_before.endswith(b"!")


# --- statements ----------------------------------------------------------------------------------------------------

# Otherwise the statements around the change are parsed. They begin in a line before it at which a statement begins, and
# end before such a line after it, or at the end of the file. What counts as such a line cannot be within brackets: it
# begins with a word that only begins statements, or is the head of an `if` or a `for`, with its colon. The statements
# before and after the part are those of the old text, which parses. So four things could go wrong:
#
# - The new part could end inside a string, brackets or a continued line, and take in what follows. Then it does not
#   parse, because a statement that represents the line after the part is put after it.
# - Its indentation could not fit what is before. But its first line is unchanged, and sets the indentation.
# - It could leave other open blocks than the old part, in which what follows does not fit. But the line after the part
#   is at most as indented as each changed line, old and new. So the blocks that are open there began in unchanged
#   lines. If that line is less indented than the first one of the part, it ends a block that began before the part;
#   then a head is put before the part that allows a clause (`else`) after it only if the line is one.
# - Either line could be inside a string. Then the old part has only one end of this string and does not parse, and
#   neither does the new part, unless changed lines have triple quotes, old or new (a `#` before them undoes them);
#   `parts_parse` sees to those.
#
# One kind of errors is not noticed, in a file that has code in its strings: if the part begins in such code, and parses
# with code and string interchanged. Of 44,000 random changes of this project and the standard library whose part
# parsed, 5 were such, in two files that mainly have programs as strings. Errors that only the compiler finds (`return`
# outside a function) are no syntax errors here, nor in the child.

_STATEMENT = re.compile(
    rb"""
    (?P<indent> [ \t]*)
    (?:
        # goes on with a compound statement; `else` and `finally` with their colon, `case` with one at the line's end
        (?P<clause> else(?=:) | elif\b | except\b | finally(?=:) | case\b (?=[^\n]*:[ \t\r]*$) )
        # may follow a decorator, or is one
        | (?P<definition> (?:async[ ]+def | def | class)\b | @\w )
        | (?P<try> try: )
        # words that no expression begins with, nor goes on with
        | (?: return | raise | pass | break | continue | del | assert | with | async[ ]+with | while | global | nonlocal
            | import )\b
        | from[ ][\w.]+[ ]import\b
        # begin lines of expressions, too, but those have no colon at the end, or an `else` before it
        | (?: if | for )\b (?![^\n]*\belse\b) [^\n]*:[ \t\r]*$
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_INDENT = re.compile(rb"^([ \t]*)[^\s#]", re.MULTILINE)


def _statements_around(data: bytes, change: Splice) -> Part | None:
    """None if a line where a statement begins is too far away."""
    indents = _INDENT.findall(data, change.start, change.end) + _INDENT.findall(change.new)
    least = min(map(len, indents), default=MAX_PART_BYTES)
    beginning = _beginning(data, change.start, least)
    if beginning is None:
        return None
    start, indent = beginning
    end = change.end
    while end < len(data):
        following = _STATEMENT.match(data, end)
        if following is not None and _ends_part(following, indent, least):
            return _part(start, end, indent, following)
        end = data.find(b"\n", end) + 1 or len(data)
        if end > change.end + MAX_PART_BYTES:
            return None
    return _part(start, end, indent, None)


def _beginning(data: bytes, start: int, least: int) -> tuple[int, bytes] | None:
    """Where a statement begins in the lines before a place, no line from there on being less indented, nor `least`.

    Returns the place and the indentation; None if that is too far away. After `try:` it is the next line, with more
    than the indentation of `try:`, because what follows `try:` may end at an `except` only.
    """
    earliest = start - MAX_PART_BYTES
    while start > 0:
        line = data.rfind(b"\n", 0, start - 1) + 1
        if line < earliest:
            return None
        found = _STATEMENT.match(data, line)
        if found is not None and not found["clause"] and len(found["indent"]) + bool(found["try"]) <= least:
            return (start, found["indent"] + b" ") if found["try"] else (line, found["indent"])
        if indent := _INDENT.match(data, line):
            least = min(least, len(indent[1]))
        start = line
    return 0, b""


def _ends_part(following: re.Match[bytes], indent: bytes, least: int) -> bool:
    """Whether the part may end before this line. indent: of its first line. least: the least of the changed lines."""
    n_blanks = len(following["indent"])
    return n_blanks <= least and (not following["clause"] or n_blanks < len(indent))


def _part(start: int, end: int, indent: bytes, following: re.Match[bytes] | None) -> Part:
    """The part with statements that represent what is around it. following: the line after it, None at the end."""
    before, after = (b"with a:\n" if indent else b""), b""
    if following is not None:
        next_indent = following["indent"]
        head, statement = _represented(following)
        after = next_indent + statement
        if len(next_indent) < len(indent):  # it ends the block of the part, of which it may be a clause
            before = (b"with a:\n" if next_indent else b"") + next_indent + head
    return Part(start, end, before, after)


def _represented(following: re.Match[bytes]) -> tuple[bytes, bytes]:
    """Return a head of a block after which the line may be, and a statement or clause in place of the line."""
    if following["definition"]:  # a decorator may be before it
        return b"with a:\n", b"class a: pass\n"
    match following["clause"]:
        case None:
            return b"with a:\n", b"pass\n"
        case b"else":
            return b"while a:\n", b"else: pass\n"
        case b"elif":
            return b"if a:\n", b"elif a: pass\n"
        case b"case":
            return b"match a:\n", b"case a: pass\n"
        case _:
            return b"try:\n", b"finally: pass\n"


def _is_python(source: str) -> bool:
    """Whether the source parses. A table of symbols is made from it, which is cheaper than making objects of its tree.

    That also fails for errors of names that are none of syntax here (`nonlocal` outside a function), so then the tree
    decides.
    """
    return _succeeds(lambda: symtable.symtable(source, _SOURCE, "exec")) or _succeeds(
        lambda: compile(source, _SOURCE, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    )


def _succeeds(parse: Callable[[], object]) -> bool:
    try:
        parse()
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the whole text shows what the error is, if any
        return False
    return True
