"""The programs of `examples/` and of the pages, and calls of the SDKs with our lists, judged by a strict type checker.

One run judges all of them: most of its time goes into the SDKs. tests/clients/python/test_sdks.py runs the lists.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.examples import EXAMPLES, SDKS, guide_program, readme_program, tutorial_programs
from support.foreign_packages import python_with

ROOT = EXAMPLES.parent
SNIPPETS = {
    "anthropic": """
from anthropic import AsyncAnthropic
from fileops_client import FileOpsClient, ToolResult

async def turn(sdk: AsyncAnthropic, client: FileOpsClient, result: ToolResult) -> None:
    await sdk.messages.create(
        model="m", max_tokens=1, tools=await client.tools("anthropic", extended=True),
        messages=[{"role": "user", "content": [result.for_model("anthropic", "c1")]}],
    )
""",
    "openai": """
from openai import AsyncOpenAI
from fileops_client import FileOpsClient, ToolResult

async def turn(sdk: AsyncOpenAI, client: FileOpsClient, result: ToolResult) -> None:
    await sdk.chat.completions.create(
        model="m", tools=await client.tools("openai"), messages=[result.for_model("openai", "c1")]
    )
    await sdk.responses.create(
        model="m", tools=await client.tools("openai-responses"), input=[result.for_model("openai-responses", "c1")]
    )
""",
}

WRONG = """
from fileops_client import FileOpsClient, Options, ToolResult

options: Options = {"freshnes": "content"}

async def misspelt(client: FileOpsClient, result: ToolResult) -> bool:
    await client.tools("anthropik")
    result.for_model("anthropik", "c1")
    return result.code == "not_raed"
"""


def programs() -> dict[str, str]:
    """Every program by its path below the folder that is checked."""
    agents = {f"agents/{path.name}": path.read_text(encoding="utf-8") for path in (EXAMPLES / "agents").glob("*.py")}
    tutorial = {f"tutorial/{name}": code for name, code in tutorial_programs().items()}
    lists = {f"lists/for_{name}.py": code for name, code in SNIPPETS.items()}
    return {**agents, **tutorial, **lists, "readme.py": readme_program(), "guide.py": guide_program()}


@dataclass(frozen=True, slots=True)
class Report:
    n_files: int
    findings: Mapping[str, list[str]]  # of each program by its path
    output: str


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("programs").resolve()
    judged = {**programs(), "wrong.py": WRONG}
    for path, code in judged.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(code, encoding="utf-8")
    configuration = {
        "typeCheckingMode": "strict",
        "extraPaths": ["agents", str(ROOT / "clients" / "python"), str(ROOT / "server")],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(configuration))
    checker = str(Path(sys.executable).with_name("basedpyright"))
    done = subprocess.run(
        [checker, "-p", str(folder), "--pythonpath", python_with(SDKS), "--outputjson"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NODE_OPTIONS": "--max-semi-space-size=64"},  # in MB: fewer collections of what is young
    )
    findings: dict[str, list[str]] = {path: [] for path in judged}
    answer = json.loads(done.stdout)
    for found in answer["generalDiagnostics"]:
        line = f"{found['range']['start']['line'] + 1}: {found['severity']}: {found['message']}"
        findings[str(Path(found["file"]).relative_to(folder))].append(line)
    return Report(answer["summary"]["filesAnalyzed"], findings, done.stdout + done.stderr)


@pytest.mark.timeout(400)
@pytest.mark.xdist_group("type checker")
@pytest.mark.parametrize("program", sorted(programs()))
def test_program_is_accepted_by_a_strict_type_checker(report: Report, program: str) -> None:
    assert report.n_files == len(programs()) + 1, report.output
    assert report.findings[program] == []


@pytest.mark.timeout(400)
@pytest.mark.xdist_group("type checker")
def test_strict_type_checker_finds_misspelt_options_formats_and_codes(report: Report) -> None:
    found = [finding.split(": ") for finding in report.findings["wrong.py"]]
    assert {line for line, severity, *_ in found if severity == "error"} == {"4", "7", "8", "9"}, found
