"""Parts of sentences: what a model reads of a person's reason."""

import pytest

from fileops.core.presentation.phrases import one_line_reason


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, ""),
        (" \n\t ", ""),
        ("\x1b\x07", ""),
        ("too wide", "too wide"),
        (" too\r\n\u2028wide\t\x1b[1m ", "too wide [1m"),
        ("x" * 999 + " yz", "x" * 999 + " "),
    ],
)
def test_reason_is_one_line_without_control_characters_of_at_most_1000(given: str | None, read: str) -> None:
    assert one_line_reason(given) == read
