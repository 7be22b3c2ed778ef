"""Some histories of a repository. For more: python tests/oracle/history_game.py --games 100."""

import pytest

from fileops.core.story import story as story_module
from fileops.core.story.spans import Vector
from oracle.history_game import HistoryGame, Wrong, play
from support.abilities import needs_inotify

pytestmark = needs_inotify


@pytest.mark.parametrize(("seed", "has_process"), [(300, False), (296, False), (298, False), (324, True)])
async def test_views_of_a_history_agree_with_the_words(seed: int, has_process: bool) -> None:
    """Each about 3 s on an idle machine, most of it git's."""
    game: HistoryGame = await play(seed, n_steps=14, has_process=has_process)
    assert game.n_asked["lines"] > 200


async def test_game_notices_a_blame_that_knows_no_earlier_content(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(story: story_module.Story) -> None:
        known: dict[bytes, Vector] = {story.digest: story.vector}
        monkeypatch.setattr(story, "_known", known)

    remember = story_module.Story._remember  # pyright: ignore[reportPrivateUsage]

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
