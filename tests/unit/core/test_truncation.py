"""A long output keeps its two ends."""

import random

import pytest

from fileops.core.truncation import HeadTailBuffer


def fed(data: bytes, max_bytes: int, seed: int = 0) -> HeadTailBuffer:
    rng, clipped, at = random.Random(seed), HeadTailBuffer(max_bytes), 0
    while at < len(data):
        size = rng.choice((1, 3, 10, 1000))
        clipped.feed(data[at : at + size])
        at += size
    return clipped


@pytest.mark.parametrize("n_bytes", [0, 1, 99, 100])
def test_output_within_the_limit_is_kept_whole(n_bytes: int) -> None:
    clipped = fed(b"x" * n_bytes, 100)
    assert (clipped.text(), clipped.is_clipped, clipped.n_bytes) == ("x" * n_bytes, False, n_bytes)


@pytest.mark.parametrize("seed", range(20))
def test_output_over_the_limit_keeps_first_and_last_half(seed: int) -> None:
    data = bytes(random.Random(seed).choices(b"abcdefgh\n", k=random.Random(seed).randrange(101, 5000)))
    clipped = fed(data, 100, seed)
    head, marker, tail = clipped.text()[:50], clipped.text()[50:-50], clipped.text()[-50:]
    assert (head, tail) == (data[:50].decode(), data[-50:].decode())
    assert marker == f"\n... ({len(data) - 100} bytes of output are left out here) ...\n"


@pytest.mark.parametrize("character", ["é", "漢", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_truncation_splits_no_character(character: str, shift: int) -> None:
    text = fed(("a" * shift + character * 500).encode(), 101).text()
    assert "\ufffd" not in text
    assert character in text


def test_invalid_bytes_are_shown_as_replacement_characters() -> None:
    assert fed(b"\xff\x80\x80" * 100, 40).text().count("\ufffd") > 10
