"""A person at a terminal decides in the text of a file, by keys, also at the moment a review comes or goes."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, Scene, scene
from clients.neovim.test_terminal import load
from clients.neovim.world import Neovim, neovim, on_both
from fileops_client import FileOpsClient, edit_file

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

IS_READ = "luaeval('require(\"fileops.review.text\").is_read(vim.api.nvim_get_current_buf()) and 1 or 0')"
IS_AWAY = "luaeval('require(\"fileops.ui.notice\").is_away() and 1 or 0')"
N_WAITING = "luaeval('#require(\"fileops.review.queue\").waiting()')"
TEXT = 'join(getline(1, \'$\'), "\\n") .. "\\n"'
NORMAL = "mode(1) ==# 'n' && winnr('$') == 1"


@on_both
def test_changes_are_decided_in_the_text_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, columns=80) as shop:
        result = shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
        shop.terminal.shows("agent-1 1/", "do accept  dr reject", "return sum(line.price", "not any(line.price")
        shop.terminal.until(NORMAL)
        shop.terminal.until(IS_READ)
        shop.terminal.keys("gg", "]", "c", "]", "c")
        shop.terminal.until("getline('.') =~# 'total(lines) == 0'")
        shop.terminal.keys("dr")
        shop.terminal.shows("rejected")
        shop.terminal.keys("gg", "O", "# typed beside it", "Escape")
        shop.terminal.command("Fileops accept file")
        assert shop.result(result) == "success"
        edited = "# typed beside it\n" + CART.replace(*SHORTER_TOTAL)
        shop.terminal.until(f"{TEXT} ==# {vim_string(edited)}")
        shop.terminal.until(NORMAL)
        shop.terminal.shows_no("agent-1 ")


def test_review_of_a_file_with_mixed_line_ends_is_shown_at_its_place(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, columns=80) as shop:
        # The blank line before the last function ends in LF, those before the others in CRLF: compared with their ends,
        # it is the one before `describe`.
        text = CART.replace("\n", "\r\n").replace("return sum\r", "return sum").replace("\r\ndef is", "\ndef is")
        shop.cart.write_bytes(text.encode())
        shop.terminal.until("getline(3) =~# '\\r$'")
        result = shop.propose("agent-1", ("def describe(lines)", "def names(lines)"))
        shop.terminal.shows("agent-1 1/1")
        shop.terminal.until(IS_READ)
        shop.terminal.keys("gg", "]", "c")
        shop.terminal.until("getline('.') =~# '^def describe'")
        shop.terminal.keys("do")
        assert shop.result(result) == "success"
        shop.terminal.until("search('def names', 'nw') > 0 && !&modified")


@on_both
def test_heading_above_the_first_line_is_shown_after_each_jump_there(nvim: Neovim, tmp_path: Path) -> None:
    first = '"""A cart and what it costs."""\n'
    with scene(nvim, tmp_path, columns=80) as shop:
        shop.cart.write_text(CART + "\n" * 100)
        shop.terminal.until("line('$') > 100")
        shop.propose("agent-1", (first, first.replace("cart", "basket")))
        shop.terminal.shows("agent-1 1/1")
        shop.terminal.keys("G")
        shop.terminal.shows_no("agent-1 1/1")
        shop.terminal.keys("gg")
        shop.terminal.shows("agent-1 1/1")
        shop.terminal.keys("C-e")
        shop.terminal.shows_no("agent-1 1/1")
        shop.terminal.command("enew")
        shop.terminal.command("buffer cart.py")
        shop.terminal.shows("agent-1 1/1")
        shop.terminal.keys("G")
        shop.terminal.shows_no("agent-1 1/1")
        shop.terminal.keys("]", "c")
        shop.terminal.shows("agent-1 1/1")


def vim_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@pytest.mark.parametrize("keys", ["do", "dr", "]c"])
def test_key_that_comes_with_a_review_does_nothing_else(nvim: Neovim, tmp_path: Path, keys: str) -> None:
    """It decides on the review, or nothing; it is never a command of Neovim's. So when the review goes."""
    step, back = SHORTER_TOTAL, (SHORTER_TOTAL[1], SHORTER_TOTAL[0])
    with scene(nvim, tmp_path) as shop:
        shop.terminal.keys("/def total", "Enter")
        shop.terminal.until("line('.') == 13")
        for number, delay_s in enumerate((0.0, 0.01, 0.03)):
            before = shop.cart.read_text()
            with load():
                result = shop.propose("agent-1", step if before == CART else back)
                time.sleep(delay_s)  # tried here, not waited for
                shop.terminal.keys(keys)
                typed_all(shop, 2 * number)
                shop.terminal.until(f"{N_WAITING} == 1 || v:lua.Agent.result({result}) !=# ''")
                shop.terminal.command("Fileops reject file")
                shop.terminal.keys(keys)  # the review has gone by now, or has not yet
                typed_all(shop, 2 * number + 1)
                outcome = shop.result(result)
            edited = before.replace(*(step if before == CART else back))
            assert outcome == "success" or shop.cart.read_text() == before
            assert outcome == "rejected" or shop.cart.read_text() == edited
            shop.terminal.until(f"{NORMAL} && !&modified && {TEXT} ==# {vim_string(shop.cart.read_text())}")


