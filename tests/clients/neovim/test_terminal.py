"""A person at a terminal: reviews, commands and history in Neovim, all by keys, against the real daemon."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, scene
from clients.neovim.terminal import terminal
from clients.neovim.world import Neovim, on_both

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

ONE_WINDOW = 'winnr("$") == 1'
PID = "luaeval('(require(\"fileops.client.process\").client() or {rpc = {pid = function() return 0 end}}).rpc.pid()')"
N_WAITING = "luaeval('#require(\"fileops.review.queue\").waiting()')"
STATUS = "luaeval('require(\"fileops.client.process\").state.status')"


def test_review_that_comes_while_typing_takes_no_key(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        shop.terminal.keys("O", "# typed bef")
        shop.terminal.until("getline(1) ==# '# typed bef'")
        result = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("do accept  dr reject")
        shop.terminal.keys("ore the review", "Escape")
        shop.terminal.until("getline(1) ==# '# typed before the review' && mode() ==# 'n'")
        shop.terminal.command("Fileops reject file")
        assert shop.result(result) == "rejected"
        shop.terminal.until(ONE_WINDOW)
        assert shop.cart.read_text() == CART


@on_both
def test_files_that_are_not_open_are_reviewed_by_keys_in_diff_mode(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        names = ["a", "b", "new"]
        files = [shop.cart.with_name(f"{name}.py") for name in names]
        for file in files[:2]:
            file.write_text(CART)
        results: list[int] = []
        for file in files[:2]:  # one after the other: the oldest is shown first
            results.append(shop.propose(f"agent-{file.stem}", SHORTER_TOTAL, NO_FLOATS, path=file))
            shop.terminal.until(f"{N_WAITING} == {len(results)}")
        results.append(shop.propose("agent-new", ("", "x = 1\n"), path=files[2]))
        shop.terminal.until(f"{N_WAITING} == 3")
        shop.terminal.until(ONE_WINDOW)  # nothing opens by itself

        # one change is left out, one is typed, and the new file is as proposed; each leads to the next
        shop.terminal.command("Fileops review")
        shop.terminal.until("&diff && bufname() =~# 'a.py$'")
        shop.terminal.shows(":w accepts")
        shop.terminal.keys("do")
        shop.terminal.command("w")
        assert shop.result(results[0]) == "success"
        assert files[0].read_text() == CART.replace(*NO_FLOATS)
        shop.terminal.until("&diff && bufname() =~# 'b.py$'")
        shop.terminal.keys("/not any", "Enter", "ccl", "    return all(line.price == 0 for line in lines)", "Escape")
        shop.terminal.command("w")
        assert shop.result(results[1]) == "success"
        assert "    return all(line.price == 0 for line in lines)\n" in files[1].read_text()
        shop.terminal.until("bufname() =~# 'new.py$'")
        shop.terminal.command("w")
        assert shop.result(results[2]) == "success"
        assert files[2].read_text() == "x = 1\n"
        shop.terminal.until(f"tabpagenr('$') == 1 && bufname() ==# 'cart.py' && {ONE_WINDOW}")


@on_both
def test_command_approval_works_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        built = shop.cart.parent / "built"
        first = shop.run("agent-1", "echo once >> built", "Build it")
        shop.terminal.shows("agent-1 wants to run $ echo once >> built  (:Fileops review)")
        shop.terminal.until("bufname() ==# 'cart.py'")
        shop.terminal.command("Fileops review")
        shop.terminal.shows("# agent-1 wants to run this in", "# Build it", "# do runs it once, dr rejects it")
        shop.terminal.keys("do")
        assert shop.result(first) == "success"
        assert built.read_text() == "once\n"
        shop.terminal.until(ONE_WINDOW)

        # allowed for always, it is not asked about again; another one is
        second = shop.run("agent-1", "echo more >> built", "")
        shop.terminal.shows("echo more")
        shop.terminal.command("Fileops review")
        shop.terminal.shows("# The agent does not say why.")
        shop.terminal.command("Fileops accept always")
        assert shop.result(second) == "success"
        assert shop.result(shop.run("agent-1", "echo more >> built", "")) == "success"
        assert built.read_text() == "once\nmore\nmore\n"

        # the agent takes it back while the person looks at it: the next key decides nothing
        last = shop.run("agent-1", "rm built", "Clean up")
        shop.terminal.shows("rm built")
        shop.terminal.command("Fileops review")
        shop.terminal.until("bufname() =~# 'command'")
        shop.cancel(last)
        assert shop.result(last) == "error -32800"
        shop.terminal.shows("nothing of it was run from here")
        shop.terminal.keys("do")
        shop.terminal.shows("this command is not asked about any more")
        shop.terminal.command("close")
        shop.terminal.until(f"{ONE_WINDOW} && bufname() ==# 'cart.py' && mode() ==# 'n'")
        assert built.read_text() == "once\nmore\nmore\n"

        # the person leaves
        shop.run("agent-1", "rm built", "Clean up")
        shop.terminal.shows("rm built")
        pid = int(shop.terminal.ask("luaeval('require(\"fileops.client.process\").client().rpc.pid()')"))
        shop.terminal.command("qa!")
        nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert built.exists()


@on_both
def test_history_works_by_keys(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, approval_mode="yolo") as shop:
        for step in (SHORTER_TOTAL, NO_FLOATS):
            assert shop.result(shop.propose("agent-1", step)) == "success"
        shop.terminal.keys("gg", "O", "# typed since", "Escape")
        shop.terminal.command("w")
        shop.terminal.until("readfile('cart.py')[0] ==# '# typed since'")
        shop.terminal.command("Fileops history cart.py")
        shop.terminal.shows("History", "cart.py +2 −5", "(q or empty cancels)")
        (number,) = re.findall(r"^(\d+): .* cart\.py \+2 −5", shop.terminal.text(), re.MULTILINE)
        shop.terminal.keys(number, "Enter")
        shop.terminal.shows("2: Undo it")
        shop.terminal.keys("2", "Enter")
        shop.terminal.shows("undone (:Fileops redo takes that back)")
        assert shop.cart.read_text() == "# typed since\n" + CART.replace(*NO_FLOATS)
        shop.terminal.command("Fileops redo")
        both = CART.replace(*SHORTER_TOTAL).replace(*NO_FLOATS)
        nvim.wait_for(lambda: shop.cart.read_text() == "# typed since\n" + both, "the redo")


def test_message_after_a_list_of_choices_waits_for_no_key(nvim: Neovim, tmp_path: Path) -> None:
    """Until a key is pressed, Neovim would answer no request."""
    with scene(nvim, tmp_path) as shop:
        say = "function() require('fileops.ui.messages').info('done') end"
        shop.terminal.command(f"lua vim.ui.select({{'one', 'two'}}, {{}}, {say})")
        shop.terminal.shows("2: two")
        shop.terminal.keys("1", "Enter")
        shop.terminal.until("mode() ==# 'n'")
        shop.terminal.shows("fileops: done")
        shop.terminal.shows_no("Press ENTER")


def test_quitting_neovim_during_a_review_writes_nothing(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        pid = int(shop.terminal.ask("luaeval('require(\"fileops.client.process\").client().rpc.pid()')"))
        shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("do accept")
        shop.terminal.command("qa!")
        nvim.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the daemon to end")
        assert shop.cart.read_text() == CART


def test_decision_near_typed_text_is_asked_for_again(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path, columns=110) as shop:
        result = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("do accept")
        shop.terminal.keys("/def total", "Enter", "O", "# typed meanwhile", "Escape")
        shop.terminal.until("getline('.') ==# '# typed meanwhile' && mode() ==# 'n'")
        shop.terminal.command("Fileops accept file")
        shop.terminal.shows("cart.py is not decided: line 13 changed too; check it again", "decided before; line 13")
        assert shop.result_now(result) == ""
        shop.terminal.command("Fileops accept file")
        assert shop.result(result) == "success"
        shop.terminal.until(
            "getline(13) ==# '# typed meanwhile' && getline(14) =~# '^def total(lines: list' && &modified"
        )
        assert shop.cart.read_text() == CART  # what was typed is not saved


def test_accepted_change_is_one_step_of_neovims_undo(nvim: Neovim, tmp_path: Path) -> None:
    with scene(nvim, tmp_path) as shop:
        result = shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
        shop.terminal.shows("agent-1 2/2")
        shop.terminal.command("Fileops accept file")
        assert shop.result(result) == "success"
        shop.terminal.until("search('sum = 0', 'nw') == 0 && search('not any', 'nw') > 0")
        shop.terminal.keys("u")
        shop.terminal.until("search('sum = 0', 'nw') > 0 && search('not any', 'nw') == 0")
        shop.terminal.keys("C-r")
        shop.terminal.until("search('sum = 0', 'nw') == 0 && search('not any', 'nw') > 0")


def test_killed_daemon_blocks_no_input_and_is_restarted(nvim: Neovim, tmp_path: Path) -> None:
    """No prompt waits for a key: Neovim answers, the agent is answered, the daemon runs again."""
    with scene(nvim, tmp_path, columns=80) as shop:
        result = shop.propose("agent-1", SHORTER_TOTAL)
        shop.terminal.shows("do accept")
        pid = int(shop.terminal.ask(PID))
        os.kill(pid, signal.SIGKILL)
        assert "ended before it answered" in shop.result(result)
        shop.terminal.until(f"{STATUS} ==# 'running' && {PID} != {pid}")
        assert shop.terminal.ask("mode()") == "n"
        shop.terminal.until("execute('messages') =~# 'the daemon has ended and is being restarted'")
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
            running.command("Fileops agents")
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
