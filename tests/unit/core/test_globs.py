"""Patterns of paths as LSP defines them."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.globs import Glob


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
        ("[!-a]", ["/b", "/0"], ["/-", "/a"]),
        ("[a-]]", ["/a]", "/-]"], ["/b]", "/a"]),
        ("[!]", ["/!"], ["/a"]),
        ("{a,}.x", ["/a.x", "/p/.x"], ["/b.x"]),
        ("[.-0]", ["/.", "/0"], ["/a", "//"]),
        ("/a**b", ["/ab", "/a/q/b"], ["/ab/", "/q/ab"]),
        ("/x*a**/b", ["/xaab", "/xa/b", "/xa/q/b"], ["/xacb", "/xb"]),
        ("/*{abc,b}*c", ["/abc", "/bc", "/abcc"], ["/ab", "/ac"]),
        ("/*a{/b,}/*c", ["/xa/b/c", "/a/xc"], ["/xa/b/d/c"]),
        ("{*a,b*}c", ["/xac", "/bxc"], ["/xc", "/xbc"]),
    ],
)
def test_pattern_matches_as_specified_by_lsp(glob: str, matching: list[str], other: list[str]) -> None:
    pattern = Glob(glob)
    assert [path for path in matching if not pattern.fullmatch(path)] == []
    assert [path for path in other if pattern.fullmatch(path)] == []


@pytest.mark.parametrize("glob", ["", "{a", "a}", "[", "{a,{b}}", "[z-a]", "{a,b}" * 10, "**/a/" * 10])
def test_malformed_pattern_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match=r"must|has|is"):
        Glob(glob)


def as_regular_expression(glob: str) -> Iterator[str]:
    """Translate a glob for `re`, which matches it by trying again from every place."""
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", glob, re.DOTALL):
        match token:
            case "**/":
                yield "(?:.*/)?"
            case "**":
                yield ".*"
            case "*":
                yield "[^/]*"
            case "?":
                yield "[^/]"
            case "[a-b]" | "[ab]":
                yield token
            case "[!a-b]":
                yield "[^/a-b]"
            case _ if token[0] == "{":
                choices = ("".join(as_regular_expression(choice)) for choice in token[1:-1].split(","))
                yield f"(?:{'|'.join(choices)})"
            case _:
                yield re.escape(token)


tokens = st.sampled_from(["a", "b", "c", "/", "*", "**", "**/", "?", "[a-b]", "[ab]", "[!a-b]", "."])
choices = st.lists(st.lists(tokens, max_size=3).map("".join), min_size=1, max_size=3).map(
    lambda parts: "{" + ",".join(parts) + "}"
)
globs = st.lists(tokens | choices, min_size=1, max_size=5).map("".join)
paths = st.text("abc/.", max_size=8).map("/".__add__)


@given(globs, st.lists(paths, max_size=20))
def test_pattern_matches_what_its_regular_expression_matches(glob: str, some_paths: list[str]) -> None:
    pattern = Glob(glob)
    rooted = glob if glob.startswith(("/", "**")) else f"**/{glob}"
    expected = re.compile("".join(as_regular_expression(rooted)), re.DOTALL)
    for path in some_paths:
        assert pattern.fullmatch(path) == bool(expected.fullmatch(path)), path
