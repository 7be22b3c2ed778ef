"""A person at a terminal: reviews, marks and history in Neovim, all by keys, against the real daemon."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, Scene, scene
from clients.neovim.terminal import terminal
from clients.neovim.world import Neovim, neovim

pytestmark = pytest.mark.timeout(200)  # a story of many keys, each of which is waited for

ONE_WINDOW = 'winnr("$") == 1'
PID = "luaeval('(require(\"fileops.client.process\").client() or {rpc = {pid = function() return 0 end}}).rpc.pid()')"
STATUS = "luaeval('require(\"fileops.client.process\").state.status')"


@pytest.fixture(params=["floor", "new"])
def nvim(request: pytest.FixtureRequest, tmp_path: Path) -> Neovim:
    return neovim(request.param, tmp_path)


def test_review_that_opens_while_typing_takes_no_key(nvim: Neovim, tmp_path: Path) -> None:
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


def test_review_works_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        # one change is left out
        result = shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
        shop.terminal.shows("Review", "change 1/2", "change 2/2")
        shop.terminal.command("Fileops review")
        shop.terminal.keys("]", "c", "Space")
        shop.terminal.shows("✗ change 2/2", "rejected")
        shop.terminal.keys("s")
        shop.terminal.until('winnr("$") == 3')
        shop.terminal.shows("╱╱╱")
        shop.terminal.keys("s", "a")
        assert shop.result(result) == "success"
        assert shop.cart.read_text() == CART.replace(*SHORTER_TOTAL)
        shop.terminal.until('join(getline(1, \'$\'), "\\n") .. "\\n" ==# join(readfile(\'cart.py\'), "\\n") .. "\\n"')
        shop.terminal.until("bufname() ==# 'cart.py' && !&modified")
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

        # two agents: one is rejected, the other is trusted from now on
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
        shop.terminal.shows("▎")
        shop.terminal.keys("g", "g")
        shop.terminal.command("Fileops next-unkept")
        # with a record, what the person has accepted counts as kept
        marked = "count: int = 0" if nvim.shares_daemon else "class Item"
        shop.terminal.until(f"getline('.') =~# '{marked}'")
        shop.terminal.command("Fileops dismiss")
        shop.terminal.shows_no("▎")
        shop.terminal.until(ONE_WINDOW)


def test_command_approval_works_by_keys(nvim: Neovim, tmp_path: Path) -> None:
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

        # the agent takes it back while the person looks at it: the next key does nothing but go on
        last = shop.run("agent-1", "rm built", "Clean up")
        shop.terminal.shows("rm built")
        shop.terminal.command("Fileops review")
        shop.terminal.until("bufname() =~# 'command'")
        shop.cancel(last)
        assert shop.result(last) == "error -32800"
        shop.terminal.shows("nothing of it was done")
        shop.terminal.keys("a")
        shop.terminal.until(f"{ONE_WINDOW} && bufname() ==# 'cart.py' && mode() ==# 'n'")
        assert built.read_text() == "once\nmore\nmore\n"

        # the person leaves
        shop.run("agent-1", "rm built", "Clean up")
        shop.terminal.shows("rm built")
        pid = int(shop.terminal.ask("luaeval('require(\"fileops.client.process\").client().rpc.pid()')"))
        shop.terminal.command("qa!")
        nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert built.exists()


def test_history_works_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, approval_mode="yolo") as shop:
        for step in (SHORTER_TOTAL, NO_FLOATS):
            assert shop.result(shop.propose("agent-1", step)) == "success"
        shop.terminal.keys("gg", "O", "# typed since", "Escape")
        shop.terminal.command("w")
        shop.terminal.until("readfile('cart.py')[0] ==# '# typed since'")
        shop.terminal.command("Fileops history")
        shop.terminal.shows("History", "not any")
        shop.terminal.keys("j", "u")
        shop.terminal.shows("one edit was undone", " you ")
        assert shop.cart.read_text() == "# typed since\n" + CART.replace(*NO_FLOATS)
        shop.terminal.keys("U")
        shop.terminal.shows("↶")
        nvim.wait_for(lambda: shop.cart.read_text() == "# typed since\n" + CART, "the session to be undone")
        shop.terminal.keys("q")
        shop.terminal.until(ONE_WINDOW)


def test_quitting_neovim_during_a_review_writes_nothing(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        pid = int(shop.terminal.ask("luaeval('require(\"fileops.client.process\").client().rpc.pid()')"))
        shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("Review")
        shop.terminal.command("qa!")
        nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert shop.cart.read_text() == CART


def test_decision_near_typed_text_is_asked_for_again(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, columns=110) as shop:
        result = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("Review", "undecided")
        shop.terminal.keys("/def total", "Enter", "O", "# typed meanwhile", "Escape")
        shop.terminal.shows("changed since", "undecided")
        shop.terminal.command("Fileops accept")
        shop.terminal.shows("cart.py is not decided: line 13 changed too; check it again", "decided before; line 13")
        assert shop.result_now(result) == ""
        shop.terminal.command("Fileops accept")
        assert shop.result(result) == "success"
        shop.terminal.until(
            "getline(13) ==# '# typed meanwhile' && getline(14) =~# '^def total(lines: list' && &modified"
        )
        assert shop.cart.read_text() == CART  # what was typed is not saved


def test_marks_follow_the_users_undo(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, approval_mode="yolo") as shop:
        assert shop.result(shop.propose("agent-1", SHORTER_TOTAL)) == "success"
        shop.terminal.until(ONE_WINDOW)
        shop.terminal.shows("▎", "sum = 0")
        shop.terminal.keys("u")
        shop.terminal.shows_no("▎")
        shop.terminal.until("search('sum = 0', 'nw') > 0")
        assert shop.terminal.text().count("sum = 0") == 1
        shop.terminal.keys("C-r")
        shop.terminal.shows("▎", "sum = 0")
        shop.terminal.command("e!")
        shop.terminal.shows_no("▎")


def test_killed_daemon_blocks_no_input_and_is_restarted(nvim: Neovim, tmp_path: Path) -> None:
    """No prompt waits for a key: Neovim answers, the agent is answered, the daemon runs again."""
    with scene(nvim, tmp_path, columns=80) as shop:
        result = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("Review")
        pid = int(shop.terminal.ask(PID))
        os.kill(pid, signal.SIGKILL)
        assert "ended before it answered" in shop.result(result)
        shop.terminal.until(f"{STATUS} ==# 'running' && {PID} != {pid}")
        assert shop.terminal.ask("mode()") == "n"
        shop.terminal.shows("the daemon ended unexpectedly and is started again")
        assert "ENTER" not in shop.terminal.text()
        assert shop.cart.read_text() == CART
        # once more than it is started again for
        for _ in range(3):
            pid = int(shop.terminal.ask(PID))
            os.kill(pid, signal.SIGKILL)
            shop.terminal.until(f"{STATUS} ==# 'failed' || ({STATUS} ==# 'running' && {PID} != {pid})")
        shop.terminal.shows("stays down: :Fileops restart")
        assert shop.terminal.ask("mode()") == "n"
        assert "ENTER" not in shop.terminal.text()


WRONG = "lua vim.g.fileops = {cmd = {'/nowhere/fileops-server'}, autostart = %s}"


@pytest.mark.parametrize("arguments", [(), ("--cmd", WRONG % "false"), ("--cmd", WRONG % "true")])
def test_missing_daemon_is_reported_in_one_line(nvim: Neovim, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    nvim.environment["HOME"] = str(tmp_path)
    with terminal(nvim, workspace, "--cmd", "let $PATH = '/nowhere'", *arguments, columns=80) as running:
        if "true" not in str(arguments):
            running.command("Fileops tools")
        running.shows("fileops: no daemon")
        running.until("mode() ==# 'n'")
        shown = running.text()
        assert shown.count("no daemon") == 1
        assert "ENTER" not in shown
        if not arguments:
            assert "pipx install " in shown


@contextmanager
def load() -> Generator[None]:
    """As many busy processes as the machine has processors, and one more."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def hit(shop: Scene, key: str, delay_s: float) -> None:
    """As a person whose fingers are that fast; a delay is what is tried here, nothing is waited for by it."""
    time.sleep(delay_s)
    shop.terminal.keys(key)


