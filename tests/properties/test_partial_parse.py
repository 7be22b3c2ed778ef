"""What is found by parsing a part of an edited file, against the parse of the whole file."""

import ast
import json
import random
import re
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core import splices as splicing
from fileops.core.text import detect_format
from fileops.model.edits import Splice
from fileops.service.answers.changed_lines import MAX_PART_BYTES
from fileops.service.answers.json_syntax import MAX_BYTES as MAX_JSON_BYTES
from fileops.service.answers.syntax import still_parses

SERVER = Path(__file__).parents[2] / "server" / "fileops"
MODULES = sorted(
    path for room in ("core", "attach", "rpc") for path in (SERVER / room).rglob("*.py") if path.stat().st_size
)
LINES = [
    "", "x = 1", "(", ")", "[", "{", '"', '"""', "'''", "\\", "else:", "elif a:", "if a:", "for a in b:", "def f():",
    "@a", "return x", "except E: pass", "except E:", "finally:", "try:", "with a:", "# (", "pass", "class A:", "    x",
    "case 1:", "match a:", "import os", "from a import (", "f'{'", "lambda:", "a,", "b=1,", "x: int", "a b", "\f",
    "\r", "\t",
]  # fmt: skip


def parses(language: str, content: bytes) -> bool:
    """Whether the whole content parses, as the child process finds out."""
    whole = str(content, "utf-8", "replace").removeprefix("\ufeff")
    parse: Callable[[str], object] = {"python": ast.parse, "json": json.loads, "toml": tomllib.loads}[language]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parse(whole)
        except (SyntaxError, ValueError, RecursionError):
            return False
    return True


def stays(language: str, data: bytes, changes: list[Splice]) -> bool:
    return still_parses(language, data, changes, detect_format(data))


def changed(content: bytes, old: str, new: str, newline: str = "\n") -> tuple[bytes, list[Splice]]:
    """The content, and the splice that puts `new` in the place of `old`, which is there once."""
    data, before, after = (each.replace(b"\n", newline.encode()) for each in (content, old.encode(), new.encode()))
    assert data.count(before) == 1
    at = data.index(before)
    return data, [Splice(at, at + len(before), after)]


# --- laws ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from(MODULES))
def test_file_of_which_the_parts_parse_still_parses(seed: int, path: Path) -> None:
    chance = random.Random(seed)
    data = path.read_bytes().replace(b"\n", chance.choice((b"\n", b"\n", b"\r\n")))
    for _ in range(6):
        changes = random_changes(chance, data)
        if changes and stays("python", data, changes):
            after = splicing.apply(data, changes)
            assert parses("python", after), (path, changes)


def random_changes(chance: random.Random, data: bytes) -> list[Splice]:
    """Up to three changes as careless programs make them: of lines, their indentation, a sign, or any bytes."""
    changes: list[Splice] = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        splice = random_change(chance, data)
        if all(splice.end < other.start or other.end < splice.start for other in changes):
            changes.append(splice)
    return sorted(splicing.effective(data, changes), key=lambda each: each.start)


def random_change(chance: random.Random, data: bytes) -> Splice:
    lines = data.splitlines(keepends=True)
    first = chance.randrange(len(lines))
    last = min(len(lines), first + chance.choice((1, 1, 1, 2, 3, 8)))
    start, end = len(b"".join(lines[:first])), len(b"".join(lines[:last]))
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip(b" "))]
    line = chance.choice((indent, indent, b"", b"    ", indent + b"    ", indent[4:])) + chance.choice(LINES).encode()
    source = chance.randrange(len(lines))
    at = chance.randrange(len(data))
    sign = chance.choice([place for place in range(len(data)) if data[place] in b"()[]{}:,'\"=\\"] or [at])
    return chance.choice(
        (
            Splice(start, end, b""),
            Splice(start, start, line + b"\n"),
            Splice(start, end, line + b"\n"),
            Splice(sign, sign + 1, chance.choice((b"", b"", b"(", b")", b'"', b":", b","))),
            Splice(at, min(len(data), at + chance.choice((1, 2, 5, 40, 200))), b""),
            Splice(at, at, chance.choice(LINES).encode()),
            Splice(start, end, b"".join(b"    " + each for each in lines[first:last])),
            Splice(start, end, b"".join(each.removeprefix(b"    ") for each in lines[first:last])),
            Splice(start, end, b"".join(lines[source : source + chance.choice((1, 2, 4, 9))])),
        )
    )


