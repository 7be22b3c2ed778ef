"""Two Neovims at one file and one daemon: both show what is to be decided, and one decision about it counts."""

import asyncio
import os
import signal
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, opened, scene
from clients.neovim.terminal import TYPED, Terminal
from clients.neovim.test_unkept import AGENT, MARKED, look
from clients.neovim.world import Neovim
from fileops_client import FileOpsClient
from support.daemon_process import Place

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

CHANGE = ("    count: int = 1\n", "    count: int = 0\n")


@contextmanager
def at_once(daemon: int, terminals: Iterable[Terminal]) -> Generator[None]:
    """The daemon takes what is typed in the meantime together, in any order."""
    os.kill(daemon, signal.SIGSTOP)
    try:
        yield
        for each in terminals:
            each.command("let g:is_typed = 1")
        for each in terminals:
            each.until("exists('g:is_typed')")
            each.command("unlet g:is_typed")
    finally:
        os.kill(daemon, signal.SIGCONT)


def said(terminals: Iterable[Terminal], *words: str) -> None:
    """Wait until each of the words was said in one of the terminals, and in no other; then forget what was said."""
    for word in words:

        def is_said(word: str = word) -> bool:
            return sum(word in each.ask("execute('messages')") for each in terminals) == 1

        Neovim.wait_for(is_said, word)
    for each in terminals:
        each.command("messages clear")
        each.until("execute('messages') ==# ''")


async def test_two_neovims_show_what_is_not_kept_and_one_decision_counts(
    nvim: Neovim, shared: Place, tmp_path: Path
) -> None:
    with (
        scene(nvim, tmp_path, ask="protected", columns=80) as shop,
        opened(
            nvim,
            shop.cart.parent,
            server={"approval_mode": "default"},
            columns=80,
            name="2",
        ) as two,
    ):
        one, (daemon,) = shop.terminal, shared.daemons()
        both = (one, two)

        def all_marked(lines: str) -> None:
            for each in both:
                each.until(f"{MARKED} ==# '{lines}'")

        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            for step, lines in ((CHANGE, "10"), (SHORTER_TOTAL, "10,13"), (NO_FLOATS, "10,13,22")):
                assert (await agent.edit(str(shop.cart), *step)).ok
                await look(partial(all_marked, lines))
        for each in both:
            each.command("messages clear")
            each.keys("gg", "]", "c")
            each.until("line('.') == 10")

        with at_once(daemon, both):
            one.keys("du")
            two.keys("du")
        said(both, "1 change undone", "nothing to undo")
        all_marked("13,22")
        assert shop.cart.read_text() == CART.replace(*SHORTER_TOTAL).replace(*NO_FLOATS)

        for each in both:
            each.keys("]", "c")
            each.until("line('.') == 13")
        with at_once(daemon, both):
            one.keys("dy")
            two.keys("dy")
        all_marked("22")
        kept = CART.replace(*SHORTER_TOTAL)
        assert shop.cart.read_text() == kept.replace(*NO_FLOATS)
        said(both, "1 change kept", "nothing to keep")

        # one types beside the last change, and saves later: its text counts, so the undo of the other is made there
        two.keys("gg", "O", "# typed", "Escape")
        two.until(TYPED)
        one.keys("]", "c", "du")
        said(both, "1 change undone in the unsaved text of another editor")
        all_marked("")
        two.until("search('not any', 'nw') == 0 && &modified")
        assert shop.cart.read_text() == kept.replace(*NO_FLOATS)
        two.command("w")
        one.until("search('not any', 'nw') == 0 && getline(1) ==# '# typed' && !&modified")
    assert shop.cart.read_text() == "# typed\n" + kept


async def test_two_neovims_show_a_review_and_one_that_ends_decides_nothing(
    nvim: Neovim, shared: Place, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "server": {"approval_mode": "default", "ask": "each_edit"}, "columns": 80,
    }  # fmt: skip
    with scene(nvim, tmp_path, columns=80) as shop:
        one, (daemon,) = shop.terminal, shared.daemons()
        async with FileOpsClient.start(AGENT, root=shop.cart.parent) as agent:
            await agent.read(str(shop.cart))
            with opened(nvim, shop.cart.parent, name="2", **settings) as two:
                both = (one, two)
                proposed = asyncio.create_task(agent.edit(str(shop.cart), *SHORTER_TOTAL))
                for each in both:
                    await look(partial(each.shows, "do accept"))
                    each.command("messages clear")
                    each.keys("/def total", "Enter")
                    each.until("line('.') == 13")
                with at_once(daemon, both):
                    one.command("Fileops accept")
                    two.command("Fileops reject change no")
                is_accepted = (await proposed).ok
                said(both, f"cart.py: {'accepted' if is_accepted else 'rejected'} in another Neovim")
                text = CART.replace(*SHORTER_TOTAL) if is_accepted else CART
                assert shop.cart.read_text() == text
                for each in both:
                    each.shows_no("do accept")

                proposed = asyncio.create_task(agent.edit(str(shop.cart), *NO_FLOATS))
                for each in both:
                    await look(partial(each.shows, "do accept"))
                one.keys("gg", "O", "# typed", "Escape")
                one.until(TYPED)
                two.command("qa!")
                nvim.wait_for(lambda: two.ask("1") == "", "its end")
            one.shows("# typed", "do accept")
            os.kill(int(one.ask("getpid()")), signal.SIGKILL)
            with opened(nvim, shop.cart.parent, name="3", **settings) as three:
                await look(partial(three.shows, "do accept"))
                assert not proposed.done()
                three.command("Fileops accept all")
                assert (await proposed).ok
                three.until("search('not any', 'nw') > 0 && !&modified")
                assert shop.cart.read_text() == text.replace(*NO_FLOATS)
