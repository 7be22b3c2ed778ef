"""Some histories of a repository. For more: python tests/oracle/history_game.py --games 100."""

import pytest

from fileops.core.story import story as story_module
from fileops.core.story.spans import Vector
from oracle.history_game import HistoryGame, Wrong, find_lost, play
from support.abilities import needs_inotify

pytestmark = needs_inotify


@pytest.mark.parametrize(("seed", "has_process"), [(300, False), (296, False), (298, False), (324, True)])
async def test_views_of_a_history_agree_with_the_words(seed: int, has_process: bool) -> None:
    """Each about 3 s on an idle machine, most of it git's."""
    game: HistoryGame = await play(seed, n_steps=14, has_process=has_process)
    assert game.n_asked["lines"] > 200


@pytest.mark.parametrize(
    ("before", "after", "may_go", "lost"),
    [
        ("a b b c", "a x b c", {"b": 1}, []),  # which of the two is free
        ("a b b c", "a x c", {"b": 1}, ["b"]),
        ("a b c", "a c", {"b": 1, "c": 1}, []),
        ("a b c", "c a", {"b": 1}, ["c"]),  # it is moved
    ],
)
def test_game_lets_a_redo_take_as_many_words_as_the_undo_brought_back(
    before: str, after: str, may_go: dict[str, int], lost: list[str]
) -> None:
    assert find_lost(before.split(), after.split(), may_go) == lost


async def test_game_notices_a_blame_that_knows_no_earlier_content(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(story: story_module.Story) -> None:
        known: dict[bytes, Vector] = {story.digest: story.vector}
        monkeypatch.setattr(story, "_known", known)

    remember = story_module.Story._remember

    def remember_only_the_present(story: story_module.Story) -> None:
        remember(story)
        forget(story)

    monkeypatch.setattr(story_module.Story, "_remember", remember_only_the_present)
    monkeypatch.setattr(story_module, "MAX_CANDIDATES", 1)
    for seed in (303, 308, 310, 302):  # contents return in few games at a moment that matters
        try:
            await play(seed, n_steps=14)
        except Wrong as wrong:
            assert "blame" in str(wrong)
            return
    pytest.fail("no game has noticed it")