JSON_SIGNS = st.text(st.sampled_from('{}[]:,"\\ \n\t10.-+eEtrufalsn\x00\x1f\x7fé\ufeff\ud800'), max_size=4)
WHOLE_JSON = b'{"a": [1, -2.5e3, true, null, "x\\u00e9\\n"], "b": {"c": "d", "e": []},\n "f": false}\n'


@given(st.integers(0, len(WHOLE_JSON)), st.integers(0, 4), JSON_SIGNS)
def test_json_that_is_not_checked_further_parses(at: int, n_removed: int, new: str) -> None:
    splice = Splice(at, min(len(WHOLE_JSON), at + n_removed), new.encode("utf-8", "replace"))
    if stays("json", WHOLE_JSON, [splice]):
        assert parses("json", splicing.apply(WHOLE_JSON, [splice]))


WHOLE_TOML = b"""\
title = "x"  # a file
[owner]
name = 'y'
dates = [
  1979-05-27, # first
  [1, 2]
]

[[things.of]]
text = \"\"\"
[owner]
a = 1
\"\"\"
size = { a = 1, b.c = 2 }
[ last.one ] # a table
on = true
"""
TOML_NEW = st.sampled_from(
    ["", "x", "\n", "a = 1\n", "a = \n", "[t]\n", "[[t]]\n", "[t\n", '"', '"""', "'", "[", "]", "{", "}", ",", "#", "="]
)


@given(st.integers(0, len(WHOLE_TOML)), st.sampled_from([0, 0, 1, 2, 8, 30]), TOML_NEW)
def test_toml_that_is_not_checked_further_parses(at: int, n_removed: int, new: str) -> None:
    splice = Splice(at, min(len(WHOLE_TOML), at + n_removed), new.encode())
    assert parses("toml", WHOLE_TOML)
    if stays("toml", WHOLE_TOML, [splice]):
        assert parses("toml", splicing.apply(WHOLE_TOML, [splice]))


WORDS_IN_CODE = b"""\
first, second = 1.e5, 1.5e10
third = x1.e5 + 0x1f + 1_000 + 0 + 7j + first . real
def fourth(first, *, second=10):
    # don't say "first" here
    match third:
        case {"first": 1, **rest} if rest:
            return f"{first!r:>{second}} and {second !s} {third=}", rb'first', u"second"
        case Point(x=0, y=None) | [_, second]:
            return b"first" b'one', "\\N{EM DASH} \\x41", 'first "word"'
    return "the \xc3\xa9t\xc3\xa9 of 12" if first else"second"
"""
WORD = re.compile(rb"[\w\x80-\xff]+")
NEW_WORDS = st.sampled_from(
    [
        b"a", b"e5", b"r", b"b", b"f", b"rb", b"br", b"longer_name", b"_", b"__debug__", b"match", b"case", b"type",
        b"if", b"None", b"lambda", b"await", b"yield", b"not", b"in", b"0", b"7", b"12", b"007", b"1_0", b"0x2",
        b"9" * 18, b"9" * 5000, b"1e5", b"1j", "\xe9t\xe9".encode(), "\u0661".encode(), b"",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, len(WORD.findall(WORDS_IN_CODE)) - 1), NEW_WORDS), min_size=1, max_size=3))
def test_code_in_which_words_change_still_parses(new_words: list[tuple[int, bytes]]) -> None:
    places = [found.span() for found in WORD.finditer(WORDS_IN_CODE)]
    changes = [Splice(*places[at], new) for at, new in sorted(dict(new_words).items())]
    changes = list(splicing.effective(WORDS_IN_CODE, changes))
    assert parses("python", WORDS_IN_CODE)
    if changes and stays("python", WORDS_IN_CODE, changes):
        assert parses("python", splicing.apply(WORDS_IN_CODE, changes))


