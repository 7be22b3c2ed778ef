"""The table of docs/MCP.md, cell by cell: what the model reads of its calls, by each kind of tool."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from architecture.imports import ROOT
from fileops.compose import hook_connection
from support import scripted_language_server
from support.hooked_host import HookedHost
from support.page_tables import rows
from support.shared_daemon import McpHost, SharedDaemon, shared_daemon

PAGE = ROOT / "docs" / "MCP.md"
LEAN, FULL, OWN = "lean", "full", "own"  # in the order of the columns
LINES = [f"line {n}" for n in range(1, 31)]
TABLE = rows(PAGE, "What reaches the model; a test runs each cell:")


@pytest.fixture
async def daemon() -> AsyncGenerator[SharedDaemon]:
    async with shared_daemon() as running:
        yield running


class Agent:
    """An agent whose model reads what `read` and `edit` return."""

    def __init__(self, path: Path, tools: McpHost | None, own: HookedHost | None) -> None:
        self.path = path
        self.tools = tools
        self.own = own

    async def read(self) -> str:
        if self.tools is not None:
            return _text_of(await self.tools.tool("Read", file_path=str(self.path)))
        assert self.own is not None
        outcome = await self.own.read(self.path)
        return (outcome.shown or self.path.read_text()) + outcome.context

    async def edit(self, old: str, new: str) -> str:
        if self.tools is not None:
            edit = {"file_path": str(self.path), "old_string": old, "new_string": new}
            return _text_of(await self.tools.tool("Edit", **edit))
        assert self.own is not None
        outcome = await self.own.edit(self.path, old, new)
        return (outcome.reason or "") + outcome.context


def _text_of(result: Any) -> str:
    return "\n".join(item["text"] for item in result["content"])


async def agent_of(column: str, daemon: SharedDaemon, path: Path, **options: Any) -> Agent:
    if column == OWN:
        return Agent(path, None, HookedHost(daemon.state, path.parent))
    printed: dict[str, Any] = {"freshness": "relevant", "notices": "on", **options}
    return Agent(path, await daemon.host(path.parent, answers=column, **printed), None)


# --- what a cell of the table says: of a text, and of the changes that the test makes --------------------------------

SAYS: dict[tuple[str, str], Callable[[str], bool]] = {
    ("an edit that was made", "its lines' numbers"): lambda text: "line 10." in text and "line 9" not in text,
    ("an edit that was made", "a numbered snippet"): lambda text: "    10→mine 10" in text and "     9→line 9" in text,
    ("an edit that was made", "the host's own answer"): lambda text: text == "",
    ("its diff", "no"): lambda text: "+mine 10" not in text,
    ("its diff", "yes, unless --show-diff off"): lambda text: "-line 10\n+mine 10" in text,
    ("others' changes elsewhere in the file", "their lines' numbers"):
        lambda text: "line 28" in text and "other 28" not in text,
    ("others' changes elsewhere in the file", "their diff"): lambda text: "-line 28\n+other 28" in text,
    ("an edit that is refused", "the present lines, which count as read"): lambda text: "other 10" in text,
    ("unsaved text of an editor", "in place of the file's"): lambda text: "typed" in text and "line 30" not in text,
    ("unsaved text of an editor", "in place of the file's, with the diff"):
        lambda text: text.startswith("typed") and "-line 30\n" in text,
    ("problems that the edit introduced, if asked for", "yes"): lambda text: "a bad word" in text,
    ("a person's reason", "yes"): lambda text: "prefer tabs" in text,
}  # fmt: skip


async def after_edit(column: str, daemon: SharedDaemon, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    agent = await agent_of(column, daemon, path)
    await agent.read()
    told = await agent.edit("line 10\n", "mine 10\n")
    assert "mine 10" in path.read_text()
    return told


async def after_change_elsewhere(column: str, daemon: SharedDaemon, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    agent = await agent_of(column, daemon, path)
    await agent.read()
    path.write_text(path.read_text().replace("line 28", "other 28"))
    told = await agent.edit("line 10\n", "mine 10\n")
    assert "mine 10" in path.read_text()
    return told


async def after_refusal(column: str, daemon: SharedDaemon, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    agent = await agent_of(column, daemon, path)
    await agent.read()
    path.write_text(path.read_text().replace("line 10", "other 10"))
    told = await agent.edit("line 9\n", "mine 9\n")
    assert "mine 9" not in path.read_text()
    await agent.edit("other 10\n", "mine 10\n")
    assert "mine 10" in path.read_text()
    return told


async def after_unsaved_text(column: str, daemon: SharedDaemon, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    editor = await daemon.editor(path.parent)
    editor.open(path, "typed\n")
    await editor.read(path)  # the daemon has handled what was sent before
    return await (await agent_of(column, daemon, path)).read()


async def after_problem(column: str, daemon: SharedDaemon, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    program = [sys.executable, "-I", "-S", str(scripted_language_server.__file__), "{}"]
    named = [{"name": "scripted", "command": program, "globs": ["*.txt"]}]
    settings = path.parents[1] / "config" / "fileops" / "language-servers.json"  # where no project can write it
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(named))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(path.parents[1] / "config"))
    monkeypatch.setattr(hook_connection, "SETTINGS", replace(hook_connection.SETTINGS, diagnostics_wait_s=30.0))
    agent = await agent_of(column, daemon, path, language_servers=named, diagnostics_wait_s=30.0, diagnostics="details")
    await agent.read()
    return await agent.edit("line 10\n", "BAD 10\n")


async def after_rejection(column: str, daemon: SharedDaemon, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch

    view = await daemon.lsp("editor", "nvim")
    lists = {"experimental": {"fileops": {"reviews": True}}}
    await view.initialize(path.parent, capabilities=lists, options={"ask": "each_edit"})
    agent = await agent_of(column, daemon, path)
    await agent.read()

    async def reject() -> None:
        (review,) = (await view.notification("fileops/didChangeReviews"))["opened"]
        decision = {"review_id": review["review_id"], "outcome": "reject", "reason": "prefer tabs"}
        await view.call("fileops/decideReview", decision)

    told, _ = await asyncio.gather(agent.edit("line 10\n", "mine 10\n"), reject())
    assert "mine 10" not in path.read_text()
    return told


STEPS: dict[str, Callable[[str, SharedDaemon, Path, pytest.MonkeyPatch], Awaitable[str]]] = {
    "an edit that was made": after_edit,
    "its diff": after_edit,
    "others' changes elsewhere in the file": after_change_elsewhere,
    "an edit that is refused": after_refusal,
    "unsaved text of an editor": after_unsaved_text,
    "problems that the edit introduced, if asked for": after_problem,
    "a person's reason": after_rejection,
}


@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [(row, column, cell) for row, *cells in TABLE for column, cell in zip((LEAN, FULL, OWN), cells, strict=True)],
)
async def test_model_reads_what_the_table_says(
    daemon: SharedDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, column: str, cell: str
) -> None:
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text("\n".join(LINES) + "\n")
    told = await STEPS[row](column, daemon, path, monkeypatch)
    assert SAYS[row, cell](told), told


def test_table_has_every_row() -> None:
    assert [row for row, *_ in TABLE] == list(STEPS)


async def test_diff_is_left_out_on_request(daemon: SharedDaemon, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(LINES) + "\n")
    agent = await agent_of(FULL, daemon, path, show_diff="off")
    await agent.read()
    assert SAYS["its diff", "no"](await agent.edit("line 10\n", "mine 10\n"))
