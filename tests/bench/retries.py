"""`python -m bench.retries HISTORY...`: how many failed edits succeed at the first retry, with what the answer offers.

A history is a git repository, or a folder of successive versions of the same tree (`1.0/`, `1.1/`, ...). Its real hunks
become edits, each perturbed as models perturb them. A mechanical agent makes the edit over MCP; after a failure it
sends the step once more, with what the texts of the answer offer, and reads nothing. A retry is right if the file then
has the new text in place of exactly the lines that were meant; an edit that leads to anything else is at a wrong place.
"""

import argparse
import difflib
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from support.mcp_client import McpClient, mcp_client

ABSENT = "text of another history"
MAX_FILE_BYTES = 200_000
MAX_OLD_LINES, MAX_OLD_CHARS = 40, 3000  # longer texts are not offered, by rule
N_CONTEXT = 2
N_COMMITS = 400
SUFFIXES = {
    ".py",
    ".js",
    ".ts",
    ".lua",
    ".c",
    ".h",
    ".go",
    ".rs",
    ".md",
    ".rst",
    ".toml",
    ".json",
    ".css",
    ".html",
    ".sh",
}


@dataclass(frozen=True)
class Hunk:
    """A change of one file: its lines [start, stop) are replaced by `new`."""

    name: str
    before: str
    start: int
    stop: int
    new: str

    @property
    def lines(self) -> list[str]:
        return self.before.split("\n")

    @property
    def old(self) -> str:
        return "\n".join(self.lines[self.start : self.stop])


@dataclass(frozen=True)
class Step:
    """place: the lines of the file that it means: 0-based, the end not included. part: of that line; None: all."""

    old: str
    new: str
    place: tuple[int, int]
    part: str | None = None


@dataclass(frozen=True)
class Trial:
    """A file and the steps that an agent sends. is_read: the agent reads the file first.

    changed_to: another program's text, written after the read. is_done: the first step has been made before. is_absent:
    there is no place for it. is_undecidable: the place has more than one reading.
    """

    kind: str
    text: str
    steps: tuple[Step, ...]
    is_read: bool = True
    changed_to: str | None = None
    is_done: bool = False
    is_absent: bool = False
    is_undecidable: bool = False


@dataclass
class Tally:
    n_trials: int = 0
    n_failed: int = 0
    n_by_rule: int = 0  # not recoverable, by a limit of the rules
    n_recovered: int = 0
    n_wrong: int = 0
    added: list[int] = field(default_factory=list[int])
    unrepaired: list[Trial] = field(default_factory=list[Trial])


# --- hunks of a history -------------------------------------------------------------------------------------------


def hunks_of(history: Path) -> Iterator[Hunk]:
    pairs = _pairs_of_git(history) if (history / ".git").exists() else _pairs_of_trees(history)
    for name, before, after in pairs:
        if max(len(before), len(after)) <= MAX_FILE_BYTES and "\0" not in before + after:
            yield from _hunks_between(name, before, after)


def _pairs_of_git(repository: Path) -> Iterator[tuple[str, str, str]]:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")

    for commit in git("log", "--no-merges", "--format=%H", f"-{N_COMMITS}").split():
        for line in git("diff-tree", "-r", "--diff-filter=M", "--name-only", "--no-commit-id", commit).splitlines():
            if Path(line).suffix in SUFFIXES:
                yield line, git("show", f"{commit}^:{line}"), git("show", f"{commit}:{line}")


def _pairs_of_trees(folder: Path) -> Iterator[tuple[str, str, str]]:
    versions = sorted((path for path in folder.iterdir() if path.is_dir()), key=_version_key)
    for older, newer in pairwise(versions):
        for path in sorted(older.rglob("*")):
            other = newer / path.relative_to(older)
            if path.suffix in SUFFIXES and path.is_file() and other.is_file():
                before, after = (each.read_text(encoding="utf-8", errors="replace") for each in (path, other))
                if before != after:
                    yield str(path.relative_to(older)), before, after


