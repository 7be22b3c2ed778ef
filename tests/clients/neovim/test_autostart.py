"""Neovim attaches by itself when a person opens a file of a project, and is never held up by that."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clients.neovim.terminal import Terminal, terminal
from clients.neovim.test_unkept import MARKED
from clients.neovim.world import NO_PYTHON, PLUGIN, Neovim, neovim, on_both
from fileops_client import FileOpsClient
from support.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(900)  # a story of many keys, each of which is waited for

STATUS = 'luaeval(\'(package.loaded["fileops.client.process"] or {state = {status = "not loaded"}}).state.status\')'
DAEMON = [sys.executable, "-m", "fileops"]
AGENT = [*DAEMON, "attach"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "cart.py").write_text("one = 1\ntwo = 2\n")
    (folder / ".git" / "COMMIT_EDITMSG").write_text("\n")
    (tmp_path / "alone.py").write_text("alone = 1\n")
    return folder


def settings(nvim: Neovim, more: dict[str, object] | None = None) -> tuple[str, str]:
    given = {"cmd": DAEMON, "shared": nvim.shares_daemon, **(more or {})}
    return "--cmd", f"lua vim.g.fileops = vim.json.decode([==[{json.dumps(given)}]==])"


@contextmanager
def opened(nvim: Neovim, project: Path, *arguments: str) -> Generator[Terminal]:
    with terminal(nvim, project, *arguments, columns=80) as running:
        yield running


def gated(tmp_path: Path) -> tuple[list[str], Path]:
    """A daemon's command that begins when a file appears, and that file."""
    gate = tmp_path / "gate"
    wait = f'until test -e {shlex.quote(str(gate))}; do sleep 0.02; done; exec {shlex.join(DAEMON)} "$@"'
    return ["sh", "-c", wait, "daemon"], gate


@on_both
def test_first_file_of_a_project_attaches(nvim: Neovim, project: Path) -> None:
    with opened(nvim, project, *settings(nvim), "cart.py") as running:
        running.until(f"{STATUS} ==# 'running'")
        assert running.ask("luaeval('require(\"fileops.client.process\").state.root')") == str(project)
        assert "ENTER" not in running.text()


def test_project_of_the_file_is_the_workspace_where_the_working_directory_has_none(nvim: Neovim, project: Path) -> None:
    nvim.environment["GIT_CEILING_DIRECTORIES"] = str(project.parent)
    nvim.start_daemon()
    with terminal(nvim, project.parent, *settings(nvim), columns=80) as running:
        running.command("edit shop/cart.py")
        running.until(f"{STATUS} ==# 'running'")
        assert running.ask("luaeval('require(\"fileops.client.process\").state.root')") == str(project)


@pytest.mark.parametrize(
    ("file", "more"),
    [("../alone.py", {}), (".git/COMMIT_EDITMSG", {}), ("cart.py", {"autostart": False}), ("", {})],
)
def test_nothing_is_started_where_no_project_is_edited(
    nvim: Neovim, project: Path, file: str, more: dict[str, object]
) -> None:
    with opened(nvim, project, *settings(nvim, more), *([file] if file else [])) as running:
        running.until("v:vim_did_enter")
        running.command("let g:later = 1")
        running.until("get(g:, 'later')")
        assert running.ask(STATUS) in {"stopped", "not loaded"}


