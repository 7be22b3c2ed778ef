"""Builds everything that a release consists of into an empty folder.

    python tools/release.py                     what can be tried, with no address in it
    python tools/release.py --home OWNER/NAME   what is published there; also `server.json`

It needs the extra `release`, and for the extension of VS Code the programs that `npm ci --prefix clients/vscode`
installs. The same commit gives the same bytes, whenever and wherever it is built with the same tools.
docs/RELEASING.md says what the files are for.
"""

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from releasing import agents, bom, distributions, editors, source

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="release.py", description="Build a release.")
    parser.add_argument("--home", metavar="OWNER/NAME", help="the repository on GitHub in which it is published")
    parser.add_argument(
        "--dist", metavar="DIR", type=Path, default=ROOT / "dist", help="an empty folder (default: dist)"
    )
    parser.add_argument("--without", choices=["vscode"], action="append", default=[], help="leave out; to try the rest")
    parser.add_argument("--uncommitted", action="store_true", help="with changes that are not committed; to try them")
    options = parser.parse_args(arguments)
    dist: Path = options.dist
    try:
        build(dist, options.home, without=options.without, with_uncommitted=options.uncommitted)
    except source.Unfit as unfit:
        sys.stderr.write(f"release.py: {unfit}\n")
        return 1
    for path in sorted(dist.iterdir()):
        sys.stdout.write(f"{path.stat().st_size:>9}  {path.name}\n")
    if options.home is None:
        sys.stdout.write("Without --home there is no server.json, and no file has an address of the project.\n")
    return 0


def build(dist: Path, home: str | None, *, without: Sequence[str] = (), with_uncommitted: bool = False) -> None:
    """Build a release. Raises: Unfit."""
    dist.mkdir(parents=True, exist_ok=True)
    if any(dist.iterdir()):
        raise source.Unfit(f"{dist} is not empty. Remove what is in it, or name another folder with --dist.")
    os.umask(0o022)  # some of the programs put the modes of files into archives
    with tempfile.TemporaryDirectory(prefix="fileops-release-") as folder:
        sources = source.copy_of(ROOT, Path(folder), home, with_uncommitted=with_uncommitted)
        distributions.build(sources, dist)
        agents.build(sources, dist)
        editors.build_neovim(sources, dist)
        if "vscode" not in without:
            editors.build_vscode(sources, dist, ROOT)
        bom.write(sources, dist, f"fileops-{sources.version}.cdx.json")
        if home is not None:
            agents.write_server_json(sources, dist)
    names = sorted(path.name for path in dist.iterdir())
    lines = [f"{hashlib.sha256((dist / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (dist / SUMS).write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
