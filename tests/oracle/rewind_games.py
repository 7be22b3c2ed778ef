"""Games of a rewind: three agents and a person change the same five files, then one turn of one agent is undone.

Every word is written once, and says who wrote it in which turn. So the judge needs no alignment: it counts words. It
imports nothing of the server; the rewind is handed in.

`python tests/oracle/rewind_games.py --games 10000` plays more of them and prints figures.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

WORD = re.compile(rb"[A-Za-z0-9]+")
AGENTS = ("agentA", "agentB", "agentC")
PERSON = "person"
TARGET = AGENTS[0]
PATHS = tuple(f"file{n}" for n in range(5))


class Step(NamedTuple):
    """One change of a file. A content is None where no file is."""

    entry_id: str
    author: str
    path: str
    before: bytes | None
    after: bytes | None


class Outcome(NamedTuple):
    """What a rewind made of one file. left: the entries of which something is left; n_places: in how many places."""

    content: bytes | None
    undone: tuple[str, ...]
    left: tuple[str, ...]
    n_places: int


# Steps of one file, oldest first; the chosen ids; the present content; ids that cancel each other out.
Rewind = Callable[[Sequence[Step], set[str], bytes | None, set[str]], Outcome]


class Sizes(NamedTuple):
    """How dense a game is: lines of a file, steps of a game."""

    lines: tuple[int, int] = (8, 40)
    steps: tuple[int, int] = (10, 60)


DENSE = Sizes()


class Game:
    """The state of the files while the authors change them."""

    def __init__(self, seed: int, sizes: Sizes) -> None:
        self._random = random.Random(seed)
        self._n_words = 0
        self.turns = dict.fromkeys(AGENTS, 0)
        self.steps: dict[str, list[Step]] = {path: [] for path in PATHS}
        self.files: dict[str, bytes | None] = {
            path: b"".join(self._first_line(path, n) for n in range(self._random.randint(*sizes.lines)))
            for path in PATHS
        }
        for _ in range(self._random.randint(*sizes.steps)):
            self._step()
        self.turn = f"{TARGET}T{self._random.randint(0, self.turns[TARGET])}"

    def _first_line(self, path: str, line: int) -> bytes:
        n_words = self._random.randint(1, 5)
        return b" ".join(f"{path}L{line}W{n}".encode() for n in range(n_words)) + b"\n"

    def _word(self, author: str) -> bytes:
        self._n_words += 1
        return f"{author}x{self._n_words}".encode()

    def _step(self) -> None:
        """One author changes one file, or a script changes several."""
        draw = self._random
        who = draw.choices((*AGENTS, PERSON), (4, 3, 3, 4))[0]
        author = f"{who}T{self.turns[who]}" if who in self.turns else who
        is_script = who != PERSON and draw.random() < 0.4
        for path in draw.sample(PATHS, draw.randint(1, 5)) if is_script else (draw.choice(PATHS),):
            before, chance = self.files[path], draw.random()
            if is_script and before is not None and chance < 0.02:
                after = None
            elif before is None:
                after = self._changed(author, b"", 6) if chance < 0.5 else None
            else:
                after = self._changed(author, before, 6 if is_script else 1)
            if after != before:
                self._n_words += 1
                self.steps[path].append(Step(f"e{self._n_words}", author, path, before, after))
                self.files[path] = after
        if who in self.turns and draw.random() < 0.15:
            self.turns[who] += 1

    def _changed(self, author: str, data: bytes, most: int) -> bytes:
        draw = self._random
        lines = data.split(b"\n")[:-1]
        for _ in range(draw.randint(1, most)):
            chance, at = draw.random(), draw.randrange(len(lines)) if lines else 0
            words = lines[at].split(b" ") if lines else []
            if chance < 0.35 or not lines:
                lines.insert(at, b" ".join(self._word(author) for _ in range(draw.randint(1, 4))))
            elif chance < 0.65:
                words[draw.randrange(len(words))] = self._word(author)
                lines[at] = b" ".join(words)
            elif chance < 0.75:
                words.insert(draw.randrange(len(words) + 1), self._word(author))
                lines[at] = b" ".join(words)
            elif chance < 0.88 and len(lines) > 3:
                del lines[at : at + draw.randint(1, 2)]
            elif chance < 0.94:  # as a formatter indents
                lines[at] = b"    " + lines[at]
            else:  # a name is changed in the whole file
                known = WORD.findall(b"\n".join(lines))
                old, new = (draw.choice(known) if known else b"none"), self._word(author)
                lines = [re.sub(rb"\b" + old + rb"\b", new, line) for line in lines]
        return b"\n".join(lines) + b"\n" if lines else b""


@dataclass
class Verdict:
    """What the judge found in the files of some games. Words are counted once for each file."""

    n_files: int = 0
    n_entries: int = 0
    n_left: int = 0
    n_places_left: int = 0
    n_own_words: int = 0
    n_own_words_left: int = 0
    slowest_ms: float = 0.0
    faults: list[str] = field(default_factory=list[str])
    joined: list[bytes] = field(default_factory=list[bytes])  # lines that a rewind made of two of others

    def add(self, other: "Verdict") -> None:
        self.n_files += other.n_files
        self.n_entries += other.n_entries
        self.n_left += other.n_left
        self.n_places_left += other.n_places_left
        self.n_own_words += other.n_own_words
        self.n_own_words_left += other.n_own_words_left
        self.slowest_ms = max(self.slowest_ms, other.slowest_ms)
        self.faults += other.faults
        self.joined += other.joined


def play(seed: int, rewind: Rewind, sizes: Sizes = DENSE) -> Verdict:
    """Play one game, rewind the turn in each file, redo it and rewind it again."""
    game, verdict = Game(seed, sizes), Verdict()
    for path, steps in game.steps.items():
        chosen = {step.entry_id for step in steps if step.author == game.turn}
        if not chosen:
            continue
        present = game.files[path]
        started = time.perf_counter()
        outcome = rewind(steps, chosen, present, set())
        verdict.slowest_ms = max(verdict.slowest_ms, (time.perf_counter() - started) * 1000)
        verdict.n_files += 1
        verdict.n_entries += len(chosen)
        verdict.n_left += len(outcome.left)
        verdict.n_places_left += outcome.n_places
        own = _words_by(game.turn, present)
        verdict.n_own_words += len(own)
        verdict.n_own_words_left += len(own & _words_by(game.turn, outcome.content))
        faults = (
            *_faults(game.turn, steps, present, outcome),
            *_redo_faults(game.turn, steps, present, outcome, rewind),
        )
        verdict.faults += [f"seed {seed}, {path}: {fault}" for fault in faults]
        verdict.joined += _joined_lines(game.turn, steps, present, outcome.content)
    return verdict


def _words(content: bytes | None) -> list[bytes]:
    return WORD.findall(content or b"")


def _words_by(author: str, content: bytes | None) -> set[bytes]:
    return {word for word in _words(content) if _is_by(author, word)}


def _is_by(author: str, word: bytes) -> bool:
    return word.startswith(f"{author}x".encode())


def _faults(turn: str, steps: Sequence[Step], present: bytes | None, outcome: Outcome) -> Iterator[str]:
    chosen = {step.entry_id for step in steps if step.author == turn}
    others = [word for word in _words(present) if not _is_by(turn, word)]
    result = _words(outcome.content)
    if lost := Counter(others) - Counter(result):
        yield f"words of others are lost: {sorted(lost)[:5]}"
    remaining = set(result)
    in_order = iter(result)
    if not all(any(word == after for after in in_order) for word in others if word in remaining):
        yield "words of others were moved"
    if {*outcome.undone, *outcome.left} != chosen or set(outcome.undone) & set(outcome.left):
        yield "an entry is neither undone nor listed, or both"
    if outcome.left:
        return
    if own := _words_by(turn, outcome.content):
        yield f"own words are left, and nothing is listed: {sorted(own)[:5]}"
    if missing := _deleted_by_turn_alone(turn, steps) - remaining:
        yield f"words that the turn deleted did not come back: {sorted(missing)[:5]}"


def _joined_lines(turn: str, steps: Sequence[Step], present: bytes | None, result: bytes | None) -> list[bytes]:
    """Lines with two words of others side by side that had a line each, and never were on one line."""
    contents = (present, *(step.before for step in steps), *(step.after for step in steps))
    together = {pair for content in contents for line in (content or b"").split(b"\n") for pair in _pairs(turn, line)}
    others = {word for word in _words(present) if not _is_by(turn, word)}
    lines = (result or b"").split(b"\n")
    return [line for line in lines for pair in _pairs(turn, line) if others.issuperset(pair) and pair not in together]


def _pairs(turn: str, line: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield any two words of others on a line."""
    return combinations([word for word in WORD.findall(line) if not _is_by(turn, word)], 2)


