"""Some games of a rewind. For more: python tests/oracle/rewind_games.py --games 10000."""

from collections.abc import Sequence

import pytest

from oracle.rewind_games import DENSE, Outcome, Sizes, Step, Verdict, play
from oracle.rewinds import rewind

N_GAMES = 100


def _verdict(first_seed: int, n_games: int, sizes: Sizes) -> Verdict:
    total = Verdict()
    for seed in range(first_seed, first_seed + n_games):
        total.add(play(seed, rewind, sizes))
    return total


@pytest.mark.parametrize("first_seed", range(0, N_GAMES, 20))
def test_rewind_in_dense_games_keeps_every_word_of_others(first_seed: int) -> None:
    """Twenty games, each about 0.1 s on an idle machine."""
    verdict = _verdict(first_seed, 20, DENSE)
    assert verdict.faults == []
    assert verdict.n_own_words_left < 0.25 * verdict.n_own_words


@pytest.mark.parametrize("seed", [3001242, 3009257])
def test_rewind_of_rewritten_block_moves_no_word(seed: int) -> None:
    """In these games an agent rewrites a block but for one word, which several equal blanks outweighed."""
    assert play(seed, rewind).faults == []


@pytest.mark.parametrize(("seed", "sizes"), [(46, DENSE), (7057, DENSE), (30028, Sizes(lines=(3, 10)))])
def test_rewind_joins_no_lines_of_others(seed: int, sizes: Sizes) -> None:
    """In these games a comparison takes the end between two lines of others for one of the turn's."""
    assert play(seed, rewind, sizes).joined == []


@pytest.mark.parametrize("seed", [1795954913, 1795954957, 1795955044, 1795957664])
def test_rewind_after_a_redo_is_the_first_one(seed: int) -> None:
    """In these games a rewind lends a line of others the end of a line that goes."""
    assert play(seed, rewind).faults == []


def test_rewind_in_long_files_keeps_every_word_of_others() -> None:
    verdict = _verdict(5000, 10, Sizes(lines=(200, 400)))
    assert verdict.faults == []
    assert verdict.n_own_words_left < 0.1 * verdict.n_own_words


def _restoring_the_oldest(steps: Sequence[Step], chosen: set[str], _present: bytes | None, _gone: set[str]) -> Outcome:
    """What hosts do: the file as it was before the turn."""
    before = next(step.before for step in steps if step.entry_id in chosen)
    return Outcome(before, tuple(chosen), (), 0)


def _leaving_all(_steps: Sequence[Step], chosen: set[str], present: bytes | None, _gone: set[str]) -> Outcome:
    return Outcome(present, tuple(chosen), (), 0)


def test_judge_sees_a_rewind_that_restores_whole_files() -> None:
    faults = [fault for seed in range(20) for fault in play(seed, _restoring_the_oldest).faults]
    assert any("words of others are lost" in fault for fault in faults)


def test_judge_sees_a_rewind_that_does_nothing() -> None:
    faults = [fault for seed in range(20) for fault in play(seed, _leaving_all).faults]
    assert any("own words are left, and nothing is listed" in fault for fault in faults)
    assert any("did not come back" in fault for fault in faults)
