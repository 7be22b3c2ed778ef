"""How many lines an entry of the record changed (R-CLI-4), also of long contents."""

import pytest

from fileops.core.diff.entry_diffs import MAX_COUNTED_BYTES, count_lines

LINES = [b"line %d of a long text\r\n" % n for n in range(MAX_COUNTED_BYTES // 10)]
LONG = b"".join(LINES)
MINIFIED = b"var a=[" + b"0," * MAX_COUNTED_BYTES + b"];\n"


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (b"a\nb\n", b"a\nc\n", (1, 1)),
        (b"", LONG, (len(LINES), 0)),
        (LONG, b"", (0, len(LINES))),
        (MINIFIED, MINIFIED.replace(b"var a", b"let a"), (1, 1)),
        (LONG, LONG.replace(b"line 777 ", b"row 777 "), (1, 1)),
        (LONG, b"".join(LINES[:500] + LINES[510:]), (0, 10)),
        (LONG, b"".join([*LINES[:500], b"new\r\n", *LINES[500:]]), (1, 0)),
        (LONG, b"".join(b"new\r\n" if n % 100 == 0 else line for n, line in enumerate(LINES)), (200, 200)),
        (LONG, LONG.replace(b"\r\n", b"\n"), (len(LINES), len(LINES))),
        (LONG, b"".join(LINES[::-1]), (len(LINES), len(LINES))),
    ],
    ids=[
        "short", "created", "emptied", "one long line", "one line of many", "removed", "added", "many places",
        "line ends", "another order",
    ],
)  # fmt: skip
def test_count_of_long_contents_is_of_the_lines_that_differ(
    before: bytes, after: bytes, counts: tuple[int, int]
) -> None:
    assert count_lines(before, after) == counts
