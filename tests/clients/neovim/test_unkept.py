"""An agent's edits are written at once, and a person at a terminal keeps or undoes them in the text, by keys."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, opened, scene
from clients.neovim.test_terminal import load
from clients.neovim.world import Neovim, on_both
from fileops_client import FileOpsClient
from support.daemon_process import Place
from support.mcp_client import mcp_client, texts_of

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

AGENT = [sys.executable, "-m", "fileops", "attach"]
MARKED = 'luaeval(\'table.concat(require("fileops.unkept.marks").lines(vim.fn.bufnr("cart.py")), ",")\')'
RUNS = "luaeval('require(\"fileops.client.process\").state.status') ==# 'running'"
T = TypeVar("T")


async def look(act: Callable[[], T]) -> T:
    """Type or wait in the terminal, beside the agent's requests."""
    return await asyncio.to_thread(act)


@on_both
async def test_unkept_changes_are_kept_and_undone_by_keys_and_survive_a_restart(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, ask="protected", columns=80) as shop:
        terminal = shop.terminal
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            for old, new in (SHORTER_TOTAL, NO_FLOATS):
                assert (await agent.edit(str(shop.cart), old, new)).ok
            await look(lambda: terminal.until(f"{MARKED} ==# '13,22'"))
            terminal.until("winnr('$') == 1")
            terminal.keys("gg", "O", "# typed beside it", "Escape")
            await look(lambda: terminal.until(f"{MARKED} ==# '14,23'"))
            terminal.keys("]", "c", "du")
            await look(lambda: terminal.until(f"{MARKED} ==# '26' && search('sum = 0', 'nw') > 0 && &modified"))
            terminal.command("w")
            nvim.wait_for(lambda: "# typed beside it" in shop.cart.read_text(), "the file to be written")
            assert shop.cart.read_text() == "# typed beside it\n" + CART.replace(*NO_FLOATS)
            terminal.command("qa!")
            with opened(nvim, shop.cart.parent, server={}, name="second") as second:
                await look(lambda: second.until(f"{MARKED} ==# '26'"))
                second.keys("G", "dy")
                await look(lambda: second.until(f"{MARKED} ==# ''"))
                second.keys("dydu")  # they do nothing else where nothing is left to decide
                second.until("mode(1) ==# 'n' && !&modified")
                second.command("call search('not any', 'w')")
                second.command('call feedkeys("\\<Plug>(fileops-author)")')
                await look(lambda: second.until("execute('messages') =~# 'wrote this line, '"))
                second.command("checkhealth fileops")
                await look(lambda: second.until("search('OK agents: ', 'nw') > 0"))
        assert shop.cart.read_text() == "# typed beside it\n" + CART.replace(*NO_FLOATS)


async def test_reason_of_an_undo_is_read_by_the_agent_once_the_file_is_as_it_was(
    nvim: Neovim, shared: Place, tmp_path: Path
) -> None:
    with scene(nvim, tmp_path, ask="protected", columns=80) as shop:
        env = {"CLAUDE_CODE_SESSION_ID": "c1", "FILEOPS_SOCKET": nvim.environment["FILEOPS_SOCKET"]}
        with mcp_client(shop.cart.parent, env=env) as agent:
            agent.begin(host="claude-code")
            agent.tool("Read", file_path=str(shop.cart))
            old, new = NO_FLOATS
            assert not agent.tool("Edit", file_path=str(shop.cart), old_string=old, new_string=new).get("isError")
            shop.terminal.until(f"{MARKED} ==# '25'")
            shop.terminal.command("Fileops undo file Prices  are floats; keep them.")
            shop.terminal.until(f"{MARKED} ==# ''")
            assert shop.cart.read_text() == CART
            texts = texts_of(agent.tool("Read", file_path=str(shop.cart)))
            logged = shared.run("log", cwd=shop.cart.parent).stdout.decode().splitlines()
            assert re.search(r"  You  undo of 1 edit by Claude Code  \(1 file \+1 -1\)$", logged[0]), logged
    sentence = "A person took back 1 change of Claude Code. Their reason: Prices are floats; keep them."
    assert any(sentence in text.splitlines() for text in texts)


