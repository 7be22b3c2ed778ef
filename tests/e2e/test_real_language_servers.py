"""Language servers as they are installed: what they say of an edit, and how they format the lines that it changes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from sys import executable

import pytest
from lsprotocol import types

from support.foreign_packages import node_package, python_with
from support.lsp_client import SUITE, Json, serving

pytestmark = SUITE
BIN = Path(executable).parent
OLD, NEW = "x = 1", "x = second"
# Each has a problem and blanks that stay.
PYTHON = "import os\n\n\ndef size() -> int:\n    return  first\n\n\nx = 1\n"
TYPESCRIPT = "export const a: number =  first;\nexport const b = 1;\n\nexport const x = 1;\n"


@dataclass(frozen=True)
class Case:
    """formatted: a replacement of a text, and what is written; None: no language server is asked to format.

    The written text is None where the server cannot format some lines only.
    """

    command: Callable[[], list[str]]
    name: str
    text: str
    formatted: tuple[str, str, str | None] | None = None
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
    "ruff": Case(lambda: [str(BIN / "ruff"), "server"], "a.py", PYTHON, ("x = 1", "x  =  2", "x = 2")),
    "basedpyright": Case(
        lambda: [str(BIN / "basedpyright-langserver"), "--stdio"], "a.py", PYTHON, ("x = 1", "x  =  2", None)
    ),
    "pylsp": Case(pylsp, "a.py", PYTHON),
    "typescript": Case(
        typescript_language_server, "a.ts", TYPESCRIPT, ("const x = 1;", "const  x=2;", "const x = 2;"), typescript
    ),
}


@pytest.mark.parametrize("server", CASES)
async def test_installed_server_says_what_an_edit_introduced_and_resolved_and_formats_its_lines(
    server: str, tmp_path: Path
) -> None:
    """R-DIAG-4, R-DIAG-10, R-DIAG-18; or says that it cannot format some lines only."""
    case = CASES[server]
    folder = tmp_path.resolve()
    file = folder / case.name
    file.write_text(case.text)
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
    if case.formatted is not None:
        options["format"] = "changed"
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
        if case.formatted is None:
            return
        old, new, written = case.formatted
        formatted = await client.call("edit", file_path=str(file), old_string=old, new_string=new)
    details = formatted["details"]
    assert details.get("processed_by") == (None if written is None else [f"{server} format"])
    assert written is not None or "cannot" in details["not_formatted"]
    assert file.read_text() == case.text.replace(old, new if written is None else written)
