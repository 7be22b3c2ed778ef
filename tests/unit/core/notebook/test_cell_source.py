"""A source that is a list of strings stays one, with the elements that Jupyter would write."""

import json

import pytest

from fileops.core.notebook.cell_source import Region, splices_in
from fileops.core.notebook.cell_style import source_list_style
from fileops.core.notebook.cells import parse
from fileops.core.splices import apply


@pytest.mark.parametrize(
    ("before", "region", "after"),
    [
        (["abc\n", "d"], Region(1, 1, "X\nY"), ["aX\n", "Ybc\n", "d"]),  # into a line
        (["abc\n", "d"], Region(1, 2, "X\nY"), ["aX\n", "Yc\n", "d"]),
        (["abc\n", "d"], Region(5, 5, "X\nY"), ["abc\n", "dX\n", "Y"]),  # behind the last line
        (["abc\n", "d"], Region(4, 4, "X\n"), ["abc\n", "X\n", "d"]),
        (["abc\n", "d"], Region(3, 4, ""), ["abcd"]),
        (["abc\n", "d\n", "e"], Region(4, 6, ""), ["abc\n", "e"]),
        (["abc\n", "d\n", "e"], Region(2, 6, ""), ["abe"]),
        (["ab", "c\n", "d"], Region(1, 1, "X\nY"), ["aX\n", "Yb", "c\n", "d"]),  # lines in pieces stay in pieces
        (["a\n", "b\n", ""], Region(2, 4, ""), ["a\n", ""]),  # an element without text stays
        (["a\nb\n", "c"], Region(1, 1, "X\nY"), ["aX\nY\nb\n", "c"]),  # and so do those of several lines
    ],
)
def test_element_of_a_source_is_a_line_if_all_were(before: list[str], region: Region, after: list[str]) -> None:
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": before,
    }
    data = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1).encode()
    notebook = parse(data)
    (written,) = notebook.cells
    splices = splices_in(notebook, written, [region], source_list_style(notebook, written), as_ascii=True)
    changed = apply(data, splices)
    assert json.loads(changed)["cells"][0]["source"] == after
    assert changed == data.replace(_as_list(before), _as_list(after))


def _as_list(source: list[str]) -> bytes:
    return b"[\n    " + b",\n    ".join(json.dumps(line).encode() for line in source) + b"\n   ]"