def _deleted_by_turn_alone(turn: str, steps: Sequence[Step]) -> set[bytes]:
    """Words of others that were there before the turn deleted them, and that no other author deleted as well."""
    by_turn, by_others = set[bytes](), set[bytes]()
    for step in steps:
        deleted = set(_words(step.before)) - set(_words(step.after))
        if step.author == turn:
            by_turn |= {word for word in deleted if not _is_by(turn, word)}
        else:
            by_others |= deleted
    return by_turn - by_others


def _redo_faults(
    turn: str, steps: Sequence[Step], present: bytes | None, outcome: Outcome, rewind: Rewind
) -> Iterator[str]:
    """Redo the rewind, then rewind the same again: both are byte for byte what was there.

    Rewind it once more after another change between the rewind and the redo, and no word of others is lost.
    """
    if outcome.content == present:
        return
    path, chosen = steps[0].path, {step.entry_id for step in steps if step.author == turn}
    rewound = Step("rewind", PERSON, path, present, outcome.content)
    redone = rewind([*steps, rewound], {"rewind"}, outcome.content, set())
    if redone.content != present or redone.left:
        yield "the redo is not the content before the rewind"
        return
    redo = Step("redo", PERSON, path, outcome.content, present)
    again = rewind([*steps, rewound, redo], chosen, present, {"rewind", "redo"})
    if again.content != outcome.content or set(again.left) != set(outcome.left):
        yield "the second rewind, after the redo, is not the first"
    if outcome.content is None or present is None:
        return
    typed = Step("typed", PERSON, path, outcome.content, b"personxBetween\n" + outcome.content)
    redone = rewind([*steps, rewound, typed], {"rewind"}, typed.after, set())
    if redone.content != b"personxBetween\n" + present:
        return  # what was typed can be beside a place of the rewind, which is a conflict then
    redo = Step("redo", PERSON, path, typed.after, redone.content)
    again = rewind([*steps, rewound, typed, redo], chosen, redone.content, {"rewind", "redo"})
    yield from _faults(turn, [*steps, typed], redone.content, again)


