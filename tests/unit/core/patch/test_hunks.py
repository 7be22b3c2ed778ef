"""Where hunks apply, what they leave as it is, and what is refused."""

import pytest

from fileops.core import splices as splicing
from fileops.core.patch import hunks as patch_hunks
from fileops.core.patch.hunks import plan_hunks
from fileops.core.patch.parser import parse_patch
from fileops.core.text import detect_format
from fileops.model.edits import Plan
from fileops.model.errors import HunkAmbiguous, HunkNotFound, InvalidPatch, NotEncodable
from support.core_models import LIMITS, snapshot_of


def planned(data: bytes, patch: str) -> Plan:
    (file,) = parse_patch(patch).files
    return plan_hunks(snapshot_of(data), detect_format(data), file.hunks, limits=LIMITS)


def applied(data: bytes, body: str) -> bytes:
    return splicing.apply(data, planned(data, dialect(body)).splices)


def dialect(body: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"


def diff(body: str) -> str:
    return f"--- a/f\n+++ b/f\n{body}"


CLASSES = b"class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"


@pytest.mark.parametrize(
    ("data", "body", "result"),
    [
        (b"a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", b"a\nB\nc\n"),
        (b"a\nb\nc\n", "-b\n", b"a\nc\n"),
        (b"a\nb\nc\n", "@@\n a\n+x\n b\n", b"a\nx\nb\nc\n"),
        (b"a\nb\na\n", "@@\n b\n-a\n", b"a\nb\n"),
        (b"x\na\nx\n", "@@\n-a\n+b\n@@\n-x\n+y\n", b"x\nb\ny\n"),  # the second hunk is below the first
        (b"x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", b"x\ny\nz\n"),
        (CLASSES, "@@ class A:\n-        return 1\n+        return 2\n", CLASSES.replace(b"1", b"2", 1)),
        (CLASSES, "@@ class B:\n-        return 1\n+        return 2\n", CLASSES[:-2] + b"2\n"),
        (CLASSES, "@@ class B:\n@@ def f(self):\n-        return 1\n", CLASSES[: CLASSES.rfind(b"    ") - 4]),
        (CLASSES, "@@ class A:\n class A:\n-    def f(self):\n+    def g(self):\n", CLASSES.replace(b"f(", b"g(", 1)),
        (b"f (\n  a\n) {\n  x\n}\ng {\n  x\n}\n", "@@ f (\n-  x\n+  y\n", b"f (\n  a\n) {\n  y\n}\ng {\n  x\n}\n"),
        (b"# T\na\n# U\nb\n", "@@ # T\n-a\n+c\n", b"# T\nc\n# U\nb\n"),
        (b"a\n", "+b\n", b"a\nb\n"),
        (b"a", "+b\n+c\n", b"a\nb\nc\n"),
        (b"a", "+b\n@@\n+c\n", b"a\nb\nc\n"),
        (b"", "+b\n", b"b\n"),
        (b"a\nb", "@@\n a\n-b\n+c\n", b"a\nc\n"),
        (b"a\nb", "@@\n-a\n+c\n b\n", b"c\nb"),
        (b"a\r\nb\r\n", "@@\n a\n-b\n+c\n+d\n", b"a\r\nc\r\nd\r\n"),
        (b"a\r\nb\n", "@@\n a\n+x\n b\n", b"a\r\nx\nb\n"),
        (b"a\r\nb\n", "@@\n-a\r\n+a\n b\n", b"a\nb\n"),
        (b"a\nb\n", "@@\n-a\r\n+c\r\n b\r\n", b"c\nb\n"),
        ("\ufeffa\nb\n".encode("utf-16-le"), "-b\n+ਊ\n", "\ufeffa\nਊ\n".encode("utf-16-le")),
        ("\ufeffa\nb\n".encode(), "-a\n+c\n", "\ufeffc\nb\n".encode()),
        ("\ufeffa\nb\n".encode(), "-\ufeffa\n+c\n", b"c\nb\n"),
        (b"\xff\nb\n\xfe\n", "-b\n+c\n", b"\xff\nc\n\xfe\n"),
    ],
)
def test_hunk_changes_the_one_place_that_it_names(data: bytes, body: str, result: bytes) -> None:
    assert applied(data, body) == result


@pytest.mark.parametrize(
    ("data", "body", "match", "result"),
    [
        (b"a  \nb\t\nc\n", "@@\n a\n-b\n+B\n c\n", "trailing_blanks", b"a  \nB\nc\n"),
        ("“a”\nb\nc\n".encode(), '@@\n "a"\n-b\n+B\n c\n', "lookalikes", "“a”\nB\nc\n".encode()),
        ("a\u00a0b \nc\n".encode(), "@@\n-a b\n+x\n c\n", "lookalikes", b"x\nc\n"),
        (b"a\r\nb\r\n", "@@\n a\n-b\n+c\n", "newline", b"a\r\nc\r\n"),
        (b"a\r\nb\r\n", "@@\n a\r\n-b\r\n+c\r\n", "exact", b"a\r\nc\r\n"),
        (b"a\n", "+b\n", "exact", b"a\nb\n"),
    ],
)
# R-PATCH-5, R-PATCH-6
def test_match_is_named_and_kept_lines_keep_their_bytes(data: bytes, body: str, match: str, result: bytes) -> None:
    plan = planned(data, dialect(body))
    assert plan.matches == (match,)
    assert splicing.apply(data, plan.splices) == result


def test_exact_place_is_preferred_to_one_that_differs_in_blanks() -> None:
    assert applied(b"a \nb\na\nb\n", "@@\n a\n-b\n") == b"a \nb\na\n"


@pytest.mark.parametrize(
    ("data", "body", "lines"),
    [
        (b"a\nb\na\n", "-a\n", (1, 3)),
        (b"a \nb\na\t\n", "-a\n", (1, 3)),
        (b"a\na\na\n", "@@\n a\n-a\n", (1, 2)),
        (CLASSES, "@@\n-        return 1\n", (3, 7)),
        (CLASSES, "@@ def f(self):\n-        return 1\n", (3, 7)),
        (CLASSES + b"        return 1\n", "@@ class B:\n-        return 1\n", (7, 8)),
        (b"# T\na\n# U\na\n", "@@ # T\n-a\n", (2, 4)),
    ],
)
def test_hunk_at_several_places_is_refused(data: bytes, body: str, lines: tuple[int, ...]) -> None:
    with pytest.raises(HunkAmbiguous) as refusal:
        planned(data, dialect(body))
    assert refusal.value.lines == lines
    assert refusal.value.n_matches == len(lines)
    assert refusal.value.patch_line == 3


@pytest.mark.parametrize(
    ("data", "body", "index", "anchor", "elsewhere"),
    [
        (b"a\nb\n", "-x\n", 0, None, ()),
        (b"  a\nb\n", "-a\n", 0, None, ()),  # the original ignores indentation; here it is part of the text
        (b"a\nb\n", "@@\n-b\n@@\n-a\n", 1, None, (1,)),
        (b"x\ny\n", "@@\n-x\n*** End of File\n", 0, None, (1,)),
        (b"a\nb\n", "@@ class A:\n-b\n", 0, "class A:", ()),
        (CLASSES, "@@ class A:\n@@ def g(self):\n-        return 1\n", 0, "def g(self):", ()),
        (b"\xff\n", "-\udcff\n", 0, None, ()),
        (b"", "-a\n", 0, None, ()),
    ],
)
def test_hunk_that_is_nowhere_is_refused(
    data: bytes, body: str, index: int, anchor: str | None, elsewhere: tuple[int, ...]
) -> None:
    with pytest.raises(HunkNotFound) as refusal:
        planned(data, dialect(body))
    assert (refusal.value.edit_index, refusal.value.anchor, refusal.value.elsewhere) == (index, anchor, elsewhere)


def test_hunk_that_is_nowhere_is_refused_with_a_suggestion() -> None:
    with pytest.raises(HunkNotFound) as refusal:
        planned(b"def f():\n    return 1\n", dialect("@@\n def f():\n-  return 1\n+  return 2\n"))
    assert refusal.value.suggested_place is not None
    assert (refusal.value.suggested_place.start_line, refusal.value.suggested_place.end_line) == (1, 2)


@pytest.mark.parametrize(
    ("data", "body", "result"),
    [
        (b"a\nb\na\n", "@@ -3 +3 @@\n-a\n+c\n", b"a\nb\nc\n"),
        (b"0\na\nb\n", "@@ -1 +1 @@\n-a\n+c\n", b"0\nc\nb\n"),  # moved, and still the only one
        (b"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", b"a\nc\n"),
        (b"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", b"a\nc"),
        (b"a\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n", b"c\nb"),
        (
            b"a\nb",
            "@@ -2 +2,2 @@\n-b\n\\ No newline at end of file\n+b\n+c\n\\ No newline at end of file\n",
            b"a\nb\nc",
        ),
        (b"", "@@ -0,0 +1 @@\n+a\n", b"a\n"),
        (b"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", b"a\nb\r\n"),
        (b"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n", b"c\r\nb\r\n"),
    ],
)
def test_diff_applies_at_its_line_or_at_the_only_other_place(data: bytes, body: str, result: bytes) -> None:
    assert splicing.apply(data, planned(data, diff(body)).splices) == result


@pytest.mark.parametrize(
    ("data", "body", "refusal"),
    [
        (b"a\nb\na\n", "@@ -2 +2 @@\n-a\n+c\n", HunkAmbiguous),
        (b"a\nb\n", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n", HunkNotFound),
        (b"a\nb", "@@ -2 +2 @@\n-b\n+c\n", HunkNotFound),
        (b"a\nb\n", "@@ -1 +1 @@\n-a\n+c\n\\ No newline at end of file\n", HunkNotFound),
        (b"a\nb\n", "@@ -1,0 +2 @@\n+c\n", InvalidPatch),
    ],
)
def test_diff_that_does_not_fit_is_refused(data: bytes, body: str, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        planned(data, diff(body))


def test_new_line_that_the_file_cannot_hold_names_its_hunk() -> None:
    with pytest.raises(NotEncodable) as refusal:
        planned(b"a\nb\n", dialect("@@\n-a\n+c\n@@\n-b\n+\ud800\n"))
    assert refusal.value.edit_index == 1


def test_plan_has_the_hunks_as_edits_and_their_lines() -> None:
    plan = planned(b"a\nb\nc\nd\n", dialect("@@\n a\n-b\n@@\n-d\n+e\n"))
    assert [(edit.old_string, edit.new_string) for edit in plan.edits] == [("a\nb\n", "a\n"), ("d\n", "e\n")]
    assert plan.match_lines == ((1,), (4,))
    assert (plan.change.n_added, plan.change.n_removed) == (1, 2)


def test_too_much_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch_hunks, "MAX_WORK", 5)
    with pytest.raises(InvalidPatch) as refusal:
        planned(b"a\nb\nc\n", dialect("@@\n-a\n@@\n-b\n"))
    assert refusal.value.line == 5
