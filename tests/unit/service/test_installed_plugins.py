"""Whether a package may have plugins is the answer of `importlib.metadata`, or yes if in doubt."""

import pathlib
import zipfile
from importlib.metadata import distributions

import pytest

from fileops.service.plugins.installed import is_any_installed, may_have
from fileops.service.plugins.registry import STRATEGY_GROUP, VALIDATOR_GROUP

GROUPS = (STRATEGY_GROUP, VALIDATOR_GROUP)


def package(site: pathlib.Path, metadata: str, entry_points: str | None) -> str:
    folder = site / metadata
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Name: some-package\nVersion: 1\n")
    if entry_points is not None:
        (folder / "entry_points.txt").write_text(entry_points)
    return str(site)


@pytest.mark.parametrize(
    ("metadata", "entry_points", "expected"),
    [
        ("some_package-1.dist-info", "[fileops.strategies]\nfuzzy = some:find\n", True),
        ("some_package-1.dist-info", "[console_scripts]\na = b:c\n\n[fileops.validators]\nv = some:check\n", True),
        ("some_package.egg-info", "[fileops.strategies]\nfuzzy = some:find\n", True),
        ("EGG-INFO", "[fileops.strategies]\nfuzzy = some:find\n", True),
        ("some_package-1.dist-info", "[console_scripts]\nfileops-server = fileops.cli:main\n", False),
        ("some_package-1.dist-info", None, False),
        ("some_package", "[fileops.strategies]\nfuzzy = some:find\n", False),
    ],
)
def test_package_with_plugins_is_found_by_its_metadata(
    tmp_path: pathlib.Path, metadata: str, entry_points: str | None, expected: bool
) -> None:
    site = tmp_path / ("some.egg" if metadata == "EGG-INFO" else "site")
    path = [str(tmp_path / "missing"), package(site, metadata, entry_points)]
    assert may_have(GROUPS, path, ()) is expected
    points = [entry.group for one in distributions(path=path) for entry in one.entry_points]
    assert any(group in GROUPS for group in points) is expected


def test_archive_on_the_path_can_have_plugins(tmp_path: pathlib.Path) -> None:
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as archive:
        archive.writestr("some_package-1.dist-info/entry_points.txt", "[fileops.strategies]\nfuzzy = some:find\n")
    assert may_have(GROUPS, [str(tmp_path / "packages.zip")], ())


def test_custom_finder_can_have_plugins() -> None:
    class Finder:
        def find_distributions(self) -> None: ...

    assert may_have(GROUPS, [], [Finder()])


def test_groups_of_this_interpreter_are_found() -> None:
    groups = {entry.group for one in distributions() for entry in one.entry_points}
    assert groups
    assert all(is_any_installed((group,)) for group in groups)
