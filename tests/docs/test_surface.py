"""What a person has to learn stays small: no client has more commands, keys and settings than it may."""

import re
import subprocess
import sys

import pytest

from architecture.imports import ROOT


@pytest.mark.parametrize("client", ["Neovim", "VS Code", "Terminal"])
def test_client_has_no_more_than_it_may(client: str) -> None:
    command = [sys.executable, str(ROOT / "clients" / "scripts" / "surface.py"), client]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(int(n) > 0 for n in re.findall(r" (\d+) of at most [1-9]", done.stdout))
