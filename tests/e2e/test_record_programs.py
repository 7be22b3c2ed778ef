"""What the record makes of the ways in which programs change files: tools of a shell, git, and editors that rename.

R-REC-2 (one change, one entry; temporary files have none), R-BY-1, and R-REC-3 for a tree of installed packages.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S
from support.shared_daemon import LspClient, SharedDaemon, shared_daemon, until_recorded

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
OLD, NEW = "one\ntwo\n", "one\n2\n"
INSTALL = """
import pathlib
for n in range(1500):
    for path in [f"node_modules/p{n % 97}/lib/{n}.js"] + ([] if n % 15 else [f"src/p{n % 7}/lib/{n}.js"]):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(f"{n}\\n")
"""
PROGRAMS = {
    "sed": "sed -i s/two/2/ a.py",
    "python": 'python3 -c \'f = open("a.py"); t = f.read(); open("a.py", "w").write(t[:4] + "2" + t[7:])\'',
    "temporary file": "sed s/two/2/ a.py > .a.py.tmp && mv .a.py.tmp a.py",
    "backup": "mv a.py a.py~ && sed s/two/2/ a.py~ > a.py && rm a.py~",
    "git checkout": "git checkout -q other",
}


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "p"
    path.mkdir()
    (path / "a.py").write_text(OLD)
    (path / ".gitignore").write_text("node_modules/\n")
    for line in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "one"), ("checkout", "-qb", "other")):
        git(path, *line)
    (path / "a.py").write_text(NEW)
    git(path, "commit", "-qam", "two")
    git(path, "checkout", "-q", "main")
    return path


@pytest.fixture
async def editor(folder: Path) -> AsyncIterator[LspClient]:
    async with shared_daemon() as daemon:
        yield await recording(daemon, folder)


async def recording(daemon: SharedDaemon, folder: Path) -> LspClient:
    editor = await daemon.editor(folder)
    await until_recorded(editor, folder)
    return editor


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


async def command(editor: LspClient, folder: Path, line: str) -> None:
    """Run a line as a command of the editor's session."""
    begun = await editor.call("fileops/beginCommand", {"label": line})
    process = await asyncio.create_subprocess_shell(line, cwd=folder, env={**os.environ, "GIT_CONFIG_COUNT": "0"})
    assert await process.wait() == 0
    await editor.call("fileops/endCommand", {"command_id": begun["command_id"]})


async def entries(editor: LspClient, **query: object) -> list[dict[str, Any]]:
    """Oldest first."""
    return (await editor.call("fileops/log", {"limit": 1000, **query}))["entries"][::-1]