@on_both
async def test_agent_that_is_followed_is_shown_where_it_edits_unless_the_user_types(
    nvim: Neovim, tmp_path: Path
) -> None:
    later = "luaeval('(function(now) vim.uv.now = function() return now() + 3000 end end)(vim.uv.now)')"
    with scene(nvim, tmp_path, ask="protected", columns=80) as shop:
        terminal, stock = shop.terminal, shop.cart.with_name("stock.py")
        stock.write_text(CART)
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            await agent.read(str(stock))

            async def edit(path: Path, old: str, new: str) -> None:
                assert (await agent.edit(str(path), old, new)).ok

            terminal.command("set statusline=%{v:lua.require'fileops'.status()}")
            terminal.command("Fileops follow")
            await look(lambda: terminal.shows("fileops: following "))
            await edit(stock, *NO_FLOATS)
            await look(lambda: terminal.until("expand('%') ==# 'stock.py' && line('.') == 25"))
            terminal.keys("i")
            terminal.until("mode() ==# 'i'")
            terminal.ask(later)
            await edit(shop.cart, *NO_FLOATS)
            await look(lambda: terminal.until(f"{MARKED} ==# '25'"))
            terminal.keys("Escape", ":", "echo")
            terminal.until("mode() ==# 'c'")
            terminal.ask(later)
            await edit(shop.cart, "import dataclass\n", "import dataclass, field\n")
            await look(lambda: terminal.until(f"{MARKED} ==# '3,25'"))
            assert terminal.ask("expand('%')") == "stock.py"
            terminal.keys("C-c")
            terminal.until("mode() ==# 'n'")
            terminal.ask(later)
            await edit(shop.cart, *SHORTER_TOTAL)
            await look(lambda: terminal.until("expand('%') ==# 'cart.py' && line('.') == 13"))
        await look(lambda: terminal.shows_no("fileops: following "))


async def test_key_that_comes_with_an_unkept_change_does_nothing_else(nvim: Neovim, tmp_path: Path) -> None:
    """It keeps or undoes the change, or does nothing; it is never a command of Neovim's."""
    with scene(nvim, tmp_path, ask="protected") as shop:
        terminal, (old, new) = shop.terminal, SHORTER_TOTAL
        terminal.keys("/def total", "Enter")
        terminal.until("line('.') == 13")
        tried = (("du", 0.0), ("dy", 0.01), ("du", 0.03))
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            with load():
                for number, (keys, delay_s) in enumerate(tried):
                    before = shop.cart.read_text()
                    step = (old, new) if old in before else (new, old)
                    await agent.read(str(shop.cart))
                    assert (await agent.edit(str(shop.cart), *step)).ok
                    await asyncio.sleep(delay_s)  # tried here, not waited for
                    terminal.keys(keys)
                    terminal.command(f"let g:typed = {number}")
                    await look(partial(terminal.until, f"get(g:, 'typed', -1) == {number}"))
                    # again as long as there are marks: the change may be marked only now
                    keep = "execute('silent Fileops keep file') ==# 'never'"
                    await look(partial(terminal.until, f"{MARKED} ==# '' || {keep}"))
                    assert shop.cart.read_text() in {before, before.replace(*step)}
                    same = "getline(1, '$') ==# readfile(expand('%:p'))"
                    await look(partial(terminal.until, f"mode(1) ==# 'n' && !&modified && {same}"))


async def test_daemon_that_hangs_or_ends_amid_a_decision_is_named_and_decides_no_more(
    nvim: Neovim, shared: Place, tmp_path: Path
) -> None:
    with scene(nvim, tmp_path, ask="protected", columns=80) as shop:
        terminal = shop.terminal
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            for old, new in (SHORTER_TOTAL, NO_FLOATS):
                assert (await agent.edit(str(shop.cart), old, new)).ok
        terminal.until(f"{MARKED} ==# '13,22'")
        edited, (daemon,) = shop.cart.read_text(), shared.daemons()
        os.kill(daemon, signal.SIGSTOP)
        terminal.keys("gg", "]", "c", "du")
        terminal.shows("the daemon has not answered about the undo of 1 change yet")
        assert shop.cart.read_text() == edited
        os.kill(daemon, signal.SIGCONT)
        terminal.until(f"{MARKED} ==# '25'")
        assert shop.cart.read_text() == CART.replace(*NO_FLOATS)
        os.kill(daemon, signal.SIGSTOP)
        terminal.keys("]", "c", "dy")
        terminal.command("let g:typed = 1")
        terminal.until("exists('g:typed')")
        os.kill(daemon, signal.SIGKILL)
        terminal.until("execute('messages') =~# 'ended before it answered'")
        shared.wait_for_end(daemon)
        terminal.until(f"{RUNS} && {MARKED} ==# '25'")
        assert "ENTER" not in terminal.text()
        terminal.keys("dy")
        terminal.until(f"{MARKED} ==# ''")
        assert shop.cart.read_text() == CART.replace(*NO_FLOATS)


async def test_first_edit_without_a_question_is_explained_once(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, ask="protected", columns=80) as shop:
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            assert (await agent.edit(str(shop.cart), *NO_FLOATS)).ok
            await look(lambda: shop.terminal.shows("edited: dy keep, du undo (:h fileops-keep)"))
            shop.terminal.command("messages clear")
            assert (await agent.edit(str(shop.cart), *SHORTER_TOTAL)).ok
            await look(lambda: shop.terminal.until(f"{MARKED} ==# '13,22'"))
        assert "dy keep" not in shop.terminal.ask("execute('messages')")