def test_accept_key_runs_no_other_command(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        steps = (SHORTER_TOTAL, (SHORTER_TOTAL[1], SHORTER_TOTAL[0]), SHORTER_TOTAL)
        for delay_s, step in zip((0.0, 0.01, 0.03), steps, strict=True):
            accept_at_once(shop, step, delay_s)
            for key in ("a", "A"):
                decide_while_taken_back(shop, key, delay_s)


def accept_at_once(shop: Scene, step: tuple[str, str], delay_s: float) -> None:
    """The key comes right after the way into the review."""
    expected = shop.cart.read_text().replace(*step)
    result = shop.propose("agent-1", step)
    shop.terminal.shows("Review")
    with load():
        shop.terminal.command("Fileops review")
        hit(shop, "a", delay_s)
        assert shop.result(result) == "success"
    shop.terminal.until("mode() ==# 'n' && !&modified")
    assert shop.cart.read_text() == expected


def decide_while_taken_back(shop: Scene, key: str, delay_s: float) -> None:
    """The key comes while the agent takes its command back, with another one waiting."""
    standing = shop.cart.read_text()
    first = shop.run("agent-1", "touch first", "")
    shop.terminal.shows("touch first")
    second = shop.run("agent-2", "touch second", "")
    shop.terminal.shows("Command 1/2")
    with load():
        shop.terminal.command("Fileops review")
        shop.terminal.until("bufname() =~# 'command'")
        shop.cancel(first)
        hit(shop, key, delay_s)
        assert shop.result(first) in {"error -32800", "success"}
        # in either order: the key decided on the first command or on nothing
        shop.terminal.until("mode() ==# 'n' && bufname() =~# 'fileops://review'")
    assert shop.result_now(second) == ""
    assert not (shop.cart.parent / "second").exists()
    if "nothing of it was done" in shop.terminal.text():
        shop.terminal.keys("q")
    shop.terminal.shows("touch second")
    shop.terminal.keys("r")
    assert shop.result(second) == "rejected"
    shop.terminal.until(f"{ONE_WINDOW} && mode() ==# 'n'")
    assert shop.cart.read_text() == standing
    assert shop.terminal.ask("&modified") == "0"


def test_long_notice_is_cut_to_one_line(nvim: Neovim, tmp_path: Path) -> None:
    with terminal(nvim, tmp_path, columns=80) as running:
        for level in ("info", "warn", "error"):
            running.command(f"lua require('fileops.ui.messages').{level}('{level} ' .. ('too long '):rep(40))")
            running.shows(f"fileops: {level} too long", "… (:Fileops log)")
            running.until("mode() ==# 'n'")
            assert "ENTER" not in running.text()
        brief = "'not shared (:Fileops status)'"
        running.command(f"lua require('fileops.ui.messages').warn('not shared: ' .. ('why '):rep(40), {brief})")
        running.shows("fileops: not shared (:Fileops status)")
