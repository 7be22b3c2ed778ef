"""What a patch asks of a change set."""

import pytest

from fileops.core.patch.changes import to_changes
from fileops.core.patch.parser import parse_patch
from fileops.model.changes import CreateFile, DeleteFile, EditFile, FileChange, RenameFile
from fileops.model.errors import NotAbsolute

PATCH = """*** Begin Patch
*** Add File: new/a.txt
+a
*** Delete File: /abs/b.txt
*** Update File: ./c.txt
@@
-c
+C
*** Update File: d.txt
*** Move to: sub/../e.txt
*** End Patch
"""


def test_files_of_a_patch_become_changes_below_the_folder() -> None:
    patch = parse_patch(PATCH)
    assert to_changes(patch, "/p") == (
        CreateFile(file_path="/p/new/a.txt", content="a\n"),
        DeleteFile(file_path="/abs/b.txt"),
        EditFile(file_path="/p/c.txt", hunks=patch.files[2].hunks),
        RenameFile(file_path="/p/d.txt", new_path="/p/e.txt"),
    )


def test_deletion_of_a_diff_keeps_the_text_that_it_expects() -> None:
    patch = parse_patch("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert to_changes(patch, "/p") == (DeleteFile(file_path="/p/x", hunks=patch.files[0].hunks),)


def test_relative_path_needs_a_folder() -> None:
    with pytest.raises(NotAbsolute) as refusal:
        to_changes(parse_patch(PATCH), None)
    assert refusal.value.path == "new/a.txt"


@pytest.mark.parametrize(
    ("headers", "change"),
    [
        ("new file mode 100755", CreateFile(file_path="/p/x", content="", is_executable=True)),
        ("new file mode 100644", CreateFile(file_path="/p/x", content="")),
        ("old mode 100644\nnew mode 100755", EditFile(file_path="/p/x", is_executable=True)),
        ("old mode 100755\nnew mode 100644", EditFile(file_path="/p/x", is_executable=False)),
        (
            "old mode 100644\nnew mode 100755\nrename from x\nrename to y",
            RenameFile(file_path="/p/x", new_path="/p/y", is_executable=True),
        ),
    ],
)
def test_modes_of_a_diff_set_the_executable_bit(headers: str, change: FileChange) -> None:
    assert to_changes(parse_patch(f"diff --git a/x b/x\n{headers}\n"), "/p") == (change,)
