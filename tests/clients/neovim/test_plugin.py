"""The Neovim plugin in real Neovims, floor and newest, against the real daemon.

Logic and behaviour are tested in the plugin's own specs (`clients/neovim/tests/spec`), run inside Neovim; here they are
started, and it is checked that they ran and that they can fail.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clients.neovim.world import PLUGIN, REPOSITORY, Neovim, neovim
from clients.places import editor, program
from support.patience import PATIENCE_S

WITHOUT_RECORD = ["ask", "diff", "follow", "unkept", "approval", "command"]  # by a private daemon, most by the same
SPECS = sorted(path.name.removesuffix("_spec.lua") for path in (PLUGIN / "tests" / "spec").glob("*_spec.lua"))
BROKEN_DAEMON = Path(__file__).parent / "broken_daemon.py"


@pytest.fixture(params=["floor", "new"])
def nvim(request: pytest.FixtureRequest, tmp_path: Path) -> Neovim:
    return neovim(request.param, tmp_path)


def run_specs(nvim: Neovim, daemon: list[str], *specs: str) -> subprocess.CompletedProcess[str]:
    texts = [(PLUGIN / "tests" / "spec" / f"{spec}_spec.lua").read_text(encoding="utf-8") for spec in specs]
    if nvim.shares_daemon and any("t.daemon()" in text for text in texts):
        nvim.start_daemon()
    return subprocess.run(
        [nvim.program, "--clean", "--headless", "-l", "clients/neovim/tests/run.lua", *specs],
        cwd=REPOSITORY,
        env=nvim.environment
        | {"FILEOPS_TEST_DAEMON": json.dumps(daemon), "FILEOPS_TEST_SHARED": "1" if nvim.shares_daemon else "0"},
        capture_output=True,
        text=True,
        timeout=6 * PATIENCE_S,
        check=False,
    )


def test_versions_are_the_oldest_supported_and_a_newer_one(tmp_path: Path) -> None:
    assert neovim("floor", tmp_path).version[:2] == (0, 10)
    assert neovim("new", tmp_path).version[:2] >= (0, 12)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("spec", SPECS)
def test_spec_passes(nvim: Neovim, spec: str) -> None:
    done = run_specs(nvim, [sys.executable, "-m", "fileops"], spec)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# SKIP" not in done.stdout
    assert "\n1.." in done.stdout
    assert "\n1..0\n" not in done.stdout


@pytest.mark.timeout(900)
def test_specs_pass_with_a_private_daemon(tmp_path: Path) -> None:
    private = replace(neovim("new", tmp_path), shares_daemon=False)
    done = run_specs(private, [sys.executable, "-m", "fileops"], *WITHOUT_RECORD)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [spec for spec in WITHOUT_RECORD if f" - {spec}: " not in done.stdout] == []


def test_broken_daemon_fails_the_spec(nvim: Neovim) -> None:
    nvim.environment.update({"FILEOPS_TEST_FAIL_FAST": "1", "FILEOPS_TEST_PATIENCE_MS": "20000"})
    private = replace(nvim, shares_daemon=False)  # a shared daemon is started by the real command
    done = run_specs(private, [sys.executable, str(BROKEN_DAEMON)], "documents")
    assert done.returncode == 1
    assert "not ok" in done.stdout


def test_lua_is_formatted() -> None:
    checked = subprocess.run(
        [editor("stylua/bin/stylua"), "--check", "--color=never", "."],
        cwd=PLUGIN,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_lua_has_no_warnings() -> None:
    checked = subprocess.run(
        [program("luacheck"), "--quiet", "--no-color", "."],
        cwd=PLUGIN,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_missing_daemon_is_reported_on_start(nvim: Neovim) -> None:
    done = subprocess.run(
        [
            nvim.program,
            "--clean",
            "--headless",
            "-n",
            "--cmd",
            f"set rtp^={PLUGIN}",
            "--cmd",
            "let g:fileops = #{cmd: ['/nowhere/fileops-server']}",
            "-c",
            "Fileops restart",
            "-c",
            "qa!",
        ],
        env=nvim.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "no daemon: correct `cmd`, which is /nowhere/fileops-server" in done.stderr


def test_modules_are_not_loaded_before_they_are_used(nvim: Neovim) -> None:
    script = (
        "lua local n = vim.tbl_filter(function(m) return vim.startswith(m, 'fileops') end, "
        "vim.tbl_keys(package.loaded)) io.stdout:write(table.concat(n, ','))"
    )
    done = subprocess.run(
        [nvim.program, "--clean", "--headless", "-n", "--cmd", f"set rtp^={PLUGIN}", "-c", script, "-c", "qa!"],
        env=nvim.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout == "fileops.commands"


def test_processes_of_killed_neovim_end_with_it(nvim: Neovim, tmp_path: Path) -> None:
    (tmp_path / "demo.txt").write_text("text\n")
    nvim.start_daemon()
    socket = str(tmp_path / "nvim.sock")
    settings = {"cmd": [sys.executable, "-m", "fileops"], "autostart": True, "shared": nvim.shares_daemon}
    editor_process = subprocess.Popen(
        [
            nvim.program,
            "--clean",
            "--headless",
            "-n",
            "--listen",
            socket,
            "--cmd",
            f"set rtp^={PLUGIN}",
            "--cmd",
            f"lua vim.g.fileops = vim.json.decode([=[{json.dumps(settings)}]=])",
            str(tmp_path / "demo.txt"),
        ],
        env=nvim.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        nvim.until(socket, 'luaeval(\'require("fileops.client.process").state.status\') ==# "running"')
        pid = int(nvim.ask(socket, "luaeval('require(\"fileops.client.process\").client().rpc.pid()')"))
    finally:
        editor_process.kill()
        editor_process.wait()
    nvim.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "the process to end")
