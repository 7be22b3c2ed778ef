"""Names that differ in case or in the form of a character, on a filesystem for which they are one name."""

import os
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.recording import RecordingHooks
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.nofollow import OPENERS, resolve
from fileops.model.edits import Splice
from support.abilities import needs_openat2
from support.folding_disk import folding_disk

pytestmark = pytest.mark.xdist_group("folding disk")
COMPOSED, DECOMPOSED = unicodedata.normalize("NFC", "é.txt"), unicodedata.normalize("NFD", "é.txt")


@pytest.fixture(scope="module")
def mounted() -> Iterator[str]:
    with folding_disk() as mount_point:
        yield os.path.realpath(mount_point)


@pytest.fixture
def place(mounted: str) -> str:
    """A folder of the test's own on the disk that folds names."""
    return tempfile.mkdtemp(dir=mounted)


@pytest.fixture
def disk(tmp_path: Path) -> LocalFileSystem:
    return LocalFileSystem(state_folder=str(tmp_path))


@pytest.mark.parametrize("opener", [pytest.param("openat2", marks=needs_openat2), "walk"])
def test_every_spelling_of_a_file_is_one_canonical_path(place: str, opener: str) -> None:
    os.mkdir(f"{place}/Source")
    Path(f"{place}/Source/ReadMe.md").write_text("x")
    for given in ("Source/ReadMe.md", "source/readme.md", "SOURCE/README.MD", "source/../SOURCE/./ReadMe.MD"):
        assert resolve(f"{place}/{given}", OPENERS[opener]) == f"{place}/Source/ReadMe.md"


@pytest.mark.parametrize(("made", "given"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED), (COMPOSED, "É.TXT")])
def test_every_form_of_a_character_is_one_canonical_path(
    place: str, disk: LocalFileSystem, made: str, given: str
) -> None:
    Path(f"{place}/{made}").write_text("x")
    assert disk.resolve(f"{place}/{given}") == f"{place}/{made}"


def test_new_file_is_named_as_given_in_a_folder_as_it_is_spelled(place: str, disk: LocalFileSystem) -> None:
    os.mkdir(f"{place}/Source")
    assert disk.resolve(f"{place}/source/New/File.txt") == f"{place}/Source/New/File.txt"


def test_link_leads_to_the_file_as_it_is_spelled(place: str, disk: LocalFileSystem) -> None:
    Path(f"{place}/File").write_text("x")
    os.symlink("fILE", f"{place}/Link")
    assert disk.resolve(f"{place}/lINK") == f"{place}/File"


def test_hard_links_keep_their_own_names(place: str, disk: LocalFileSystem) -> None:
    Path(f"{place}/File").write_text("x")
    os.link(f"{place}/File", f"{place}/Twin")
    assert disk.resolve(f"{place}/fILE") == f"{place}/File"
    assert disk.resolve(f"{place}/tWIN") == f"{place}/Twin"


def test_name_with_a_new_spelling_counts_at_once(place: str, disk: LocalFileSystem) -> None:
    Path(f"{place}/File").write_text("x")
    assert disk.resolve(f"{place}/file") == f"{place}/File"
    os.rename(f"{place}/File", f"{place}/FILE")
    assert disk.resolve(f"{place}/file") == f"{place}/FILE"


def test_edit_by_another_spelling_keeps_the_name(place: str, disk: LocalFileSystem) -> None:
    Path(f"{place}/File").write_text("old")
    snapshot = disk.read(disk.resolve(f"{place}/fILE"))
    disk.replace(snapshot, [Splice(0, 3, b"new")], RecordingHooks())
    assert os.listdir(place) == ["File"]
    assert Path(f"{place}/File").read_text() == "new"


def test_names_that_differ_in_case_stay_two_files_on_a_disk_with_case(tmp_path: Path, disk: LocalFileSystem) -> None:
    for name in ("File", "FILE"):
        (tmp_path / name).write_text(name)
        assert disk.resolve(f"{tmp_path}/{name}") == f"{tmp_path}/{name}"
