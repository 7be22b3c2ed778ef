"""The Python distributions: a wheel and an sdist of the server and of the client."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

from releasing.source import Source, Unfit


def build(source: Source, dist: Path) -> None:
    """Build both distributions. Raises: Unfit."""
    for folder in (source.tree, source.tree / "clients" / "python"):
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(dist)]
        done = subprocess.run(command, cwd=folder, env=source.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unfit(f"hatchling failed in {folder.name}: {done.stderr.strip() or done.stdout.strip()}")


def requirements_of(wheel: Path) -> list[str]:
    """Return what a wheel asks for, with its extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8")).get_all("Requires-Dist", [])
