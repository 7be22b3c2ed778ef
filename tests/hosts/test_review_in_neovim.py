"""A real Codex proposes an edit, and a person in a real Neovim reviews it: both attached to one shared daemon.

The pictures of docs/images are taken again by `FILEOPS_WRITE_IMAGES=1 pytest tests/hosts/test_review_in_neovim.py`.
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from clients.neovim.scene import NO_FLOATS, scene
from clients.neovim.terminal import DARK, picture
from clients.neovim.world import REPOSITORY, neovim
from hosts.hosts import CONVERSATION_S, Place, codex_at
from hosts.scripted_model import Call, Say, ScriptedModel, serving
from hosts.test_hosts import running
from support.daemon_process import place_of_test

pytestmark = pytest.mark.timeout(900)

IMAGES = REPOSITORY / "docs" / "images"


@pytest.fixture
def socket(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    with place_of_test(monkeypatch) as made:
        yield str(made.socket)


def test_edit_of_codex_is_reviewed_in_neovim(socket: str, tmp_path: Path) -> None:
    nvim = neovim("new", tmp_path)
    nvim.environment["HOME"] = str(tmp_path)
    with scene(nvim, tmp_path, "--cmd", "set background=dark") as shop:
        shop.terminal.keys("O", "# typed, and not saved", "Escape")
        shop.terminal.until("&modified")
        path, (old, new) = str(shop.cart), NO_FLOATS
        edit = {"file_path": path, "old_string": old, "new_string": new}
        model = ScriptedModel([Call("Read", {"file_path": path}), Call("Edit", edit), Call("Edit", edit), Say("DONE")])
        (tmp_path / "codex").mkdir()
        with serving(model):
            place = Place(tmp_path / "codex", shop.cart.parent, model.port)
            with running(codex_at(socket), place) as (process, log):
                shop.terminal.shows("Codex 1/1", "do accept", "not any(line.price")
                if os.environ.get("FILEOPS_WRITE_IMAGES"):
                    picture(shop.terminal, DARK, IMAGES / "neovim-codex-review-dark.png")
                shop.terminal.command("Fileops reject file")

                nvim.wait_for(lambda: len(model.results) == 2, "the rejection at the model")  # its review is gone
                shop.terminal.shows("Codex 1/1", "do accept")
                shop.terminal.command("Fileops accept file")
                process.wait(CONVERSATION_S)
                output = log.read_text(encoding="utf-8", errors="replace")
        assert len(model.results) == 3, output[-3000:]
        read, rejected, accepted = model.results
        assert "1→# typed, and not saved" in read.text
        assert "has been updated" not in rejected.text
        assert "has been updated" in accepted.text

        # the edit is in the buffer, which stays unsaved
        shop.terminal.until("search('not any(line.price', 'nw') > 0 && &modified")
        assert "typed" not in shop.cart.read_text(encoding="utf-8")

        shop.terminal.command("Fileops agents")
        shop.terminal.shows("Agents", "Codex")
        shop.terminal.keys("q", "Enter")
        shop.terminal.command("Fileops history")
        shop.terminal.shows("History", "Codex", "cart.py +1 −1")
