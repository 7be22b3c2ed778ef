"""A person with unsaved text in a real Neovim, beside a real host that edits by its own tools, in companion.

The host is Claude Code, connected by the one command of the guide; Codex is beside VS Code in `clients/test_vscode.py`.
The person keeps and undoes what it made, in Neovim and at the terminal. The pictures of docs/images are taken again by
`FILEOPS_WRITE_IMAGES=1 pytest tests/hosts/test_companion_in_neovim.py`.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from clients.neovim.scene import NO_FLOATS, SHORTER_TOTAL, scene
from clients.neovim.terminal import DARK, picture
from clients.neovim.world import REPOSITORY, neovim
from hosts.connected import CLAUDE
from hosts.hosts import CONVERSATION_S, PROGRAMS, Place
from hosts.scripted_model import Say, ScriptedModel, serving
from hosts.test_hosts import started
from support.daemon_process import place_of_test
from support.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(900)

IMAGES = REPOSITORY / "docs" / "images"
TYPED = "# typed, and not saved"


def test_person_with_unsaved_text_keeps_and_undoes_what_the_hosts_own_tools_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-COMP-12, R-COMP-18"""
    with place_of_test(monkeypatch) as daemon:
        nvim = neovim("new", tmp_path)
        nvim.environment["HOME"] = str(tmp_path)
        with scene(nvim, tmp_path, "--cmd", "set background=dark", ask="protected", columns=100, rows=34) as shop:
            shop.terminal.keys("gg", "O", TYPED, "Escape")
            shop.terminal.until("&modified")
            edits = [CLAUDE.edit(shop.cart, *edit) for edit in (SHORTER_TOTAL, NO_FLOATS)]
            model = ScriptedModel([CLAUDE.read(shop.cart), *edits, Say("DONE")])
            home = tmp_path / "host"
            home.mkdir()
            with serving(model):
                place = Place(home, shop.cart.parent, model.port, daemon=daemon)
                with started(CLAUDE.connect(place), place) as (process, log):
                    process.wait(CONVERSATION_S)
                    output = log.read_text(encoding="utf-8", errors="replace")
            assert len(model.results) == 3, output[-3000:]
            _, first, second = model.results
            assert f"+{TYPED}" in json.dumps(model.requests[-1].body)  # it was shown beside the read
            for result in (first, second):
                assert "Done, although your host shows a refusal: Neovim has unsaved text" in result.text, result
            shop.terminal.until("search('not any(line.price', 'nw') > 0 && &modified")
            assert TYPED not in shop.cart.read_text(encoding="utf-8")

            # The person sees whose lines they are, keeps one change and undoes the other.
            shop.terminal.until("winnr('$') == 1")
            shop.terminal.command("call search('def total', 'w')")
            shop.terminal.shows("▎", CLAUDE.name)
            if os.environ.get("FILEOPS_WRITE_IMAGES"):
                picture(shop.terminal, DARK, IMAGES / "neovim-companion-dark.png")
            shop.terminal.keys("d", "y")
            shop.terminal.command("call search('not any', 'w')")
            shop.terminal.keys("d", "u")
            shop.terminal.until("search('return total(lines) == 0', 'nw') > 0")
            shop.terminal.command("write")
            shop.terminal.until("!&modified")
            text = shop.cart.read_text(encoding="utf-8")
            assert text.startswith(TYPED) and SHORTER_TOTAL[1] in text and NO_FLOATS[0] in text

            # At the terminal, they undo what they had kept.
            log_of_project = at_terminal(shop.cart.parent, "log")
            assert CLAUDE.name in log_of_project
            last = at_terminal(shop.cart.parent, "undo", "last", "--yes")
            assert "cart.py" in last


def at_terminal(folder: Path, *command: str) -> str:
    run = [str(PROGRAMS / "fileops-server"), *command]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
