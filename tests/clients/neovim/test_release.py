"""The plugin of a release, unpacked from its archive where Neovim looks for packages, and used once."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clients.neovim.world import Neovim, neovim
from support.patience import PATIENCE_S
from support.release import built_once, file_of

SCRIPT = """
local path = vim.api.nvim_buf_get_name(0)
vim.cmd.help('fileops-install') -- without `:helptags`
vim.cmd.close()
local lines
coroutine.wrap(function()
  local agent = require('fileops').session('agent-1')
  local read, no_read = agent:read({ file_path = path })
  local edit, no_edit = agent:edit({ file_path = path, old_string = 'one', new_string = 'two' })
  lines = { read and read.status or vim.inspect(no_read), edit and edit.output or vim.inspect(no_edit) }
end)()
vim.wait(tonumber(vim.env.PATIENCE_MS), function() return lines ~= nil end)
io.stdout:write(table.concat(lines or { 'no answer' }, '\\n'))
vim.cmd.qall({ bang = true })
"""


@pytest.fixture(params=["floor", "new"])
def nvim(request: pytest.FixtureRequest, tmp_path: Path) -> Neovim:
    return neovim(request.param, tmp_path)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of(built_once(tmp_path_factory), "*.nvim-*.zip")


@pytest.mark.timeout(900)
def test_unpacked_archive_edits_and_has_its_help(nvim: Neovim, archive: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(site / "pack" / "fileops" / "start")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "a.txt").write_text("one\n", encoding="utf-8")
    script = tmp_path / "script.lua"
    script.write_text(SCRIPT, encoding="utf-8")
    daemon = f"cmd = {{ '{sys.executable}', '-m', 'fileops' }}, server = {{ approval_mode = 'yolo' }}"
    settings = f"lua vim.g.fileops = {{ {daemon}, shared = false }}"
    done = subprocess.run(
        [
            *(nvim.program, "--clean", "--headless"),
            *("--cmd", f"set packpath^={site}", "--cmd", settings),
            *("-S", str(script), str(project / "a.txt")),
        ],
        cwd=project,
        env={**os.environ, **nvim.environment, "PATIENCE_MS": str(int(PATIENCE_S * 1000))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    assert done.stdout.startswith("success\n"), done.stdout + done.stderr
    assert "has been updated" in done.stdout
    assert (project / "a.txt").read_text(encoding="utf-8") == "two\n"
