"""Both formats of a patch as values, and the line that a refusal names."""

import pytest

from fileops.core.patch import parser
from fileops.core.patch.parser import parse_patch
from fileops.model.changes import FilePatch
from fileops.model.edits import HunkLine, PatchHunk
from fileops.model.errors import InvalidPatch


def lines(*texts: str) -> tuple[HunkLine, ...]:
    return tuple(HunkLine(kind=text[0], text=text[1:]) for text in texts)  # pyrefly: ignore[bad-argument-type]


DIALECT = """*** Begin Patch
*** Add File: new.txt
+one
+
*** Delete File: gone.txt
*** Update File: src/a.py
*** Move to: src/b.py
@@ class A:
@@     def f():
 kept
-old
+new

 after
*** End of File
*** Update File: c.py
 first
+added
@@
-x
*** End Patch
"""


# R-PATCH-1, R-PATCH-3
def test_dialect_has_all_its_operations() -> None:
    patch = parse_patch(DIALECT)
    assert patch.format == "apply_patch"
    assert patch.files == (
        FilePatch(operation="create", path="new.txt", at=2, content="one\n\n"),
        FilePatch(operation="delete", path="gone.txt", at=5),
        FilePatch(
            operation="rename",
            path="src/a.py",
            new_path="src/b.py",
            at=6,
            hunks=(
                PatchHunk(
                    lines=lines(" kept", "-old", "+new", " ", " after"),
                    at=8,
                    anchors=("class A:", "def f():"),
                    is_at_end=True,
                ),
            ),
        ),
        FilePatch(
            operation="modify",
            path="c.py",
            at=16,
            hunks=(PatchHunk(lines=lines(" first", "+added"), at=17), PatchHunk(lines=lines("-x"), at=19)),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "\n\n*** Begin Patch\n*** Delete File: a\n*** End Patch",
        "*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n \n",
        "  *** Begin Patch \n *** Delete File:  a \n\t*** End Patch\n",
        "*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n",
    ],
)
def test_dialect_ignores_blanks_around_its_own_lines(text: str) -> None:
    (file,) = parse_patch(text).files
    assert (file.operation, file.path) == ("delete", "a")


def test_carriage_returns_of_single_lines_belong_to_the_file() -> None:
    text = "*** Begin Patch\n*** Update File: a\n@@\n-x\r\n+y\r\n*** End Patch\n"
    assert parse_patch(text).files[0].hunks[0].lines == lines("-x\r", "+y\r")
    everywhere = parse_patch(text.replace("\r", "").replace("\n", "\r\n"))
    assert everywhere.files[0].hunks[0].lines == lines("-x", "+y")


def test_empty_lines_between_hunks_and_files_only_separate() -> None:
    text = "*** Begin Patch\n*** Update File: a\n@@\n-x\n\n@@\n-y\n\n\n*** Delete File: b\n*** End Patch\n"
    first, second = parse_patch(text).files
    assert [hunk.lines for hunk in first.hunks] == [lines("-x"), lines("-y")]
    assert second.path == "b"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("\n \n", 1, "empty"),
        ("hello", 1, "begins neither with"),
        ("*** Begin Patch", 1, "last line"),
        ("*** Begin Patch\n*** End Patch", 2, "changes no file"),
        ("*** Begin Patch\n*** Delete File: a", 2, "last line"),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore", 4, "after '*** End Patch'"),
        ("*** Begin Patch\n*** Delete File: a\n*** Begin Patch\n*** End Patch", 3, "second time"),
        ("*** Begin Patch\n*** Change File: a\n*** End Patch", 2, "is none of"),
        ("*** Begin Patch\n*** Delete File:\n*** End Patch", 2, "no path"),
        ("*** Begin Patch\n*** Delete File: a\nfoo\n*** End Patch", 3, "is none of"),
        ("*** Begin Patch\n*** Add File: a\n+x\ny\n*** End Patch", 4, "no '+'"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", 2, "no hunk"),
        ("*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch", 3, "no line that begins with"),
        ("*** Begin Patch\n*** Update File: a\n@@\n*** End Patch", 3, "no line that begins with"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\ny\n*** End Patch", 5, "begins with none of"),
        ("*** Begin Patch\n*** Update File: a\n@@def f\n-x\n*** End Patch", 3, "no blank after '@@'"),
        ("*** Begin Patch\n*** Update File: a\n@@ def f\n+x\n*** End Patch", 3, "does not say where"),
        ("*** Begin Patch\n*** Update File: a\n-x\n*** End of File\n-y\n*** End Patch", 5, "begins with none of"),
        ("*** Begin Patch\n*** Delete File: a\n*** Move to: b\n*** End Patch", 3, "is none of"),
    ],
)
def test_dialect_is_refused_at_the_line_that_is_wrong(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidPatch) as refusal:
        parse_patch(text)
    assert refusal.value.line == line
    assert words in refusal.value.reason


GIT = """From 1234 Mon Sep 17 00:00:00 2001
Subject: [PATCH] all kinds

 a.py | 2 +-
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@ def f():
 kept
--- an SQL comment
+-- another
@@ -9 +9,0 @@
-x
\\ No newline at end of file
diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
index 1..2 100644
--- a/old name.py
+++ b/new name.py
@@ -3 +3 @@
-x
+y
diff --git a/moved b/elsewhere/moved
similarity index 100%
rename from moved
rename to elsewhere/moved
diff --git a/run.sh b/run.sh
new file mode 100755
index 0..1
--- /dev/null
+++ b/run.sh
@@ -0,0 +1,2 @@
+#!/bin/sh
+exit
\\ No newline at end of file
diff --git a/empty file b/empty file
new file mode 100644
index 0..1
diff --git a/gone b/gone
deleted file mode 100644
index 1..0
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/tool b/tool
old mode 100644
new mode 100755
diff --git "a/\\303\\244 \\"q\\".txt" "b/\\303\\244 \\"q\\".txt"
index 1..2 100644
--- "a/\\303\\244 \\"q\\".txt"
+++ "b/\\303\\244 \\"q\\".txt"
@@ -1 +1 @@
-a
+b
--\x20
2.39.5

"""


