"""Some games of each kind, and what their oracle must not let pass. For hours: python tests/oracle/run.py."""

from collections.abc import Callable, Sequence

import pytest

from oracle import game, process_game, record_game, review_game, shared_game
from oracle.contents import Applied, Document, Oracle, Sight, Wrong, judge_merge, judge_rewriting, judge_splice
from oracle.game import Game, Step
from oracle.process_game import ProcessGame
from oracle.record_game import RecordGame
from oracle.review_game import ReviewGame
from oracle.run import Daemon, play, shrunk, steps_of
from oracle.shared_game import SharedGame
from support.abilities import needs_inotify

N_GAMES, N_STEPS = 8, 120
N_SHARED_GAMES, N_SHARED_STEPS = 20, 80
N_REVIEW_GAMES, N_REVIEW_STEPS = 8, 80
N_RECORD_GAMES, N_RECORD_STEPS = 6, 60
N_PROCESS_GAMES, N_PROCESS_STEPS = 4, 60


@pytest.mark.timeout(600)  # about 3 s on an idle machine
@pytest.mark.parametrize("seed", range(N_GAMES))
def test_game_matches_the_model(seed: int) -> None:
    report = play(seed, n_steps=N_STEPS)
    assert report.fault is None, str(report)


@pytest.mark.parametrize("first_seed", range(0, N_SHARED_GAMES, 5))
def test_shared_game_matches_the_oracle(first_seed: int) -> None:
    """Five games, each about 0.2 s on an idle machine."""
    reports = [play(seed, daemon="shared", n_steps=N_SHARED_STEPS) for seed in range(first_seed, first_seed + 5)]
    assert [str(report) for report in reports if report.fault is not None] == []


@pytest.mark.parametrize("first_seed", range(0, N_REVIEW_GAMES, 2))
def test_game_of_reviews_matches_the_oracle(first_seed: int) -> None:
    """Two games, each about 0.6 s on an idle machine."""
    reports = [play(seed, daemon="reviews", n_steps=N_REVIEW_STEPS) for seed in range(first_seed, first_seed + 2)]
    assert [str(report) for report in reports if report.fault is not None] == []


@pytest.mark.timeout(600)  # about 3 s on an idle machine
@pytest.mark.parametrize("seed", range(N_RECORD_GAMES))
def test_game_of_the_record_matches_the_oracle(seed: int) -> None:
    report = play(seed, daemon="record", n_steps=N_RECORD_STEPS)
    assert report.fault is None, str(report)


@needs_inotify
@pytest.mark.timeout(600)  # about 6 s on an idle machine
@pytest.mark.parametrize("seed", range(N_PROCESS_GAMES))
def test_game_with_kills_of_the_daemon_matches_the_oracle(seed: int) -> None:
    report = play(seed, daemon="process", n_steps=N_PROCESS_STEPS)
    assert report.fault is None, str(report)


@pytest.mark.parametrize(
    ("daemon", "n_games", "n_steps", "names", "player"),
    [
        ("private", N_GAMES, N_STEPS, set(game.STEPS), Game),
        ("shared", N_SHARED_GAMES, N_SHARED_STEPS, set(shared_game.STEPS), SharedGame),
        ("reviews", N_REVIEW_GAMES, N_REVIEW_STEPS, set(review_game.STEPS), ReviewGame),
        ("record", N_RECORD_GAMES, N_RECORD_STEPS, set(record_game.STEPS), RecordGame),
        ("process", N_PROCESS_GAMES, N_PROCESS_STEPS, set(process_game.STEPS), ProcessGame),
    ],
)
def test_games_use_every_step(daemon: Daemon, n_games: int, n_steps: int, names: set[str], player: type) -> None:
    taken = {step.name for seed in range(n_games) for step in steps_of(daemon, seed, n_steps)}
    assert taken == names
    assert all(callable(getattr(player, name)) for name in names)


@pytest.mark.parametrize("daemon", ["private", "shared", "reviews", "record", "process"])
def test_seed_gives_the_same_steps_again(daemon: Daemon) -> None:
    assert steps_of(daemon, 7, 50) == steps_of(daemon, 7, 50) != steps_of(daemon, 8, 50)


def test_failing_game_is_shrunk_to_the_failing_steps() -> None:
    steps = [Step("read", number) for number in range(40)]

    def fails(some: Sequence[Step]) -> bool:
        return {3, 31} <= {step.number for step in some}

    assert [step.number for step in shrunk(steps, fails)] == [3, 31]


