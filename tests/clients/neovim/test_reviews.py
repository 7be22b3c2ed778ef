"""Reviews of a shared daemon in Neovims that are killed, left or restarted, and in two at once.

The daemon owns a review, and a Neovim shows it: only a key of a person decides.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, Scene, opened, scene
from clients.neovim.world import Neovim
from fileops_client import FileOpsClient, ToolResult

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

AGENT = [sys.executable, "-m", "fileops", "attach"]
PATIENT = {"approval_mode": "default", "ask": "each_edit", "review_grace_s": 600}
N_WAITING = "luaeval('#require(\"fileops.review.queue\").waiting()')"
IS_READ = "luaeval('require(\"fileops.review.text\").is_read(vim.api.nvim_get_current_buf()) and 1 or 0')"
EDITED = CART.replace(*SHORTER_TOTAL)
T = TypeVar("T")


async def look(act: Callable[[], T]) -> T:
    """Type or wait in a terminal, beside the agent's requests."""
    return await asyncio.to_thread(act)


async def proposed(agent: FileOpsClient, shop: Scene, *steps: tuple[str, str]) -> "asyncio.Task[ToolResult]":
    """An edit that the first Neovim shows."""
    await agent.read(str(shop.cart))
    edits = [{"old_string": old, "new_string": new} for old, new in steps]
    task = asyncio.create_task(agent.multi_edit(str(shop.cart), edits))
    await look(lambda: shop.terminal.shows("do accept  dr reject"))
    return task


def kill(shop: Scene) -> None:
    os.kill(int(shop.terminal.ask("getpid()")), signal.SIGKILL)


async def test_killed_neovim_decides_nothing(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, review_grace_s=0.2) as shop:
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            edit = await proposed(agent, shop, SHORTER_TOTAL)
            kill(shop)
            result = await edit
            assert result.code == "undecided"
            assert "Nobody decided about this edit" in result.output
            assert "Do not retry" not in result.output
        assert shop.cart.read_text() == CART


@pytest.mark.parametrize("leave", ["kill", "qa!"])
async def test_review_moves_from_a_neovim_that_has_gone_to_the_next(nvim: Neovim, tmp_path: Path, leave: str) -> None:
    with scene(nvim, tmp_path, review_grace_s=600) as shop:
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            edit = await proposed(agent, shop, SHORTER_TOTAL)
            if leave == "kill":
                kill(shop)
            else:
                shop.terminal.command(leave)
            with opened(nvim, shop.cart.parent, server=PATIENT, name="second") as second:
                await look(lambda: second.shows("do accept", "def total(lines: list"))
                assert not edit.done()
                assert shop.cart.read_text() == CART
                second.command("Fileops accept file")
                assert (await edit).ok
        assert shop.cart.read_text() == EDITED


async def test_review_decided_in_second_neovim_leaves_the_first(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            edit = await proposed(agent, shop, SHORTER_TOTAL)
            with opened(nvim, shop.cart.parent, server=PATIENT, name="second") as second:
                await look(lambda: second.shows("do accept", "def total(lines: list"))
                second.command("Fileops accept file")
                assert (await edit).ok
                await look(lambda: shop.terminal.shows("cart.py: accepted in another Neovim"))
                await look(lambda: shop.terminal.shows_no("do accept"))

                # what the person looks at stays under their hands, and decides nothing
                edit = await proposed(agent, shop, NO_FLOATS)
                shop.terminal.command("Fileops review")
                await look(lambda: shop.terminal.until("bufname() =~# 'fileops://review' && &diff"))
                await look(lambda: second.shows("do accept"))
                second.command("Fileops reject file use `any`")
                result = await edit
                assert "was rejected: use `any`" in result.output
                await look(lambda: shop.terminal.shows("rejected in another Neovim; this text is not used"))
                shop.terminal.command("w")
                await look(lambda: shop.terminal.shows("the review has ended; this text is not used"))
        assert shop.cart.read_text() == EDITED


async def test_restarted_connection_keeps_the_review_and_its_verdicts(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, review_grace_s=600) as shop:
        terminal = shop.terminal
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            edit = await proposed(agent, shop, SHORTER_TOTAL, NO_FLOATS)
            terminal.keys("G")
            await look(lambda: terminal.until(IS_READ))
            terminal.keys("dr")
            await look(lambda: terminal.shows("· rejected"))
            terminal.command("Fileops restart")
            await look(lambda: terminal.until(f"{N_WAITING} == 0"))
            await look(lambda: terminal.until(f"{N_WAITING} == 1"))
            await look(lambda: terminal.shows("· rejected", "do accept"))
            assert not edit.done()
            terminal.command("Fileops accept file")
            assert (await edit).ok
        assert shop.cart.read_text() == EDITED