async def settled(editor: LspClient) -> list[dict[str, Any]]:
    """The entries, once all their authors are certain."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await entries(editor)
            if all(entry["settled"] for entry in found):
                return found
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("line", PROGRAMS.values(), ids=PROGRAMS)
async def test_change_by_a_program_is_one_entry_of_its_command(editor: LspClient, folder: Path, line: str) -> None:
    git(folder, "config", "user.name", "a")
    git(folder, "config", "user.email", "a@b")
    await command(editor, folder, line)
    (entry,) = await entries(editor)
    assert (entry["by"]["kind"], entry["kind"], Path(entry["path"]).name) == ("command", "modify", "a.py")
    shown = await editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
    assert (shown["before_text"], shown["after_text"]) == (OLD, NEW)


@pytest.mark.parametrize("is_read_between", [False, True])
async def test_change_by_git_after_another_of_one_command_has_an_entry_of_its_own_if_the_file_was_read_between(
    editor: LspClient, folder: Path, *, is_read_between: bool
) -> None:
    """R-REC-2. The record may read the file between any two of these steps, so it is made to, or one write is both."""
    git(folder, "config", "user.name", "a")
    git(folder, "config", "user.email", "a@b")
    between = OLD.replace("two", "two-and-a-half")
    begun = await editor.call("fileops/beginCommand", {"label": "sed … && git stash && git checkout other"})
    (folder / "a.py").write_text(between)
    if is_read_between:
        await entries(editor)
    git(folder, "stash", "-q")
    git(folder, "checkout", "-q", "other")
    await editor.call("fileops/endCommand", {"command_id": begun["command_id"]})
    found = await entries(editor)
    assert {entry["by"]["kind"] for entry in found} == {"command"}
    shown = [await editor.call("fileops/entry", {"entry_id": entry["entry_id"]}) for entry in found]
    changes = [(entry["before_text"], entry["after_text"]) for entry in shown]
    in_two = [(OLD, between), (between, NEW)]
    assert changes == in_two or (not is_read_between and changes == [(OLD, NEW)])


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("pytest -q", "unsure"),
        ("make release", "unsure"),
        ("git rebase other", "command"),
        ("cd sub && /usr/bin/git merge other", "command"),
    ],
)
@pytest.mark.parametrize("work", ["merge", "rebase", "reset --hard", "checkout", "cherry-pick"])
async def test_work_of_git_beside_a_command_is_that_commands_only_if_it_names_git(
    editor: LspClient, folder: Path, work: str, line: str, kind: str
) -> None:
    """R-BY-5. Nobody knows who ran git: an undo of the command must not revert a person's merge."""
    for name in ("added.py", "removed.py"):
        (folder / name).write_text(f"{name}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "three")
    git(folder, "checkout", "-q", "other")
    await editor.call("fileops/log", {})
    begun = await editor.call("fileops/beginCommand", {"label": line})
    git(folder, *work.split(), "main")
    (folder / "by_program.py").write_text("made\n")
    await editor.call("fileops/endCommand", {"command_id": begun["command_id"]})
    found = {
        Path(entry["path"]).name: entry["by"] for entry in await entries(editor) if entry["by"]["kind"] != "outside"
    }
    by_git = {name: by["kind"] for name, by in found.items() if name != "by_program.py"}
    assert by_git
    assert set(by_git.values()) == {kind}
    assert found["by_program.py"]["kind"] == "command"
    if kind == "unsure":
        answer = await editor.call("fileops/rewind", {"command_id": begun["command_id"], "approved": True})
        assert (folder / "added.py").exists()
        assert not (folder / "by_program.py").exists()
        details = answer["details"]
        assert [Path(file["file_path"]).name for file in details["files"]] == ["by_program.py"]
        assert {conflict["reason"] for conflict in details["conflicts"]} == {"unsure"}
        assert {Path(conflict["file_path"]).name for conflict in details["conflicts"]} == set(by_git)


@pytest.mark.parametrize("is_read_between", [False, True])
@pytest.mark.parametrize("way", ["temporary file", "backup"])
async def test_save_by_rename_is_one_entry_of_the_editors_user(
    editor: LspClient, folder: Path, way: str, *, is_read_between: bool
) -> None:
    """As Vim saves with `backupcopy=no`, and other editors. The record may read the files in the middle of it."""
    file, other = folder / "a.py", folder / ("a.py~" if way == "backup" else ".a.py.tmp")
    editor.open(file)
    editor.change(file, NEW, version=2)
    await editor.call("fileops/tracked", {})
    if way == "backup":
        file.rename(other)
    else:
        other.write_text(NEW)
    if is_read_between:
        await entries(editor)
    if way == "backup":
        file.write_text(NEW)
        other.unlink()
    else:
        other.replace(file)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    (entry,) = await settled(editor)
    assert (entry["by"]["kind"], entry["kind"], entry["path"]) == ("person", "modify", str(file))
    shown = await editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
    assert (shown["before_text"], shown["after_text"]) == (OLD, NEW)


@pytest.mark.parametrize("n_blocks", [0, 1, 3])
async def test_save_that_is_read_while_it_is_written_is_one_entry_of_the_editors_user(
    editor: LspClient, folder: Path, n_blocks: int
) -> None:
    """As Vim saves with `backupcopy=yes`: first the file is empty, and then it has the first blocks of the text."""
    file, text = folder / "a.py", NEW * 512
    editor.open(file)
    editor.change(file, text, version=2)
    await editor.call("fileops/tracked", {})
    file.write_text(text[: n_blocks * 512])
    await entries(editor)  # reads the file
    file.write_text(text)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    (entry,) = await settled(editor)
    assert (entry["by"]["kind"], entry["kind"], entry["path"]) == ("person", "modify", str(file))
    shown = await editor.call("fileops/entry", {"entry_id": entry["entry_id"]})
    assert (shown["before_text"], shown["after_text"]) == (OLD, text)


async def test_shorter_text_of_another_program_before_a_save_is_not_the_editors_users(
    editor: LspClient, folder: Path
) -> None:
    file = folder / "a.py"
    editor.open(file)
    editor.change(file, NEW, version=2)
    await editor.call("fileops/tracked", {})
    file.write_text(NEW[:4])
    await entries(editor)
    file.write_text(NEW)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    assert [entry["by"]["kind"] for entry in await settled(editor)] == ["outside", "person"]


@pytest.mark.parametrize("is_read_between", [False, True])
async def test_saves_in_quick_succession_delete_nothing_and_are_the_editors_users(
    editor: LspClient, folder: Path, *, is_read_between: bool
) -> None:
    """R-BY-1: each removes the file first. The record may read it while there is none."""
    file = folder / "a.py"
    editor.open(file)
    for version in (2, 3, 4):
        editor.change(file, f"{NEW}{version}\n", version=version)
        await editor.call("fileops/tracked", {})
        file.unlink()
        if is_read_between:
            await entries(editor)
        file.write_text(f"{NEW}{version}\n")
        editor.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    found = await settled(editor)
    assert {(entry["by"]["kind"], entry["kind"]) for entry in found} == {("person", "modify")}


async def test_installed_packages_are_ignored_and_other_files_of_the_command_recorded(
    editor: LspClient, folder: Path
) -> None:
    """A tree of more than a thousand ignored files, and one of tracked files, appear at once, deep in new folders."""
    (folder.parent / "install.py").write_text(INSTALL)
    line = f"python3 {folder.parent / 'install.py'}"
    edited = await asyncio.gather(command(editor, folder, line), edits(editor, folder))
    found = await entries(editor)
    made = [entry for entry in found if entry["kind"] == "create"]
    assert len(made) == len({entry["path"] for entry in made}) == 100
    assert {Path(entry["path"]).relative_to(folder).parts[0] for entry in made} == {"src"}
    assert {entry["by"]["kind"] for entry in made} == {"command"}
    assert {entry["gap"] for entry in made} == {None}
    assert [entry["by"]["kind"] for entry in found if Path(entry["path"]).name == "a.py"] == ["session"] * edited[1]


async def edits(editor: LspClient, folder: Path) -> int:
    """Edit a tracked file again and again at the same time. Returns how often."""
    await editor.read(folder / "a.py")
    for n in range(8):
        done = await editor.edit(folder / "a.py", "one" if n % 2 == 0 else "1", "1" if n % 2 == 0 else "one")
        assert done["error"] is None, done
    return 8
