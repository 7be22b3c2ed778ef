"""The pictures of Neovim in docs/images, made from the real thing.

Each scene is played and its text checked on every run. The pictures are taken again by
`FILEOPS_WRITE_IMAGES=1 pytest tests/clients/neovim/test_pictures.py`.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.neovim.scene import CART, NO_FLOATS, SHORTER_TOTAL, Scene, scene
from clients.neovim.terminal import DARK, LIGHT, picture
from clients.neovim.world import REPOSITORY, neovim

IMAGES = REPOSITORY / "docs" / "images"
RENAMED = (
    '    return ", ".join(line.name for line in lines)\n',
    '    return ", ".join(sorted(line.name for line in lines))\n',
)


WRITES_IMAGES = bool(os.environ.get("FILEOPS_WRITE_IMAGES"))
THEMES = ["dark", "light"] if WRITES_IMAGES else ["dark"]  # the text is the same in both


def review(shop: Scene) -> None:
    """The second of two changes was rejected."""
    shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
    shop.terminal.shows("Review")
    shop.terminal.command("Fileops review")
    shop.terminal.keys("]", "c", "Space")
    shop.terminal.shows(
        "◦ change 1/2", "will be written", "✗ change 2/2", "accept", "reject", "agent-1", "not any(line.price"
    )


def text(shop: Scene) -> None:
    """Two changes in the text; the second was rejected."""
    shop.propose("agent-1", SHORTER_TOTAL, NO_FLOATS)
    shop.terminal.shows("agent-1 1/2", "agent-1 2/2", "do accept  dr reject  dO all  dR none")
    shop.terminal.command("$Fileops reject")
    shop.terminal.shows("· rejected")


def review_side_by_side(shop: Scene) -> None:
    review(shop)
    shop.terminal.keys("Space", "s")
    shop.terminal.until('winnr("$") == 3')
    shop.terminal.shows("◦ change 1/2", "◦ change 2/2", "undecided", "╱╱╱")


def command(shop: Scene) -> None:
    """A shell command that waits behind an edit."""
    shop.propose("agent-1", NO_FLOATS)
    shop.terminal.shows("Review")
    shop.run(
        "agent-2", "python -m pytest -q tests/test_cart.py &&\n  git diff --stat", "See whether the totals still add up"
    )
    shop.terminal.shows("Review 1/2")
    shop.terminal.command("Fileops review")
    shop.terminal.keys("]", "r")
    shop.terminal.shows(
        "Command 2/2", "~/shop", "agent-2 wants to run this · 2 lines", "git diff --stat", "still add up", "run once"
    )


def marks(shop: Scene) -> None:
    """What agents changed in the buffer."""
    assert shop.result(shop.propose("agent-1", SHORTER_TOTAL, RENAMED)) == "success"
    shop.terminal.until('winnr("$") == 1')
    shop.terminal.shows("▎", "sum = sum + line.price * line.count", "for line in lines)")


def changes(shop: Scene) -> None:
    """What is not kept, in the text and in the panel."""
    marks(shop)
    shop.terminal.command("Fileops changes")
    shop.terminal.shows("Changes to keep", "2 changes +3 −6", "line 13", "dy keep", "du undo")


def stale(shop: Scene) -> None:
    """Another program wrote the file that an agent has read."""
    marks(shop)
    shop.cart.write_text(shop.cart.read_text() + "# written by a formatter\n")
    shop.terminal.shows("stale for agent-1: modified on disk")


def history(shop: Scene) -> None:
    """Three edits, one of them undone; the cursor is on the first."""
    for session, step in (("agent-1", SHORTER_TOTAL), ("agent-2", RENAMED), ("agent-1", NO_FLOATS)):
        assert shop.result(shop.propose(session, step)) == "success"
    shop.terminal.command("Fileops history")
    shop.terminal.shows("History", "agent-2", "+2 −5", "not any")
    shop.terminal.keys("u")
    shop.terminal.shows("↶", "one edit was undone")
    shop.terminal.keys("G")
    shop.terminal.shows("def total(lines: list[Line]) -> float:")


SCENES: dict[str, tuple[Callable[[Scene], None], str]] = {
    "review": (review, "default"),
    "text": (text, "default"),
    "review-side-by-side": (review_side_by_side, "default"),
    "command": (command, "default"),
    "marks": (marks, "yolo"),
    "changes": (changes, "yolo"),
    "stale": (stale, "yolo"),
    "history": (history, "yolo"),
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", SCENES)
def test_scene_matches_its_picture(name: str, theme: str, tmp_path: Path) -> None:
    play, approval_mode = SCENES[name]
    nvim = neovim("new", tmp_path)
    nvim.environment["HOME"] = str(tmp_path)  # paths as short as users see their own
    columns = 132 if name == "review-side-by-side" else 116
    with scene(
        nvim,
        tmp_path,
        "--cmd",
        f"set background={theme}",
        approval_mode=approval_mode,
        shows_reviews_in="text" if name == "text" else "pane",
        columns=columns,
    ) as shop:
        assert shop.cart.read_text() == CART
        play(shop)
        if WRITES_IMAGES:
            shop.terminal.keys("C-l")
            shop.terminal.shows_no(":Fileops")
            picture(shop.terminal, DARK if theme == "dark" else LIGHT, IMAGES / f"neovim-{name}-{theme}.png")


def test_picture_is_a_png_file(tmp_path: Path) -> None:
    with scene(neovim("new", tmp_path), tmp_path) as shop:
        target = tmp_path / "shot.png"
        picture(shop.terminal, DARK, target)
        assert target.read_bytes().startswith(b"\x89PNG")
