"""The scenarios of `bench.reliability` are what their script writes."""

from bench.reliability import tables
from bench.reliability.scenario import HERE, Scenario, load_table, load_tree

GROUPS = {"stale", "trap", "ambiguous", "slip", "bytes", "several", "patch", "read"}


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
