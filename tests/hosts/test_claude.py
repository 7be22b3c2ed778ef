"""What Claude Code alone has: plugins, and a screen on which a person is asked."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fileops_client import DidChangeReviews, FileOpsClient
from hosts.hosts import claude_code, claude_environment, printed_config, start_claude_screen
from hosts.scripted_model import Call, Say, ScriptedModel, not_offered
from hosts.test_hosts import placed, servers_of, wait_for_end
from support.daemon_process import Place
from support.patience import PATIENCE_S
from support.tmux import Terminal, terminal

pytestmark = pytest.mark.timeout(900)

FORM = "requests your input"
BETWEEN_KEYS_S = 1.0  # of a person; one that is pressed 15 times a second is ignored for ever


def test_plugin_is_valid_in_the_eyes_of_claude_code(tmp_path: Path) -> None:
    with placed(tmp_path, ScriptedModel([Say("")])) as place:
        place.put(printed_config("claude-plugin"))
        done = subprocess.run(
            [claude_code(), "plugin", "validate", "--strict", str(place.project)],
            env=claude_environment(place),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr


@asynccontextmanager
async def on_screen(
    folder: Path, model: ScriptedModel, *, socket: str = "", **environment: str
) -> AsyncGenerator[Terminal]:
    """Claude Code on a screen, after a prompt with which the model was offered the tools.

    The server connects while the person may type already, so the prompt is repeated until it has.
    """
    with placed(folder, model, socket=socket) as place:
        start = start_claude_screen(place)
        env = start.environment | environment
        async with terminal(start.arguments, cwd=place.project, env=env, folder=folder, columns=160, rows=50) as window:
            await window.until("auto mode on")
            while not model.has_begun:
                await prompt(window, model)
            yield window
            servers = servers_of(int(await window.run("display-message", "-p", "#{pane_pid}")))
        wait_for_end(servers)


async def prompt(window: Terminal, model: ScriptedModel) -> None:
    """Ask once, and wait until the model has begun its script or was not offered the tools."""
    n_vain = model.n_not_offered
    if n_vain:
        await window.until(f"● {not_offered(n_vain)}")  # the ones before may have left the screen
    await window.type("edit it")
    await window.until("edit it")
    await window.press("Enter")
    await window.until(holds=lambda _: model.has_begun or model.n_not_offered > n_vain)


async def test_user_accepts_a_protected_edit_by_one_key_and_declines_it_by_two(tmp_path: Path) -> None:
    """Then the screen shows which file an edit changed and how: else it shows but the number of a server's calls."""
    path, source = tmp_path / "project" / ".env", tmp_path / "project" / "src" / "index.js"
    source.parent.mkdir(parents=True)
    path.write_text("KEY=1\nOTHER=1\n", encoding="utf-8")
    source.write_text("one\ntwo\nthree\n", encoding="utf-8")

    def edit(old: str, new: str, file: Path = path) -> Call:
        return Call("Edit", {"file_path": str(file), "old_string": old, "new_string": new})

    script = [
        Call("Read", {"file_path": str(path)}),
        edit("KEY=1", "KEY=22"),
        edit("OTHER=1", "OTHER=2"),
        Call("Read", {"file_path": str(source)}),
        edit("two", "2\n2b", source),
        Say("ALL-DONE"),
    ]
    model = ScriptedModel(script)
    async with on_screen(tmp_path, model) as window:
        for removed, added, key, focused in (
            ("-KEY=1", "+KEY=22", None, "❯ Accept    Decline"),
            ("-OTHER=1", "+OTHER=2", "Right", "Accept  ❯ Decline"),
        ):
            screen = await window.until("Confirm Edit: .env", removed, added, "❯ Accept    Decline")
            assert "more line" not in screen
            if key is not None:
                await window.press(key)
            await window.until(focused)
            while FORM in (screen := await window.screen()) and removed in screen.rpartition("Confirm Edit: .env")[2]:
                await window.press("Enter")  # Claude Code ignores one that follows the form or a key at once
                await asyncio.sleep(BETWEEN_KEYS_S)
        screen = await window.until("● ALL-DONE")
    _, accepted, declined, _, _ = model.results
    assert "has been updated" in accepted.text
    assert "The proposed edit was rejected. Nothing was written. Do not retry" in declined.text
    assert path.read_text(encoding="utf-8") == "KEY=22\nOTHER=1\n"
    assert "PostToolUse:mcp__fileops__Edit says: src/index.js +2 −1" in screen
    shown = screen.partition("src/index.js +2 −1")[2].splitlines()[1:5]
    assert [line.strip() for line in shown] == ["@@ line 2", "-two", "+2", "+2b"]
    assert model.wanted == set()


async def test_result_arrives_of_an_edit_that_was_moved_to_the_background(here: Place, tmp_path: Path) -> None:
    """Claude Code does so after 120 s, here after one: its user decides when they like."""
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text("hello x\n", encoding="utf-8")
    edit = {"file_path": str(path), "old_string": "hello x", "new_string": "hello y"}
    model = ScriptedModel([Call("Read", {"file_path": str(path)}), Call("Edit", edit), Say("WAITING")])
    socket, soon = str(here.socket), {"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "1000"}
    here.start()
    shown: list[DidChangeReviews] = []
    view = FileOpsClient.attach(
        socket=socket, root=path.parent, role="editor", host="board",
        initialization_options={"ask": "each_edit"}, on_reviews=shown.append,
    )  # fmt: skip
    async with view as board, on_screen(tmp_path, model, socket=socket, **soon) as window:
        await window.until(holds=lambda _: len(model.results) == 2)
        assert "was moved to the background" in model.results[1].text
        (review,) = shown[0].opened
        assert (await board.decide_review(review, "accept")).state == "decided"
        await window.until(holds=lambda _: "has been updated" in str(model.requests[-1].body["messages"][-1]))
    assert path.read_text(encoding="utf-8") == "hello y\n"
