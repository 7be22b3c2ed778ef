"""examples/plugin as an installed package, and its sources."""

import pathlib
import shutil
import subprocess
import sys

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "plugin"
SOURCES = SAMPLE / "src"


def installed_in(folder: pathlib.Path) -> pathlib.Path:
    """A folder for PYTHONPATH, with the sample package installed in it."""
    folder.mkdir(parents=True, exist_ok=True)
    sources, site = folder / "sources", folder / "site"
    shutil.copytree(SAMPLE, sources)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-build-isolation",
            "--no-deps",
            "--no-index",
            "--target",
            site,
            sources,
        ],
        check=True,
        capture_output=True,
    )
    return site
