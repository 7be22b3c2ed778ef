"""Patches over the wire: `fileops/applyPatch` in both formats, its failures, and real patches of real histories.

One history is that of the repository the tests are in, as far as it is there: the checkout of a CI may have one commit.
"""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from fileops_client.sync import FileOpsClient
from support.mcp_client import mcp_client, texts_of
from support.patches import dialect_of
from support.rawclient import RawClient, raw_client

REPOSITORY = Path(__file__).parents[2]
MAX_FILES = 12  # of a commit that is played
N_COMMITS = 15


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "p"
    made.mkdir()
    (made / "a.py").write_text("class A:\n    x = 1\n\n\nclass B:\n    x = 1\n")
    (made / "b.txt").write_text("one  \ntwo\n")
    (made / "c.txt").write_text("gone\n")
    return made


@pytest.fixture
def client(folder: Path) -> Iterator[RawClient]:
    with raw_client() as made:
        made.initialize(rootUri=folder.as_uri(), initializationOptions={"approval_mode": "yolo"})
        for name in ("a.py", "b.txt", "c.txt"):
            made.read(folder / name)
        yield made


def apply(client: RawClient, patch: str, **more: object) -> Any:
    return client.result("fileops/applyPatch", {"patch": patch, **more})


def dialect(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


WHOLE = dialect(
    "*** Update File: a.py", "@@ class B:", "-    x = 1", "+    x = 2",
    "*** Update File: b.txt", "*** Move to: sub/d.txt", "@@", " one", "-two", "+three",
    "*** Delete File: c.txt",
    "*** Add File: new/e.txt", "+e",
)  # fmt: skip


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_patch_of_several_files_is_one_change_set(client: RawClient, folder: Path) -> None:
    before = contents(folder)
    result = apply(client, WHOLE)
    assert result["status"] == "success", result
    assert contents(folder) == {
        "a.py": "class A:\n    x = 1\n\n\nclass B:\n    x = 2\n", "sub/d.txt": "one  \nthree\n", "new/e.txt": "e\n",
    }  # fmt: skip
    files = result["details"]["files"]
    assert [file["operation"] for file in files] == ["modify", "rename", "delete", "create"]
    assert [file.get("match") for file in files] == ["exact", "trailing_blanks", None, None]
    assert "ignoring blanks at the ends of lines" in result["output"]
    undone = client.result("fileops/undo", {"set_id": result["details"]["set_id"]})
    assert undone["status"] == "success", undone
    assert contents(folder) == before


def test_dry_run_of_a_patch_writes_nothing(client: RawClient, folder: Path) -> None:
    before = contents(folder)
    result = apply(client, WHOLE, dry_run=True)
    assert (result["status"], contents(folder)) == ("success", before)


def test_diff_of_git_is_applied_below_the_named_folder(client: RawClient, folder: Path) -> None:
    patch = (
        "diff --git a/p/a.py b/p/a2.py\nsimilarity index 90%\nrename from p/a.py\nrename to p/a2.py\n"
        "--- a/p/a.py\n+++ b/p/a2.py\n@@ -6 +6 @@\n-    x = 1\n+    x = 3\n"
        "diff --git a/p/c.txt b/p/c.txt\ndeleted file mode 100644\n--- a/p/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    )
    result = apply(client, patch, cwd=str(folder.parent))
    assert result["status"] == "success", result
    assert contents(folder)["a2.py"].endswith("class B:\n    x = 3\n")
    assert not (folder / "c.txt").exists()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.is_file()}


# R-PATCH-8
def test_diff_changes_the_executable_bit_and_its_undo_restores_it(client: RawClient, folder: Path) -> None:
    (folder / "a.py").chmod(0o640)
    (folder / "b.txt").chmod(0o755)
    client.read(folder / "a.py")
    client.read(folder / "b.txt")
    before = modes(folder)
    patch = (
        "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n"
        "diff --git a/b.txt b/b2.txt\nold mode 100755\nnew mode 100644\nrename from b.txt\nrename to b2.txt\n"
        "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+exit\n"
    )
    result = apply(client, patch)
    assert result["status"] == "success", result
    after = modes(folder)
    assert (after["a.py"], after["b2.txt"], after["run.sh"] & 0o100) == (0o750, 0o644, 0o100)
    assert f"edited {folder}/a.py: 0 lines added, 0 removed, executable" in result["output"]
    assert result["details"]["files"][0]["ui_extra"]["diff"].startswith("old mode 100644\nnew mode 100755\n")
    undone = client.result("fileops/undo", {"set_id": result["details"]["set_id"]})
    assert undone["status"] == "success", undone
    assert f"renamed {folder}/b2.txt to {folder}/b.txt, executable\n" in undone["output"]
    assert undone["output"].endswith(f"edited {folder}/a.py: 0 lines added, 0 removed, not executable")
    assert modes(folder) == before
    again = client.result("fileops/undo", {"edit_id": undone["details"]["files"][-1]["edit_id"]})
    assert again["status"] == "success", again


def test_undo_leaves_an_executable_bit_alone_that_others_changed_back(client: RawClient, folder: Path) -> None:
    (folder / "a.py").chmod(0o644)
    result = apply(client, "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n")
    assert modes(folder)["a.py"] == 0o755
    (folder / "a.py").chmod(0o600)
    undone = client.result("fileops/undo", {"set_id": result["details"]["set_id"]})
    assert undone["status"] == "success", undone
    assert modes(folder)["a.py"] == 0o600


@pytest.mark.parametrize(
    ("lines", "code", "details", "words"),
    [
        (("*** Update File: a.py", "x"), "invalid_patch", {"patch_line": 3}, "Line 3"),
        (
            ("*** Update File: a.py", "@@", "-    x = 1"),
            "multiple_matches",
            {"patch_line": 3, "match_lines": [2, 6]},
            "lines 2, 6",
        ),
        (("*** Update File: a.py", "@@", "-    y = 1"), "no_match", {"patch_line": 3}, "not in the file"),
        (("*** Update File: a.py", "@@ class C:", "-    x = 1"), "no_match", {"patch_line": 3}, "class C:"),
        (("*** Delete File: c.txt", "*** Delete File: c.txt"), "set_unsupported", {}, ""),
        (("*** Add File: c.txt", "+x"), "already_exists", {"change_index": 0}, ""),
        (("*** Delete File: c.txt", "*** Update File: none", "-x"), "not_found", {"change_index": 1}, ""),
    ],
)  # fmt: skip
# R-PATCH-2, R-PATCH-4
def test_patch_that_cannot_be_made_is_refused_whole(
    client: RawClient, folder: Path, lines: Sequence[str], code: str, details: dict[str, object], words: str
) -> None:
    before = contents(folder)
    result = apply(client, dialect(*lines))
    assert (result["error"]["code"], contents(folder)) == (code, before)
    assert result["details"].items() >= details.items()
    assert words in result["output"]


def test_diff_that_deletes_another_text_is_refused(client: RawClient, folder: Path) -> None:
    (folder / "c.txt").write_text("gone\nmore\n")
    client.read(folder / "c.txt")
    result = apply(client, "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n")
    assert result["error"]["code"] == "no_match"
    assert "other text" in result["output"]
    assert (folder / "c.txt").exists()


def test_hunk_that_is_not_there_is_refused_with_what_is(client: RawClient) -> None:
    result = apply(client, dialect("*** Update File: a.py", "@@", " class B:", "-   x = 1", "+   x = 2"))
    assert result["error"]["code"] == "no_match"
    place = result["details"]["suggested_place"]
    assert (place["start_line"], place["differs_in"]) == (5, ["indentation"])


def test_file_that_was_not_read_is_not_patched(client: RawClient, folder: Path) -> None:
    (folder / "unread").write_text("x\n")
    result = apply(client, dialect("*** Update File: unread", "-x"))
    assert result["error"]["code"] == "not_read"


def test_tool_applies_a_patch_below_the_root_and_hints_at_what_is_there(folder: Path) -> None:
    with mcp_client(folder, "--tools", "+write", "--tools", "+patch") as client:
        client.begin()
        listed = [tool["name"] for tool in client.result("tools/list", {})["tools"]]
        assert listed == ["Read", "Edit", "MultiEdit", "Write", "ApplyPatch"]
        for name in ("a.py", "b.txt", "c.txt"):
            client.tool("Read", file_path=str(folder / name))
        wrong = WHOLE.replace("-    x = 1", "-  x = 1")
        refused = client.tool("ApplyPatch", patch=wrong)
        assert refused["isError"]
        assert "No file was changed." in texts_of(refused)[0]
        assert "indentation" in texts_of(refused)[1]
        done = client.tool("ApplyPatch", patch=WHOLE)
        assert not done["isError"], texts_of(done)
        assert "Applied 4 changes together" in texts_of(done)[0]
    assert sorted(contents(folder)) == ["a.py", "new/e.txt", "sub/d.txt"]


# --- real histories -----------------------------------------------------------------------------------------------


def git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True).stdout


