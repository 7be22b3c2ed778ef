"""The full screen of `fileops-server review` in a terminal of 80 columns: keys only, and what is on the screen."""

import asyncio
import html
import json
import os
import re
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partialmethod
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme
from textual.pilot import Pilot

from fileops.compose import ask_file
from fileops.terminal.screen import ReviewApp
from fileops_client import FileOpsClient, Options, ToolResult
from support.daemon_process import FILEOPS, Place
from support.patience import PATIENCE_S
from support.tmux import LOOK_S, Terminal, terminal

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "terminal-review.svg"
NOTEBOOK_PICTURES = {"dark": SVG_EXPORT_THEME, "light": DEFAULT_TERMINAL_THEME}

LINES = [f"line {n}\n" for n in range(1, 31)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.py").write_text("".join(LINES))
    (made / "b.py").write_text("".join(LINES))
    return made


def ask_about_each_edit(shared: Place, folder: Path) -> None:
    """As a person has said of this project before."""
    state = shared.process_env["XDG_STATE_HOME"]
    ask_file.write(f"{state}/fileops-server/ask.json", {str(folder): "each_edit"})


@asynccontextmanager
async def screen_in(shared: Place, folder: Path, **env: str) -> AsyncGenerator[Terminal]:
    environment = {name: value for name, value in shared.process_env.items() if name != "NO_COLOR"}
    ask_about_each_edit(shared, folder)
    await asyncio.to_thread(shared.start)  # forked, and not by the command in the terminal, whose start is a real one
    async with terminal([*FILEOPS, "review"], cwd=folder, env={**environment, **env}, folder=shared.folder) as window:
        await window.until("Nothing waits")
        yield window


async def edit(agent: FileOpsClient, file: Path, *pairs: tuple[int, str]) -> ToolResult:
    await agent.read(file)
    return await agent.multi_edit(file, [(f"line {line}\n", f"{text}\n") for line, text in pairs])


async def test_change_is_left_out_and_the_rest_accepted(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder, host="codex") as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three"), (20, "twenty")))
        screen = await window.until(
            "Codex: 1 edit in 1 file", "> a.py  +2 -2", "change 1 of 2", " 3 > -line 3", " 3 > +three"
        )
        assert all(len(line) <= 80 for line in screen.splitlines())
        await window.press("n")
        await window.until("change 2 of 2", "> -line 20", "> +twenty")
        await window.press("Space")
        await window.until(">x-line 20", ">x+twenty", "1 left out")
        await window.press("a")
        await window.until("Accepted a.py", "Nothing waits")
        assert (await call).ok
    assert (folder / "a.py").read_text() == "".join(LINES).replace("line 3\n", "three\n", 1)


async def test_reason_of_what_is_left_out_reaches_the_model_with_the_rest(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder, host="codex") as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three"), (20, "twenty")))
        await window.until("change 1 of 2")
        await window.press("R")
        await window.until("Reject the edit of a.py? Reason")
        await window.press("a", "X", "Escape")  # of a reason that is given up, and no keys of the screen
        await window.until("change 1 of 2")
        await window.press("n", "Space")
        await window.until("1 left out")
        await window.press("R")
        await window.until("Accept a.py without the parts left out?", "Enter: done")
        await window.press("Escape")
        await window.until("1 left out", holds=lambda screen: "Enter: done" not in screen)
        await window.press("R")
        await window.until("Enter: done")
        await window.type("Keep line 20.")
        await window.press("Enter")
        await window.until("Accepted the rest of a.py", "Nothing waits")
        result = await call
        assert result.ok
        assert "The user's reason: Keep line 20." in result.output
    assert (folder / "a.py").read_text() == "".join(LINES).replace("line 3\n", "three\n", 1)


PATCH = """*** Begin Patch
*** Update File: a.py
@@
-line 3
+three
@@
-line 20
+twenty
*** Update File: b.py
*** Move to: moved.py
@@
-line 5
+five
*** Delete File: c.py
*** Add File: new.py
+new
*** End Patch
"""


async def patched(agent: FileOpsClient, folder: Path) -> dict[str, Any]:
    """The answer to a patch of four files."""
    (folder / "c.py").write_text("gone\n")
    for name in ("a.py", "b.py", "c.py"):
        await agent.read(folder / name)
    return cast("dict[str, Any]", await agent.request("fileops/applyPatch", {"patch": PATCH, "cwd": str(folder)}))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_files_of_a_change_set_are_decided_together(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder, host="codex") as agent:
        call = asyncio.create_task(patched(agent, folder))
        await window.until(
            "Codex: 1 edit in 4 files",
            "4 files together",
            ">   a.py  +2 -2",
            "b.py  +1 -1  renamed to moved.py",
            "c.py  +0 -1  deleted",
            "new.py  +1 -0  new",
            "> -line 3",
        )
        await window.press("n", "Space")
        await window.until(">x-line 20", "1 left out")
        await window.press("j", "j", "d")
        await window.until(">x  c.py", "x-gone")
        await window.press("R")
        await window.until("without the parts left out?", "Enter: done")
        await window.type("c.py is used.")
        await window.press("Enter")
        await window.until("Accepted the rest of 4 files", "Nothing waits")
        result = await call
        assert result["status"] == "success", result
        assert "The user's reason: c.py is used." in result["output"]
        assert result["details"]["dropped"] == [str(folder / "c.py")]
    assert names(folder) == ["a.py", "c.py", "moved.py", "new.py"]
    assert (folder / "a.py").read_text() == "".join(LINES).replace("line 3\n", "three\n", 1)
    assert (folder / "moved.py").read_text() == "".join(LINES).replace("line 5\n", "five\n", 1)


async def test_change_set_is_rejected_whole_with_a_reason(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder) as agent:
        call = asyncio.create_task(patched(agent, folder))
        await window.until("4 files together")
        await window.press("j", "F")
        await window.until("This file is part of a change set")
        await window.press("r")
        await window.until("Reject the changes of 4 files", "Enter: done")
        await window.type("Not now.")
        await window.press("Enter")
        await window.until("Rejected 4 files", "Nothing waits")
        result = await call
        assert (result["error"]["code"], "Not now." in result["output"]) == ("rejected", True)
    assert names(folder) == ["a.py", "b.py", "c.py"]


async def test_text_of_one_file_of_a_change_set_is_written_with_the_others(
    shared: Place, folder: Path, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/five/my own words/' \"$1\"\n")
    editor.chmod(0o755)
    async with (
        screen_in(shared, folder, EDITOR=str(editor), VISUAL="") as window,
        FileOpsClient.attach(root=folder) as agent,
    ):
        call = asyncio.create_task(patched(agent, folder))
        await window.until("4 files together")
        await window.press("j")
        await window.until(">   b.py")
        await window.press("e")
        await window.until("Wrote your text of 4 files", "Nothing waits")
        assert (await call)["status"] == "success"
    assert names(folder) == ["a.py", "moved.py", "new.py"]
    assert "my own words\n" in (folder / "moved.py").read_text()
    assert "three\n" in (folder / "a.py").read_text()


async def test_reason_survives_a_resize_and_reaches_the_model(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder) as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        await window.until("> a.py")
        await window.press("r")
        await window.until("Reason (optional)")
        await window.type("Keep the ")
        await window.resize(120, 40)
        await window.until("Keep the")
        await window.resize(80, 24)
        await window.type("numbers.")
        await window.until("Keep the numbers.")
        await window.press("Enter")
        await window.until("Rejected a.py", "Nothing waits")
        result = await call
        assert (result.code, "Keep the numbers." in result.output) == ("rejected", True)
    assert (folder / "a.py").read_text() == "".join(LINES)


async def test_escape_decides_nothing_and_leaving_reports_what_waits(shared: Place, folder: Path) -> None:
    async with (
        FileOpsClient.attach(
            root=folder, role="editor", initialization_options={"ask": "each_edit"}, on_reviews=lambda _: None
        ) as board,
        screen_in(shared, folder) as window,
        FileOpsClient.attach(root=folder) as agent,
    ):
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        await window.until("> a.py")
        await window.press("r")
        await window.until("Reason (optional)")
        await window.press("Escape")
        await window.until("> a.py", holds=lambda screen: "Reason (optional)" not in screen)
        await window.press("q")
        await window.until("1 edit left undecided, for another editor to decide.")
        async with asyncio.timeout(PATIENCE_S):  # the screen is gone before the daemon has read the end of its input
            (review,) = await board.reviews()
            while review.n_editors != 1:
                await asyncio.sleep(LOOK_S)
                (review,) = await board.reviews()
        assert (await board.decide_review(review, "accept")).reason is None
        assert (await call).ok


async def test_text_of_the_users_editor_is_written(shared: Place, folder: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/three/my own words/' \"$1\"\n")
    editor.chmod(0o755)
    async with (
        screen_in(shared, folder, EDITOR=str(editor), VISUAL="") as window,
        FileOpsClient.attach(root=folder) as agent,
    ):
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        await window.until("> a.py")
        await window.press("e")
        await window.until("Wrote your text of a.py", "Nothing waits")
        assert (await call).ok
    assert "my own words\n" in (folder / "a.py").read_text()


async def test_queue_counts_by_session_and_file_and_decides_a_file_and_all(shared: Place, folder: Path) -> None:
    async with (
        screen_in(shared, folder) as window,
        FileOpsClient.attach(root=folder, host="codex") as codex,
        FileOpsClient.attach(root=folder, host="gemini") as gemini,
    ):
        first = asyncio.create_task(edit(codex, folder / "a.py", (3, "three")))
        await window.until("1 edit of 1 session", "> a.py")
        second = asyncio.create_task(edit(gemini, folder / "a.py", (20, "twenty")))
        await window.until("2 edits of 2 sessions")
        third = asyncio.create_task(edit(codex, folder / "b.py", (5, "five")))
        await window.until("3 edits of 2 sessions", "Codex: 2 edits in 2 files", ": 1 edit in 1 file")
        await window.press("Down")
        await window.until("> b.py", "> -line 5")
        await window.press("Up", "f")
        await window.until("Accept all 2 edits of a.py?")
        await window.press("y")
        await window.until("Accepted 2 edits", "1 edit of 1 session")
        assert [(await first).ok, (await second).ok] == [True, True]
        await window.press("X")
        await window.until("Reject all 1 edit?")
        await window.press("Enter")
        await window.until("Nothing waits")
        assert (await third).code == "rejected"
    assert "three\n" in (folder / "a.py").read_text()
    assert "twenty\n" in (folder / "a.py").read_text()


async def test_decision_elsewhere_is_reported_and_the_reason_is_kept(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder) as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        await window.until("> a.py")
        await window.press("r")
        await window.until("Reason (optional)")
        await window.type("Too late")
        await window.until("Too late")
        assert (await asyncio.to_thread(shared.run, "review", "accept", "--all", cwd=folder)).returncode == 0
        assert (await call).ok
        await window.until("Too late")
        await window.press("Enter")
        await window.until("a.py: it was decided before", "Nothing waits")
        again = asyncio.create_task(edit(agent, folder / "b.py", (3, "three")))
        await window.until("> b.py")
        await window.press("r")
        await window.until("Too late")
        await window.press("Enter")
        assert (await again).code == "rejected"


async def test_lost_daemon_is_reported_and_another_one_is_used(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window:
        async with FileOpsClient.attach(root=folder) as agent:
            call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
            await window.until("> a.py")
            (pid,) = shared.daemons()
            os.kill(pid, signal.SIGKILL)  # one that ends by itself withdraws the edit before
            await asyncio.gather(call, return_exceptions=True)
        await window.until("The shared daemon had ended. Reconnected. 1 edit ended with it", "Nothing waits")
        async with FileOpsClient.attach(root=folder) as agent:
            call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
            await window.until("> a.py")
            await window.press("a")
            assert (await call).ok


async def test_reopened_review_shows_what_was_decided_before(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder) as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        await window.until("> a.py")
        (folder / "a.py").write_text("".join(LINES).replace("line 4\n", "another 4\n", 1))
        await window.press("a")
        await window.until("again", "Decided before:", "Please decide", "another 4")
        await window.press("a")
        await window.until("Accepted a.py")
        assert (await call).ok
    assert "three\nanother 4\n" in (folder / "a.py").read_text()


async def test_last_minute_is_counted_down(shared: Place, folder: Path) -> None:
    options: Options = {"approval_timeout_s": 50}
    async with (
        screen_in(shared, folder) as window,
        FileOpsClient.attach(root=folder, initialization_options=options) as agent,
    ):
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        screen = await window.until("> a.py", " s left")
        left = re.search(r"(\d+) s left", screen)
        assert left is not None
        await window.until(holds=lambda later: f"{int(left[1]) - 1} s left" in later)
        await window.press("a")
        assert (await call).ok


async def test_control_characters_of_an_edit_do_not_reach_the_terminal(shared: Place, folder: Path) -> None:
    async with screen_in(shared, folder) as window, FileOpsClient.attach(root=folder) as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "\x1b]0;forged\x07\u202ethree")))
        await window.until("<1b>]0;forged<07><202e>three")
        await window.press("a")
        assert (await call).ok


@pytest.mark.parametrize("no_color", [True, False])
async def test_no_color_is_honoured(shared: Place, folder: Path, no_color: bool) -> None:
    env = {"NO_COLOR": "1"} if no_color else {}
    async with screen_in(shared, folder, **env) as window, FileOpsClient.attach(root=folder) as agent:
        call = asyncio.create_task(edit(agent, folder / "a.py", (3, "three")))
        await window.until("> -line 3", "> +three")
        codes = re.findall(r"\x1b\[([\d;]*)m", await window.screen(with_styles=True))
        colours = {code for code in codes for number in code.split(";") if re.fullmatch(r"[34][0-8]|9\d|10\d", number)}
        assert (colours == set()) is no_color
        await window.press("a")
        assert (await call).ok


async def test_picture_of_the_guide_is_the_screen(shared: Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With FILEOPS_PICTURES=1 the picture of the guide is written again; without, its words are compared."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("HOME", str(folder.parent))
    ask_about_each_edit(shared, folder)
    app = ReviewApp(None, str(folder))
    async with (
        app.run_test(size=(80, 24)) as pilot,
        FileOpsClient.attach(root=folder, host="codex") as codex,
        FileOpsClient.attach(root=folder, host="gemini") as gemini,
    ):
        await until(pilot, lambda: app.is_attached)
        calls = [asyncio.create_task(edit(codex, folder / "a.py", (3, "three"), (20, "twenty")))]
        await until(pilot, lambda: len(app.board) == 1)
        calls.append(asyncio.create_task(edit(gemini, folder / "b.py", (5, "five"))))
        await until(pilot, lambda: len(app.board) == 2)
        await pilot.press("n", "space", "p")
        await pilot.pause()
        drawn = app.export_screenshot(title="fileops-server review")
        await pilot.press("A", "y")
        assert all(result.ok for result in await asyncio.gather(*calls))
    require_picture(PICTURE, drawn)


# R-NB-32
async def test_picture_of_a_notebook_is_the_screen(
    shared: Place, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pictures of docs/guide/notebooks.md, taken again likewise: each changed cell is decided apart."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("HOME", str(folder.parent))
    study = folder / "study.ipynb"
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Prices of 2026"]},
        code_cell("load", "import pandas as pd\n\nprices = pd.read_csv('prices.csv')"),
        code_cell("mean", "prices.mean()"),
    ]
    study.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    steps: list[dict[str, Any]] = [
        {"kind": "edit", "cell_id": "load", "old_string": "'prices.csv'", "new_string": "'prices.csv', index_col=0"},
        {"kind": "edit", "cell_id": "mean", "old_string": "mean()", "new_string": "median()"},
    ]
    ask_about_each_edit(shared, folder)
    app = ReviewApp(None, str(folder))
    async with app.run_test(size=(80, 16)) as pilot, FileOpsClient.attach(root=folder, host="codex") as codex:
        await until(pilot, lambda: app.is_attached)
        await codex.read(study)
        call = asyncio.create_task(codex.edit_notebook(study, steps))
        await until(pilot, lambda: len(app.board) == 1)
        await pilot.press("n", "space", "p")
        await pilot.pause()
        drawn = {name: drawn_with(theme, app, monkeypatch) for name, theme in NOTEBOOK_PICTURES.items()}
        await pilot.press("A", "y")
        assert (await call).ok
    for name, picture in drawn.items():
        require_picture(PICTURE.with_name(f"terminal-notebook-{name}.svg"), picture)


def drawn_with(theme: TerminalTheme, app: ReviewApp, monkeypatch: pytest.MonkeyPatch) -> str:
    """Draw the screen with the colours of a terminal, which Textual does not let its callers choose."""
    with monkeypatch.context() as patch:
        patch.setattr(Console, "export_svg", partialmethod(Console.export_svg, theme=theme))
        return app.export_screenshot(title="fileops-server review")


def code_cell(cell_id: str, source: str) -> dict[str, Any]:
    lines = source.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": 1, "id": cell_id, "metadata": {}, "outputs": [], "source": lines}


def require_picture(picture: Path, drawn: str) -> None:
    """Require that the picture has the words that are drawn now. FILEOPS_PICTURES=1: take it again."""
    if os.environ.get("FILEOPS_PICTURES") == "1":
        picture.write_text(drawn)
    assert words_of(picture.read_text()) == words_of(drawn)


async def until(pilot: "Pilot[int]", holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await pilot.pause(LOOK_S)


def words_of(svg: str) -> list[str]:
    """The lines of text in a picture, without their places, which fonts decide."""
    return [html.unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", svg)]
