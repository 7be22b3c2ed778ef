"""The part of a Python file that is parsed after an edit, against the parse of the whole file."""

import ast
import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core import splices
from fileops.core.text import detect_format
from fileops.model.edits import Splice
from fileops.service.answers.python_block import changed_block, only_renames

SOURCE = '''"""A module.

def example():
    of a text
"""

import os

@decorated

def first(a):
    if a:
        return os.name
    return (a,
            1)


class Outer:
    """Text.

    def example(self): of a text
    """

    x = 1

    @property
    def one(self):
        return [1,
2]

    class Inner:
        y = 1

        async def two(self):
            await self

    def three(self):
        """Text."""
        return 3

    z = {
        1: 2
    }


def last():
    try:
        pass
    finally:
        pass
'''
LINES = ["", "x = 1", "(", ")", '"', "\\", "else:", "if a:", "def f():", "@a", "return", "except E: pass", "'''", "# ("]


def parses(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
        except SyntaxError:
            return False
    return True


def block_of(data: bytes, splice: Splice) -> str | None:
    return changed_block(data, [splice], detect_format(data))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [0, 4, 8, 12])
@pytest.mark.parametrize("is_replaced", [False, True], ids=["inserted", "replaced"])
def test_file_parses_if_the_changed_block_does(newline: str, indent: int, *, is_replaced: bool) -> None:
    assert parses(SOURCE)
    data, at, n_blocks = SOURCE.replace("\n", newline).encode(), 0, 0
    for line in data.splitlines(keepends=True):
        for new in LINES:
            splice = Splice(at, at + len(line) * is_replaced, (" " * indent + new + newline).encode())
            block = block_of(data, splice)
            if block is not None and parses(block):
                n_blocks += 1
                after = splices.apply(data, [splice]).decode()
                assert parses(after), after
        at += len(line)
    assert n_blocks > len(LINES)


def test_block_is_the_definition_around_the_edit() -> None:
    data = SOURCE.encode()
    at = data.index(b"return 3")
    assert block_of(data, Splice(at, at + 8, b"return 4")) == (
        'with a:\n    def three(self):\n        """Text."""\n        return 4\n'
        "\n    z = {\n        1: 2\n    }\n\n\npass\n"
    )


@pytest.mark.parametrize("old", [b'"""', b"self"])
def test_edit_of_triple_quotes_has_no_block(old: bytes) -> None:
    at = SOURCE.encode().index(old)
    assert block_of(SOURCE.encode(), Splice(at, at + len(old), b"x" if b'"' in old else b'"""')) is None


WORDS = """\
# -*- coding: utf-8 -*-
# of words
import os.path as path  # for 3 files

def first(a, b=1, *, key=1.5):
    name, rest = rb"bytes x", 'a "quoted" text'
    total = 1.e5 + .5 + 1e-5 + 0x1f + 1_000 + 10 if a else b.real
    text = f"{name!r:>10} and {total:05} of {a}"
    other = "\\x41bc \\N{BULLET}"
    match a:
        case [x, 1] | {"key": x}:
            return [x for x in rest if x is not None]
    async def inner(): await other(name=a, path=2)
    '''a text
    of some lines'''
"""
PLACES = [(found.start(), found.end()) for found in re.finditer(r"\w+", WORDS)]
NEW_WORDS = [
    "x", "name", "e5", "e", "rb", "f", "b", "None", "if", "for", "match", "case", "_", "type", "__debug__", "print",
    "0", "7", "42", "007", "1_0", "1e5", "0x", "12j", "9" * 19, "é", "x y", "", "a.b", "x1",
]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(NEW_WORDS)), min_size=1, max_size=3))
def test_file_in_which_only_names_change_still_parses(changes: list[tuple[tuple[int, int], str]]) -> None:
    data = WORDS.encode()
    chosen = sorted(dict(changes).items())
    wanted = [Splice(start, end, word.encode()) for (start, end), word in chosen]
    if only_renames(data, wanted, detect_format(data)):
        ast.parse(splices.apply(data, wanted))


@pytest.mark.parametrize(
    ("old", "new", "is_renamed"),
    [
        ("total = 1", "amount = 1", True), ("b=1", "b=20", True), ("for 3 files", "of 3 trees", False),
        ("3 files", "4 trees", True), ("first(a", "second(a", True), ("first(a", "if(a", False), ("rb", "xb", False),
        ("1.e5", "1.x5", False), ("x41bc", "x4", False), ("b.real", "b.imag", True), ("b.real", "b", False),
        ("coding", "encoded", False), ("name!r", "name!x", False), ("10 if", "010 if", False),
    ],
)  # fmt: skip
def test_edit_is_known_to_change_names_and_numbers_alone(old: str, new: str, is_renamed: bool) -> None:
    data = WORDS.encode()
    at = data.index(old.encode())
    assert only_renames(data, [Splice(at, at + len(old), new.encode())], detect_format(data)) == is_renamed
