"""The table of docs/protocol/editing.md, cell by cell: which changes of others refuse an edit (R-REL-1)."""

import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from architecture.imports import ROOT
from support.hooked_host import HookedHost
from support.page_tables import rows
from support.shared_daemon import SharedDaemon, code_of

PAGE = ROOT / "docs" / "protocol" / "editing.md"
SETTINGS = ("mtime", "content", "relevant")
PROGRAM, TOOLS = "a program with fileops/edit", "fileops-server's tools over MCP"
OWN_EDIT, OWN_WRITE = "a host's own tool", "a host's own tool that writes the whole file"
CELL = "an edit of a notebook's cell"
LINES = [f"line {n}" for n in range(1, 31)]
OWN, NEXT, ANOTHER = 10, 11, 28  # the edit is of line 10
CHANGES = (None, ANOTHER, NEXT, OWN)  # in the order of the columns: the line that another program changes


class Case(NamedTuple):
    agent: str
    freshness: str
    line: int | None
    is_made: bool


def cases() -> list[Case]:
    found: list[Case] = []
    for agent, option, *cells in rows(PAGE, "a test runs each cell:"):
        settings = SETTINGS if option == "any" else [re.split(r"\W", option)[0]]
        for freshness, (line, cell) in itertools.product(settings, zip(CHANGES, cells, strict=True)):
            found.append(Case(agent, freshness, line, {"made": True, "refused": False}[cell]))
    return found


def named(case: Case) -> str:
    change = {None: "time", ANOTHER: "another", NEXT: "next", OWN: "own"}[case.line]
    return f"{case.agent.replace(' ', '_')}-{case.freshness}-{change}"


@pytest.mark.parametrize("case", cases(), ids=named)
async def test_edit_is_refused_for_the_changes_that_the_table_names(
    daemon: SharedDaemon, tmp_path: Path, case: Case
) -> None:
    path = tmp_path / ("a.ipynb" if case.agent == CELL else "a.txt")
    text = notebook if case.agent == CELL else "\n".join
    path.write_text(text(LINES))
    changed = [f"other {n}" if n == case.line else line for n, line in enumerate(LINES, 1)]

    def change() -> None:
        path.write_text(text(changed))
        at = path.stat().st_mtime_ns + 10_000_000_000  # whatever the steps of the disk's clock
        os.utime(path, ns=(at, at))

    is_made = await EDITS[case.agent](daemon, path, case.freshness, change)
    assert is_made is case.is_made
    assert ("mine 10" in path.read_text()) is case.is_made
    if case.line not in {None, OWN}:
        assert f"other {case.line}" in path.read_text()


def test_table_has_every_way_to_edit() -> None:
    assert {case.agent for case in cases()} == set(EDITS)
    assert {case.freshness for case in cases() if case.agent in {PROGRAM, CELL}} == set(SETTINGS)


def notebook(lines: list[str]) -> str:
    """A notebook whose first cell has 20 lines, and whose second one has the rest."""
    sources = {"first": "\n".join(lines[:20]), "second": "\n".join(lines[20:])}
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": name, "metadata": {}, "source": each} for name, each in sources.items()
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


async def edit_by_program(daemon: SharedDaemon, path: Path, freshness: str, change: Callable[[], None]) -> bool:
    program = await daemon.agent(path.parent, freshness=freshness)
    await program.read(path)
    change()
    return _is_made(await program.edit(path, "line 10", "mine 10"))


async def edit_of_cell(daemon: SharedDaemon, path: Path, freshness: str, change: Callable[[], None]) -> bool:
    program = await daemon.agent(path.parent, freshness=freshness)
    await program.read(path)
    change()
    step = {"kind": "edit", "cell_id": "first", "old_string": "line 10", "new_string": "mine 10"}
    return _is_made(await program.call("fileops/editNotebook", {"file_path": str(path), "cells": [step]}))


async def edit_by_tools(daemon: SharedDaemon, path: Path, freshness: str, change: Callable[[], None]) -> bool:
    host = await daemon.host(path.parent, freshness=freshness)
    await host.tool("Read", file_path=str(path))
    change()
    return _is_made(await host.tool("Edit", file_path=str(path), old_string="line 10", new_string="mine 10"))


async def edit_by_host(daemon: SharedDaemon, path: Path, _freshness: str, change: Callable[[], None]) -> bool:
    claude = HookedHost(daemon.state, path.parent)
    await claude.read(path)
    change()
    outcome = await claude.edit(path, "line 10\n", "mine 10\n")
    # What the host refuses itself, because its text is not there any more, is left to it (R-COMP-14).
    return outcome.reason is None and "mine 10" in path.read_text()


async def write_by_host(daemon: SharedDaemon, path: Path, _freshness: str, change: Callable[[], None]) -> bool:
    claude = HookedHost(daemon.state, path.parent)
    await claude.read(path)
    change()
    outcome = await claude.write(path, "\n".join(LINES).replace("line 10", "mine 10"))
    return outcome.reason is None


def _is_made(result: Any) -> bool:
    code = code_of(result)
    assert code in {None, "modified_externally"}
    return code is None


EDITS = {
    PROGRAM: edit_by_program,
    CELL: edit_of_cell,
    TOOLS: edit_by_tools,
    OWN_EDIT: edit_by_host,
    OWN_WRITE: write_by_host,
}
