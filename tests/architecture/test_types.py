"""The whole project is judged by the strict type checker that pyproject.toml configures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(2400)  # two minutes alone, and the only long work of one process
def test_project_is_accepted_by_the_type_checker() -> None:
    checker = Path(sys.executable).with_name("basedpyright")
    done = subprocess.run([checker, "--outputjson"], cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    findings = [
        f"{Path(found['file']).relative_to(ROOT)}:{found['range']['start']['line'] + 1}: {found['message']}"
        for found in report["generalDiagnostics"]
    ]
    assert findings == []
    assert report["summary"]["filesAnalyzed"] > 0, done.stderr
