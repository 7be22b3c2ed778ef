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
def test_what_fits_is_whole(n_bytes: int) -> None:
    clipped = fed(b"x" * n_bytes, 100)
    assert (clipped.text(), clipped.is_clipped, clipped.n_bytes) == ("x" * n_bytes, False, n_bytes)


@pytest.mark.parametrize("seed", range(20))
def test_of_more_the_first_and_the_last_half_are_kept(seed: int) -> None:
    data = bytes(random.Random(seed).choices(b"abcdefgh\n", k=random.Random(seed).randrange(101, 5000)))
    clipped = fed(data, 100, seed)
    head, marker, tail = clipped.text()[:50], clipped.text()[50:-50], clipped.text()[-50:]
    assert (head, tail) == (data[:50].decode(), data[-50:].decode())
    assert marker == f"\n... ({len(data) - 100} bytes of output are left out here) ...\n"


@pytest.mark.parametrize("character", ["é", "漢", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_no_character_is_cut(character: str, shift: int) -> None:
    text = fed(("a" * shift + character * 500).encode(), 101).text()
    assert "\ufffd" not in text
    assert character in text


def test_what_is_no_text_is_shown_as_such() -> None:
    assert fed(b"\xff\x80\x80" * 100, 40).text().count("\ufffd") > 10
