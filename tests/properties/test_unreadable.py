"""Laws of unreadable files: patterns mean what they mean to Git, and no name of an unreadable file is read."""

import asyncio
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fileops.core.ignore import FILE_NAME, BadPatternsError, IgnorePatterns
from fileops.model.errors import NotPermitted
from support.in_process import Workbench

names: st.SearchStrategy[str] = st.sampled_from(["a", "b", "ab", "ba", "aab", "abab"])
paths: st.SearchStrategy[str] = st.lists(names, min_size=1, max_size=4).map("/".join)
pieces: st.SearchStrategy[str] = st.sampled_from(["a", "b", "ab", "*", "?", "[ab]", "[!a]", "\\a"])
segments: st.SearchStrategy[str] = st.one_of(st.just("**"), st.lists(pieces, min_size=1, max_size=4).map("".join))
middles = st.lists(segments, min_size=1, max_size=4).map("/".join)
starts: st.SearchStrategy[str] = st.sampled_from(["", "", "/", "!", "!/"])
patterns = st.tuples(starts, middles, st.sampled_from(["", "/"])).map("".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    yield folder


def ignored_by_git(repository: Path, lines: list[str], names: list[str]) -> set[str]:
    (repository / ".git" / "info" / "exclude").write_text("\n".join(lines))
    done = subprocess.run(
        ["git", "-C", str(repository), "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(names).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return set(done.stdout.decode().split("\0")) - {""}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(patterns, min_size=1, max_size=4), files=st.lists(paths, min_size=1, max_size=8, unique=True))
@example(lines=["a*", "!ab", "/**/b/"], files=["ab/b/a", "a/b", "b/a", "ab"])
def test_patterns_match_what_git_ignores(repository: Path, lines: list[str], files: list[str]) -> None:
    try:
        matcher = IgnorePatterns("\n".join(lines).encode())
    except BadPatternsError:
        return  # a pattern that matches nothing, which Git drops

    assert {file for file in files if matcher.match(file)} == ignored_by_git(repository, lines, files)


steps = st.lists(
    st.tuples(st.sampled_from(["link", "folder link"]), st.sampled_from("abc"), st.sampled_from("abcxk")), max_size=5
)


@settings(max_examples=60, deadline=None)
@given(steps=steps, route=st.lists(st.sampled_from(["a", "b", "c", "d", "..", ".", ""]), max_size=5))
def test_no_name_of_an_unreadable_file_is_read(steps: list[tuple[str, str, str]], route: list[str]) -> None:
    """With any links, a read either is refused or leads to a file that is not unreadable."""

    async def work() -> None:
        bench = Workbench()
        bench.disk.put("/w/k", b"secret\n")
        bench.disk.put("/w/d/k", b"secret\n")
        bench.disk.put("/w/x", b"open\n")
        bench.disk.put(f"/w/{FILE_NAME}", b"k\n")
        for kind, name, target in steps:
            bench.disk.link(f"/w/{name}", "/w/d" if kind == "folder link" else f"/w/{target}")
        for last in "abckx":
            path = "/".join(["/w", *route, last])
            result = await bench.read(path)
            assert "secret" not in result.output
            if last == "k" and result.error is None:
                raise AssertionError(path)
            if isinstance(result.error, NotPermitted):
                assert result.error.source.endswith(FILE_NAME)
        bench.close()

    asyncio.run(work())