class Commit:
    """A commit with at least two text files, and both of its trees as far as it changes them."""

    def __init__(self, repository: Path, commit: str) -> None:
        self.diff = git(repository, "show", "--format=", "-M", "--no-color", "--no-ext-diff", commit)
        raw = git(repository, "show", "--format=", "-M", "--raw", "-z", commit).decode().split("\0")
        self.before: dict[str, bytes] = {}
        self.after: dict[str, bytes] = {}
        self.executable_before: dict[str, bool] = {}
        self.executable_after: dict[str, bool] = {}
        self.is_plain, self.changes_modes = True, False
        fields = iter(raw)
        for head in fields:
            if not head:
                break
            old_mode, new_mode, _, _, status = head.removeprefix(":").split()
            old_path = next(fields)
            new_path = next(fields) if status[0] == "R" else old_path
            self.is_plain &= {old_mode, new_mode} <= {"000000", "100644", "100755"}
            self.changes_modes |= {old_mode, new_mode} not in ({"000000", "100644"}, {"100644"}, {"100755"})
            if status[0] != "A":
                self.before[old_path] = git(repository, "show", f"{commit}^:{old_path}")
                self.executable_before[old_path] = old_mode == "100755"
            if status[0] != "D":
                self.after[new_path] = git(repository, "show", f"{commit}:{new_path}")
                self.executable_after[new_path] = new_mode == "100755"
        self.is_text = not any(b"\0" in text for text in (*self.before.values(), *self.after.values()))

    def dialect(self, n_context: int) -> str | None:
        """The commit in the dialect, without renames; None if the dialect cannot say it."""
        if self.changes_modes:
            return None
        parts: list[str] = []
        for path in sorted(self.before.keys() | self.after.keys()):
            old, new = (side[path].decode() if path in side else None for side in (self.before, self.after))
            if new is None:
                parts.append(f"*** Delete File: {path}\n")
            elif old is None:
                if new and not new.endswith("\n"):
                    return None
                parts.append(f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in new.split("\n")[:-1]))
            elif old != new:
                part = dialect_of(path, old, new, n_context=n_context)
                if part is None:
                    return None
                parts.append(part)
        return f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"


