"""What Claude Code alone has: plugins, and a screen on which a person is asked."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hosts.hosts import claude_code, claude_environment, printed_config, start_claude_screen
from hosts.scripted_model import NOT_OFFERED, Call, Say, ScriptedModel
from hosts.test_hosts import placed
from support.patience import PATIENCE_S
from support.tmux import LOOK_S, Terminal, terminal

pytestmark = pytest.mark.timeout(4 * PATIENCE_S)

FORM = "requests your input"


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
async def on_screen(folder: Path, model: ScriptedModel) -> AsyncGenerator[Terminal]:
    """Claude Code on a screen, after a prompt with which the model was offered the tools.

    The server connects while the person may type already, so the prompt is repeated until it has.
    """
    with placed(folder, model) as place:
        start = start_claude_screen(place)
        async with terminal(
            start.arguments, cwd=place.project, env=start.environment, folder=folder, columns=160, rows=50
        ) as window:
            await window.until("auto mode on")
            while not model.has_begun:
                await prompt(window, model)
            yield window


async def prompt(window: Terminal, model: ScriptedModel) -> None:
    """Ask once, and wait until the model has begun its script or was not offered the tools."""
    n_vain = model.n_not_offered
    await window.until(holds=lambda screen: screen.count(f"● {NOT_OFFERED}") == n_vain)
    await window.type("edit it")
    await window.until("edit it")
    await window.press("Enter")
    await window.until(holds=lambda _: model.has_begun or model.n_not_offered > n_vain)


@pytest.mark.parametrize(
    ("key", "focused", "answer"),
    [
        (None, "❯ Accept    Decline", "has been updated"),
        ("Right", "Accept  ❯ Decline", "The proposed edit was rejected. Nothing was written. Do not retry"),
    ],
)
async def test_user_accepts_a_protected_edit_by_one_key_and_declines_it_by_two(
    tmp_path: Path, key: str | None, focused: str, answer: str
) -> None:
    path = tmp_path / "project" / ".env"
    path.parent.mkdir()
    path.write_text("KEY=1\nOTHER=1\n", encoding="utf-8")
    edit = {"file_path": str(path), "old_string": "KEY=1", "new_string": "KEY=22"}
    model = ScriptedModel([Call("Read", {"file_path": str(path)}), Call("Edit", edit), Say("ALL-DONE")])
    async with on_screen(tmp_path, model) as window:
        screen = await window.until(f"Confirm Edit: {path}", "-KEY=1", "+KEY=22", "❯ Accept    Decline")
        assert "more line" not in screen
        if key is not None:
            await window.press(key)
        await window.until(focused)
        while FORM in await window.screen():
            await window.press("Enter")  # Claude Code ignores one that follows the form or a key at once
            await asyncio.sleep(LOOK_S)
        await window.until("● ALL-DONE")
    assert answer in model.results[1].text
    written = "KEY=22" if key is None else "KEY=1"
    assert path.read_text(encoding="utf-8") == f"{written}\nOTHER=1\n"
    assert model.wanted == set()
