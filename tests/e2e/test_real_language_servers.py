"""Language servers as they are installed: what they say of an edit is what it introduced and resolved."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from sys import executable

import pytest
from lsprotocol import types

from support.foreign_packages import node_package, python_with
from support.lsp_client import SUITE, Json, serving
from support.patience import PATIENCE_S

pytestmark = SUITE
BIN = Path(executable).parent
OLD, NEW = "x = 1", "x = second"
PYTHON = "import os\n\n\ndef size() -> int:\n    return first\n\n\nx = 1\n"
TYPESCRIPT = "export const a: number = first;\nexport const b = 1;\n\nexport const x = 1;\n"


@dataclass(frozen=True)
class Case:
    command: Callable[[], list[str]]
    name: str
    text: str
    options: Callable[[], Json] = dict


def pylsp() -> list[str]:
    return [python_with("python-lsp-server[pyflakes]"), "-m", "pylsp"]


def typescript_language_server() -> list[str]:
    node, modules = node_package("typescript-language-server@4")
    return [node, str(modules / "typescript-language-server" / "lib" / "cli.mjs"), "--stdio"]


def typescript() -> Json:
    _, modules = node_package("typescript@5")
    return {"tsserver": {"path": str(modules / "typescript" / "lib" / "tsserver.js")}}


CASES = {
    "ruff": Case(lambda: [str(BIN / "ruff"), "server"], "a.py", PYTHON),
    "basedpyright": Case(lambda: [str(BIN / "basedpyright-langserver"), "--stdio"], "a.py", PYTHON),
    "pylsp": Case(pylsp, "a.py", PYTHON),
    "typescript": Case(typescript_language_server, "a.ts", TYPESCRIPT, options=typescript),
}


@pytest.mark.parametrize("server", CASES)
async def test_installed_server_says_what_an_edit_introduced_and_resolved(server: str, tmp_path: Path) -> None:
    """R-DIAG-4, R-DIAG-10"""
    case = CASES[server]
    folder = tmp_path.resolve()
    file = folder / case.name
    file.write_text(case.text)  # has a problem that stays
    setting: Json = {
        "name": server,
        "command": case.command(),
        "globs": [f"*{file.suffix}"],
        "initialization_options": case.options(),
        "settle_s": 3,  # on a busy machine, what a server publishes of one text may be more than 0.3 s apart
    }
    options: Json = {
        "diagnostics": "details",
        "diagnostics_wait_s": 30,
        "diagnostics_severity": "error" if server != "ruff" else "warning",
        "language_servers": [setting],
    }
    async with serving() as client:
        workspace = [types.WorkspaceFolder(folder.as_uri(), "project")]
        await client.start_session(workspace_folders=workspace, initialization_options=options)
        await client.call("read", file_path=str(file))
        for _ in range(3):  # a start may take more than the 30 s of one report on a busy machine
            await client.call("edit", file_path=str(file), old_string=OLD, new_string="x = 0")
            started = await client.call("edit", file_path=str(file), old_string="x = 0", new_string=OLD)
            if started["details"]["diagnostics"]["state"] == "settled":
                break
        broken = await client.call("edit", file_path=str(file), old_string=OLD, new_string=NEW)
        report = broken["details"]["diagnostics"]
        assert (report["state"], report["sources"], report.get("n_resolved")) == ("settled", [server], 0), report
        (problem,) = report["introduced"]
        line = case.text[: case.text.index(OLD)].count("\n") + 1
        assert (problem["file_path"], problem["start_line"]) == (str(file), line)
        assert "second" in problem["message"]
        mended = await client.call("edit", file_path=str(file), old_string=NEW, new_string=OLD)
        report = mended["details"]["diagnostics"]
        assert (report["state"], report["n_introduced"], report["n_resolved"]) == ("settled", 0, 1), report


@pytest.mark.parametrize(
    ("server", "old", "new", "written"),
    [
        ("ruff", "x = 1", "x  =  2", "x = 2"),
        ("typescript", "const x = 1;", "const  x=2;", "const x = 2;"),
        ("basedpyright", "x = 1", "x  =  2", None),
    ],
    ids=["ruff", "typescript", "basedpyright"],
)
async def test_installed_server_formats_changed_lines_or_says_that_it_cannot(
    server: str, old: str, new: str, written: str | None, tmp_path: Path
) -> None:
    """R-DIAG-18"""
    case = CASES[server]
    folder = tmp_path.resolve()
    file = folder / case.name
    text = case.text.replace("= first;", "=  first;").replace("return ", "return  ")  # which stays
    file.write_text(text)
    setting: Json = {
        "name": server,
        "command": case.command(),
        "globs": [f"*{file.suffix}"],
        "initialization_options": case.options(),
    }
    edit = {"file_path": str(file), "old_string": old, "new_string": new}
    async with serving() as client:
        workspace = [types.WorkspaceFolder(folder.as_uri(), "project")]
        options: Json = {"format": "changed", "language_servers": [setting]}
        await client.start_session(workspace_folders=workspace, initialization_options=options)
        await client.call("read", file_path=str(file))

        async def until_running() -> Json:
            while True:
                dry = await client.call("edit", **edit, dry_run=True)
                if "processed_by" in dry["details"] or "cannot" in dry["details"]["not_formatted"]:
                    return dry["details"]
                await asyncio.sleep(0.05)

        details = await asyncio.wait_for(until_running(), 2 * PATIENCE_S)
        await client.call("edit", **edit)
    assert details.get("processed_by") == (None if written is None else [f"{server} format"])
    assert file.read_text() == text.replace(old, new if written is None else written)