def commits_of(repository: Path, n_commits: int) -> Iterator[Commit]:
    hashes = git(repository, "log", "--format=%H", "--no-merges", "--max-count=400").decode().split()
    n_made = 0
    for commit in hashes[:-1]:  # a shallow history has nothing before its last one
        if n_made == n_commits:
            return
        names = git(repository, "show", "--format=", "--name-only", commit).decode().split("\n")[:-1]
        if 2 <= len(names) <= MAX_FILES:
            made = Commit(repository, commit)
            if made.is_plain and made.is_text:
                n_made += 1
                yield made


def played(client: FileOpsClient, folder: Path, commit: Commit, patch: str) -> str | None:
    """Apply the patch to the tree before the commit, and judge the tree: that of the commit, or the same as before.

    Returns the code of the failure.
    """
    for path, content in commit.before.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        (folder / path).chmod(0o755 if commit.executable_before[path] else 0o644)
        client.read(folder / path, limit=1)
    result = cast("dict[str, Any]", client.request("fileops/applyPatch", {"patch": patch, "cwd": str(folder)}))
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    tree = {name: path.read_bytes() for name, path in files.items()}
    executable = {name: bool(path.stat().st_mode & 0o100) for name, path in files.items()}
    is_made = result["status"] == "success"
    assert tree == (commit.after if is_made else commit.before), result["output"][:500]
    assert executable == (commit.executable_after if is_made else commit.executable_before)
    return None if result["error"] is None else result["error"]["code"]


