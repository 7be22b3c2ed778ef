"""One recorded folder: which content was before, and which folders are recorded.

R-REC-1 (which folder), R-REC-4 (the content before), R-REC-5 (nothing is written, no program is run).
"""

import os
import subprocess
import time
from pathlib import Path

import pytest

from fileops.model.record import Known
from fileops.record import git
from fileops.record.folder import FolderRecording, ask_git
from fileops.record.recorder import choose_root

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
OLD_S = 1_700_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "p"
    path.mkdir()
    run(path, "init", "-q", "-b", "main")
    return path


def run(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


def committed(root: Path, **files: bytes) -> None:
    """Commit files that are older than the index."""
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (OLD_S, OLD_S))
    run(root, "add", "-A")
    run(root, "commit", "-q", "-m", "one")


def started(root: Path) -> FolderRecording:
    folder = FolderRecording(str(root), ask_git(str(root)), None)
    for _ in folder.start({}, lambda _path: None, is_resumed=False):
        pass
    return folder


def before(folder: FolderRecording, path: Path) -> bytes | None:
    """The content that the first change of a file would have before, as far as git has it."""
    known = folder.files[str(path)]
    if known.oid is None or folder.repository is None:
        return None
    return git.read_blobs(folder.repository, {known.oid: known.size_bytes}).get(known.oid)


def copied(folder: FolderRecording) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    while (item := folder.copy_next()) is not None:
        found[os.path.basename(item[0])] = item[1].data
    return found


@pytest.mark.parametrize("version", [2, 3, 4])
def test_unchanged_files_are_known_by_the_blobs_of_the_index(root: Path, version: int) -> None:
    run(root, "config", "index.version", str(version))
    committed(root, a_py=b"a\n", sub__b_py=b"b\n", sub__deeper__c_py=b"c\n")
    if version == 3:
        run(root, "update-index", "--skip-worktree", "a.py")  # an extended flag
    folder = started(root)
    assert before(folder, root / "sub/deeper/c.py") == b"c\n"
    assert before(folder, root / "sub/b.py") == b"b\n"
    assert copied(folder) == {}


def test_changed_untracked_and_racy_files_are_copied_the_changed_ones_first(root: Path) -> None:
    committed(root, a_py=b"a\n", b_py=b"b\n")
    (root / "a.py").write_bytes(b"changed\n")
    (root / "new.py").write_bytes(b"new\n")
    (root / "racy.py").write_bytes(b"racy\n")
    run(root, "add", "racy.py")
    stamp = os.stat(root / ".git/index").st_mtime_ns
    os.utime(root / "racy.py", ns=(stamp, stamp))
    folder = started(root)
    assert before(folder, root / "a.py") is None
    assert before(folder, root / "b.py") == b"b\n"
    found = copied(folder)
    assert found == {"a.py": b"changed\n", "racy.py": b"racy\n", "new.py": b"new\n"}
    assert list(found)[-1] == "new.py"


@pytest.mark.parametrize(
    "attributes", [b"*.py filter=rot\n", b"*.py working-tree-encoding=UTF-16\n", b"*.py eol=crlf\n", b"*.py ident\n"]
)
def test_files_that_git_converts_are_copied(root: Path, attributes: bytes) -> None:
    run(root, "config", "filter.rot.clean", "tr a-z b-za")
    run(root, "config", "filter.rot.smudge", "tr b-za a-z")
    committed(root, **{"_gitattributes": attributes, "a_py": "a\n".encode("utf-16"), "b_md": b"b\n"})
    folder = started(root)
    assert before(folder, root / "a.py") is None
    assert before(folder, root / "b.md") == b"b\n"
    assert "a.py" in copied(folder)


def test_files_are_copied_when_git_no_longer_names_their_blobs(root: Path) -> None:
    committed(root, a_py=b"one\n")
    (root / "a.py").write_bytes(b"two two\n")
    os.utime(root / "a.py", (OLD_S, OLD_S))
    run(root, "add", "a.py")
    folder = started(root)
    assert before(folder, root / "a.py") == b"two two\n"
    run(root, "reset", "-q")
    assert folder.repository is not None
    folder.update_index(git.read_index(folder.repository), lambda _path: True)
    assert copied(folder) == {}  # its events are read first: what it has by now is not what was before them
    folder.update_index(git.read_index(folder.repository), lambda _path: False)
    run(root, "gc", "--prune=now", "-q")
    assert copied(folder) == {"a.py": b"two two\n"}


