"""Names that look like those of other files: what an agent is told, and that no second file is made.

A name in another Unicode form (NFC, NFD) looks the same, and so does one with a line end.
"""

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import SUITE, serving

pytestmark = SUITE
NAME = "r\u00e9sum\u00e9.txt"
FORMS = [("NFC", "NFD"), ("NFD", "NFC")]


def formed(folder: Path, form: Any) -> Path:
    return folder / unicodedata.normalize(form, NAME)


@pytest.mark.parametrize(("present", "given"), FORMS)
async def test_name_in_another_unicode_form_is_named_and_no_second_file_is_made(
    tmp_path: Path, present: str, given: str
) -> None:
    file, wanted = formed(tmp_path.resolve(), present), formed(tmp_path.resolve(), given)
    file.write_text("one\n")
    creations = [
        ("edit", {"file_path": str(wanted), "old_string": "", "new_string": "new\n"}),
        ("write", {"file_path": str(wanted), "content": "new\n"}),
        ("applyChanges", {"changes": [{"kind": "create", "file_path": str(wanted), "content": "new\n"}]}),
    ]
    async with serving() as client:
        await client.start_session()
        result = await client.call("read", file_path=str(wanted))
        assert (result["error"]["code"], str(file) in result["output"]) == ("not_found", True)
        for method, params in creations:
            result = await client.call(method, **params)
            assert (result["error"]["code"], str(file) in result["output"]) == ("already_exists", True), result
        read = await client.call("read", file_path=str(file))
        assert read["status"] == "success"
        rename = {"kind": "rename", "file_path": str(file), "new_path": str(wanted)}
        assert (await client.call("applyChanges", changes=[rename]))["status"] == "success"
    assert [path.name for path in tmp_path.iterdir()] == [wanted.name]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
async def test_path_that_ends_in_a_line_end_makes_no_file(tmp_path: Path, end: str) -> None:
    file = tmp_path.resolve() / "a.txt"
    file.write_text("one\n")
    async with serving() as client:
        await client.start_session()
        result = await client.call("edit", file_path=f"{file}{end}", old_string="", new_string="new\n")
        assert result["error"]["code"] == "io_error"
        assert "line end" in result["output"]
        other = f"{tmp_path.resolve()}/b.txt{end}"
        change = {"kind": "create", "file_path": other, "content": "new\n"}
        result = await client.call("applyChanges", changes=[change])
        assert "line end" in result["output"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


async def test_file_whose_name_ends_in_a_line_end_can_be_edited(tmp_path: Path) -> None:
    """Such a file is rare, but it is there."""
    file = tmp_path.resolve() / "a.txt\n"
    file.write_text("one\n")
    async with serving() as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        result = await client.call("edit", file_path=str(file), old_string="one", new_string="1")
        assert result["status"] == "success"
    assert file.read_text() == "1\n"
