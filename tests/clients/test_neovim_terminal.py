"""A person at a terminal: reviews, marks and history in Neovim, all by keys, against the real daemon."""

from pathlib import Path

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, scene
from clients.neovim.world import Neovim, neovim

pytestmark = pytest.mark.timeout(200)  # a story of many keys, each of which is waited for

ONE_WINDOW = 'winnr("$") == 1'


@pytest.fixture(params=["floor", "new"])
def nvim(request: pytest.FixtureRequest, tmp_path: Path) -> Neovim:
    return neovim(request.param, tmp_path)


def test_a_review_comes_while_typing_and_takes_nothing(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        shop.terminal.keys("O", "# typed bef")
        shop.terminal.until("getline(1) ==# '# typed bef'")
        result = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("Review")
        shop.terminal.keys("ore the review", "Escape")
        shop.terminal.until("getline(1) ==# '# typed before the review' && mode() ==# 'n'")
        shop.terminal.command("Fileops reject")
        assert shop.result(result) == "rejected"
        shop.terminal.until(ONE_WINDOW)
        assert shop.cart.read_text() == CART


def test_the_whole_review_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        # one hunk is left out
        result = shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
        shop.terminal.shows("Review", "hunk 1/2", "hunk 2/2")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("]", "c", "Space")
        shop.terminal.shows("✗ hunk 2/2", "rejected")
        shop.terminal.keys("s")
        shop.terminal.until('winnr("$") == 3')
        shop.terminal.shows("╱╱╱")
        shop.terminal.keys("s", "a")
        assert shop.result(result) == "success"
        assert shop.cart.read_text() == CART.replace(*SHORTER_TOTAL)
        shop.terminal.until('join(getline(1, \'$\'), "\\n") .. "\\n" ==# join(readfile(\'cart.py\'), "\\n") .. "\\n"')
        shop.terminal.until("bufname() ==# 'cart.py' && !&modified")
        shop.terminal.command("Fileops close")
        shop.terminal.until(ONE_WINDOW)

        # the proposal is changed by hand
        result = shop.propose("agent-1", NO_FLOATS)
        shop.terminal.shows("Review")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("e")
        shop.terminal.until("tabpagenr('$') == 2 && &diff")
        shop.terminal.keys("/not any", "Enter", "ccl", "    return all(line.price == 0 for line in lines)", "Escape")
        shop.terminal.command("w")
        assert shop.result(result) == "success"
        assert "    return all(line.price == 0 for line in lines)\n" in shop.cart.read_text()
        shop.terminal.until("tabpagenr('$') == 1 && bufname() ==# 'cart.py'")
        shop.terminal.command("Fileops close")

        # two agents: one is told no, the other is trusted from now on
        results = [shop.propose("agent-1", ('"""A cart and what it costs."""', '"""A cart."""'))]
        shop.terminal.shows("Review", "agent-1")
        results.append(shop.propose("agent-2", ("class Line:", "class Item:")))
        shop.terminal.shows("Review 1/2")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("r")
        shop.terminal.shows("agent-2")
        shop.terminal.keys("A")
        assert [shop.result(number) for number in results] == ["rejected", "success"]
        assert shop.result(shop.propose("agent-2", ("count: int = 1", "count: int = 0"))) == "success"
        assert "class Item:" in shop.cart.read_text()
        assert "count: int = 0" in shop.cart.read_text()

        # what was changed stays marked until that is dismissed
        shop.terminal.command("Fileops close")
        shop.terminal.keys("g", "g")
        shop.terminal.command("Fileops next")
        shop.terminal.until("getline('.') =~# 'class Item'")
        shop.terminal.shows("▎")
        shop.terminal.command("Fileops dismiss")
        shop.terminal.shows_no("▎")
        shop.terminal.until(ONE_WINDOW)


def test_commands_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        built = shop.cart.parent / "built"
        first = shop.run("agent-1", "echo once >> built", "Build it")
        shop.terminal.shows("Command agent-1 wants to run this", "echo once >> built", "Build it", "a run once")
        shop.terminal.until("bufname() ==# 'cart.py'")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("a")
        assert shop.result(first) == "success"
        assert built.read_text() == "once\n"
        shop.terminal.until(ONE_WINDOW)

        # allowed for always, it is not asked about again; another one is
        second = shop.run("agent-1", "echo more >> built", "")
        shop.terminal.shows("echo more", "the agent does not say")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("A")
        assert shop.result(second) == "success"
        assert shop.result(shop.run("agent-1", "echo more >> built", "")) == "success"
        assert built.read_text() == "once\nmore\nmore\n"

        # it waits in one queue with edits
        edit = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("Review")
        command = shop.run("agent-2", "rm built", "Clean up")
        shop.terminal.shows("Review 1/2")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("]", "r")
        shop.terminal.shows("Command 2/2", "rm built", "Clean up")
        shop.terminal.keys("r")
        assert shop.result(command) == "rejected"
        shop.terminal.shows("Review cart.py")
        shop.terminal.keys("r")
        assert shop.result(edit) == "rejected"
        shop.terminal.until(ONE_WINDOW)

        # the agent takes it back while the person looks at it; the cursor goes where it was
        last = shop.run("agent-1", "rm built", "Clean up")
        shop.terminal.shows("rm built")
        shop.terminal.command("Fileops review")
        shop.terminal.until("bufname() =~# 'command'")
        shop.cancel(last)
        assert shop.result(last) == "error -32800"
        shop.terminal.until(f"{ONE_WINDOW} && bufname() ==# 'cart.py'")
        assert built.read_text() == "once\nmore\nmore\n"

        # the person leaves
        shop.run("agent-1", "rm built", "Clean up")
        shop.terminal.shows("rm built")
        pid = int(shop.terminal.ask("luaeval('require(\"fileops.daemon\").client().rpc.pid()')"))
        shop.terminal.command("qa!")
        nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert built.exists()


def test_history_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, approval_mode="yolo") as shop:
        for step in (SHORTER_TOTAL, NO_FLOATS):
            assert shop.result(shop.propose("agent-1", step)) == "success"
        shop.terminal.keys("gg", "O", "# typed since", "Escape")
        shop.terminal.command("w")
        shop.terminal.until("readfile('cart.py')[0] ==# '# typed since'")
        shop.terminal.command("Fileops history")
        shop.terminal.shows("History", "not any")
        shop.terminal.keys("j", "u")
        shop.terminal.shows("one edit was taken back")
        assert shop.cart.read_text() == "# typed since\n" + CART.replace(*NO_FLOATS)
        shop.terminal.keys("U")
        shop.terminal.shows("↶")
        nvim.wait_for(lambda: shop.cart.read_text() == "# typed since\n" + CART, "the session to be undone")
        shop.terminal.keys("q")

        def is_closed() -> bool:  # the pane of the last undo may open behind the first `close`
            shop.terminal.command("Fileops close")
            return shop.terminal.ask(ONE_WINDOW) == "1"

        nvim.wait_for(is_closed, "the panes to close")


def test_leaving_neovim_rejects_what_waits(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        pid = int(shop.terminal.ask("luaeval('require(\"fileops.daemon\").client().rpc.pid()')"))
        shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("Review")
        shop.terminal.command("qa!")
        nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert shop.cart.read_text() == CART
