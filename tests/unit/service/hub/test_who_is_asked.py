"""The tables of docs/guide/who-decides.md, cell by cell: which edits wait, and who decides about them (R-ROUTE-1)."""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from architecture.imports import ROOT
from support.hooked_host import HookedHost
from support.page_tables import rows
from support.shared_daemon import SharedDaemon, code_of

Decider = Literal["editor", "host", "refused"]

PAGE = ROOT / "docs" / "guide" / "who-decides.md"
SWITCH = ("each_edit", "protected", "never")  # in the order of the columns
WAITING: Mapping[str, tuple[bool, bool]] = {  # whether an edit of an ordinary file waits, and of a protected one
    "all": (True, True), "protected": (False, True), "none": (False, False),
}  # fmt: skip
OWN_TOOLS, TOOLS, PROGRAM = "its host's own tools", "fileops-server's tools over MCP", "a program that is attached"


class Case(NamedTuple):
    agent: str
    switch: str
    is_protected: bool
    editor: bool
    host: bool
    decider: Decider | None  # None: the edit does not wait


def cases() -> list[Case]:
    deciders = {row[0]: (row[2], row[3]) for row in rows(PAGE, "Who decides about an edit that waits:")}
    found: list[Case] = []
    for agent, with_editor, *cells in rows(PAGE, "Which edits of an agent wait, by what the switch was set to:"):
        family = TOOLS if agent.startswith("these tools") else agent
        for editor, (switch, cell) in itertools.product(
            {"yes": [True], "no": [False], "yes or no": [True, False]}[with_editor], zip(SWITCH, cells, strict=True)
        ):
            for host, (is_protected, waits) in itertools.product((True, False), enumerate(WAITING[cell])):
                if editor:
                    decider: Decider = "editor"
                else:
                    decider = "host" if host and deciders[family][0] else "refused"
                found.append(Case(agent, switch, bool(is_protected), editor, host, decider if waits else None))
    return found


def named(case: Case) -> str:
    protected, editor, host = (
        ["ordinary", "protected"][case.is_protected], ["", "-editor"][case.editor], ["", "-host"][case.host],
    )  # fmt: skip
    return f"{case.agent.replace(' ', '_')}-{case.switch}-{protected}{editor}{host}"


@pytest.mark.parametrize("case", cases(), ids=named)
async def test_edit_is_decided_where_the_table_says(daemon: SharedDaemon, tmp_path: Path, case: Case) -> None:
    path = tmp_path / (".env" if case.is_protected else "notes.txt")
    path.write_text("one\ntwo\n")
    editor = await daemon.editor(tmp_path, confirms=True, ask=None, review_grace_s=0)
    editor.answers["fileops/confirmEdit"] = accept
    await editor.call("fileops/setAsk", {"ask": case.switch})
    if not case.editor:
        await editor.hang_up()
    by_host = await decision_of_host(daemon, path, case)
    assert ("editor" if editor.asked else by_host) == case.decider
    is_written = case.decider in {None, "editor"} or (case.decider == "host" and case.agent != OWN_TOOLS)
    assert path.read_text() == ("one\n2\n" if is_written else "one\ntwo\n")


def test_tables_have_every_way_to_edit() -> None:
    assert len(cases()) == 3 * 2 * 2 * 12  # switches, kinds of file, hosts, rows (one that says "yes or no" is two)
    assert {case.decider for case in cases()} == {"editor", "host", "refused", None}


@pytest.mark.parametrize(("approve", "stated", "code"), [
    ("person", None, "consent_unavailable"), ("never", None, None), ("never", "each_edit", None),
    ("ask", "never", "consent_unavailable"), ("host", "never", "consent_unavailable"),
])  # fmt: skip
async def test_switch_that_nobody_has_set_is_protected_files_or_never(
    daemon: SharedDaemon, tmp_path: Path, approve: str, stated: str | None, code: str | None
) -> None:
    """An editor's option counts while the editor is there, so not in these cases: it has left."""
    path = tmp_path / ".env"
    path.write_text("one\ntwo\n")
    editor = await daemon.editor(tmp_path, confirms=True, ask=stated, review_grace_s=0)
    await editor.hang_up()
    host = await daemon.host(tmp_path, approve=approve)
    await host.tool("Read", file_path=str(path))
    assert code_of(await host.tool("Edit", file_path=str(path), old_string="two", new_string="2")) == code


async def accept(_params: Any) -> dict[str, Any]:
    return {"outcome": "proceed_once"}


async def apply(_params: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"decision": "apply"}}


async def decision_of_host(daemon: SharedDaemon, path: Path, case: Case) -> Decider | None:
    """Let the agent change "two" to "2". Return whether its host asked, or the edit was refused."""
    if case.agent == OWN_TOOLS:
        return await decision_about_own_tools(daemon, path, case.host)
    if case.agent == PROGRAM:
        program = await daemon.agent(path.parent)
        await program.read(path)
        return _refusal(await program.edit(path, "two", "2"))
    option = re.search(r"--approve (\w+)", case.agent)
    host = await daemon.host(path.parent, elicits=case.host, approve=option[1] if option else "person")
    host.answers["elicitation/create"] = apply
    await host.tool("Read", file_path=str(path))
    refusal = _refusal(await host.tool("Edit", file_path=str(path), old_string="two", new_string="2"))
    return "host" if host.asked else refusal


async def decision_about_own_tools(daemon: SharedDaemon, path: Path, can_ask: bool) -> Decider | None:
    """Claude Code's hooks can make it ask its user; those of Codex cannot."""
    if can_ask:
        claude = HookedHost(daemon.state, path.parent)
        await claude.read(path)
        outcome = await claude.edit(path, "two", "2")
    else:
        codex = HookedHost(daemon.state, path.parent, host="codex")
        patch = f"*** Begin Patch\n*** Update File: {path.name}\n@@\n-two\n+2\n*** End Patch\n"

        def work() -> dict[str, Any]:
            path.write_text("one\n2\n")
            return {"output": "Success."}

        outcome = await codex.call("apply_patch", {"command": patch}, work)
    if outcome.is_asked:
        return "host"
    return None if outcome.reason is None else "refused"


def _refusal(result: Any) -> Decider | None:
    code = code_of(result)
    assert code in {None, "consent_unavailable"}
    return None if code is None else "refused"