def play_history(repository: Path, folder: Path, n_commits: int) -> None:
    n_in_dialect = n_refused = 0
    with FileOpsClient.start(root=folder, initialization_options={"approval_mode": "yolo"}) as client:
        for number, commit in enumerate(commits_of(repository, n_commits)):
            place = folder / f"{number}-diff"
            place.mkdir()
            # A diff says the lines, so none of its hunks is ambiguous.
            assert played(client, place, commit, commit.diff.decode()) is None
            for n_context in (3, 30):
                if (patch := commit.dialect(n_context)) is not None:
                    place = folder / f"{number}-dialect-{n_context}"
                    place.mkdir()
                    n_in_dialect += 1
                    code = played(client, place, commit, patch)
                    n_refused += code is not None
                    assert code in {None, "multiple_matches"}
    if n_in_dialect > 10:
        assert n_refused < n_in_dialect / 3


def test_patches_of_the_projects_history_lead_to_the_trees_of_its_commits(tmp_path: Path) -> None:
    if subprocess.run(["git", "-C", REPOSITORY, "rev-parse", "HEAD"], check=False).returncode != 0:
        pytest.skip("this copy of the project has no history")
    play_history(REPOSITORY, tmp_path, N_COMMITS)


def test_patches_of_a_history_with_every_kind_of_change_lead_to_its_trees(tmp_path: Path) -> None:
    """Of a repository made here, because the project's own may have been fetched without a history."""
    repository, folder = tmp_path / "repository", tmp_path / "played"
    repository.mkdir()
    folder.mkdir()
    git(repository, "init", "-q")
    f, g = "def f():\n    return 1\n", "def g():\n    return {}\n"
    states: list[dict[str, str]] = [
        {"a.py": f * 5, "b.txt": "x\r\ny\r\n", "ä ö.txt": "no newline", "empty": ""},
        {"a.py": f * 4 + g.format(2), "b.txt": "x\r\nz\r\n", "ä ö.txt": "no newline\n", "empty": "", "run": "exit\n"},
        {
            "dir/a.py": f * 4 + g.format(3),
            "b.txt": "x\nz\n",
            "ä ö.txt": "new\nno newline",
            "empty": "full\n",
            "run": "exit\n",
        },
        {"dir/a.py": f * 4 + g.format(3), 'a\ttab"': "q\n", "c": "", "empty": "", "new": "exit\n", "run": "exit 1\n"},
    ]
    executable = [set[str](), {"b.txt", "run"}, {"dir/a.py"}, {"new", "run"}]  # fmt: skip
    for state, names in zip(states, executable, strict=True):
        for path in repository.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                path.unlink()
        for name, content in state.items():
            (repository / name).parent.mkdir(exist_ok=True)
            (repository / name).write_bytes(content.encode())
            (repository / name).chmod(0o755 if name in names else 0o644)
        git(repository, "add", "-A")
        git(repository, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "state")
    play_history(repository, folder, len(states))
