import pytest

from fileops.core.roots import Roots
from fileops.model.errors import OutsideRoots

INSIDE = [
    (("/home/a",), "/home/a"),
    (("/home/a",), "/home/a/x"),
    (("/home/a/",), "/home/a/x"),
    (("/",), "/etc/passwd"),
    (("/",), "/"),
    (("//",), "/etc"),
    (("/home/a", "/srv"), "/srv/x/y"),
    (("/home/a", "/home/a/b"), "/home/a/c"),
    (("/home/\udcff",), "/home/\udcff/x"),
]
OUTSIDE = [
    ((), "/anything"),
    ((), "/"),
    (("/home/a",), "/home/ab"),
    (("/home/a",), "/home/ab/x"),
    (("/home/ab",), "/home/a/x"),
    (("/home/a",), "/home"),
    (("/home/a",), "/"),
    (("/home/a",), "/home/A/x"),
    (("/home/a",), "/home/a/../b"),
    (("/home/a",), "/home/a/.."),
    (("/home/a",), "home/a/x"),
    (("/home/a",), ""),
]


@pytest.mark.parametrize(("folders", "path"), INSIDE)
def test_path_is_inside(folders: tuple[str, ...], path: str) -> None:
    Roots.of(folders).require_inside(path, path)
    assert Roots(folders).contains(path)


@pytest.mark.parametrize(("folders", "path"), OUTSIDE)
def test_path_is_outside(folders: tuple[str, ...], path: str) -> None:
    assert not Roots(folders).contains(path)
    with pytest.raises(OutsideRoots) as caught:
        Roots.of(folders).require_inside(path, "/as/given")
    assert caught.value.path == "/as/given"


def test_nested_folders_are_dropped() -> None:
    assert Roots.of(["/b/c", "/a/", "/b", "/a", "/bc"]).folders == ("/a", "/b", "/bc")
