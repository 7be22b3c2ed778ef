"""Language servers format the lines that an edit changes, and no others: R-DIAG-18 of docs/protocol/diagnostics.md."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from e2e.test_diagnostics import PROGRAM, begin
from fileops.service import formatting
from support.lsp_client import SUITE, FileOpsClient, Json, serving
from support.mcp_client import mcp_client, texts_of
from support.patience import PATIENCE_S, wait_until

pytestmark = SUITE
RUFF: Json = {"name": "ruff", "command": [str(Path(sys.executable).parent / "ruff"), "server"], "globs": ["*.py"]}
UGLY = b"\xef\xbb\xbfx  =  1\r\n\r\n\r\ndef f( a ):\r\n    return  a\r\n"


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit waits for a formatter for a second, which a busy machine may need for more than that.

    What is to be late stays so, but the thread that says it may be late as well.
    """
    monkeypatch.setattr(formatting, "GIVE_UP_S", PATIENCE_S)
    if "[late]" not in cast("pytest.Item", request.node).name:
        monkeypatch.setattr(formatting, "WAIT_S", PATIENCE_S)


def scripted(name: str = "scripted", **behaviour: object) -> Json:
    command = [sys.executable, "-I", "-S", PROGRAM, json.dumps({"formats": True, **behaviour})]
    return {"name": name, "command": command, "globs": ["*.txt"]}


async def running(client: FileOpsClient, file: Path, **edit: object) -> None:
    """Wait until the language servers of the file are running."""

    async def wait() -> None:
        while True:
            await client.call("read", file_path=str(file))
            dry = await client.call("edit", file_path=str(file), dry_run=True, **edit)
            if "was not running" not in dry["details"].get("not_formatted", ""):
                return
            await asyncio.sleep(0.02)

    await asyncio.wait_for(wait(), PATIENCE_S)


async def edited(folder: Path, text: str, server: Json, *, old: str, new: str) -> tuple[Json, str]:
    """Edit a text once the server is running; returns the result, and what was written."""
    file = folder.resolve() / "a.txt"
    file.write_text(text, encoding="utf-8", newline="")
    async with serving() as client:
        await begin(client, file.parent, format="changed", language_servers=[server])
        edit: Json = {"old_string": old, "new_string": new}
        await running(client, file, **edit)
        result = await client.call("edit", file_path=str(file), **edit)
    return result, file.read_bytes().decode()


async def test_ruff_formats_the_changed_lines_alone_and_what_it_finds_is_of_the_result(tmp_path: Path) -> None:
    """R-DIAG-18: the other lines keep their bytes."""
    file = tmp_path.resolve() / "a.py"
    file.write_bytes(UGLY)
    edit = {"old_string": "return  a", "new_string": "return   a  +  undefined"}
    async with serving() as client:
        await begin(
            client,
            file.parent,
            format="changed",
            language_servers=[RUFF],
            diagnostics="details",
            diagnostics_wait_s=30,
        )
        await running(client, file, **edit)
        result = await client.call("edit", file_path=str(file), **edit)
    details = result["details"]
    assert file.read_bytes() == UGLY.replace(b"return  a", b"return a + undefined")
    assert (details["processed_by"], details.get("not_formatted")) == (["ruff format"], None)
    assert "The processor ruff format changed the text. The whole change:" in result["output"]
    (problem,) = details["diagnostics"]["introduced"]
    assert (problem["code"], problem["start_line"], problem["start_column"]) == ("F821", 5, 16)


async def test_lines_that_a_server_formats_beside_the_changed_ones_stay(tmp_path: Path) -> None:
    """R-DIAG-18"""
    result, text = await edited(tmp_path, "a  b\nc  d\ne  f\n", scripted(), old="c  d", new="c  x\nc  y")
    assert text == "a  b\nc x\nc y\ne  f\n"
    assert result["details"]["processed_by"] == ["scripted format"]


async def test_new_file_is_formatted_whole(tmp_path: Path) -> None:
    """R-DIAG-18"""
    result, text = await edited(tmp_path, "one\n", scripted(), old="one", new="two")
    assert "processed_by" not in result["details"]
    file = tmp_path.resolve() / "b.txt"
    async with serving() as client:
        await begin(client, file.parent, format="changed", language_servers=[scripted()])
        await running(client, file.parent / "a.txt", old_string="two", new_string="three")
        await client.call("edit", file_path=str(file), old_string="", new_string="a  b\nc  d\n")
    assert (file.read_text(encoding="utf-8"), text) == ("a b\nc d\n", "two\n")


