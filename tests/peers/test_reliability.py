"""`bench.reliability`: its scenarios are what their script writes, and docs/guide/comparison.md is what a run finds."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from bench.reliability import tables
from bench.reliability.__main__ import Result, markdown, note_at_once, run
from bench.reliability.contenders import OWN, RELEVANT, STR_REPLACE, STRICT, UNIQUE
from bench.reliability.random_files import N_FILES, random_files
from bench.reliability.scenario import HELD_OUT, HERE, TABLE, Scenario, load_table, load_tree
from bench.reliability.tokens import UNIT
from support.in_memory import IN_MEMORY

pytestmark = [pytest.mark.xdist_group("reliability"), pytest.mark.timeout(600)]

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "comparison.md").read_text(encoding="utf-8")
GROUPS = {"stale", "trap", "ambiguous", "slip", "bytes", "several", "patch", "read"}
COUNTED = (  # rows that are the same in each run
    "Silently wrong", "Right at the first call, where that is clear", "Right by the second call, all with a goal",
    "Refused although it is clear", "Random files",
)  # fmt: skip
COST = "Cost of an edit that lands (characters / 4)"


def result_of(name: str, table: Path = TABLE) -> Result:
    return only_result_of(name, table)  # by these two alone: a cache takes a default for another call


@cache
def only_result_of(name: str, table: Path) -> Result:
    n_trees = int((name, table) == (RELEVANT, TABLE))
    with tempfile.TemporaryDirectory(prefix="fileops-reliability-", dir=IN_MEMORY) as folder:
        root = Path(folder).resolve()
        tree = load_tree() if n_trees else None
        files = list(random_files(N_FILES) if table is TABLE else random_files(100, seed=23))
        return run(OWN[name](root / "home"), load_table(table), tree, files, root / "run", n_trees)


def column(lines: list[str], title: str) -> dict[str, str]:
    """The cells under a title, by row."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    heads = next(row for row in rows if title in row)
    at = heads.index(title)
    return {row[0]: row[at] for row in rows if len(row) == len(heads)}


# --- the data ------------------------------------------------------------------------------------------------------


def test_tables_are_what_the_script_writes() -> None:
    for name, text in tables.texts().items():
        assert (HERE / name).read_text(encoding="utf-8") == text, name


def test_each_group_has_scenarios_with_ids_of_their_own() -> None:
    table: list[Scenario] = load_table()
    assert {scenario.group for scenario in table} == GROUPS
    assert len({scenario.id for scenario in table}) == len(table) >= 40


def test_tree_has_15_agents_and_each_edits_once_at_a_barrier() -> None:
    tree = load_tree()
    assert {task.agent for task in tree.tasks} == set(range(15))
    for barrier, width in enumerate(tree.widths):
        agents = [task.agent for task in tree.tasks if task.barrier == barrier]
        assert len(set(agents)) == len(agents) == width


# --- what a run finds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [TABLE, HELD_OUT], ids=["table", "held out"])
@pytest.mark.parametrize("name", [STRICT, RELEVANT])
def test_nothing_is_silently_wrong(name: str, table: Path) -> None:
    result = result_of(name, table)
    assert [case.id for case in result.cases if "wrong" in {case.first, case.last}] == []
    assert result.fuzz["wrong"] == 0


@pytest.mark.parametrize("table", [TABLE, HELD_OUT], ids=["table", "held out"])
def test_clear_edits_land_at_the_first_call_and_nearly_all_by_the_second(table: Path) -> None:
    result = result_of(RELEVANT, table)
    assert result.n_first >= 0.95 * len(result.land)
    assert result.n_goal_second >= 0.99 * len(result.with_goal)


def test_agents_in_one_tree_lose_nothing_and_seldom_wait_for_each_other() -> None:
    result = result_of(RELEVANT)
    (tree,) = result.trees
    assert tree.lost == set()
    assert len(tree.landed) == tree.n_tasks == 71
    assert tree.n_first >= 64


@pytest.mark.parametrize("name", [STR_REPLACE, UNIQUE, STRICT, RELEVANT])
def test_page_has_the_numbers_of_a_run(name: str) -> None:
    result = result_of(name)
    found = column(markdown([result], note_at_once([result])).splitlines(), name)
    page = column(PAGE.splitlines(), name)
    assert {row: page[row] for row in COUNTED} == {row: found[row] for row in COUNTED}


@pytest.mark.skipif(UNIT not in COST, reason="a tokenizer is installed, and the page counts characters")
def test_edit_that_lands_costs_no_more_than_the_page_says() -> None:
    cost = result_of(RELEVANT).tokens_per_landed
    assert cost <= 1.1 * int(column(PAGE.splitlines(), RELEVANT)[COST])


def test_edit_that_lands_costs_less_than_with_the_small_tools() -> None:
    assert result_of(RELEVANT).tokens_per_landed < min(
        result_of(STR_REPLACE).tokens_per_landed, result_of(UNIQUE).tokens_per_landed
    )
