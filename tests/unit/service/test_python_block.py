"""The part of a Python file that is parsed after an edit, against the parse of the whole file."""

import ast
import warnings

import pytest

from fileops.core import splices
from fileops.core.text import detect_format
from fileops.model.edits import Splice
from fileops.service.answers.python_block import changed_block

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