_UTF_16 = b"\xff\xfe"
_DELETED = Applied("f", 0, b"import os\nf(a, b)\n", b"import os\nf(a)\n")
_RENAMED = Applied("f", 0, _UTF_16 + "v711\n".encode("utf-16-le"), _UTF_16 + "v71\n".encode("utf-16-le"))


def _undo(edit: Applied, now: bytes, result: bytes) -> None:
    Oracle().judge_undo([edit], now, result)


@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(lambda: judge_splice(b"a\r\nb\r\n", "a", "c", b"c\nb\r\n"), id="another line end"),
        pytest.param(lambda: judge_splice(b"\xe9 a", "a", "c", "\ufffd c".encode()), id="invalid bytes written anew"),
        pytest.param(lambda: judge_splice(b"\xef\xbb\xbfa", "a", "c", b"c"), id="the mark is gone"),
        pytest.param(lambda: judge_splice(b"a a", "a", "c", b"c a"), id="one of two places"),
        pytest.param(lambda: judge_splice(b"a", "a", "c", b"c\n"), id="a newline that nobody gave"),
        pytest.param(lambda: judge_rewriting(b"a\r\nb\r\n", "a\nc\n", b"a\nc\r\n"), id="a line beside the change"),
        pytest.param(lambda: judge_merge("v1 v2", "v1 v3", "v4 v2", "v4 v2"), id="what was decided is gone"),
        pytest.param(lambda: judge_merge("v1 v2", "v1 v3", "v4 v2", "v1 v3"), id="what another wrote is gone"),
        pytest.param(lambda: judge_merge("v1 v2", "v1 v2 v3", "v2", "v1 v2 v3"), id="what another took out is back"),
        pytest.param(lambda: judge_merge("v1 v2", "v1 v2 v3", "v1 v2 v4", "v2 v3 v4"), id="a word of both is gone"),
        pytest.param(
            lambda: _undo(_DELETED, b"import os\nf(a, b)\n", b"import os\nf(a, b, b)\n"), id="what was put back, twice"
        ),
        pytest.param(lambda: _undo(_DELETED, b"import os\nf(a)\n", b"import os\nf(a )\n"), id="not as it was"),
        pytest.param(lambda: _undo(_DELETED, b"f(a, mine)\n", b"f(a, b)\n"), id="a person's word is gone"),
        pytest.param(lambda: _undo(_DELETED, b"one two f(a)\n", b"two one f(a, b)\n"), id="words change places"),
        pytest.param(
            lambda: _undo(_RENAMED, _UTF_16 + "v4\n".encode("utf-16-le"), _UTF_16 + "v41\n".encode("utf-16-le")),
            id="a word of two halves",
        ),
    ],
)
def test_oracle_rejects_a_wrong_outcome(judge: Callable[[], None]) -> None:
    with pytest.raises(Wrong):
        judge()


def test_oracle_requires_the_refusal_of_an_edit_of_unseen_text() -> None:
    oracle = Oracle(disk={"f": b"new\n"})
    oracle.sights[0, "p", "f"] = Sight("old\n")
    assert oracle.codes_of_edit(0, "q", "f", "new", "newer", 1) == {"not_read"}
    assert "ok" not in oracle.codes_of_edit(0, "p", "f", "new", "newer", 1)
    oracle.sights[0, "p", "f"] = Sight("new\n")
    assert oracle.codes_of_edit(0, "p", "f", "new", "newer", 1) == {"ok"}
    oracle.moved("f")
    assert oracle.codes_of_edit(0, "p", "f", "new", "newer", 1) >= {"ok", "modified_externally"}


def test_oracle_treats_unsaved_text_as_the_content() -> None:
    oracle = Oracle(disk={"f": b"saved\r\n"}, documents={"f": Document("f", "typed\n", 1, touched=True)})
    assert [oracle.present(daemon, "f") for daemon in (0, 1)] == ["typed\n", b"saved\r\n"]
    oracle.documents["f"].text = "saved\n"
    assert oracle.present(0, "f") == b"saved\r\n"


def test_oracle_requires_one_encoding_per_file() -> None:
    oracle = Oracle(disk={"f": b"caf\xe9 old\n"})
    oracle.sights[0, "p", "f"] = Sight("caf\ufffd old\n")
    assert oracle.codes_of_edit(0, "p", "f", "old", "é", 1) == {"not_encodable"}
    assert oracle.codes_of_edit(0, "p", "f", "old", "new", 1) == {"ok"}
    oracle.disk["f"] = "caf\xe9 old\n".encode()
    oracle.sights[0, "p", "f"] = Sight("café old\n")
    assert oracle.codes_of_edit(0, "p", "f", "old", "é", 1) == {"ok"}
