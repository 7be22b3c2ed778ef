"""docs/guide/comparison.md, beside other ways to edit a file, is what a run of `bench.comparison` finds."""

import re
from pathlib import Path

import pytest

from bench.comparison import OURS, ROWS, STR_REPLACE, Contender, Effort, cells, lost_updates, reference_server
from support.foreign_packages import node_package

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "comparison.md").read_text(encoding="utf-8")
REFERENCE = "@modelcontextprotocol/server-filesystem"
VERSION = "2026.8.31"
LOST = "Two agents make 100 edits each in one file at once"


def column(title: str) -> dict[str, str]:
    """The cells of the page's table under a title, by row."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    heads = next(line for line in lines if OURS.title in line and STR_REPLACE.title in line)
    at = [cell.strip() for cell in heads.split("|")].index(title)
    found = [[cell.strip() for cell in line.split("|")] for line in lines]
    return {cells[1]: cells[at] for cells in found if cells[1] in ROWS}


def masked(cell: str) -> str:
    """The cell with every number but 0 as N: how many kills there were differs from run to run."""
    return re.sub(r"\d[\d.,]*", lambda found: "0" if found[0] == "0" else "N", cell.replace("**", ""))


def found_by_a_run(contender: Contender) -> dict[str, str]:
    return {row: masked(cell) for row, cell in cells(contender, Effort(n_edits=40, n_kills=4)).items()}


def found_by_a_run_that_lost_edits(contender: Contender, folder: Path) -> dict[str, str]:
    """Of some runs: in a short one, or on a busy machine, the agents of a peer may miss each other."""
    found = found_by_a_run(contender)
    for _ in range(8):
        if not found[LOST].startswith("0 of"):
            break
        found[LOST] = masked(lost_updates(contender, folder, Effort(n_edits=100, n_kills=0)))
    return found


def promised(contender: Contender) -> dict[str, str]:
    return {row: masked(cell) for row, cell in column(contender.title).items()}


def test_page_has_a_row_for_each_case() -> None:
    assert list(column(OURS.title)) == list(ROWS)


def test_own_column_matches_the_behaviour() -> None:
    found = found_by_a_run(OURS)
    assert {row: cell for row, cell in promised(OURS).items() if row in found} == found
    assert found[LOST].startswith("0 of")


def test_column_of_the_short_tool_matches_the_behaviour(tmp_path: Path) -> None:
    found = found_by_a_run_that_lost_edits(STR_REPLACE, tmp_path)
    assert {row: cell for row, cell in promised(STR_REPLACE).items() if row in found} == found


@pytest.mark.timeout(400)
def test_column_of_the_reference_server_matches_the_behaviour(tmp_path: Path) -> None:
    node, modules = node_package(f"{REFERENCE}@{VERSION}")
    contender = reference_server((node, str(modules / REFERENCE / "dist" / "index.js")), VERSION)
    found = found_by_a_run_that_lost_edits(contender, tmp_path)
    assert {row: cell for row, cell in promised(contender).items() if row in found} == found