def _version_key(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _hunks_between(name: str, before: str, after: str) -> Iterator[Hunk]:
    before = before.replace("\r\n", "\n")
    old, new = before.split("\n"), after.replace("\r\n", "\n").split("\n")
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(N_CONTEXT):
        (_, start, _, new_start, _), (_, _, stop, _, new_stop) = group[0], group[-1]
        hunk = Hunk(name, before, start, stop, "\n".join(new[new_start:new_stop]))
        if hunk.old.strip() and before.count(hunk.old) == 1:
            yield hunk


# --- perturbations ------------------------------------------------------------------------------------------------

Perturb = Callable[[random.Random, Hunk], Trial | None]


def _trial(kind: str, hunk: Hunk, old: str, new: str | None = None, **more: Any) -> Trial:
    step = Step(old, hunk.new if new is None else new, (hunk.start, hunk.stop))
    return Trial(kind=kind, text=hunk.before, steps=(step,), **more)


def _by_line(change: Callable[[str], str], text: str) -> str:
    return "\n".join(change(line) if line.strip() else line for line in text.split("\n"))


def other_indentation(rng: random.Random, hunk: Hunk) -> Trial | None:
    by = rng.choice((-4, -2, 2, 4))

    def change(line: str) -> str:
        return " " * by + line if by > 0 else line[min(-by, len(line) - len(line.lstrip(" "))) :]

    return _trial("other indentation", hunk, _by_line(change, hunk.old), _by_line(change, hunk.new))


def tabs_for_blanks(rng: random.Random, hunk: Hunk) -> Trial | None:
    del rng

    def change(line: str) -> str:
        n_blanks = len(line) - len(line.lstrip(" "))
        return "\t" * (n_blanks // 4) + " " * (n_blanks % 4) + line[n_blanks:]

    return _trial("tabs for blanks", hunk, _by_line(change, hunk.old), _by_line(change, hunk.new))


def straight_quotes(rng: random.Random, hunk: Hunk) -> Trial | None:
    """The file has curly quotes in these lines, and the model sends straight ones."""
    del rng
    curly = re.sub(r"\"([^\"\n]*)\"", "“\\1”", re.sub(r"'([^'\n]*)'", "‘\\1’", hunk.old))
    lines = hunk.lines
    lines[hunk.start : hunk.stop] = curly.split("\n")
    return _trial("straight for curly quotes", replace(hunk, before="\n".join(lines)), hunk.old)


def stale_word(rng: random.Random, hunk: Hunk) -> Trial | None:
    words = list(re.finditer(r"[A-Za-z_]{3,}", hunk.old))
    if len(words) < 4:
        return None
    word = rng.choice(words)
    old = hunk.old[: word.start()] + rng.choice(("value", "result", "previous", "item")) + hunk.old[word.end() :]
    return _trial("a stale word", hunk, old)


def renamed_identifier(rng: random.Random, hunk: Hunk) -> Trial | None:
    names = sorted({name for name in re.findall(r"[A-Za-z_]{4,}", hunk.old) if hunk.old.count(name) > 1})
    if not names:
        return None
    name = rng.choice(names)
    old, new = (re.sub(rf"\b{name}\b", f"new_{name}", text) for text in (hunk.old, hunk.new))
    return _trial("a renamed identifier", hunk, old, new)


def missing_line(rng: random.Random, hunk: Hunk) -> Trial | None:
    """The file does not have the first or the last line of the text (any more)."""
    if hunk.stop - hunk.start < 3:
        return None
    at, lines = rng.choice((hunk.start, hunk.stop - 1)), hunk.lines
    if not lines[at].strip():
        return None
    dropped = lines.pop(at)
    beside = "".join(lines[max(0, at - 1) : at] if at == hunk.start else lines[at : at + 1])
    return _trial(
        "a missing first or last line",
        replace(hunk, before="\n".join(lines), stop=hunk.stop - 1),
        hunk.old,
        is_undecidable=_is_like(dropped, beside),
    )


def _is_like(line: str, other: str) -> bool:
    """Whether half of the words and signs of two lines are the same: then one may be meant by the other."""
    words, others = (set(re.findall(r"[^\W\d_]+|\d+|[^\w\s]", text.lower())) for text in (line, other))
    return 2 * len(words & others) >= 0.5 * (len(words) + len(others)) > 0


def escaped_newlines(rng: random.Random, hunk: Hunk) -> Trial | None:
    del rng
    return _trial("escaped newlines", hunk, hunk.old.replace("\n", "\\n")) if "\n" in hunk.old else None


def elided_middle(rng: random.Random, hunk: Hunk) -> Trial | None:
    """The first and the last two lines that are not blank, and a comment in place of those between them."""
    del rng
    lines = hunk.old.split("\n")
    texts = [at for at, line in enumerate(lines) if line.strip()]
    if len(texts) < 6:
        return None
    comment = "# ..." if hunk.name.endswith(".py") else "// ..."
    old = "\n".join((*lines[: texts[1] + 1], comment, *lines[texts[-2] :]))
    return _trial("an elided middle", hunk, old)


def trailing_blanks(rng: random.Random, hunk: Hunk) -> Trial | None:
    lines = hunk.old.split("\n")
    old = "\n".join(line + " " * rng.choice((0, 1, 2)) for line in lines)
    return _trial("trailing blanks", hunk, old)


def part_of_a_line(rng: random.Random, hunk: Hunk) -> Trial | None:
    """A part of one line, in which one word is stale."""
    lines = [at for at in range(hunk.start, hunk.stop) if len(re.findall(r"\w{3,}", hunk.lines[at])) >= 5]
    if not lines:
        return None
    at = rng.choice(lines)
    words = list(re.finditer(r"\w{3,}", hunk.lines[at]))
    part = hunk.lines[at][words[1].start() : words[-1].end()]
    inner = rng.choice(words[2:-1])
    begin = inner.start() - words[1].start()
    old = part[:begin] + "stale" + part[begin + len(inner.group()) :]
    if hunk.before.count(part) != 1:
        return None
    step = Step(old, part.replace(inner.group(), "fresh_word", 1), (at, at + 1), part)
    return Trial(kind="a stale word in a part of a line", text=hunk.before, steps=(step,))


def sent_twice(rng: random.Random, hunk: Hunk) -> Trial | None:
    del rng
    return _trial("sent twice", hunk, hunk.old, is_done=True) if len(hunk.new.strip()) >= 4 else None


def several_places(rng: random.Random, hunk: Hunk) -> Trial | None:
    lines = hunk.lines
    ambiguous = [at for at in range(hunk.start, hunk.stop) if len(lines[at].strip()) > 3 and lines.count(lines[at]) > 1]
    if not ambiguous:
        return None
    at = rng.choice(ambiguous)
    if hunk.before.count(lines[at]) > 20:
        return None
    step = Step(lines[at], lines[at] + "  changed", (at, at + 1))
    return Trial(kind="several places", text=hunk.before, steps=(step,))


def never_read(rng: random.Random, hunk: Hunk) -> Trial | None:
    del rng
    return _trial("never read", hunk, hunk.old, is_read=False)


def changed_by_formatter(rng: random.Random, hunk: Hunk) -> Trial | None:
    """Another program has changed other lines since the read: it has removed a line, or broken one."""
    lines = hunk.lines
    others = [at for at in range(len(lines)) if not hunk.start - 1 <= at <= hunk.stop]
    if not others:
        return None
    at, shift = rng.choice(others), 1
    lines[at : at + 1] = [lines[at], "formatted"]
    place = (hunk.start + shift, hunk.stop + shift) if at < hunk.start else (hunk.start, hunk.stop)
    step = Step(hunk.old, hunk.new, place)
    return Trial(kind="changed by a formatter", text=hunk.before, steps=(step,), changed_to="\n".join(lines))


ONE_HUNK: tuple[Perturb, ...] = (
    other_indentation,
    tabs_for_blanks,
    straight_quotes,
    stale_word,
    renamed_identifier,
    missing_line,
    escaped_newlines,
    elided_middle,
    trailing_blanks,
    part_of_a_line,
    sent_twice,
    several_places,
    never_read,
    changed_by_formatter,
)


def two_of_three_fail(rng: random.Random, hunks: Sequence[Hunk]) -> Trial | None:
    """Three hunks of one file in one MultiEdit; the first and the last are perturbed."""
    first, second, third = hunks
    changed = (rng.choice((other_indentation, stale_word))(rng, each) for each in (first, third))
    trials = [trial for trial in changed if trial is not None]
    if len(trials) < 2 or any(trial.steps[0].old in first.before for trial in trials):
        return None
    steps = (*trials[0].steps, Step(second.old, second.new, (second.start, second.stop)), *trials[1].steps)
    return Trial(kind="two of three steps fail", text=first.before, steps=steps)


def absent(hunk: Hunk, other: Hunk) -> Trial:
    """The text of another history: there is no place for it."""
    step = Step(other.old, other.new, (0, 0))
    return Trial(kind=ABSENT, text=hunk.before, steps=(step,), is_absent=True)


def trials_of(hunks: list[Hunk], foreign: Sequence[Hunk], n_each: int, seed: int) -> Iterator[Trial]:
    """Up to `n_each` trials of each kind. foreign: hunks of another history."""
    rng = random.Random(seed)
    rng.shuffle(hunks)
    by_file: dict[str, list[Hunk]] = defaultdict(list)
    for hunk in hunks:
        by_file[hunk.before].append(hunk)
    for perturb in ONE_HUNK:
        yield from _first(n_each, (perturb(rng, hunk) for hunk in hunks))
    triples = [sorted(each, key=lambda hunk: hunk.start)[:3] for each in by_file.values() if len(each) >= 3]
    yield from _first(n_each, (two_of_three_fail(rng, triple) for triple in triples))
    yield from _first(n_each, (absent(hunk, rng.choice(foreign)) for hunk in hunks if foreign))


def _first(n: int, trials: Iterator[Trial | None]) -> Iterator[Trial]:
    for trial in trials:
        if n and trial is not None and _is_failure(trial):
            n -= 1
            yield trial


def _is_failure(trial: Trial) -> bool:
    """Whether the steps, as they are sent, cannot be made at once."""
    if not trial.is_read or trial.changed_to is not None or trial.is_done:
        return trial.steps[0].old != trial.steps[0].new
    return any(trial.text.count(step.old) != 1 for step in trial.steps)


# --- the agent ----------------------------------------------------------------------------------------------------

_OFFER = re.compile(
    r"Send this as old_string(?P<end>, with a newline at its end)?:\n"
    r"(?P<fence>`{3,})\n(?P<old>.*?)\n(?P=fence)(?=\n|$)",
    re.DOTALL,
)
_STEP = re.compile(r"^Edit (\d+) of \d+ fails: ", re.MULTILINE)
_CLOSEST = re.compile(r"Lines? (\d+)(?:-(\d+))? (?:is|are) closest")
_FOR_PLACE = re.compile(r"For the place at line (\d+)\.")


class Agent:
    """A mechanical agent: it sends what it is offered, and nothing else."""

    def __init__(self, client: McpClient, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._n_files = 0

    def play(self, trial: Trial, tally: Tally) -> None:
        self._n_files += 1
        path = self._folder / f"file{self._n_files}.txt"
        path.write_text(trial.text, encoding="utf-8")
        if trial.is_read and self._client.tool("Read", file_path=str(path))["isError"]:
            return  # it is too long for a Read
        text = trial.text
        if trial.is_done:
            if self._send(path, trial.steps)["isError"]:
                return
            text = path.read_text(encoding="utf-8")
        if trial.changed_to is not None:
            text = trial.changed_to
            path.write_text(text, encoding="utf-8")
        tally.n_trials += 1
        result = self._send(path, trial.steps)
        if not result["isError"]:
            return
        tally.n_failed += 1
        texts = [item["text"] for item in result["content"][1:]]
        tally.added.append(sum(map(len, texts)))
        is_by_rule = _is_over_the_rules(trial)
        tally.n_by_rule += is_by_rule
        steps = retried(trial, texts)
        if trial.is_absent:
            self._judge_absent(path, steps, text, tally)
        elif steps is None:
            is_recovered = trial.is_done and "already ha" in "\n".join(texts)
            tally.n_recovered += is_recovered
            if not is_recovered:
                tally.unrepaired.append(trial)
        else:
            is_made = not self._send(path, steps)["isError"]
            is_right = is_made and path.read_text(encoding="utf-8") == expected(text, trial.steps)
            tally.n_recovered += is_right and not is_by_rule
            tally.n_wrong += is_made and not is_right
            if not is_right:
                tally.unrepaired.append(trial)

    def _judge_absent(self, path: Path, steps: Sequence[Step] | None, text: str, tally: Tally) -> None:
        """There is no right place, so nothing must be offered."""
        if steps is not None and not self._send(path, steps)["isError"] and path.read_text(encoding="utf-8") != text:
            tally.n_wrong += 1
        else:
            tally.n_recovered += 1

    def _send(self, path: Path, steps: Sequence[Step]) -> Any:
        if len(steps) == 1:
            return self._client.tool("Edit", file_path=str(path), old_string=steps[0].old, new_string=steps[0].new)
        edits = [{"old_string": step.old, "new_string": step.new} for step in steps]
        return self._client.tool("MultiEdit", file_path=str(path), edits=edits)


def retried(trial: Trial, texts: Sequence[str]) -> tuple[Step, ...] | None:
    """The steps as they are sent once more; None if nothing is offered."""
    steps, is_changed = list(trial.steps), any("count as read" in text for text in texts)
    for text in texts:
        named = _STEP.search(text)
        index = int(named[1]) - 1 if named else 0
        step = steps[index]
        if "already ha" in text and "Send this" not in text.partition("already ha")[0]:
            continue
        offers = [
            (text[: found.start()].rsplit("\n", 1)[-1], found["old"] + ("\n" if found["end"] else ""))
            for found in _OFFER.finditer(text)
        ]
        meant = [offer for offer in offers if _is_about(offer[0], step)]
        if not meant and offers and any(_is_about(note, step) for note in text.split("\n")):
            continue  # the place that was meant is named, but its text is not offered
        if not meant and offers and _FOR_PLACE.search(offers[0][0]):
            continue  # the place that was meant is none of those
        for note, old in meant[:1] or offers[:1]:
            new = old.replace(step.old, step.new) if _FOR_PLACE.search(note) else step.new
            steps[index] = replace(step, old=old, new=new)
            is_changed = True
    return tuple(steps) if is_changed else None


def _is_about(note: str, step: Step) -> bool:
    """Whether an offer is for the lines that were meant. A model knows them: it has read the file with its numbers."""
    if (place := _FOR_PLACE.search(note)) is not None:
        return int(place[1]) - 1 == step.place[0]
    lines = _CLOSEST.search(note)
    first, last = (int(lines[1]), int(lines[2] or lines[1])) if lines else (0, 0)
    return first <= step.place[1] and step.place[0] + 1 <= last


def expected(before: str, steps: Sequence[Step]) -> str:
    """The text with the new texts in place of the lines that the steps mean."""
    lines = before.split("\n")
    for step in sorted(steps, key=lambda step: step.place, reverse=True):
        first, stop = step.place
        lines[first:stop] = [step.new if step.part is None else lines[first].replace(step.part, step.new, 1)]
    return "\n".join(lines)


def _is_over_the_rules(trial: Trial) -> bool:
    return (
        trial.is_undecidable
        or any(_is_long(trial, step) for step in trial.steps)
        or (trial.kind == "several places" and _place_number(trial) >= 3)
    )


def _is_long(trial: Trial, step: Step) -> bool:
    there = trial.text.split("\n")[slice(*step.place)]
    return len(there) > MAX_OLD_LINES or len("\n".join(there)) > MAX_OLD_CHARS


def _place_number(trial: Trial) -> int:
    step = trial.steps[0]
    before = "\n".join(trial.text.split("\n")[: step.place[0]])
    return before.count(step.old)


# --- the report ---------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.retries", description=__doc__)
    parser.add_argument("histories", nargs="+", type=Path, metavar="HISTORY")
    parser.add_argument("--each", type=int, default=40, help="trials of each kind and history (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N trials that were not repaired")
    parser.add_argument("--options", default="", help="further options of `fileops-server mcp`")
    arguments = parser.parse_args()
    tallies: dict[str, Tally] = defaultdict(Tally)
    with tempfile.TemporaryDirectory(prefix="fileops-retries-") as folder:
        root = Path(folder).resolve()
        options = ("--root", str(root), "--max-read-bytes", "1000000", *arguments.options.split())
        with mcp_client(root, "--correction", "off", *options) as client:
            client.begin()
            agent = Agent(client, root)
            histories = [list(hunks_of(history)) for history in arguments.histories]
            for index, hunks in enumerate(histories):
                foreign = histories[index - 1] if len(histories) > 1 else []
                for trial in trials_of(hunks, foreign, arguments.each, arguments.seed):
                    agent.play(trial, tallies[trial.kind])
    print_report(tallies)
    for tally in tallies.values():
        for trial in tally.unrepaired[: arguments.show]:
            sys.stdout.write(f"\n=== {trial.kind}\n{trial.steps}\n")
    return 0


def print_report(tallies: dict[str, Tally]) -> None:
    rows = [
        "| perturbation | failed | not recoverable | recovered | wrong place | added, median |",
        "|---|---|---|---|---|---|",
    ]
    for kind, tally in tallies.items():
        rows.append(_row(kind, tally))
    recoverable = [tally for kind, tally in tallies.items() if kind != ABSENT]
    rows.append(
        _row(
            "all that has a place",
            Tally(
                n_failed=sum(tally.n_failed for tally in recoverable),
                n_by_rule=sum(tally.n_by_rule for tally in recoverable),
                n_recovered=sum(tally.n_recovered for tally in recoverable),
                n_wrong=sum(tally.n_wrong for tally in recoverable),
                added=[n for tally in recoverable for n in tally.added],
            ),
        )
    )
    sys.stdout.write("\n".join(rows) + "\n")


def _row(kind: str, tally: Tally) -> str:
    n = tally.n_failed - tally.n_by_rule
    share = f"{tally.n_recovered}/{n} ({100 * tally.n_recovered / n:.1f} %)" if n else "-"
    median = f"{statistics.median(tally.added):.0f}" if tally.added else "-"
    return f"| {kind} | {tally.n_failed} | {tally.n_by_rule} | {share} | {tally.n_wrong} | {median} |"


if __name__ == "__main__":
    sys.exit(main())