LINES_OF = {
    "json": [
        "{", "}", "},", '"a": {', '"b": 1,', '"b": 1', '"c": [1, 2],', '"d": [', "]", "],", "2,", "3", '"e": "f",',
        '"e"',
        ": 1", ",", '"g":', '"h": {"i": null},', '"k": 1, "l": 2,', '"m" : "\\u00e9\\"",', "", '"n": 01,', '"o": }{,',
    ],
    "toml": [
        "a = 1", 'b = "x"', 'b = "y"  # a note', "c = [1, 2.5, true]", "[t]", "[t.u]", "[[v]]", 'd = """', '"""',
        "d = '''", "'''", "e = [", "]", "1,", "a.b = 1", "f = { a = 1 }", "", "# a = 1", "t = 1", "a = 01", '"b" = 1',
        'g = ""', '"\\u0061" = 1', "h = \"'''\"", "i = 1979-05-27", 'j = ["a", "it\'s"]', 'k = "a\\\\"', "l = 1 # '''",
    ],
}  # fmt: skip


@given(st.data(), st.sampled_from(sorted(LINES_OF)))
def test_json_and_toml_of_which_lines_change_still_parse(chance: st.DataObject, language: str) -> None:
    lines = st.lists(st.sampled_from(LINES_OF[language]), max_size=8)
    before, old, new, after = (chance.draw(lines) for _ in range(4))
    if language == "json":
        before, after = ["{", *before], [*after, "}"]
    data, *parts = ("".join(f"{line}\n" for line in each).encode() for each in (before + old + after, before, old, new))
    start = len(parts[0])
    changes = splicing.effective(data, [Splice(start, start + len(parts[1]), parts[2])])
    if changes and parses(language, data) and stays(language, data, list(changes)):
        assert parses(language, splicing.apply(data, changes))


# --- cases ---------------------------------------------------------------------------------------------------------

SOURCE = b'''"""A module."""

import os


@decorated
def first(a, b):
    """Text.

    return what was given
    """
    if a:
        return os.name
    values = [
        first(a),
        second(b),
    ]
    try:
        run(values)
    except OSError:
        pass
    else:
        return 1
    for a in values:
        if a:
            break
        call(a)
    return (a,
            1)


class Outer:
    x = 1

    @property
    def one(self):
        match self.x:
            case 1:
                return 2
            case _:
                y = f"{self.x} of {1}"
        return y


def last(
    a,
):
    return a
'''


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        call(a)\n", "        call(a)\n        call(b)\n"),
        ("        call(a)\n", ""),
        ("        first(a),\n", "        first(a),\n        third(a),\n"),
        ("        run(values)\n", "        run(values)\n        run(other)\n"),
        ("    except OSError:\n", "    except (OSError, ValueError) as error:\n"),
        ("def first(a, b):", "def first(a, b, c=1):"),
        ("def last(", '@cached\ndef other():\n    """Text."""\n\n\ndef last('),
        ("case 1:", "case 1 | 2:"),
        ("                return 2\n", "                x = 3\n                return 2\n"),
        ("import os\n", "import os\nimport re\n"),
        ("    return a\n", "    return a + 1"),
        ("    values = [\n", '    """More."""\n    values = [\n'),
        ("            break\n", "            continue\n"),
        ("        call(a)\n", "        nonlocal a\n        call(a)\n"),
    ],
)
def test_edit_of_code_is_checked_by_its_part(old: str, new: str, newline: str) -> None:
    assert parses("python", SOURCE)
    data, changes = changed(SOURCE, old, new, newline)
    assert stays("python", data, changes)
    assert parses("python", splicing.apply(data, changes))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        first(a),\n", "        first(a)\n"),  # each line of it would be a statement elsewhere
        ("            break\n", ""),  # the only statement of its block
        ("        run(values)\n", ""),
        ("    for a in values:\n", "for a in values:\n"),  # blocks that end where there are none
        ("    try:\n", "    if a:\n"),
        ("    except OSError:\n        pass\n", ""),
        ("    if a:\n        return os", "    if a:\n    return os"),
        ("    return what was given\n    \"\"\"\n", "    return what was given\n"),
        ('    """Text.\n', '    """Text."""\n'),
        ("    return what was given\n", '    """return what was given\n'),
        ("@decorated\ndef first", "@decorated\nx = first"),
        ("        return 1\n", "        return 1\n    else:\n        pass\n"),
        ("            case _:\n", "            else:\n"),
        ('f"{self.x} of {1}"', 'f"{self.x of {1}"'),
        ("    a,\n):", "    a,\n:"),
        ("    return a\n", "    return a\n  b\n"),
        ("    return a\n", "    return (a\n"),
        ("            break\n", "            break \\\n"),
        ("    for a in values:\n", "        \\\n    for a in values:\n"),
        ("call(a)", "call(a)\rfor b in c:"),
        ("call(a)", "call(a)\n\fb"),
        ("call(a)", "call(a\0)"),
        ("call(a)", "call" + "(" * 300 + ")" * 300),
    ],
)  # fmt: skip
def test_edit_that_breaks_code_is_left_to_the_whole_parse(old: str, new: str, newline: str) -> None:
    data, changes = changed(SOURCE, old, new, newline)
    assert not stays("python", data, changes)


