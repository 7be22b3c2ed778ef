"""Patterns of paths as LSP defines them."""

import pytest

from fileops.core.globs import pattern_of


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("*.txt", ["/a.txt", "/p/q/a.txt"], ["/a.txt/b", "/a.md"]),
        ("**/*.{c,h}", ["/a.c", "/p/b.h"], ["/a.cc", "/p/c"]),
        ("legacy/**", ["/p/legacy/a", "/legacy/q/a.txt"], ["/p/legacyx/a", "/legacy"]),
        ("/p/*.txt", ["/p/a.txt"], ["/q/p/a.txt", "/p/q/a.txt"]),
        ("**", ["/a", "/p/a\nb"], []),
        ("a?.[!0-9]", ["/ab.x"], ["/a/.x", "/ab.1", "/ab./"]),
        ("[a-c].txt", ["/b.txt"], ["/d.txt"]),
        ("a.b", ["/a.b"], ["/axb"]),
    ],
)
def test_pattern_matches_what_lsp_says(glob: str, matching: list[str], other: list[str]) -> None:
    pattern = pattern_of(glob)
    assert [path for path in matching if not pattern.fullmatch(path)] == []
    assert [path for path in other if pattern.fullmatch(path)] == []


@pytest.mark.parametrize("glob", ["", "{a", "a}", "[", "{a,{b}}", "[z-a]"])
def test_pattern_that_is_malformed_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match=r"must|has|is"):
        pattern_of(glob)
