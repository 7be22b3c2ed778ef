"""What the fuzzer kept, and what it found, replayed without it."""

import pathlib

import pytest

from fuzz.targets import TARGETS

INPUTS = sorted((pathlib.Path(__file__).parent / "corpus").glob("*/*"))


def test_every_target_has_a_corpus() -> None:
    assert {file.parent.name for file in INPUTS} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_corpus_input_fails_no_target(name: str) -> None:
    for file in INPUTS:
        if file.parent.name == name:
            TARGETS[name](file.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 400, b"\n" * 400])
def test_arbitrary_bytes_fail_no_target(name: str, data: bytes) -> None:
    TARGETS[name](data)
