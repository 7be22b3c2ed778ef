"""`python -m bench.reliability`: how many edits land right at the first call, silently wrong, and what each costs.

    cd tests && ../.venv/bin/python -m bench.reliability [--no-peers] [--only NAME;…] [--json FILE] [-v]

No model is used: a script plays the host (host.py). The scenarios are data, which `tables.py` wrote (seeded). The exit
status is 0 only if fileops-server lands nothing silently wrong and loses nothing.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.reliability.contenders import RELEVANT, STRICT, Contender, contenders
from bench.reliability.host import Case, play
from bench.reliability.random_files import N_FILES, SEED, Outcome, RandomFile, play_random, random_files
from bench.reliability.scenario import HELD_OUT, TABLE, Scenario, Tree, load_table, load_tree
from bench.reliability.shared_tree import TreeResult, share
from bench.reliability.tokens import UNIT

VERSION = 1
N_TREE_RUNS = 3  # the worst counts
DEFAULT_PEERS = Path.home() / ".cache" / "fileops-bench"
NOTE = (
    "No model was used: a script plays the host. It knows the goal, which a model has to find, so "
    '"by the second call" is an upper bound for each of them.'
)


@dataclass(kw_only=True)
class Result:
    """at_once: tokens per edit, of the scenarios that all contenders of the run land at once."""

    name: str
    cases: list[Case]
    trees: list[TreeResult]
    fuzz: "Counter[Outcome]"
    at_once: float | None = None

    @property
    def land(self) -> list[Case]:
        return [case for case in self.cases if case.kind == "land"]

    @property
    def with_goal(self) -> list[Case]:
        return [case for case in self.cases if case.has_goal]

    @property
    def n_silently_wrong(self) -> int:
        return sum("wrong" in {case.first, case.last} for case in self.cases)

    @property
    def n_first(self) -> int:
        return sum(case.first == "right" for case in self.land)

    @property
    def n_needless(self) -> int:
        return sum(case.first == "refused" for case in self.land)

    @property
    def n_second(self) -> int:
        return sum(case.last == "right" and case.at <= 2 for case in self.land)

    @property
    def n_goal_second(self) -> int:
        return sum(case.last == "right" and case.at <= 2 for case in self.with_goal)

    @property
    def n_goal_end(self) -> int:
        return sum(case.last == "right" for case in self.with_goal)

    @property
    def tokens_per_landed(self) -> float:
        return sum(case.sent + case.got for case in self.with_goal) / max(1, self.n_goal_end)

    @property
    def n_lost(self) -> int:
        return max((len(tree.lost) for tree in self.trees), default=0)

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "n": len(self.cases),
            "silent_wrong": self.n_silently_wrong,
            "land": len(self.land),
            "first": self.n_first,
            "second": self.n_second,
            "needless": self.n_needless,
            "goal": len(self.with_goal),
            "goal_second": self.n_goal_second,
            "goal_end": self.n_goal_end,
            "tokens_per_landed": round(self.tokens_per_landed, 1),
            "tokens_at_once": None if self.at_once is None else round(self.at_once, 1),
            "lost": self.n_lost,
            "tree_first": min((tree.n_first for tree in self.trees), default=None),
            "tree_landed": min((len(tree.landed) for tree in self.trees), default=None),
            "fuzz": dict(self.fuzz),
            "cases": [
                {
                    "id": case.id,
                    "first": case.first,
                    "last": case.last,
                    "at": case.at,
                    "sent": case.sent,
                    "got": case.got,
                }
                for case in self.cases
            ],
        }


def run(
    tool: Contender,
    table: Sequence[Scenario],
    tree: Tree | None,
    files: Sequence[RandomFile],
    folder: Path,
    n_tree_runs: int = N_TREE_RUNS,
) -> Result:
    """Play everything against one contender. folder: empty."""

    def fresh(name: str) -> Path:
        root = folder / name
        root.mkdir(parents=True)
        tool.start(root)
        return root

    root = fresh("table")
    try:
        cases = [
            play(tool, scenario, root, number)
            for number, scenario in enumerate(table)
            if scenario.id not in tool.cannot
        ]
    finally:
        tool.stop()
    trees: list[TreeResult] = []
    for number in range(0 if tree is None else n_tree_runs):
        root = fresh(f"tree-{number}")
        try:
            assert tree is not None
            trees.append(share(tool, tree, root))
        finally:
            tool.stop()
    root = fresh("random")
    try:
        fuzz = play_random(tool, files, root)
    finally:
        tool.stop()
    return Result(name=tool.name, cases=cases, trees=trees, fuzz=fuzz)


def note_at_once(results: Sequence[Result]) -> int:
    """Compare the tokens of the scenarios that all of them land at once; return how many these are."""
    landed = [
        {case.id for case in result.with_goal if case.first == "right"} for result in results if result.name != STRICT
    ]
    common = {name for name in landed[0] if all(name in each for each in landed)} if landed else set[str]()
    for result in results:
        costs = [case.sent + case.got for case in result.cases if case.id in common and case.first == "right"]
        result.at_once = sum(costs) / len(costs) if costs else None
    return len(common)


def markdown(results: Sequence[Result], n_at_once: int) -> str:
    """Return the table of docs/guide/comparison.md."""

    def trees(result: Result) -> str:
        lost = sorted({len(tree.lost) for tree in result.trees})
        return "–".join(map(str, (lost[0], lost[-1]) if len(lost) > 1 else lost)) or "not run"

    def fuzz(result: Result) -> str:
        landed = sum(result.fuzz[kind] for kind in ("right", "wrong", "same surroundings"))
        return f"{result.fuzz['wrong']} wrong of {landed} landed, {result.fuzz['needless']} needlessly refused"

    def first_of_tree(result: Result) -> str:
        firsts = sorted({tree.n_first for tree in result.trees})
        return "–".join(map(str, (firsts[0], firsts[-1]) if len(firsts) > 1 else firsts)) or "not run"

    rows: dict[str, Callable[[Result], str]] = {
        "Silently wrong": lambda r: f"{r.n_silently_wrong} of {len(r.cases)}",
        "Right at the first call, where that is clear": lambda r: f"{r.n_first} of {len(r.land)}",
        "Right by the second call, all with a goal": lambda r: f"{r.n_goal_second} of {len(r.with_goal)}",
        "Refused although it is clear": lambda r: f"{r.n_needless} of {len(r.land)}",
        f"Cost of an edit that lands ({UNIT})": lambda r: f"{r.tokens_per_landed:.0f}",
        f"The same, of the {n_at_once} that nearly all land at once": lambda r: (
            "–" if r.at_once is None else f"{r.at_once:.0f}"
        ),
        "Updates lost by 15 agents in one tree, of 71": trees,
        "Landed at the first call there": first_of_tree,
        "Random files": fuzz,
    }
    lines = ["| | " + " | ".join(result.name for result in results) + " |", "|---" * (len(results) + 1) + "|"]
    lines += [f"| {row} | " + " | ".join(cell(result) for result in results) + " |" for row, cell in rows.items()]
    return "\n".join(lines) + "\n"


def _detail(result: Result) -> str:
    lines = [
        f"   {case.id:28} {case.kind:7} first {case.first:8} last {case.last:10} call {case.at} "
        f"tokens {case.sent + case.got}"
        for case in result.cases
        if case.first != "right" or case.last != "right"
    ]
    return "\n".join((result.name, *lines)) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reliability", description=__doc__)
    parser.add_argument("--no-peers", action="store_true", help="do not install and play other tools")
    parser.add_argument("--peers-folder", type=Path, default=DEFAULT_PEERS, help="where they are kept between runs")
    parser.add_argument("--only", default="", metavar="NAME;…", help="play only these contenders (a part of a name)")
    parser.add_argument("--fuzz", type=int, default=N_FILES, metavar="N", help=f"random files (default {N_FILES})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the random files (default {SEED})")
    parser.add_argument("--held-out", action="store_true", help="play the held-out table instead")
    parser.add_argument("--trees", type=int, default=N_TREE_RUNS, metavar="N", help="runs of the shared tree")
    parser.add_argument("--json", type=Path, help="write every case to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    parser.add_argument("-v", action="store_true", help="print each case that is not right at once")
    arguments = parser.parse_args()
    table, tree = load_table(HELD_OUT if arguments.held_out else TABLE), load_tree()
    files = list(random_files(arguments.fuzz, arguments.seed))
    wanted = [each.strip() for each in arguments.only.split(";") if each.strip()]
    work = Path(tempfile.mkdtemp(prefix="fileops-reliability-")).resolve()
    try:
        found = contenders(work / "homes", None if arguments.no_peers else arguments.peers_folder)
        chosen = [tool for name, tool in found.items() if not wanted or any(each in name for each in wanted)]
        if not chosen:
            parser.error(f"no such contender; there are {'; '.join(found)}")
        results: list[Result] = []
        for number, tool in enumerate(chosen):
            results.append(run(tool, table, tree, files, work / str(number), arguments.trees))
            if arguments.v:
                sys.stdout.write(_detail(results[-1]))
                sys.stdout.flush()
    finally:
        shutil.rmtree(work)
    shown = markdown(results, note_at_once(results))
    sys.stdout.write(f"{shown}\n{NOTE}\n")
    if arguments.markdown:
        arguments.markdown.write_text(f"{shown}\n{NOTE}\n", encoding="utf-8")
    if arguments.json:
        report = {
            "version": VERSION,
            "unit": UNIT,
            "scenarios": len(table),
            "contenders": [result.as_json() for result in results],
        }
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    ours = [result for result in results if result.name in {STRICT, RELEVANT}]
    return int(any(result.n_silently_wrong or result.n_lost or result.fuzz["wrong"] for result in ours))


if __name__ == "__main__":
    sys.exit(main())
