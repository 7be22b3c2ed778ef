"""Files whose names are spelled otherwise than their folders spell them, where that is no difference, as on macOS."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fileops_client import FileOpsClient, Options
from support.editor_client import editor_client
from support.folding_disk import folding_disk

pytestmark = pytest.mark.xdist_group("folding disk")


@pytest.fixture(scope="module")
def mounted() -> Iterator[Path]:
    with folding_disk() as mount_point:
        yield Path(os.path.realpath(mount_point))


@pytest.fixture
def project(mounted: Path) -> Path:
    project = Path(tempfile.mkdtemp(prefix="Project-", dir=mounted))
    (project / "File.txt").write_text("one\ntwo\n")
    return project


async def test_file_read_by_one_spelling_is_edited_by_another(project: Path) -> None:
    async with FileOpsClient.start(root=project) as client:
        assert (await client.read(project / "File.txt")).ok
        edit = await client.edit(project / "fILE.TXT", "one", "1")
        assert edit.ok, edit.output
        tracked = await client.request("fileops/tracked", {"session_id": "default"})
        assert len(tracked["files"]) == 1
    assert os.listdir(project) == ["File.txt"]
    assert (project / "File.txt").read_text() == "1\ntwo\n"


async def test_external_change_makes_every_spelling_stale(project: Path) -> None:
    async with FileOpsClient.start(root=project) as client:
        assert (await client.read(project / "fILE.TXT")).ok
        (project / "FILE.TXT").write_text("other\ntwo\n")
        edit = await client.edit(project / "file.txt", "two", "2")
        assert (edit.ok, edit.code) == (False, "modified_externally")


@pytest.mark.parametrize("given", ["KEY.SECRET", "key.secret", "Private/x", "PRIVATE/X"])
async def test_unreadable_file_is_refused_by_every_spelling(project: Path, given: str) -> None:
    (project / ".agentsignore").write_text("Key.secret\n/private/\n")
    (project / "Key.secret").write_text("hunter2\n")
    (project / "Private").mkdir()
    (project / "Private" / "x").write_text("hunter2\n")
    async with FileOpsClient.start(root=project) as client:
        read = await client.read(project / given)
        assert (read.ok, read.code) == (False, "not_permitted")


async def test_project_opened_by_another_spelling_confines_the_same_folder(project: Path) -> None:
    root = project.with_name(project.name.swapcase())
    options: Options = {"confine": "all"}
    async with FileOpsClient.start(root=root, initialization_options=options) as client:
        for given in (project / "File.txt", root / "File.txt"):
            assert (await client.read(given)).ok
        outside = await client.read(project.parent / "File.txt")
        assert not outside.ok


async def test_unsaved_text_is_found_by_another_spelling(project: Path) -> None:
    async with editor_client(project, "workspace/applyEdit") as editor:
        editor.open(project / "FILE.txt")
        editor.type(project / "FILE.txt", "one", "ONE")
        assert "ONE" in (await editor.client.read(project / "file.txt")).output
        assert (await editor.client.edit(project / "File.txt", "ONE", "I")).ok
        assert editor.text(project / "FILE.txt") == "I\ntwo\n"
    assert (project / "File.txt").read_text() == "one\ntwo\n"
