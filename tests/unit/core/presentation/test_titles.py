"""Titles, locations and short paths."""

from typing import Any

import pytest

from fileops.core.presentation.titles import describe, relative, shorten

FOLDERS = ("/p", "/p/packages/inner", "/q")


@pytest.mark.parametrize(
    ("method", "arguments", "title"),
    [
        ("fileops/edit", {"file_path": "/p/a.py", "old_string": "", "new_string": "x"}, "Create a.py"),
        ("fileops/edit", {"file_path": "/p/a.py", "old_string": "x", "new_string": "x"}, "No file changes to a.py"),
        ("fileops/edit", {"file_path": "/p/a.py", "old_string": "a\nb", "new_string": "c"}, "a.py: a... => c..."),
        (
            "Edit", {"file_path": "/p/a.py", "old_string": "x" * 40, "new_string": "y"},
            f"a.py: {'x' * 30}... => y...",
        ),
        ("fileops/edit", {"file_path": "/p/a.py", "old_string": "x"}, "a.py: x... => ..."),
        ("fileops/edit", {"file_path": "/p/a.py"}, "Edit a.py"),
        ("fileops/edit", {}, "Edit ..."),
        ("fileops/edit", {"file_path": 3, "old_string": None}, "Create ..."),
        (
            "fileops/multiEdit", {"file_path": "/p/a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
            "a.py: a... => b...",
        ),
        (
            "fileops/multiEdit",
            {"file_path": "/p/a.py", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]},
            "a.py: 2 edits",
        ),
        ("MultiEdit", {"file_path": "/p/a.py", "edits": [{"old_string": "", "new_string": "b"}]}, "Create a.py"),
        ("fileops/multiEdit", {"file_path": "/p/a.py", "edits": "no list"}, "Edit a.py"),
        ("fileops/read", {"file_path": "/p/a.py", "offset": 10, "limit": 41}, "Read a.py:10-50"),
        ("fileops/read", {"file_path": "/p/a.py", "offset": 10}, "Read a.py:10"),
        ("Read", {}, "Read ..."),
        ("fileops/bash", {"command": "make\ntest"}, "Run make..."),
        ("fileops/recordRead", {"file_path": "/p/a.py"}, "Record read a.py"),
        ("fileops/tools", {}, "Tools"),
        ("fileops/undo", {"edit_id": "0123456789abcdef"}, "Undo edit 0123456789ab"),
        ("fileops/undo", {"session_id": "agent-7"}, "Undo session agent-7"),
        ("fileops/undo", {}, "Undo"),
        ("fileops/read", {"file_path": "/p/a\x1b[31m\udce9"}, "Read a\ufffd[31m\ufffd"),
    ],
)  # fmt: skip
def test_title_describes_the_call(method: str, arguments: dict[str, Any], title: str) -> None:
    assert describe(method, arguments, FOLDERS).title == title


def test_location_has_the_given_path_and_the_known_line() -> None:
    (place,) = describe("fileops/read", {"file_path": "/p/a.py", "offset": 7}, FOLDERS).locations
    assert (place.path, place.line) == ("/p/a.py", 7)
    (place,) = describe("fileops/edit", {"file_path": "/p/a.py", "old_string": "x"}, FOLDERS, edit_line=3).locations
    assert (place.path, place.line) == ("/p/a.py", 3)
    (place,) = describe("fileops/read", {"file_path": "/p/a.py", "offset": True}, FOLDERS).locations
    assert place.line is None
    assert describe("fileops/edit", {"old_string": "x"}, FOLDERS).locations == ()


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/p/src/a.py", "src/a.py"), ("/p/packages/inner/a.py", "a.py"), ("/elsewhere/a.py", "/elsewhere/a.py"),
        ("/pq/a.py", "/pq/a.py"), ("/p/x/../a.py", "a.py"), ("/p", "."), ("a.py", "a.py"),
    ],
)  # fmt: skip
def test_path_is_relative_to_the_innermost_folder(path: str, shown: str) -> None:
    assert relative(path, FOLDERS) == shown


def test_root_folder_contains_every_path() -> None:
    assert relative("/etc/hosts", ("/",)) == "etc/hosts"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/a.py", "src/a.py"),
        ("src/components/forms/widgets/inputs/button.py", "src/.../widgets/inputs/button.py"),
        ("/usr/lib/python3/dist-packages/some/module.py", "/usr/.../some/module.py"),
        ("a/" + "b" * 50 + ".py", "..." + "b" * 29 + ".py"),
    ],
)
def test_long_path_keeps_its_first_and_last_parts(path: str, shown: str) -> None:
    assert shorten(path) == shown
    assert len(shown) <= 35
