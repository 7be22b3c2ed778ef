"""Fuzz for a bounded time: `python tests/fuzz/run.py --seconds 60`. Needs the extra `fuzz` (atheris).

The seconds are shared by the targets. What breaks one is printed and kept in tests/fuzz/found/: make it a test. With
`--keep` some of the inputs that reached new code are added to the corpus.
"""

import argparse
import importlib
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
CORPUS, FOUND = HERE / "corpus", HERE / "found"
MAX_INPUT_BYTES = 400
MAX_ADDED = 40
TIMEOUT_S = 10  # for one input: each is small, so this is a hang


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together (default: 60)")
    parser.add_argument("--target", action="append", help="one of tests/fuzz/targets.py; may be repeated")
    parser.add_argument("--keep", action="store_true", help="add to the committed corpus")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options, passed_on = parser.parse_known_args()
    if options.child:
        return _fuzz(options.child, passed_on)
    names = options.target or sorted(folder.name for folder in CORPUS.iterdir())
    failed = [name for name in names if not _run(name, max(1, options.seconds // len(names)), keep=options.keep)]
    print(f"failed: {', '.join(failed)}" if failed else "nothing found")  # noqa: T201
    return 1 if failed else 0


def _run(name: str, seconds: int, *, keep: bool) -> bool:
    with tempfile.TemporaryDirectory() as fresh:
        print(f"--- {name}, {seconds} s", flush=True)  # noqa: T201
        FOUND.mkdir(exist_ok=True)
        is_sound = _child(name, fresh, str(CORPUS / name), f"-max_total_time={seconds}")
        if is_sound and keep:
            _add_some(CORPUS / name, pathlib.Path(fresh))
    return is_sound


def _child(name: str, *arguments: str) -> bool:
    fixed = (
        f"-max_len={MAX_INPUT_BYTES}", f"-timeout={TIMEOUT_S}", "-rss_limit_mb=1024", "-print_final_stats=1",
        f"-artifact_prefix={FOUND}/{name}-",
    )  # fmt: skip
    command = [sys.executable, __file__, "--child", name, *fixed, *arguments]
    ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told = ended.stdout.splitlines()
    shown = [line for line in told if line.startswith(("Done ", "stat::peak"))] if ended.returncode == 0 else told[-60:]
    print(*shown, sep="\n", flush=True)  # noqa: T201
    return ended.returncode == 0


def _add_some(corpus: pathlib.Path, fresh: pathlib.Path) -> None:
    """Each new input reached something new; a corpus for the suite has room for some, short ones and long ones."""
    found = sorted(fresh.iterdir(), key=lambda file: (file.stat().st_size, file.name))
    for file in found[:: max(1, len(found) // MAX_ADDED)]:
        (corpus / file.name[:16]).write_bytes(file.read_bytes())


def _fuzz(name: str, arguments: list[str]) -> int:
    atheris: Any = importlib.import_module("atheris")
    sys.path.insert(0, str(HERE.parent))
    with atheris.instrument_imports(include=["fileops"]):
        from fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *arguments], TARGETS[name])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
