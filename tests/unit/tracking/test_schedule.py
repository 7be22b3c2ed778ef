"""Which of many items a turn checks: the last used ones always, older ones less often, and each one in bounded time."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.tracking.schedule import RecencyRounds


def turns(rounds: RecencyRounds, items: list[str], n_turns: int) -> list[list[str]]:
    """Args: items: the last used one is first."""
    return [rounds.turn(len(items), lambda: iter(items)) for _ in range(n_turns)]


def names(n: int) -> list[str]:
    return [f"item-{k}" for k in range(n)]


@pytest.mark.parametrize("n_items", [0, 1, 99, 100])
def test_items_that_fit_into_one_turn_are_all_checked_in_each(n_items: int) -> None:
    assert turns(RecencyRounds(100), names(n_items), 3) == [names(n_items)] * 3


@given(n_items=st.integers(0, 5000), n_per_turn=st.integers(16, 300))
def test_turns_are_bounded_and_reach_every_item(n_items: int, n_per_turn: int) -> None:
    items = names(n_items)
    n_generations = max(1, math.ceil(math.log2(n_items / n_per_turn + 1)) + 4)
    rounds = turns(RecencyRounds(n_per_turn), items, 2**n_generations)
    assert all(len(turn) <= n_per_turn for turn in rounds)
    assert {item for turn in rounds for item in turn} == set(items)


def test_older_items_are_checked_in_proportion_to_their_age() -> None:
    items = names(100_000)
    rounds = turns(RecencyRounds(2000), items, 512)
    n_checks = {item: sum(item in turn for turn in map(set, rounds)) for item in (items[0], items[3000], items[-1])}
    assert n_checks[items[0]] == 512
    assert n_checks[items[3000]] == 512 / 8
    assert n_checks[items[-1]] == 512 / 256


def test_item_that_is_used_again_is_checked_in_the_next_turn() -> None:
    items = names(10_000)
    rounds = RecencyRounds(100)
    turns(rounds, items, 3)
    last = items.pop()
    assert last in rounds.turn(10_000, lambda: iter([last, *items]))


def test_turn_reads_no_more_items_than_it_needs() -> None:
    """The owner holds a lock during a turn."""
    n_read, all_items = 0, names(10_000)

    def items() -> Iterator[str]:
        nonlocal n_read
        for item in all_items:
            n_read += 1
            yield item

    rounds = RecencyRounds(100)
    rounds.turn(10_000, items)
    n_read = 0
    for _ in range(1024):
        rounds.turn(10_000, items)
    assert n_read < 1024 * 10_000 / 20
