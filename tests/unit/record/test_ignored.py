"""What is ignored in a recorded folder is what `git check-ignore` says."""

import random
import subprocess
from pathlib import Path

import pytest

from fileops.record import git
from fileops.record.ignore_rules import IgnoreRules

N_GAMES = 12
NAMES = ("a", "b", "c.x", "d.log", "E", "a b", "#h", "!i", "build")
PARTS = (
    "a", "b", "*.x", "*.log", "c.x", "E", "e", "a b", "\\#h", "\\!i", "build", "*", "?", "[ab]", "[!a]", "[a-c]*", "a*",
    "*b", "**", "#h", "\\a",
)  # fmt: skip


def disputes(root: Path, files: list[str]) -> list[str]:
    """The files of which git and we differ."""
    ours = IgnoreRules(str(root), git.find_repository(str(root)))
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=root, input="\0".join(files).encode(), capture_output=True, check=False,
    )  # fmt: skip
    ignored = set(asked.stdout.decode().split("\0"))
    return [file for file in files if ours.is_ignored(str(root / file)) != (file in ignored)]


def repository(root: Path, rules: dict[str, str], files: list[str]) -> Path:
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for name, content in {**dict.fromkeys(files, ""), **rules}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return root


@pytest.mark.parametrize(
    ("rules", "files"),
    [
        ({".gitignore": "![ab]\n", ".git/info/exclude": "*.x\n"}, ["i/b/c.x/a", "b/c.x"]),
        ({".gitignore": "/*\n!/a\n", "a/.gitignore": "!b\n*.x\n"}, ["a/b/c.x/a", "c/a", "a/b/c"]),
        ({".gitignore": "out/**\n!out/kept\n"}, ["out/kept", "out/other", "out/kept.d/a"]),
        ({".gitignore": "*\n!*/\n!*.py\n"}, ["a/b.py", "a/b.txt", "c.py"]),
        ({".gitignore": "\ufeffa\nb\r\n"}, ["a", "b", "c"]),
        ({".gitignore": "[z-a]\n/\nb\n"}, ["b", "c"]),
    ],
    ids=[
        "negated folder",
        "deeper rules",
        "below a folder",
        "only one kind",
        "BOM and CRLF",
        "lines without a meaning",
    ],
)
def test_files_are_ignored_as_git_ignores_them(tmp_path: Path, rules: dict[str, str], files: list[str]) -> None:
    assert disputes(repository(tmp_path / "p", rules, files), files) == []


def test_files_are_ignored_as_git_ignores_them_with_random_rules(tmp_path: Path) -> None:
    for seed in range(N_GAMES):
        draw = random.Random(seed)
        files = _files(draw)
        folders = ["", *sorted({f"{parent}/" for file in files for parent in map(str, Path(file).parents[:-1])})]
        rules = {
            f"{folder}.gitignore": "\n".join(_pattern(draw) for _ in range(draw.randint(1, 4))) + "\n"
            for folder in ("", *draw.sample(folders, min(2, len(folders))))
        }
        rules[".git/info/exclude"] = _pattern(draw) + "\n"
        found = disputes(repository(tmp_path / str(seed), rules, files), files)
        assert found == [], (seed, rules)


def _files(draw: random.Random) -> list[str]:
    """Paths of which none is a folder of another."""
    paths = {"/".join(draw.choice(NAMES) for _ in range(draw.randint(1, 4))) for _ in range(25)}
    folders = {str(parent) for path in paths for parent in Path(path).parents}
    return sorted(paths - folders)


def _pattern(draw: random.Random) -> str:
    pattern = "/".join(draw.choice(PARTS) for _ in range(draw.choice((1, 1, 1, 2, 2, 3))))
    ends = ("", "", "/", "/**", " ", "\\ ", "\r")
    return draw.choice(("", "", "!")) + draw.choice(("", "", "/", "**/")) + pattern + draw.choice(ends)
