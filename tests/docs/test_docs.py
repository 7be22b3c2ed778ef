"""What the documents promise: commands as printed, examples that run, links that lead somewhere."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

import fileops
import fileops_client
from fileops.api.requests import REQUESTS
from support.patience import PATIENCE_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CLIENT = (ROOT / "docs" / "guide" / "python-client.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *PAGES,
        *(ROOT / "clients").glob("*.md"),
        *(ROOT / "clients").glob("*/README.md"),
        ROOT / "examples" / "README.md",
        *(ROOT / "tests").glob("*.md"),
    ]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
CODE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```text file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
((TRIP_NAME, TRIP),) = FILE.findall(CLIENT)  # what a reader has to have before the examples run


def code_of(text: str, language: str) -> list[str]:
    return [code for found, code in CODE.findall(text) if found == language]


def project(folder: pathlib.Path) -> pathlib.Path:
    (folder / TRIP_NAME).write_text(TRIP, encoding="utf-8")
    return folder


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 100


def test_readme_has_two_commands_and_ci_runs_the_second_as_printed() -> None:
    demo, tests = (command.strip() for command in code_of(README, "sh"))
    assert demo.startswith("python3 -m venv .venv && .venv/bin/pip install -q . && ")
    assert demo.endswith(".venv/bin/fileops-server demo")
    assert tests.startswith("python3 -m venv --upgrade-deps .venv && .venv/bin/pip install -q -e '.[test]' && ")
    pattern = re.search(r"grep -E '([^']+)' README\.md", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert pattern is not None
    assert re.findall(pattern[1], README, re.MULTILINE) == [tests]


def test_index_names_every_page_once_in_one_of_the_four_parts() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## (.+?): (.*)$", index, re.MULTILINE)
    assert [kind for _, kind in parts] == ["a tutorial", "how-to guides", "reference", "explanations"]
    named = re.findall(r"^\| \[[^\]]*\]\(([^)#]+)\)", index, re.MULTILINE)
    assert len(named) == len(set(named))
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if "adr" not in page.parts}
    assert pages - {"README.md"} <= set(named)


def test_changelog_names_the_released_version() -> None:
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", CHANGELOG, re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == fileops.__version__
    assert versions[1][1]


def test_readme_example_runs(tmp_path: pathlib.Path) -> None:
    (example,) = code_of(README, "python")
    done = subprocess.run(
        [sys.executable, "-c", example.replace('"/p', f'"{project(tmp_path)}')],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""
    assert "     2→cheese = 3" in done.stdout
    assert (tmp_path / "trip.py").read_text(encoding="utf-8") == TRIP.replace("cheese = 1", "cheese = 3")


def test_client_page_has_the_example_of_the_readme() -> None:
    page = (ROOT / "clients" / "python" / "README.md").read_text(encoding="utf-8")
    assert code_of(page, "python") == code_of(README, "python")


async def test_client_examples_run(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for example in code_of((ROOT / "docs" / "guide" / "python-client.md").read_text(encoding="utf-8"), "python"):
        text = example.replace('"/p', f'"{project(tmp_path) if not names.get("client") else tmp_path}')
        work = eval(compile(text, "docs/guide/python-client.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if work is not None:
            await work
    assert names["edited"].ok
    assert names["preview"].ok
    assert names["undone"].ok
    assert names["again"].ok
    assert names["event"].content_length
    printed = capsys.readouterr().out
    assert "-cheese = 1\n+cheese = 3\n" in printed
    assert "fileops/multiEdit" in printed


def test_every_request_is_a_client_method_and_documented() -> None:
    names = [
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", request.method.removeprefix("fileops/")).lower()
        for request in REQUESTS
        if request.needs != "editor"
    ]
    client = fileops_client.FileOpsClient
    assert [name for name in names if not inspect.iscoroutinefunction(getattr(client, name, None))] == []
    assert [name for name in names if f"client.{name}(" not in CLIENT and f"`{name}(" not in CLIENT] == []


def test_every_export_of_the_client_exists_and_is_documented() -> None:
    exported = set(fileops_client.__all__)
    assert all(hasattr(fileops_client, name) for name in exported)
    for name in ("FileOpsClient", "ResponseError", "ConnectionLost", "ServerMissing", "Answer", "Question"):
        assert name in exported
        assert name in CLIENT


def test_long_pages_have_a_table_of_contents() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in DOCUMENTS if page.name != "CHANGELOG.md"}
    assert [name for name, text in texts.items() if len(text.split()) >= 2000 and "## Contents" not in text] == []


def test_links_have_targets() -> None:
    complaints = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in DOCUMENTS
        for target in LINK.findall(document.read_text(encoding="utf-8"))
        if "://" not in target and not os.path.exists(document.parent / target)
    ]
    assert complaints == []


def slugs_in(page: pathlib.Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_to_a_section_have_one() -> None:
    complaints: list[str] = []
    for document in DOCUMENTS:
        for target, anchor in re.findall(r"\[[^\]]*\]\(([^)#\s]*)#([^)\s]+)\)", document.read_text(encoding="utf-8")):
            page = document.parent / target if target else document
            if "://" not in target and page.suffix == ".md" and anchor not in slugs_in(page):
                complaints.append(f"{document.relative_to(ROOT)}: {target}#{anchor}")
    assert complaints == []
