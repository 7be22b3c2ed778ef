"""The sealed state of a question: what opens it, and what does not."""

from collections.abc import Callable

import pytest

from fileops.mcp.request_state import VALID_S, Asked, StateSeal, digest_of_call

CALL = digest_of_call("s", "Edit", {"file_path": "/w/a", "old_string": "x"})
ASKED = Asked(digest="d", approved=("c",))


def test_state_can_be_opened_once() -> None:
    seal = StateSeal()
    state = seal.seal(CALL, ASKED)
    assert [seal.open(CALL, state), seal.open(CALL, state)] == [ASKED, None]


@pytest.mark.parametrize(("age_s", "opens"), [(VALID_S - 1, True), (VALID_S, False), (VALID_S + 1, False)])
def test_state_expires(age_s: float, opens: bool) -> None:
    clock = [1000.0]
    seal = StateSeal(lambda: clock[0])
    state = seal.seal(CALL, ASKED)
    clock[0] += age_s
    assert (seal.open(CALL, state) is not None) == opens


CHANGES: list[Callable[[str], str]] = [
    lambda state: "",
    lambda state: "v1",
    lambda state: "v1..",
    lambda state: state.replace("v1.", "v2."),
    lambda state: state[:-1],
    lambda state: state + "0",
    lambda state: state.replace(state[5], "A" if state[5] != "A" else "B", 1),
    lambda state: "v1.é.\udcff",
    lambda state: StateSeal().seal(CALL, ASKED),
]


@pytest.mark.parametrize("change", CHANGES)
def test_modified_or_foreign_state_cannot_be_opened(change: Callable[[str], str]) -> None:
    seal = StateSeal()
    state = seal.seal(CALL, ASKED)
    assert seal.open(CALL, change(state)) is None
    assert seal.open(CALL, state) == ASKED  # and trying costs nothing


@pytest.mark.parametrize(
    ("call", "is_same"),
    [
        (digest_of_call("s", "Edit", {"old_string": "x", "file_path": "/w/a"}), True),
        (digest_of_call("t", "Edit", {"file_path": "/w/a", "old_string": "x"}), False),
        (digest_of_call("s", "MultiEdit", {"file_path": "/w/a", "old_string": "x"}), False),
        (digest_of_call("s", "Edit", {"file_path": "/w/a", "old_string": "y"}), False),
    ],
)
def test_state_can_be_opened_by_its_own_call_only(call: str, is_same: bool) -> None:
    seal = StateSeal()
    assert (seal.open(call, seal.seal(CALL, ASKED)) is not None) == is_same
