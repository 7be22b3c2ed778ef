"""The log of a daemon: bounded, private, and with what Python itself prints."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from fileops.daemon.log_file import MAX_BYTES

# The log takes descriptors 1 and 2, so it is tried in a separate process.
WRITING = """
import logging, os, sys
from fileops.daemon.log_file import LogFile
log = logging.getLogger("probe")
log.setLevel(logging.INFO)
log.addHandler(LogFile(sys.argv[1]))
for number in range(int(sys.argv[2])):
    log.info("%06d %s", number, "x" * 1000)
os.write(2, b"from Python itself\\n")
"""


def test_log_is_bounded_and_keeps_one_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    n_lines = 3 * MAX_BYTES // 1008
    subprocess.run([sys.executable, "-c", WRITING, str(path), str(n_lines)], check=True)
    assert sorted(os.listdir(tmp_path)) == ["a.log", "a.log.1"]
    sizes = [(tmp_path / name).stat().st_size for name in ("a.log", "a.log.1")]
    assert all(size <= MAX_BYTES + 1008 for size in sizes)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.log", "a.log.1")} == {0o600}
    lines = path.read_text().splitlines()
    assert lines[-2].startswith(f"{n_lines - 1:06d}")
    assert lines[-1] == "from Python itself"  # to the present log, not to the old one


def test_undecodable_log_record_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    script = WRITING.replace('"%06d %s", number, "x" * 1000', '"name \\udcff"')
    subprocess.run([sys.executable, "-c", script, str(path), "1"], check=True)
    assert path.read_bytes().startswith(b"name \\udcff\n")