@pytest.mark.parametrize(
    ("language", "data", "new"),
    [
        ("python", b"x = 1\n", f"x = [{'1, ' * MAX_PART_BYTES}]"),
        ("json", b'["x"]', f'["{"x" * MAX_JSON_BYTES}"]'),
        ("json", b"[1]", "[" * 100_000 + "]" * 100_000),
        ("toml", b"a = 1\n", f'a = "{"x" * MAX_PART_BYTES}"'),
        ("toml", b"[a]\nb = 1\n[c]\n", "b = 1\n[c]\n[c]"),
        ("python", "x = 1\n".encode("utf-16"), "x"),
        ("javascript", b"let x = 1\n", "let x = 2"),
    ],
    ids=["python", "json", "deep json", "toml", "table", "utf-16", "other"],
)
def test_edit_of_which_a_part_shows_too_little_is_left_to_the_whole_parse(language: str, data: bytes, new: str) -> None:
    assert not stays(language, data, [Splice(0, len(data.rstrip()), new.encode())])


@pytest.mark.parametrize(
    ("language", "data", "at"),
    [("python", SOURCE, b'"""Text.'), ("toml", WHOLE_TOML, b"text = ")],
    ids=["python", "toml"],
)
def test_comment_sign_before_a_string_is_left_to_the_whole_parse(language: str, data: bytes, at: bytes) -> None:
    splice = Splice(data.index(at), data.index(at), b"#")
    assert not parses(language, splicing.apply(data, [splice]))
    assert not stays(language, data, [splice])


@pytest.mark.parametrize(
    ("language", "data", "old", "new"),
    [
        ("python", b"x = {\n" + b"    first: 1.5,\n" * 1000 + b"    last: 2,\n}\n", "last: 2", "other: 37"),
        ("python", b"x = (\n" + b"    'a word '\n" * 1000 + b"    'the end'\n)\n", "the end", "the last"),
        ("json", b"[\n" + b"1,\n" * (MAX_JSON_BYTES // 2) + b'{\n"a": 1\n}\n]', '"a": 1\n', '"a": [2],\n"b": {}\n'),
        ("json", b"[\n" + b"1,\n" * (MAX_JSON_BYTES // 2) + b'{\n"a": 1\n}\n]', '"a"', '"b": [2],\n"a"'),
        ("json", b"[\n" + b"1,\n" * (MAX_JSON_BYTES // 2) + b'{\n"a": 1,\n"b": 2\n}\n]', '"a": 1,\n', ""),
        ("toml", b"a = [\n" + b"  1,\n" * 1000 + b']\nversion = "1.0"\n', '"1.0"', '"1.0.1"'),
        ("toml", b"a = [\n" + b"  1,\n" * 1000 + b']\nversion = "1.0"\n', '"1.0"\n', '"1.0"\nkept = true\n'),
    ],
    ids=["names", "words of a string", "members", "new member", "no member", "value", "new entry"],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_edit_of_simple_lines_needs_no_part(language: str, data: bytes, old: str, new: str, newline: str) -> None:
    """Everything around the change is larger than what is parsed."""
    content, changes = changed(data, old, new, newline)
    assert stays(language, content, changes)
    assert parses(language, splicing.apply(content, changes))


def test_byte_order_mark_is_no_error() -> None:
    assert stays("python", b"\xef\xbb\xbfx = 1\n", [Splice(7, 8, b"2")])
    assert stays("json", b"\xef\xbb\xbf[1]", [Splice(4, 5, b"2")])
