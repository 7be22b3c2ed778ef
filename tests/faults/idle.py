"""What an idle daemon costs: `python tests/faults/idle.py --files 1000 --seconds 20`.

Measured, as a share of one core, with that many tracked files in folders of ten: as it should be, where nothing can be
watched (the sweep alone), where the folders may not be looked into, and after their removal. Nothing is asserted.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.rawclient import DAEMON, RawClient, raw_client

NO_WATCHES = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$0" "$@"'
COMMANDS = {
    "watched": DAEMON,
    "only swept": ("unshare", "-Ur", "sh", "-c", NO_WATCHES, *DAEMON),
    "unreadable": ("unshare", "-U", "--map-user=1000", *DAEMON),
    "removed": DAEMON,
}


def measure(case: str, n_files: int, seconds: float) -> float:
    """Percent of a core."""
    with tempfile.TemporaryDirectory() as root, raw_client(COMMANDS[case]) as client:
        client.initialize()
        asked: list[int] = []
        folders = [Path(root, str(n)) for n in range(n_files // 10)]
        for folder in folders:
            folder.mkdir()
            for n in range(10):
                (folder / str(n)).write_text("one\n")
                asked.append(client.request("fileops/read", {"file_path": str(folder / str(n))}))
        for one in asked:
            client.answer(one)
        assert len(client.result("fileops/tracked")["files"]) == n_files
        for folder in folders:
            if case == "unreadable":
                folder.chmod(0)
            elif case == "removed":
                shutil.rmtree(folder)
        _rest(client, 3)  # what this led to is over
        before = _cpu_s(client.process.pid)
        _rest(client, seconds)
        spent = _cpu_s(client.process.pid) - before
        for folder in folders:
            if folder.exists():
                folder.chmod(0o755)
    return 100 * spent / seconds


def _rest(client: RawClient, seconds: float) -> None:
    time.sleep(seconds)
    assert client.process.poll() is None


def _cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        ticks = stat.read().rsplit(") ", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    for case in COMMANDS:
        share = measure(case, options.files, options.seconds)
        print(f"{options.files} tracked files, {case}: {share:.2f} % of a core", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