async def test_key_that_comes_with_the_review_of_a_set_does_nothing_else(tmp_path: Path) -> None:
    nvim = neovim("new", tmp_path)
    with scene(nvim, tmp_path) as shop:
        stock = shop.cart.with_name("stock.py")
        stock.write_text(CART)
        shop.terminal.keys("/def total", "Enter")
        shop.terminal.until("line('.') == 13")
        async with FileOpsClient.start([sys.executable, "-m", "fileops", "attach"], root=shop.cart.parent) as agent:
            with load():
                for number, (keys, delay_s) in enumerate((("do", 0.0), ("do", 0.01), ("dr", 0.03))):
                    await agent.read(str(shop.cart))
                    await agent.read(str(stock))
                    edits = [edit_file(shop.cart, SHORTER_TOTAL), edit_file(stock, SHORTER_TOTAL)]
                    proposed = asyncio.create_task(agent.apply_changes(edits))
                    await asyncio.sleep(delay_s)  # tried here, not waited for
                    shop.terminal.keys(keys)
                    await asyncio.to_thread(typed_all, shop, 2 * number)
                    await asyncio.to_thread(shop.terminal.until, f"{N_WAITING} > 0")
                    shop.terminal.command("Fileops reject all")
                    shop.terminal.keys(keys)  # the review has gone by now, or has not yet
                    await asyncio.to_thread(typed_all, shop, 2 * number + 1)
                    assert (await proposed).code == "rejected"
                    assert (shop.cart.read_text(), stock.read_text()) == (CART, CART)
                    same = f"&buftype ==# '' && !&modified && {TEXT} ==# {vim_string(CART)}"
                    await asyncio.to_thread(shop.terminal.until, f"mode(1) ==# 'n' && {same}")


def typed_all(shop: Scene, number: int) -> None:
    """Wait until Neovim has taken all keys that were typed before this."""
    shop.terminal.command(f"let g:typed = {number}")
    shop.terminal.until(f"get(g:, 'typed', -1) == {number}")


def test_terminal_shows_a_notice_while_the_user_looks_elsewhere(nvim: Neovim, tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.touch()
    with scene(nvim, tmp_path) as shop:
        shop.terminal.record(sent)
        first = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("agent-1 1/1")
        shop.terminal.command("Fileops reject file")
        assert shop.result(first) == "rejected"
        nvim.wait_for(lambda: b"agent-1" in sent.read_bytes(), "what the terminal was sent")
        assert b"\x1b]9;" not in sent.read_bytes()
        shop.terminal.command("doautocmd FocusLost")
        shop.terminal.until(IS_AWAY)  # keys arrive later than requests
        shop.propose("agent-1", NO_FLOATS)
        nvim.wait_for(lambda: b"\x1b]9;fileops: 1 to review\x1b\\" in sent.read_bytes(), "the notice")
