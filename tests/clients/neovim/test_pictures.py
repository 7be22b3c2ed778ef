"""The pictures of Neovim in docs/images, made from the real thing.

Each scene is played and its text checked on every run. The pictures are taken again by
`FILEOPS_WRITE_IMAGES=1 pytest tests/clients/neovim/test_pictures.py`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, Scene, scene
from clients.neovim.terminal import DARK, LIGHT, Frame, moving_picture, picture
from clients.neovim.test_text_reviews import IS_READ, NORMAL
from clients.neovim.world import REPOSITORY, neovim

IMAGES = REPOSITORY / "docs" / "images"
RENAMED = (
    '    return ", ".join(line.name for line in lines)\n',
    '    return ", ".join(sorted(line.name for line in lines))\n',
)


COLUMNS, ROWS = 80, 36  # of the moving picture
WRITES_IMAGES = bool(os.environ.get("FILEOPS_WRITE_IMAGES"))
THEMES = ["dark", "light"] if WRITES_IMAGES else ["dark"]  # the text is the same in both


def text(shop: Scene) -> None:
    """Two changes in the text; the second was rejected."""
    shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
    shop.terminal.shows("agent-1 1/2", "agent-1 2/2", "do accept  dr reject")
    shop.terminal.command("$Fileops reject")
    shop.terminal.shows("· rejected")


def proposal(shop: Scene) -> None:
    """File and proposal of a file that is not open."""
    stock = shop.cart.with_name("stock.py")
    stock.write_text(CART)
    shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS, path=stock)
    shop.terminal.shows("agent-1 proposes stock.py +3 −6  (:Fileops review)")
    shop.terminal.command("Fileops review")
    shop.terminal.until("&diff && bufname() =~# 'stock.py$'")
    shop.terminal.shows("def total(lines: list[Line]) -> float:", "(:w accepts, :Fileops reject)")


def marks(shop: Scene) -> None:
    """What agents changed in the buffer."""
    assert shop.result(shop.propose("agent-1", SHORTER_TOTAL, RENAMED)) == "success"
    shop.terminal.until('winnr("$") == 1')
    shop.terminal.shows("▎", "sorted(line.name for line in lines)")


def diff(shop: Scene) -> None:
    """The text without the changes beside the file."""
    marks(shop)
    shop.terminal.command("Fileops diff")
    shop.terminal.until("&diff")
    shop.terminal.keys("gg", "]", "c")
    shop.terminal.shows("sum = sum + line.price * line.count", "fileops://before/1/cart.py")


def changes(shop: Scene) -> None:
    """The list of what is to be decided."""
    marks(shop)
    shop.terminal.command("Fileops changes")
    shop.terminal.shows("cart.py|13-14| ", "+2 −5")


SCENES: dict[str, tuple[Callable[[Scene], None], str]] = {
    "text": (text, "default"),
    "proposal": (proposal, "default"),
    "marks": (marks, "yolo"),
    "diff": (diff, "yolo"),
    "changes": (changes, "yolo"),
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", SCENES)
def test_scene_matches_its_picture(name: str, theme: str, tmp_path: Path) -> None:
    play, approval_mode = SCENES[name]
    nvim = neovim("new", tmp_path)
    nvim.environment["HOME"] = str(tmp_path)  # paths as short as users see their own
    columns = 132 if name in {"proposal", "diff"} else 100
    with scene(
        nvim,
        tmp_path,
        "--cmd",
        f"set background={theme}",
        approval_mode=approval_mode,
        columns=columns,
        rows=32,
    ) as shop:
        assert shop.cart.read_text() == CART
        play(shop)
        if WRITES_IMAGES:
            picture(shop.terminal, DARK if theme == "dark" else LIGHT, IMAGES / f"neovim-{name}-{theme}.png")


def test_review_in_the_text_moves(tmp_path: Path) -> None:
    """The moving picture of the README: unsaved text, an agent's edit beside it, and both decisions."""
    nvim = neovim("new", tmp_path)
    frames = list[Frame]()

    with scene(nvim, tmp_path, "--cmd", "set background=dark", columns=COLUMNS, rows=ROWS) as shop:

        def frame(caption: str) -> None:
            frames.append(Frame(ansi=shop.terminal.ansi(), caption=caption))

        shop.terminal.keys("gg", "O", "# TODO: taxes")
        shop.terminal.shows("# TODO: taxes", "[+]")
        frame("You type, and have not saved.")
        shop.terminal.keys("Escape")
        shop.terminal.until("mode() ==# 'n'")
        result = shop.propose("Claude Code", SHORTER_TOTAL, NO_FLOATS)
        shop.terminal.shows("Claude Code 1/2", "Claude Code 2/2", "do accept  dr reject", "(]c goes there)")
        frame("An agent's edit of your unsaved text waits for you, in its place.")
        shop.terminal.until(NORMAL)
        shop.terminal.until(IS_READ)  # a key that comes with a review decides nothing
        shop.terminal.keys("gg", "]", "c", "]", "c")
        shop.terminal.until("getline('.') =~# 'total(lines) == 0'")
        shop.terminal.keys("dr")
        shop.terminal.shows("rejected")
        frame("dr rejects one of its changes.")
        shop.terminal.command("Fileops accept file")
        assert shop.result(result) == "success"
        shop.terminal.shows_no("rejected")
        frame("You accept the rest: it is in your text, which is still yours to save.")
    if WRITES_IMAGES:
        moving_picture(frames, DARK, IMAGES / "neovim-review-moving.svg", columns=COLUMNS, rows=ROWS)
    target = tmp_path / "moving.svg"
    moving_picture(frames, DARK, target, columns=COLUMNS, rows=ROWS)
    drawn = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    assert len(drawn.findall("{http://www.w3.org/2000/svg}g")) == len(frames)
    assert all(frame.caption in target.read_text(encoding="utf-8") for frame in frames if "'" not in frame.caption)


def test_picture_is_a_png_file(tmp_path: Path) -> None:
    with scene(neovim("new", tmp_path), tmp_path) as shop:
        target = tmp_path / "shot.png"
        picture(shop.terminal, DARK, target)
        assert target.read_bytes().startswith(b"\x89PNG")
