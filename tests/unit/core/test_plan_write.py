"""A byte order mark belongs to the file: a client's text may have one or not, and the file keeps its own."""

import pytest

from fileops.core.plan import plan_write
from fileops.core.splices import apply
from fileops.core.text import detect_format
from support.core_models import LIMITS, snapshot_of

MARK = "\ufeff"
UTF8_MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (UTF8_MARK + b"one\n", "two\n", UTF8_MARK + b"two\n"),
        (UTF8_MARK + b"one\n", MARK + "two\n", UTF8_MARK + b"two\n"),
        (UTF8_MARK + b"one\n", "", UTF8_MARK),
        (b"one\n", MARK + "two\n", b"two\n"),
        (b"one\n", "two\n", b"two\n"),
        # a second mark is text of the file, so a client that saw it sends it back
        (UTF8_MARK + UTF8_MARK + b"one\n", MARK + "two\n", UTF8_MARK + UTF8_MARK + b"two\n"),
        (UTF8_MARK + UTF8_MARK + b"one\n", "two\n", UTF8_MARK + b"two\n"),
        (b"\xff\xfeo\x00\n\x00", "x\n", b"\xff\xfex\x00\n\x00"),
        (b"\xff\xfeo\x00\n\x00", MARK + "x\n", b"\xff\xfex\x00\n\x00"),
    ],
)
def test_write_keeps_the_byte_order_mark_of_the_file(before: bytes, content: str, after: bytes) -> None:
    plan = plan_write(snapshot_of(before), detect_format(before), content, limits=LIMITS)
    assert apply(before, plan.splices) == after
