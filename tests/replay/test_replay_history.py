"""Real history through the core: this project's own, and a small one that is awkward on purpose."""

import subprocess
from pathlib import Path

import pytest

from replay.replay_history import LETTERS, replay
from replay.share_of_rebased_edits import share

PROJECT = Path(__file__).parents[2]


def test_own_history_replays_byte_for_byte() -> None:
    if not (PROJECT / ".git").exists():
        pytest.skip("not a git checkout")
    report = replay(PROJECT, 60)
    assert report.n_files > 0


@pytest.mark.parametrize("encoding", sorted(LETTERS))
def test_own_history_replays_in_named_encodings(encoding: str) -> None:
    if not (PROJECT / ".git").exists():
        pytest.skip("not a git checkout")
    assert replay(PROJECT, 12, encoding).n_files > 0


@pytest.mark.parametrize(
    "versions",
    [
        [b"a\r\nb\r\n", b"a\r\nx\r\nb\r\n", b"\r\nb\r\n"],
        [b"a\n" * 9, b"a\n" * 4 + b"b\n" + b"a\n" * 5, b"a\n" * 3],
        [b"a\nb", b"a\nb\n", b"a\nc"],
        [b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\na\n"],
        [b"++ a\n-- b\n", b"++ a\n++ c\n-- b\n"],
        ["x\f\u2028y\rz\n".encode(), b"x\fy\rz\n"],
    ],
)
def test_awkward_history_replays(tmp_path: Path, versions: list[bytes]) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e", *arguments],
            check=True,
            capture_output=True,
        )

    git("init", "-q")
    git("config", "core.autocrlf", "false")
    for number, version in enumerate(versions):
        (tmp_path / "file.txt").write_bytes(version)
        git("add", ".")
        git("commit", "-q", "-m", str(number))
    report = replay(tmp_path, 10)
    assert (report.n_commits, report.n_files) == (len(versions), len(versions))


def test_edits_of_stale_files_in_own_history_match_a_three_way_merge() -> None:
    if not (PROJECT / ".git").exists():
        pytest.skip("not a git checkout")
    counts = share(PROJECT, 12)
    if counts["quotable"] == 0:
        pytest.skip("a checkout without history")
    assert counts["applied with 3"] > 0
    assert counts["differs"] == 0