def main() -> int:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from oracle.rewinds import rewind

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--games", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0, help="the first seed")
    options.add_argument("--lines", type=int, nargs=2, default=DENSE.lines, help="of a file, from and to")
    options.add_argument("--steps", type=int, nargs=2, default=DENSE.steps, help="of a game, from and to")
    given = options.parse_args()
    total, slowest = Verdict(), list[float]()
    for seed in range(given.seed, given.seed + given.games):
        verdict = play(seed, rewind, Sizes(tuple(given.lines), tuple(given.steps)))
        total.add(verdict)
        slowest.append(verdict.slowest_ms)
    slowest.sort()
    sys.stdout.write(
        f"{given.games} games, {total.n_files} files, {total.n_entries} entries: "
        f"{100 * total.n_left / max(1, total.n_entries):.1f} % of the entries left in {total.n_places_left} places, "
        f"{100 * total.n_own_words_left / max(1, total.n_own_words):.1f} % of the own words left\n"
        f"slowest file of a game: median {slowest[len(slowest) // 2]:.1f} ms, "
        f"99 % {slowest[int(len(slowest) * 0.99)]:.1f} ms, most {slowest[-1]:.1f} ms\n"
        f"{len(total.joined)} lines of others joined, {len(total.faults)} faults\n"
        + "".join(f"{fault}\n" for fault in total.faults[:20])
    )
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
