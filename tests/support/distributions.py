"""What wheels say of themselves, and bare environments that have only what a wheel's metadata asks for.

Nothing is downloaded: what a wheel needs is linked from the environment that runs the tests.
"""

import os
import subprocess
import venv
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def requirements_of(wheel: Path) -> list[str]:
    """What the wheel needs without extras."""
    return list(_without_extras(metadata_of(wheel).get_all("Requires-Dist", [])))


class BareEnvironment:
    """A virtual environment without pip. `install` adds a wheel and what it requires, directly or not."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        (self._packages,) = folder.glob("lib/python*/site-packages")

    def install(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self._packages)
        for name in _closure(requirements_of(wheel)):
            self._link(metadata.distribution(name))

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """Run its Python in a separate folder, without the variables that add packages."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return subprocess.run(
            [str(self.python), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**kept, **(env or {})},
            cwd=self._packages.parent,
        )

    def _link(self, distribution: metadata.Distribution) -> None:
        names = {file.parts[0] for file in distribution.files or () if file.parts[0] not in {"..", "__pycache__"}}
        for name in names:
            if not os.path.lexists(self._packages / name):
                (self._packages / name).symlink_to(str(distribution.locate_file(name)))


def _closure(requirements: list[str]) -> set[str]:
    found: set[str] = set()
    waiting = [Requirement(one).name for one in requirements]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += [Requirement(one).name for one in _without_extras(metadata.requires(name) or [])]
    return found


def _without_extras(requirements: list[str]) -> Iterator[str]:
    for one in requirements:
        marker = Requirement(one).marker
        if marker is None or marker.evaluate({"extra": ""}):
            yield one
