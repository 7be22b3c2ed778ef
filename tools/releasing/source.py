"""The sources of a release: a copy of the tracked files, their version, their time, and their home.

The copy is stamped with the home, if there is one. Nothing else in this folder reads the working tree.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from releasing import wording

VERSIONS = {  # each file that has the version, and where; the first one decides
    "server/fileops/__init__.py": r'^__version__ = "([^"]+)"',
    "clients/python/fileops_client/__init__.py": r'^__version__ = "([^"]+)"',
    "clients/vscode/package.json": r'^  "version": "([^"]+)"',
    "clients/vscode/package-lock.json": r'^  "version": "([^"]+)"',
}


class Unfit(Exception):
    """The sources or the machine cannot make this release; the sentence says why, and what to do."""


@dataclass(frozen=True)
class Source:
    """The stamped copy. epoch: seconds, the time of all built files. home: OWNER/NAME on GitHub, if published there."""

    tree: Path
    version: str
    epoch: int
    home: str | None

    @property
    def url(self) -> str | None:
        return f"https://github.com/{self.home}" if self.home else None

    @property
    def environment(self) -> dict[str, str]:
        """Of a program that builds: the times that it writes are the same in each build."""
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch), "TZ": "UTC", "LC_ALL": "C.UTF-8"}

    def download(self, name: str) -> str | None:
        """Return the address from which a file of this release will be downloaded."""
        return f"{self.url}/releases/download/v{self.version}/{name}" if self.url else None


def copy_of(root: Path, tree: Path, home: str | None, *, with_uncommitted: bool) -> Source:
    """Copy the tracked files of `root` to `tree`. Raises: Unfit."""
    if home is not None and not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", home):
        raise Unfit(f"--home {home} is no OWNER/NAME.")
    if not with_uncommitted and _git(root, "status", "--porcelain", "--untracked-files=no"):
        raise Unfit("A release is built of a commit, and there are uncommitted changes. Commit them first.")
    for name in _git(root, "ls-files", "-z").split("\0"):
        if name and (root / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, tree / name)
            is_program = (root / name).stat().st_mode & 0o100
            (tree / name).chmod(0o755 if is_program else 0o644)  # under any umask
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct")
    source = Source(tree, _version_of(tree), int(epoch), home)
    if home is not None:
        _stamp(source)
    return source


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unfit(f"A release is built in a clone: git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.removesuffix("\n")


def _version_of(tree: Path) -> str:
    versions = {name: _match(tree / name, pattern) for name, pattern in VERSIONS.items()}
    if len(set(versions.values())) > 1:
        raise Unfit("The versions differ: " + ", ".join(f"{name} has {one}" for name, one in versions.items()) + ".")
    return versions[next(iter(VERSIONS))]


def _match(path: Path, pattern: str) -> str:
    found = re.search(pattern, path.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise Unfit(f"{path.name} has no version.")
    return found[1]


def _stamp(source: Source) -> None:
    """Name the home in the metadata, and let every printed install command be the one of a published release."""
    for folder in (source.tree, source.tree / "clients" / "python"):
        project = folder / "pyproject.toml"
        urls = f'[project.urls]\nSource = "{source.url}"\nIssues = "{source.url}/issues"\n\n'
        text = project.read_text("utf-8")
        project.write_text(text.replace("[tool.hatch.version]", urls + "[tool.hatch.version]", 1), "utf-8")
    manifest = source.tree / "clients" / "vscode" / "package.json"
    content: dict[str, Any] = json.loads(manifest.read_text("utf-8"))
    content["repository"] = {"type": "git", "url": f"{source.url}.git", "directory": "clients/vscode"}
    content["bugs"] = {"url": f"{source.url}/issues"}
    content["homepage"] = f"{source.url}#readme"
    manifest.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    wording.put(source.tree, wording.PUBLISHED)