# R-PATCH-7
def test_diffs_of_git_have_renames_modes_and_new_and_deleted_files() -> None:
    patch = parse_patch(GIT)
    assert patch.format == "unified"
    by_path = {file.path: file for file in patch.files}
    assert list(by_path) == ["a.py", "old name.py", "moved", "run.sh", "empty file", "gone", "tool", 'ä "q".txt']
    first, second = by_path["a.py"].hunks
    assert first.lines == lines(" kept", "--- an SQL comment", "+-- another")
    assert (first.old_start, first.at, first.is_at_end) == (1, 9, False)
    assert second.lines == (HunkLine(kind="-", text="x", no_newline=True),)
    assert second.is_at_end
    assert by_path["old name.py"].new_path == "new name.py"
    assert by_path["old name.py"].hunks[0].old_lines == ("x",)
    assert (by_path["moved"].operation, by_path["moved"].new_path) == ("rename", "elsewhere/moved")
    assert by_path["run.sh"].content == "#!/bin/sh\nexit"
    assert by_path["run.sh"].is_executable
    assert by_path["empty file"] == FilePatch(operation="create", path="empty file", at=39)
    assert by_path["gone"].operation == "delete"
    assert by_path["gone"].hunks[0].old_lines == ("x",)
    assert by_path["tool"] == FilePatch(operation="modify", path="tool", at=49, is_executable=True)


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ("--- a/x/y.py\n+++ b/x/y.py", "x/y.py"),
        ("--- x.py\t2024-01-01 10:00\n+++ x.py\t2024-01-02 10:00", "x.py"),
        ('--- "a/\\303\\244 b"\t\n+++ "b/\\303\\244 b"\t', "ä b"),
        ("--- i/x.py\n+++ w/x.py", "x.py"),
        ("--- a/x.py\n+++ a/x.py", "a/x.py"),
        ("diff --git x y.py x y.py\n--- x y.py\n+++ x y.py", "x y.py"),
    ],
)
def test_paths_lose_the_prefixes_of_git_alone(names: str, path: str) -> None:
    (file,) = parse_patch(f"{names}\n@@ -1 +1 @@\n-a\n+b\n").files
    assert (file.operation, file.path) == ("modify", path)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", 1, "differ"),
        ("--- /dev/null\n+++ /dev/null\n", 1, "both sides"),
        ("--- a/x\n+++ b/x\n", 1, "no hunk"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n+b\n*** no\n", 6, "1 more old"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-c\n", 6, "neither a hunk nor a file"),
        ("--- a/x\n+++ b/x\n@@ foo @@\n-a\n+b\n", 3, "is not of the form"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", 3, "no line that begins with"),
        ("--- a/x\n+++ b/x\n@@ -9 +9 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n", 6, "in the order"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n-a\n\\ No newline at end of file\n-b\n+b\n", 4, "not the last"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", 4, "no line before it"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1, "a new file has one hunk"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 1, "keep or add"),
        ('--- "a/x\n+++ "b/x\n', 1, "no end"),
        ('--- "a/\\q"\n+++ "b/\\q"\n', 1, "unknown escape"),
        ('--- "a/\\377"\n+++ "b/\\377"\n', 1, "not UTF-8"),
        ("diff --git a/x b/y\nsimilarity index 9%\ncopy from x\ncopy to y\n", 3, "copies"),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 3\n", 2, "binary"),
        ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", 3, "binary"),
        ("diff --git a/x b/x\nnew file mode 120000\n", 2, "symbolic link"),
        ("diff --git a/x b/x\nindex 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 2, "symbolic link"),
        ("diff --git a/x b/x\nindex 1..2 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 2, "submodule"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100600\n", 3, "neither 100644 nor 100755"),
        ("diff --git a/x b/x\nrename from x\n", 1, "both 'rename from' and"),
        ("diff --git a/x b/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", 1, "without 'rename from'"),
        ("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n-a\n+b\n", 4, "is not of the form"),
    ],
)
def test_diff_is_refused_at_the_line_that_is_wrong(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidPatch) as refusal:
        parse_patch(text)
    assert words in refusal.value.reason
    assert refusal.value.line == line


@pytest.mark.parametrize("ranges", ["-1,3 +1,3", "-1,9 +1,7", "-1,2 +1,3", "-1,3 +1,1"])
@pytest.mark.parametrize("after", ["", "\n\n", "@@ -9 +9 @@\n-c\n+d\n", "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n"])
def test_lines_of_a_hunk_count_where_its_numbers_are_wrong(ranges: str, after: str) -> None:
    """Models miscount them; the next header says where the hunk ends."""
    body = " top\n-a\n+b\n end\n"
    files = parse_patch(f"--- a/x\n+++ b/x\n@@ {ranges} @@\n{body}{after}").files
    assert "".join(f"{line.kind}{line.text}\n" for line in files[0].hunks[0].lines) == body
    assert sum(len(file.hunks) for file in files) == 1 + after.count("@@ -")


@pytest.mark.parametrize("name", ["MAX_PATCH_CHARS", "MAX_PATCH_LINES"])
def test_patch_over_a_limit_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, name, 3)
    with pytest.raises(InvalidPatch) as refusal:
        parse_patch("*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch\n")
    assert "over" in refusal.value.reason
