"""tests/sample_plugin as an installed package."""

import pathlib
import shutil
import subprocess
import sys

SAMPLE = pathlib.Path(__file__).resolve().parents[1] / "sample_plugin"


def installed_in(folder: pathlib.Path) -> pathlib.Path:
    """A folder for PYTHONPATH, with the sample package installed in it."""
    sources, site = folder / "sources", folder / "site"
    shutil.copytree(SAMPLE, sources)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
         "--target", site, sources],
        check=True, capture_output=True,
    )  # fmt: skip
    return site
