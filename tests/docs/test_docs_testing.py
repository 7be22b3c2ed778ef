"""docs/guide/testing.md: its blocks are one file of tests, which pass."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.lsp_client import GROUP
from support.patience import PATIENCE_S

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "testing.md").read_text(encoding="utf-8")
pytestmark = GROUP


def test_tests_of_the_page_pass_as_printed(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    source = "\n\n".join(blocks)
    n_tests = len(re.findall(r"^async def test_", source, re.MULTILINE))
    (tmp_path / "test_my_client.py").write_text(source, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # not of this project
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_my_client.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=n_tests * PATIENCE_S,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert n_tests >= 4
    assert f"{n_tests} passed" in done.stdout, done.stdout
    assert done.returncode == 0