def test_folder_outside_of_git_is_copied_without_what_programs_build(tmp_path: Path) -> None:
    for name in ("a.py", "node_modules/x.js", "src/build/o.txt", "src/b.py", "x.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / ".gitignore").write_text("*.log\n")
    folder = started(tmp_path)
    assert set(copied(folder)) == {"a.py", "b.py", ".gitignore"}


def test_submodule_and_second_work_tree_are_other_folders(root: Path, tmp_path: Path) -> None:
    committed(root, a_py=b"a\n")
    run(root, "worktree", "add", "-q", str(root / "tree"))
    inner = root / "inner"
    inner.mkdir()
    run(inner, "init", "-q")
    committed(inner, c_py=b"c\n")
    assert set(started(root).files) == {str(root / "a.py")}
    for other, name in ((root / "tree", "a.py"), (inner, "c.py")):
        assert choose_root(str(other)) == str(other)
        assert set(started(other).files) == {str(other / name)}


def test_empty_git_folder_makes_no_work_tree(root: Path, tmp_path: Path) -> None:
    # The sandbox of Codex makes one for the time of a shell command, in each folder that the command may write to.
    (tmp_path / ".git").mkdir()
    outside, inside = tmp_path / "outside", root / "inside"
    for folder in (outside, inside):
        folder.mkdir()
    (inside / ".git").mkdir()
    assert [choose_root(str(folder)) for folder in (outside, inside)] == [str(outside), str(root)]
    (inside / "a.txt").write_bytes(b"1\n")
    assert started(root).is_recorded(str(inside / "a.txt"))
    assert str(inside / "a.txt") in started(root).files


def test_home_and_what_contains_it_are_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    (home / "project" / ".git" / "HEAD").touch()
    (home / "project" / "src").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert [choose_root(str(folder)) for folder in (home, tmp_path, Path("/"), home / "missing")] == [None] * 4
    assert choose_root(str(home / "project" / "src")) == str(home / "project")


def test_start_writes_nothing_into_the_repository_and_runs_none_of_its_programs(root: Path) -> None:
    committed(root, **{"_gitattributes": b"*.py filter=evil\n", "a_py": b"a\n"})
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "core.pager"):
        run(root, "config", name, f"touch {root.parent}/ran; cat")
    hook = root / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {root.parent}/ran\n")
    hook.chmod(0o755)
    os.utime(root / "a.py", (OLD_S + 1, OLD_S + 1))  # `git status` would refresh the index
    state = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    started(root)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == state
    assert not (root.parent / "ran").exists()


def test_files_known_from_before_are_compared_by_their_stamps(root: Path) -> None:
    committed(root, a_py=b"a\n", b_py=b"b\n")
    earlier = dict(started(root).files)
    (root / "b.py").write_bytes(b"changed\n")
    (root / "new.py").write_bytes(b"new\n")
    gone = str(root / "gone.py")
    touched: list[str] = []
    folder = FolderRecording(str(root), ask_git(str(root)), None)
    for _ in folder.start({**earlier, gone: Known(content="kept", digest=b"1")}, touched.append, is_resumed=True):
        pass
    assert sorted(map(os.path.basename, touched)) == ["b.py", "gone.py", "new.py"]


def test_file_that_is_ignored_since_is_neither_removed_nor_changed(root: Path) -> None:
    """Changes of ignored files are not recorded (R-REC-3)."""
    made = root / "made" / "out"
    made.parent.mkdir()
    made.write_bytes(b"old\n")
    earlier = dict(started(root).files)
    assert str(made) in earlier
    (root / ".gitignore").write_bytes(b"made/\n")
    made.write_bytes(b"built anew\n")
    folder = FolderRecording(str(root), ask_git(str(root)), None)
    touched: list[str] = []
    for _ in folder.start(earlier, touched.append, is_resumed=True):
        pass
    assert touched == [str(root / ".gitignore")]
    assert str(made) not in folder.files


@pytest.mark.parametrize("is_resumed", [False, True])
def test_change_that_leaves_size_and_time_is_found_by_the_time_of_the_change(root: Path, *, is_resumed: bool) -> None:
    """R-REC-6. As `rsync -t` and unpacking write; git compares this time, too."""
    committed(root, a_py=b"a = 1\n")
    known = dict(started(root).files) if is_resumed else {}
    time.sleep(0.02)  # the clock of a file system has steps
    (root / "a.py").write_bytes(b"a = 2\n")
    os.utime(root / "a.py", (OLD_S, OLD_S))
    touched: list[str] = []
    folder = FolderRecording(str(root), ask_git(str(root)), None)
    for _ in folder.start(known, touched.append, is_resumed=is_resumed):
        pass
    assert touched == ([str(root / "a.py")] if is_resumed else [])
    if not is_resumed:
        assert (before(folder, root / "a.py"), copied(folder)) == (None, {"a.py": b"a = 2\n"})
