"""Random games of agents and people: no word of a person is called an agent's while the person's editor is attached.

`python -m oracle.attribution N` plays more of them, and prints the shares.
"""

from collections import Counter

import pytest

from oracle.attribution_games import Game, Rules

WRONG = "a person's words called an agent's"
N_GAMES = 150


def played(rules: Rules) -> Counter[str]:
    outcome: Counter[str] = Counter()
    for seed in range(N_GAMES):
        outcome += Game(rules, seed).play()
    return outcome


@pytest.mark.parametrize("rules", [Rules(), Rules(n_files=40, n_agents=1), Rules(n_files=40, n_agents=2)], ids=str)
def test_words_that_a_user_typed_are_never_called_an_agents(rules: Rules) -> None:
    outcome = played(rules)
    assert outcome["entries"] > 10 * N_GAMES
    assert outcome["right person"] > N_GAMES
    assert outcome[WRONG] == 0


@pytest.mark.parametrize(
    "rules", [Rules(settles=False), Rules(has_formatter_rule=False), Rules(has_unattached_editor=True)], ids=str
)
def test_games_notice_a_missing_rule(rules: Rules) -> None:
    assert played(rules)[WRONG] > 0
