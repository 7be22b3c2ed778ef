"""Games of agents, people and other programs against daemons, for as long as you like.

    python tests/oracle/run.py --seconds 3600
    python tests/oracle/run.py --seconds 3600 --daemon shared
    python tests/oracle/run.py --seconds 3600 --daemon reviews
    python tests/oracle/run.py --seconds 3600 --daemon record
    python tests/oracle/run.py --seconds 3600 --daemon process
    python tests/oracle/run.py --seed 17            one game again, step by step
    python tests/oracle/run.py --seed 17 --shrink 60   and without the steps that it fails without

A game has its seed, its folder and its daemons. It ends at the first answer, byte or word that the model does not
allow; the seed is printed, and the steps that were taken.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

if __name__ == "__main__":  # the tests have it on their path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracle import game, process_game, record_game, review_game, shared_game
from oracle.game import Game, Step
from oracle.process_game import ProcessGame
from oracle.record_game import RecordGame
from oracle.review_game import ReviewGame
from oracle.shared_game import SharedGame
from support.in_memory import IN_MEMORY

# Two private daemons with an editor at one, or a shared one; "reviews": a shared one, with many edits that wait.
# "record": a shared one, and the programs and people whose changes it records; "process": the same in its own process.
Daemon = Literal["private", "shared", "reviews", "record", "process"]
N_STEPS = 120
_GAMES: dict[Daemon, tuple[type[Game | SharedGame | ReviewGame | RecordGame], Callable[[int, int], list[Step]]]] = {
    "private": (Game, game.steps_of),
    "shared": (SharedGame, shared_game.steps_of),
    "reviews": (ReviewGame, review_game.steps_of),
    "record": (RecordGame, record_game.steps_of),
    "process": (ProcessGame, process_game.steps_of),
}


@dataclass(frozen=True, slots=True)
class Report:
    """fault: what was wrong, None where nothing was."""

    seed: int
    fault: str | None
    trace: list[str]
    outcomes: Counter[str] = field(default_factory=Counter[str])

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}: {self.fault or 'nothing wrong'}", *self.trace])


def steps_of(daemon: Daemon, seed: int, n_steps: int) -> list[Step]:
    return _GAMES[daemon][1](seed, n_steps)


def play(
    seed: int, steps: Sequence[Step] | None = None, *, daemon: Daemon = "private", n_steps: int = N_STEPS
) -> Report:
    """One game. steps: by default those of the seed."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        playing = _GAMES[daemon][0](os.path.realpath(folder), seed)
        try:
            playing.play(list(steps_of(daemon, seed, n_steps) if steps is None else steps))
        except AssertionError as fault:
            return Report(seed, f"{fault}", playing.trace, playing.outcomes)
    return Report(seed, None, playing.trace, playing.outcomes)


def shrunk(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """The steps without those that it fails without: first many at once, at last one by one."""
    rest, size = list(steps), max(len(steps) // 2, 1)
    while True:
        at = 0
        while at < len(rest):
            fewer = rest[:at] + rest[at + size :]
            if fails(fewer):
                rest = fewer
            else:
                at += size
        if size == 1:
            return rest
        size //= 2


def _shrink(report: Report, seconds: float, daemon: Daemon) -> Report:
    """The game again with as few steps as were found within this time."""
    ends_at = time.monotonic() + seconds
    taken = [_step(line) for line in report.trace if not line.startswith(" ")]
    last = report

    def fails(steps: Sequence[Step]) -> bool:
        nonlocal last
        if time.monotonic() > ends_at:
            return False
        again = play(report.seed, steps, daemon=daemon)
        if again.fault is not None:
            last = again
        return again.fault is not None

    if not fails(taken):
        sys.stdout.write("it did not fail again: it depends on the moment\n")
        return report
    shrunk(taken, fails)
    return last


def _step(line: str) -> Step:
    name, _, number = line.partition(":")
    return Step(name, int(number))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--daemon", choices=get_args(Daemon), default="private", help="default: private")
    parser.add_argument("--seed", type=int, help="play this one game")
    parser.add_argument("--first-seed", type=int, default=int(time.time()))
    parser.add_argument("--steps", type=int, default=N_STEPS)
    parser.add_argument("--without", nargs="*", default=(), help="kinds of steps to leave out")
    parser.add_argument(
        "--shrink", type=float, default=0.0, metavar="SECONDS", help="how long to look for a shorter game"
    )
    given = parser.parse_args()
    ends_at = time.monotonic() + given.seconds
    outcomes: Counter[str] = Counter()
    n_failed = n_games = 0
    seed = given.first_seed if given.seed is None else given.seed
    with suppress(KeyboardInterrupt):  # the counts are shown all the same
        while n_games == 0 or (given.seed is None and time.monotonic() < ends_at):
            steps = [step for step in steps_of(given.daemon, seed, given.steps) if step.name not in given.without]
            report = play(seed, steps, daemon=given.daemon)
            outcomes += report.outcomes
            n_games += 1
            if report.fault is not None:
                n_failed += 1
                sys.stdout.write(f"{_shrink(report, given.shrink, given.daemon) if given.shrink else report}\n\n")
                sys.stdout.flush()
            elif given.seed is not None:
                sys.stdout.write(f"{report}\n")
            seed += 1
    counted = "\n".join(f"{n:7d}  {what}" for what, n in sorted(outcomes.items()))
    sys.stdout.write(f"{counted}\n{n_games} games, {n_failed} failed\n")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