async def test_server_that_is_not_running_formats_nothing_and_is_started(tmp_path: Path) -> None:
    """R-DIAG-18"""
    file = tmp_path.resolve() / "a.txt"
    file.write_text("one\n", encoding="utf-8")
    async with serving() as client:
        await begin(client, file.parent, format="changed", language_servers=[scripted()])
        await client.call("read", file_path=str(file))
        first = await client.call("edit", file_path=str(file), old_string="one", new_string="a  b")
        assert first["details"]["not_formatted"] == "scripted was not running. It is being started"
        assert "processed_by" not in first["details"]
        assert file.read_text(encoding="utf-8") == "a  b\n"
        await running(client, file, old_string="a  b", new_string="c  d")
        await client.call("edit", file_path=str(file), old_string="a  b", new_string="c  d")
    assert file.read_text(encoding="utf-8") == "c d\n"


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (scripted(format_s=3600), "scripted did not answer within 1 s"),
        (
            scripted(format_fault="no parser"),
            "scripted: it answers textDocument/rangeFormatting with an error: no parser",
        ),
        (scripted(overlaps=True), "scripted sent edits that overlap"),
        (scripted(formats=False), "scripted cannot format lines"),
        (scripted() | {"command": ["/there/is/none"]}, "scripted was not running. It is being started"),
    ],
    ids=["late", "fault", "overlap", "unable", "missing"],
)
async def test_edit_stands_where_a_server_does_not_format(tmp_path: Path, server: Json, reason: str) -> None:
    """R-DIAG-18"""
    file = tmp_path.resolve() / "a.txt"
    file.write_text("one\n", encoding="utf-8")
    async with serving() as client:
        await begin(client, file.parent, format="changed", language_servers=[server])
        if "missing" not in reason and server["command"][0] == sys.executable:
            await running(client, file, old_string="one", new_string="a  b")
        await client.call("read", file_path=str(file))
        result = await client.call("edit", file_path=str(file), old_string="one", new_string="a  b")
    assert result["status"] == "success"
    assert result["details"]["not_formatted"] == reason
    assert file.read_text(encoding="utf-8") == "a  b\n"


async def test_what_cannot_be_given_to_a_server_line_by_line_stays(tmp_path: Path) -> None:
    """R-DIAG-18"""
    many = "".join(f"{n}\nx\n" for n in range(60))
    result, text = await edited(tmp_path, many, scripted(), old=many, new=many.replace("x", "y  z"))
    assert result["details"]["not_formatted"] == "more than 50 places are changed"
    assert text == many.replace("x", "y  z")
    result, text = await edited(tmp_path, "a\rb\none\n", scripted(), old="one", new="c  d")
    assert result["details"]["not_formatted"] == "a line has a carriage return in it"
    assert text == "a\rb\nc  d\n"


@pytest.mark.parametrize("behaviour", [{"silent": True, "no_version": True}, {"pull": True}], ids=["push", "pull"])
async def test_question_about_a_text_leaves_no_trace_in_the_problems_of_later_ones(
    tmp_path: Path, behaviour: dict[str, Any]
) -> None:
    """R-DIAG-18: also where a server publishes nothing from clean to clean, as TypeScript's does."""
    file = tmp_path.resolve() / "a.txt"
    file.write_text("BAD  BAD\n", encoding="utf-8")
    settings = {"diagnostics": "details", "diagnostics_wait_s": 30, "format": "changed"}
    texts = ["BAD  BAD", "a  b", "c  d", "BAD  e", "BAD  BAD"]
    async with serving() as client:
        await begin(client, file.parent, language_servers=[scripted(**behaviour)], **settings)
        await running(client, file, old_string=texts[0], new_string=texts[-1] + "!")
        counts: list[Any] = []
        old = texts[0]
        for new in texts[1:]:
            edit = await client.call("edit", file_path=str(file), old_string=old, new_string=new)
            assert edit["details"]["processed_by"] == ["scripted format"]
            report = edit["details"]["diagnostics"]
            counts.append((report["state"], report.get("n_introduced"), report.get("n_resolved")))
            old = new.replace("  ", " ")
    assert counts == [("settled", 0, 2), ("settled", 0, 0), ("settled", 1, 0), ("settled", 1, 0)]


async def test_nothing_is_said_where_no_server_is_named_for_a_file(tmp_path: Path) -> None:
    """R-DIAG-18"""
    file = tmp_path.resolve() / "a.md"
    async with serving() as client:
        await begin(client, file.parent, format="changed", language_servers=[scripted()])
        result = await client.call("edit", file_path=str(file), old_string="", new_string="a  b\n")
    assert not result["details"].keys() & {"processed_by", "not_formatted"}


async def test_mcp_formats_with_the_servers_of_its_file(tmp_path: Path) -> None:
    """R-DIAG-18, over MCP `--format changed`."""
    project, settings = tmp_path.resolve() / "project", tmp_path / "servers.json"
    project.mkdir()
    file = project / "a.py"
    file.write_text("x = 1\n", encoding="utf-8")
    settings.write_text(json.dumps([RUFF]), encoding="utf-8")
    given: Any = ["--format", "changed", "--language-servers", str(settings)]
    with mcp_client(project, "--root", str(project), *given) as client:
        client.begin()
        client.tool("Read", file_path=str(file))
        texts = [""]

        def is_formatted() -> bool:
            """Whether the next edit is; until ruff is running none is."""
            text = file.read_text(encoding="utf-8")
            new = text.replace("=", " = ").replace("1", "2")
            texts[:] = texts_of(client.tool("Edit", file_path=str(file), old_string=text, new_string=new))
            return file.read_text(encoding="utf-8") == "x = 2\n"

        wait_until(is_formatted)
    assert any("The processor ruff format changed the text." in text for text in texts)