def test_script_that_edits_a_project_starts_nothing(nvim: Neovim, project: Path) -> None:
    done = subprocess.run(
        [
            nvim.program,
            "--clean",
            "--headless",
            "-n",
            "--cmd",
            f"set rtp^={PLUGIN}",
            "--cmd",
            NO_PYTHON,
            *settings(nvim),
            "cart.py",
            "-c",
            f"echo {STATUS}",
            "-c",
            "qa!",
        ],
        cwd=project,
        env=nvim.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.stderr == "not loaded"


def test_daemon_that_was_stopped_is_not_started_by_the_next_file(nvim: Neovim, project: Path) -> None:
    (project / "other.py").write_text("")
    nvim.start_daemon()
    with opened(nvim, project, *settings(nvim), "cart.py") as running:
        running.until(f"{STATUS} ==# 'running'")
        running.command("lua require('fileops').stop()")
        running.until(f"{STATUS} ==# 'stopped'")
        running.command("edit other.py")
        running.until("bufname() ==# 'other.py'")
        assert running.ask(STATUS) == "stopped"


@on_both
def test_missing_daemon_is_reported_once_and_holds_up_nothing(nvim: Neovim, project: Path, tmp_path: Path) -> None:
    """The last place that is looked at is python3, which takes its time."""
    gate = tmp_path / "gate"
    programs = tmp_path / "bin"
    programs.mkdir()
    python = programs / "python3"
    python.write_text(f"#!/bin/sh\nuntil test -e {shlex.quote(str(gate))}; do /bin/sleep 0.02; done; exit 1\n")
    python.chmod(0o700)
    nvim.environment["HOME"] = str(tmp_path)
    (project / "other.py").write_text("")
    arguments = ("--cmd", f"let $PATH = '{programs}'", "cart.py")
    with opened(nvim, project, *arguments) as running:
        running.until(f"{STATUS} ==# 'starting'")
        running.keys("O", "typed")
        running.until("getline(1) ==# 'typed'")
        running.keys("Escape")  # alone: before an answer of the terminal it would be half of a key
        running.until("getline(1) ==# 'typed' && mode() ==# 'n'")
        gate.touch()
        running.shows("fileops: no daemon found")
        running.until("mode() ==# 'n'")
        running.keys("C-l")
        running.shows_no("no daemon")
        running.command("split other.py")
        running.until("bufname() ==# 'other.py'")
        shown = running.text()
        assert "no daemon" not in shown
        assert "ENTER" not in shown
        running.keys("C-l")
        running.command("Fileops changes")  # who asks for something reads again what is missing
        running.shows("fileops: no daemon found: pipx install")


async def test_edit_before_the_daemon_answers_is_in_the_buffer_that_is_typed_into(
    project: Path, tmp_path: Path
) -> None:
    nvim = neovim("new", tmp_path)
    command, gate = gated(tmp_path)
    cart = project / "cart.py"
    more: dict[str, object] = {"cmd": command, "server": {"ask": "each_edit"}}
    with opened(nvim, project, *settings(nvim, more), "cart.py") as running:
        running.until(f"{STATUS} ==# 'starting'")
        async with FileOpsClient.start(AGENT, root=project) as agent:
            await agent.read(str(cart))
            assert (await agent.edit(str(cart), "two = 2", "two = 22")).ok  # no editor is attached yet
            await asyncio.to_thread(running.until, "getline(2) ==# 'two = 22' && !&modified")
            running.keys("O", "typed")
            running.until("getline(1) ==# 'typed'")
            running.keys("Escape")  # alone: before an answer of the terminal it would be half of a key
            await asyncio.to_thread(running.until, "getline(1) ==# 'typed' && &modified")
            gate.touch()
            # what the editor has opened is on its way to the daemon, by another connection
            while (reading := await agent.read(str(cart))).details.get("source") != "buffer":
                await asyncio.to_thread(running.until, f"{STATUS} ==# 'running'")
            assert "1→typed\n     2→one = 1\n     3→two = 22" in reading.output
            proposed = asyncio.create_task(agent.edit(str(cart), "one = 1", "one = 11"))
            await asyncio.to_thread(running.shows, "do accept")
            running.command("Fileops accept file")
            assert (await proposed).ok
            await asyncio.to_thread(running.until, "getline(2) ==# 'one = 11' && &modified")
            assert cart.read_text() == "one = 1\ntwo = 22\n"


async def test_other_programs_change_a_clean_buffer_and_no_line_is_marked(project: Path, tmp_path: Path) -> None:
    nvim = neovim("new", tmp_path)
    cart = project / "cart.py"

    def run(*command: str) -> None:
        subprocess.run(command, cwd=project, capture_output=True, timeout=PATIENCE_S, check=True)

    def git(*arguments: str) -> None:
        run("git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *arguments)

    git("init")
    git("add", "cart.py")
    git("commit", "-m", "one")
    nvim.start_daemon()
    with opened(nvim, project, *settings(nvim, {"server": {"ask": "never"}}), "cart.py") as running:
        running.until(f"{STATUS} ==# 'running'")
        run("sed", "-i", "s/one = 1/one = 11/", "cart.py")
        await asyncio.to_thread(running.until, "getline(1) ==# 'one = 11' && !&modified")
        async with FileOpsClient.start(AGENT, root=project) as agent:
            await agent.read(str(cart))
            assert (await agent.edit(str(cart), "two = 2", "two = 22")).ok
            await asyncio.to_thread(running.shows, "▎")
            await asyncio.to_thread(running.until, f"{MARKED} ==# '2'")
            git("checkout", "cart.py")
            await asyncio.to_thread(running.until, "getline(1) ==# 'one = 1' && getline(2) ==# 'two = 2' && !&modified")
            await asyncio.to_thread(running.until, f"{MARKED} ==# ''")
        running.keys("u")
        running.until("getline(2) ==# 'two = 22'")
