"""Neovim attached to the daemon that agents outside of it share."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, Scene, scene
from clients.neovim.terminal import TYPED
from clients.neovim.world import Neovim, neovim
from fileops.attach import companion
from fileops.attach.callers import caller_of
from fileops.attach.host_events import common_form
from fileops_client import FileOpsClient, Options, ToolResult
from support.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

AGENT = [sys.executable, "-m", "fileops", "attach"]
STATUS = "luaeval('require(\"fileops.client.process\").state.status')"
PID = "luaeval('require(\"fileops.client.process\").client().rpc.pid()')"
T = TypeVar("T")


async def look(act: Callable[[], T]) -> T:
    """Type or wait in the terminal, beside the agent's requests."""
    return await asyncio.to_thread(act)


def edit(agent: FileOpsClient, shop: Scene, step: tuple[str, str]) -> "asyncio.Task[ToolResult]":
    return asyncio.create_task(agent.edit(str(shop.cart), *step))


async def test_buffer_is_saved_before_an_agents_own_tool_reads_it_if_the_person_wants_that(
    nvim: Neovim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-COMP-19"""
    monkeypatch.setattr(companion, "ANSWER_S", PATIENCE_S)  # without an answer in time a hook says the same
    with scene(nvim, tmp_path) as shop:
        terminal = shop.terminal
        asking = {
            "hook_event_name": "PreToolUse", "session_id": "s1", "transcript_path": "/t", "prompt_id": "p",
            "cwd": str(shop.cart.parent), "tool_name": "Read", "tool_input": {"file_path": str(shop.cart)},
            "tool_use_id": "toolu_1",
        }  # fmt: skip

        def hook() -> object:
            caller = caller_of("claude", asking)
            return companion.answer_to(caller, asking, common_form(caller.dialect, asking))

        terminal.keys("O", "# typed, and not saved", "Escape")
        terminal.until(TYPED)
        assert await look(hook) is None
        assert shop.cart.read_text() == CART  # "keep" is the default
        terminal.command("lua require('fileops').setup({ unsaved = 'save' })")
        terminal.until("luaeval('require(\"fileops.config\").get().unsaved') ==# 'save'")
        terminal.until(ROUND_TRIP)  # it would not be saved as of a version before the last letter
        os.utime(shop.cart)  # so that Vim would ask
        assert await look(hook) is None
        assert shop.cart.read_text() == "# typed, and not saved\n" + CART
        terminal.until("!&modified")


async def test_agent_outside_neovim_reads_unsaved_text_and_is_reviewed_by_name(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        terminal = shop.terminal
        terminal.keys("O", "# typed, and not saved", "Escape")
        terminal.until(TYPED)
        terminal.until(ROUND_TRIP)
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            reading = await agent.read(str(shop.cart))
            assert "1→# typed, and not saved" in reading.output

            proposed = edit(agent, shop, SHORTER_TOTAL)
            await look(lambda: terminal.shows("fileops-client 1/1", "do accept", "def total(lines: list"))
            terminal.command("Fileops reject file")
            assert (await proposed).code == "rejected"

            proposed = edit(agent, shop, NO_FLOATS)
            await look(lambda: terminal.shows("do accept", "not any(line.price"))
            terminal.command("Fileops accept file")
            assert (await proposed).ok
            await look(lambda: terminal.until("search('not any(line.price', 'nw') > 0 && &modified"))
            assert shop.cart.read_text() == CART

            # one switch for all agents, those that come later too
            terminal.command("Fileops ask never")
            await look(lambda: terminal.says("no edit waits for you; shell commands are not asked about here"))
            assert (await edit(agent, shop, SHORTER_TOTAL)).ok
            await look(lambda: terminal.until("search('def total(lines: list', 'nw') > 0"))
            terminal.command("Fileops ask")
            await look(
                lambda: terminal.shows(
                    "Ask before each edit (shell commands are not asked about)", "3: ● no edit waits for you"
                )
            )
            terminal.keys("1", "Enter")
            await look(lambda: terminal.says("each edit of an agent waits for you"))
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            proposed = edit(agent, shop, SORTED)
            await look(lambda: terminal.shows("do accept", "sorted(line.name"))
            terminal.command("Fileops reject file")
            assert (await proposed).code == "rejected"
            terminal.command("Fileops agents")
            await look(lambda: terminal.shows("Agents", "● fileops-client", "○ fileops-client"))
            terminal.keys("q", "Enter")
            terminal.command("Fileops history")
            await look(lambda: terminal.shows("History", "fileops-client", "cart.py +2 −5"))
            terminal.keys("q", "Enter")


async def test_file_that_changes_in_its_review_is_merged_with_the_decision(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, columns=80) as shop:
        terminal = shop.terminal
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            proposed = edit(agent, shop, SHORTER_TOTAL)
            await look(lambda: terminal.shows("do accept"))
            terminal.keys("G", "o", "# typed meanwhile", "Escape")
            terminal.until(TYPED)
            terminal.command("Fileops accept file")
            assert (await proposed).ok
            await look(lambda: terminal.until("search('def total(lines: list', 'nw') > 0 && &modified"))
            assert terminal.ask("getline('$')") == "# typed meanwhile"
        assert shop.cart.read_text() == CART  # what was typed is not saved


async def test_edit_of_closed_file_by_outside_agent_is_listed_and_marked(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, ask="never") as shop:
        other = shop.cart.parent / "other.py"
        other.write_text("one = 1\ntwo = 2\n")
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(other))
            assert (await agent.edit(str(other), "two = 2", "two = 22")).ok
        shop.terminal.command("Fileops changes")
        await look(lambda: shop.terminal.shows("other.py|2| fileops-client", "+1 −1"))
        shop.terminal.keys("Enter")
        await look(lambda: shop.terminal.shows("▎"))
        shop.terminal.until("expand('%') ==# 'other.py' && line('.') == 2")


FORMAT_ON_SAVE = (
    "autocmd BufWritePost *.py call system(['sed', '-i', 's/sum = sum + /sum += /', expand('%:p')]) | checktime"
)
SORTED = ("(line.name for line in lines)", "(sorted(line.name for line in lines))")


async def test_formatter_on_save_does_not_force_the_agent_to_read_again(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, "--cmd", FORMAT_ON_SAVE) as shop:
        terminal, relevant = shop.terminal, Options(freshness="relevant", notices="output")
        async with FileOpsClient.start(AGENT, root=shop.cart.parent, initialization_options=relevant) as agent:
            await agent.read(str(shop.cart))
            proposed = edit(agent, shop, NO_FLOATS)
            await look(lambda: terminal.shows("do accept"))
            terminal.command("Fileops accept file")
            assert (await proposed).ok
            await look(lambda: terminal.until("search('not any(line.price', 'nw') > 0 && !&modified"))

            terminal.keys("g", "g", "O", "# typed, and saved", "Escape")
            terminal.command("w")
            await look(lambda: terminal.until("search('sum += line.price', 'nw') > 0 && !&modified"))
            proposed = edit(agent, shop, SORTED)
            await look(lambda: terminal.shows("do accept"))
            terminal.command("Fileops review")
            await look(lambda: terminal.shows("rebased over 2 changes by another program"))
            terminal.command("w")
            result = await proposed
            assert result.ok
            assert "+# typed, and saved" in result.output
            formatted = CART.replace(*NO_FLOATS).replace("sum = sum + ", "sum += ")
            assert shop.cart.read_text() == "# typed, and saved\n" + formatted.replace(*SORTED)


async def test_shared_daemon_outlives_the_neovim_that_started_it(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, review_grace_s=0, starts_daemon=True) as shop:
        pid = int(shop.terminal.ask(PID))
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            proposed = edit(agent, shop, NO_FLOATS)
            await look(lambda: shop.terminal.shows("do accept"))
            shop.terminal.command("qa!")
            nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the pump to end")
            assert (await proposed).code == "undecided"
            assert (await agent.read(str(shop.cart))).ok


@pytest.mark.parametrize("name", ["floor", "new"])
async def test_daemon_that_is_stopped_stays_stopped_and_the_one_of_an_agent_is_noticed(
    tmp_path: Path, name: str
) -> None:
    nvim = neovim(name, tmp_path)
    with scene(nvim, tmp_path) as shop:
        terminal = shop.terminal

        def status(*options: str) -> int:
            return subprocess.run([*AGENT[:-1], "status", *options], check=False, timeout=PATIENCE_S).returncode

        assert await look(lambda: status("--stop", "--now")) == 0
        terminal.until(f"{STATUS} ==# 'stopped'")
        terminal.says("the daemon was stopped; Neovim attaches to the next one")
        assert await look(status) == 1  # none runs
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await look(lambda: terminal.until(f"{STATUS} ==# 'running'"))
            await agent.read(str(shop.cart))
            proposed = edit(agent, shop, NO_FLOATS)
            await look(lambda: terminal.shows("do accept"))
            terminal.command("Fileops accept file")
            assert (await proposed).ok
        assert terminal.ask("luaeval('#require(\"fileops.client.process\").state.restarts')") == "0"


# an answer of the daemon, which takes messages in order: it has heard of all that happened in Neovim before
ROUND_TRIP = "luaeval('vim.lsp.buf_request_sync(0, \"fileops/none\", {}, 60000) and 1')"
ODD = "\ufeff" + "".join(
    [
        "# 日本語 🎉\r\n",
        "def one():\n",
        "    return 1\r\n",
        "# a\rb\r\n",
        "x = 2\r\n",
        "y = 3\n",
        "\r\n",
        "z = '🎉'\r\n",
        "end",
    ]
)
UNENDED, SHORTER = "one\ntwo\nthree", "two\nthree"
# in a row, without a pause; lines are added, removed, changed and joined, and the file gets and loses its last line end
STEPS = {
    ODD: [
        ("x = 2\ny = 3\n", "x = 22\n"),
        ("def one():\n    return 1\n", "def one():\n    a = 1\n    return a\n"),
        ("z = '🎉'", "z = '🎉🎉'"),
        ("end", "end\nlast\n"),
        ("last\n", "last"),
        ("\n\nz =", "\nz ="),
    ],
    UNENDED: [("three", "three\nfour\n"), ("two\n", ""), ("four\n", "4")],
    SHORTER: [("two\nthree", "three\n4")],
}


@pytest.mark.parametrize(
    ("name", "text"),
    [("new", ODD), ("floor", ODD), ("new", UNENDED), ("new", SHORTER)],  # the floor counts in UTF-16
    ids=["carriage returns", "carriage returns, floor", "unended", "one edit"],
)
async def test_agent_edits_an_open_file_with_awkward_line_ends(tmp_path: Path, name: str, text: str) -> None:
    nvim = neovim(name, tmp_path)
    with scene(nvim, tmp_path, approval_mode="auto_edit", ask="protected") as shop:
        terminal, odd = shop.terminal, shop.cart.parent / "odd.py"
        odd.write_bytes(text.encode())
        terminal.command("edit odd.py")
        terminal.until("expand('%:t') ==# 'odd.py'")
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(odd))
            for step in STEPS[text]:
                result = await agent.edit(str(odd), *step)
                assert result.ok, (step, result.output)
            expected = odd.read_bytes().decode("utf-8-sig")
            assert "x = 22\r\n\r\n" not in expected
            in_buffer = "join(getline(1, '$'), \"\\n\") .. (&endofline ? \"\\n\" : '')"
            await look(lambda: terminal.until(f"{in_buffer} ==# {as_vim(expected)}"))
            assert terminal.ask("&modified") == "0"
            terminal.until(ROUND_TRIP)
            last = expected.split("\n")[-1]
            result = await agent.edit(str(odd), last, last := f"{last}!")  # no typing: it needs no new read
            assert result.ok, result.output
            expected += "!"
            assert odd.read_bytes().decode("utf-8-sig") == expected
            await look(lambda: terminal.until(f"getline('$') ==# {as_vim(last)}"))

            # and what the person types is what the agent reads and edits
            terminal.keys("g", "g", "O", "# typed", "Escape")
            terminal.until("getline(1) ==# '# typed' && mode() ==# 'n'")
            terminal.until(ROUND_TRIP)
            assert "1→# typed" in (await agent.read(str(odd))).output
            for old, new in ((last, f"{last} # changed"), ("# typed\n", "# typed\n# and seen\n")):
                result = await agent.edit(str(odd), old, new)
                assert result.ok, result.output
            assert odd.read_bytes().decode("utf-8-sig") == expected
            terminal.command("write")
            terminal.until("!&modified")
            terminal.until(ROUND_TRIP)
            assert odd.read_bytes().decode().endswith(f"{last} # changed\n")  # by 'fixendofline'
            assert (await agent.read(str(odd))).ok
            for n in range(3):
                assert (await agent.edit(str(odd), f"# changed{'!' * n}\n", f"# changed{'!' * (n + 1)}\n")).ok
            assert odd.read_bytes().decode().endswith("# changed!!!\n")
            await look(lambda: terminal.until(f"getline('$') ==# {as_vim(f'{last} # changed!!!')} && !&modified"))
            terminal.until(ROUND_TRIP)
            assert (await agent.edit(str(odd), "# changed!!!\n", "# changed\n")).ok


def as_vim(text: str) -> str:
    """As an expression of Vim script."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
