"""Patterns of ignore files: what is an error, what is compared how, and that none is slow."""

import pytest

from fileops.core.globs import is_below
from fileops.core.ignore import BadPatternsError, IgnorePatterns

SLOW = [
    "*a*a*a*a*a*a*a*a*a*a*b",
    "a" + "*" * 40 + "b",
    "**/a/**/a/**/a/**/a/**/a/**/a/**/b",
    "**/*a*a*a*/**/*a*a*a*/**/*a*a*b",
    "/" + "*/" * 60 + "b",
    "[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[0-9]",
    "?*?*?*?*?*?*?*?*?*b",
]
LONG = ["a" * 250, "a/" * 120 + "a", "/".join(["a" * 120] * 30), "/".join(["ab" * 60] * 30)]


@pytest.mark.parametrize("pattern", SLOW)
@pytest.mark.parametrize("path", LONG)
def test_patterns_made_to_be_slow_are_matched(pattern: str, path: str) -> None:
    """With backtracking these take longer than the machine exists; the limit for a hanging test would end them."""
    assert isinstance(IgnorePatterns(pattern.encode()).match(path), bool)


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("a*b*c", "axbxbxc", True),
        ("a*b*c", "axbxbxcx", False),
        ("a*b*b", "axb", False),
        ("*ab*ab", "xababab", True),
        ("**/x/**/y*z/**/w", "x/q/y/yz/y1z/q/w", True),
        ("**/x/**/y*z/**/w", "x/q/y/yzz1/w", False),
        ("a/**/b", "a/b", True),
        ("a/**/b/**/c", "a/b/c", True),
        ("a/**/b/**/c", "a/x/b/y/b/z/c", True),
        ("x[!a]y", "x/y", False),
        ("secret", "a\nb/secret", True),
        ("a*c", "a\nc", True),
        ("/a b ", "a b", True),
        ("/a\\ ", "a ", True),
        ("\\#a", "#a", True),
        ("#a", "#a", False),
        ("foo/", "foo", False),
        ("foo/", "foo/bar", True),
        ("*\n!/a/\n!*.txt", "a/x.txt", False),
        ("/*\n!/a/", "a/x.txt", False),
        ("secrets/\n!secrets/open.txt", "secrets/open.txt", True),
        ("ÄÖ", "äö", True),
        ("*.key\n!README.key", "readme.key", True),
        ("*.key\n!README.key", "README.key", False),
        ("caf\u00e9", "cafe\u0301", True),
        ("STRASSE", "straße", True),
    ],
)
def test_pattern_matches_a_path(pattern: str, path: str, *, is_match: bool) -> None:
    assert IgnorePatterns(pattern.encode()).match(path) == is_match


def test_bytes_that_are_not_utf8_match_themselves() -> None:
    assert IgnorePatterns(b"caf\xe9\n").match("caf\udce9")


@pytest.mark.parametrize("line", ["a[", "!", "/", "a\\", "[z-a]", "!a["])
def test_line_that_can_match_nothing_is_an_error(line: str) -> None:
    with pytest.raises(BadPatternsError, match=r"line 2 (is not a pattern|matches nothing)"):
        IgnorePatterns(f"ok\n{line}\n".encode())


@pytest.mark.parametrize("line", ["", "   ", "# comment", "#!["])
def test_blank_line_or_comment_is_none(line: str) -> None:
    assert not IgnorePatterns(f"{line}\n".encode()).match("a")


@pytest.mark.parametrize(
    ("glob", "path", "is_match"),
    [
        ("*.pem", "/p/a.PEM", True),
        ("secrets", "/p/secrets/a/b", True),
        ("secrets/", "/p/secrets/a", True),
        ("p/*.txt", "/x/p/a.txt", True),
        ("/p/*.txt", "/x/p/a.txt", False),
        ("/p", "/pq", False),
    ],
)
def test_glob_matches_a_file_and_what_is_below_a_folder(glob: str, path: str, *, is_match: bool) -> None:
    assert is_below(glob, path) == is_match
