"""Titles, places and rendered panes, through the daemon. Requirements: R-VIEW-* of docs/PROTOCOL.md."""

from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient, Location, ResponseError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "src" / "x.py"
    path.parent.mkdir()
    path.write_text("".join(f"line {n}\n" for n in range(1, 61)))
    return path


# R-VIEW-1
async def test_title_is_relative_to_the_workspace_folder(tmp_path: Path, file: Path) -> None:
    async with FileOpsClient.start(root=tmp_path) as client:
        arguments = {"file_path": str(file), "old_string": "old text", "new_string": "new text"}
        told = await client.describe("fileops/edit", arguments)
        assert told.title == "src/x.py: old text... => new text..."
        assert (await client.describe("Edit", arguments | {"old_string": ""})).title == "Create src/x.py"
        assert (await client.describe("edit", arguments | {"new_string": "old text"})).title == (
            "No file changes to src/x.py"
        )
        assert (await client.describe("read", {"file_path": "/etc/hosts"})).title == "Read /etc/hosts"
        assert (await client.describe("edit", {})).title == "Edit ..."


async def test_title_is_relative_to_a_folder_that_is_a_symlink(tmp_path: Path, file: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file.parent)
    async with FileOpsClient.start(root=link) as client:
        for path in (link / "x.py", file):
            assert (await client.describe("read", {"file_path": str(path)})).title == "Read x.py"


# R-VIEW-2
async def test_location_of_an_edit_is_returned_for_read_files_only(tmp_path: Path, file: Path) -> None:
    async with FileOpsClient.start(root=tmp_path) as client:
        arguments = {"file_path": str(file), "old_string": "line 12"}
        assert (await client.describe("edit", arguments)).locations == (Location(path=str(file)),)
        await client.read(file)
        assert (await client.describe("edit", arguments)).locations == (Location(path=str(file), line=12),)
        absent = arguments | {"old_string": "absent"}
        assert (await client.describe("edit", absent)).locations == (Location(path=str(file)),)
        other = arguments | {"session_id": "other"}
        assert (await client.describe("edit", other)).locations == (Location(path=str(file)),)
        assert (await client.describe("read", {"file_path": str(file), "offset": 7})).locations[0].line == 7


# R-VIEW-3
async def test_read_is_rendered_collapsed_and_expanded(tmp_path: Path, file: Path) -> None:
    async with FileOpsClient.start(root=tmp_path) as client:
        assert (await client.render("read", {}, is_partial=True)).call == "read ..."
        arguments = {"file_path": str(file), "offset": 10, "limit": 41}
        result = await client.read(file, offset=10, limit=41)
        view = await client.render("read", arguments, result=result)
        assert view.call == "read src/x.py:10-50"
        assert [(line.number, line.text) for line in view.lines] == [(n, f"line {n}") for n in range(10, 20)]
        assert (view.n_more, view.more) == (31, "... (31 more lines)")
        expanded = await client.render("read", arguments, result=result, expanded=True)
        assert (len(expanded.lines), expanded.more) == (41, "")


# R-VIEW-4
async def test_edit_is_rendered_as_diff_rows(tmp_path: Path, file: Path) -> None:
    async with FileOpsClient.start(root=tmp_path) as client:
        await client.read(file)
        arguments: dict[str, Any] = {
            "file_path": str(file),
            "old_string": "line 12\n",
            "new_string": "twelve\nand more\n",
        }
        view = await client.render("edit", arguments, result=await client.edit(**arguments))
        assert view.diff is not None
        changed = [(row.kind, row.old_line, row.new_line, row.text) for row in view.diff.rows if row.kind in "-+"]
        assert changed == [("-", 12, None, "line 12"), ("+", None, 12, "twelve"), ("+", None, 13, "and more")]
        assert (view.call, view.diff.title, view.diff.added, view.diff.removed) == (
            "edit src/x.py", "src/x.py", 2, 1
        )  # fmt: skip
        failed = await client.render("edit", arguments, result=await client.edit(**arguments))
        assert (failed.state, failed.diff) == ("error", None)
        assert failed.lines[0].text == "The text to replace was not found in the file."


async def test_view_of_a_created_file_is_marked_as_created(tmp_path: Path, file: Path) -> None:
    async with FileOpsClient.start(root=tmp_path) as client:
        new: dict[str, Any] = {"file_path": str(file.parent / "new.py"), "old_string": "", "new_string": "x = 1\n"}
        preview = await client.render("edit", new, result=await client.edit(**new, dry_run=True))
        assert (preview.summary, preview.diff is None) == ("", False)
        created = await client.edit(**new)
        view = await client.render("edit", new, result=created)
        assert view.summary == "Created src/new.py"
        assert view.diff is not None
        assert [(row.kind, row.text) for row in view.diff.rows[1:]] == [("+", "x = 1")]
        content: dict[str, Any] = {"file_path": str(tmp_path / "a.txt"), "content": "a\n"}
        written = await client.write(**content)
        assert (await client.render("write", content, result=written)).summary == "Created a.txt"
        changed: dict[str, Any] = {"file_path": str(file.parent / "new.py"), "old_string": "1", "new_string": "2"}
        assert (await client.render("edit", changed, result=await client.edit(**changed))).summary == ""
        assert (await client.render("edit", new, result=await client.edit(**new))).summary == ""  # refused
        odd: dict[str, Any] = {"status": "success", "output": "", "details": ["dry_run"]}
        assert (await client.render("edit", new, result=odd)).summary == ""


# R-VIEW-5
async def test_malformed_arguments_are_described_but_a_malformed_result_is_refused(tmp_path: Path) -> None:
    async with FileOpsClient.start(root=tmp_path) as client:
        odd: list[dict[str, Any]] = [
            {"file_path": 3},
            {"edits": [None, 3]},
            {"file_path": None, "offset": "x", "limit": []},
        ]
        for arguments in odd:
            for method in ("fileops/read", "fileops/multiEdit", "fileops/noSuchMethod"):
                assert (await client.describe(method, arguments)).title
                assert (await client.render(method, arguments)).call
        for result, place in (
            ({"status": "maybe", "output": ""}, "$.result.status"),
            ({"status": "success"}, "$.result.output"),
            ({"n_lines": 3}, "$.result.status"),
        ):
            with pytest.raises(ResponseError) as refused:
                await client.render("read", {}, result=result)
            assert (refused.value.code, refused.value.data["path"]) == (-32602, place)
