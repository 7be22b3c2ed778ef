"""Linked work trees that git ignores, as agent hosts keep them inside the project: they are recorded, too (R-REC-3)."""

import subprocess
from pathlib import Path

import pytest

from support.shared_daemon import shared_daemon, until_recorded

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


@pytest.mark.parametrize("is_made_later", [False, True])
async def test_ignored_linked_work_tree_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_made_later: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path.resolve() / "p"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text(".wt/\n")

    def git(*arguments: str) -> None:
        subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    if not is_made_later:
        git("worktree", "add", ".wt/a")
    async with shared_daemon() as daemon:
        editor = await daemon.editor(folder)
        await until_recorded(editor, folder)
        if is_made_later:
            git("worktree", "add", ".wt/a")
        await until_recorded(editor, folder / ".wt" / "a")
