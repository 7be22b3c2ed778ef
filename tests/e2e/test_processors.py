"""Processors of an installed package, through the daemon. Requirements: R-PROC-* of docs/PROTOCOL.md."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.lsp_client import SUITE, Json, serving
from support.sample_package import SOURCES

pytestmark = SUITE
TEXT = b"\xef\xbb\xbfdef f():\r\n    return 1\r\n\xff \t\r\nend"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(TEXT)
    return path


def daemon(sites: str, *options: str) -> Any:
    return serving(*options, env={"PYTHONPATH": sites, "FILEOPS_PLUGIN_TIMEOUT_S": "0.5"})


def chosen(*names: str, **more: Any) -> Json:
    return {"initialization_options": {"processors": list(names), **more}}


async def test_processor_transforms_the_whole_text_and_the_diff_shows_it(file: Path, sites: str) -> None:
    """R-PROC-1, R-PROC-2: bytes outside of the changed lines stay, invalid ones and line ends included."""
    async with daemon(sites) as client:
        answer = await client.start_session(**chosen("tidy"))
        block: Any = answer.capabilities.experimental
        assert {"tidy", "mangling"} <= set(block["fileops"]["processors"])
        await client.call("read", file_path=str(file))
        edit = {"file_path": str(file), "old_string": "return 1", "new_string": "return 2 \t "}
        for dry_run in (True, False):
            result = await client.call("edit", **edit, dry_run=dry_run)
            assert result["details"]["processed_by"] == ["tidy"]
            removed_and_added = [
                (line["kind"], line["text"])
                for hunk in result["ui_extra"]["hunks"]
                for line in hunk["lines"]
                if line["kind"] != " "
            ]
            assert ("+", "    return 2\r") in removed_and_added
            assert "The processor tidy changed the text." in result["output"]
            assert result["ui_extra"]["diff"] in result["output"]
        assert file.read_bytes() == b"\xef\xbb\xbfdef f():\r\n    return 2\r\n\xff\r\nend\r\n"
        assert (await client.call("undo", session_id="default"))["status"] == "success"
        assert file.read_bytes() == TEXT


async def test_processors_see_every_kind_of_edit_in_the_order_named(file: Path, sites: str) -> None:
    """R-PROC-2"""
    made = file.parent / "new.py"
    async with daemon(sites, "--processor", "shout=hostile:shouting") as client:
        await client.start_session(**chosen("tidy", "shout"))
        created = await client.call("edit", file_path=str(made), old_string="", new_string="one \n\n\n")
        assert created["details"]["processed_by"] == ["tidy", "shout"]
        assert made.read_bytes() == b"ONE\n"
        steps = [{"old_string": "ONE", "new_string": "two "}, {"old_string": "two", "new_string": "three"}]
        several = await client.call("multiEdit", file_path=str(made), edits=steps)
        assert several["output"].startswith(f"Applied 2 edits to {made}:")
        assert made.read_bytes() == b"THREE\n"
        written = await client.call("write", file_path=str(made), content="four\nfive ")
        assert written["details"]["processed_by"] == ["tidy", "shout"]
        assert made.read_bytes() == b"FOUR\nFIVE\n"


async def test_edit_that_its_processor_reverts_changes_nothing(file: Path, sites: str) -> None:
    """R-PROC-2"""
    file.write_bytes(b"one\n")
    async with daemon(sites) as client:
        await client.start_session(**chosen("tidy"))
        await client.call("read", file_path=str(file))
        refused = await client.call("edit", file_path=str(file), old_string="one", new_string="one  ")
        assert refused["error"]["code"] == "no_change"
        assert file.read_bytes() == b"one\n"


async def test_processed_text_is_validated_and_asked_about(file: Path, sites: str) -> None:
    """R-PROC-2: processors come before validators, and both before the user."""
    asked: list[Json] = []

    async def confirm(params: Json) -> Json:
        asked.append(params)
        return {"outcome": "proceed_once"}

    data = file.parent / "a.json"
    data.write_bytes(b"[1]\n")
    capabilities = types.ClientCapabilities(experimental={"fileops": {"confirm_edit": True}})
    async with daemon(sites) as client:
        client.answer("fileops/confirmEdit", confirm)
        await client.start_session(capabilities=capabilities, **chosen("mangling", validators=["json-syntax"]))
        await client.call("read", file_path=str(data))
        await client.call("read", file_path=str(file))
        refused = await client.call("edit", file_path=str(data), old_string="1", new_string="2")
        assert refused["error"]["code"] == "validation_failed"
        assert asked == []
        edited = await client.call("edit", file_path=str(file), old_string="end", new_string="END")
        assert edited["details"]["modified_by_user"] is False
        assert "mangled\r\n" in asked[0]["diff"]
        assert asked[0]["proposed_text"].lstrip("\ufeff").startswith("mangled\r\n")


async def test_text_that_the_user_chose_is_not_processed(file: Path, sites: str) -> None:
    """R-PROC-2"""

    async def confirm(_params: Json) -> Json:
        return {"outcome": "modify", "text": "mine  \n"}

    capabilities = types.ClientCapabilities(experimental={"fileops": {"confirm_edit": True}})
    file.write_bytes(b"one\n")
    async with daemon(sites) as client:
        client.answer("fileops/confirmEdit", confirm)
        await client.start_session(capabilities=capabilities, **chosen("tidy"))
        await client.call("read", file_path=str(file))
        assert (await client.call("edit", file_path=str(file), old_string="one", new_string="two"))["details"][
            "modified_by_user"
        ]
        assert file.read_bytes() == b"mine  \n"


async def test_processor_that_was_not_chosen_is_not_used(file: Path, sites: str) -> None:
    async with daemon(sites) as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        edited = await client.call("edit", file_path=str(file), old_string="1", new_string="2 ")
        assert "processed_by" not in edited["details"]
        assert file.read_bytes() == TEXT.replace(b"1", b"2 ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sleeping", "it did not end within 0.5 s and was stopped"),
        ("leaving", "it ended its process (status 3)"),
        ("odd", "it returned int instead of a text"),
        ("exiting", "SystemExit: no"),
    ],
)
async def test_faulty_processor_costs_its_edit_and_is_named(file: Path, sites: str, name: str, reason: str) -> None:
    """R-PROC-3"""
    async with daemon(sites) as client:
        await client.start_session(**chosen(name))
        await client.call("read", file_path=str(file))
        refused = await client.call("edit", file_path=str(file), old_string="1", new_string="2")
        assert refused["error"]["code"] == "processing_failed"
        assert refused["details"] == {"processor": name, "reason": reason}
        assert f"The processor {name} failed: {reason}" in refused["output"]
        assert file.read_bytes() == TEXT
        assert (await client.call("read", file_path=str(file)))["status"] == "success"


async def test_text_that_the_encoding_does_not_have_is_refused(file: Path, sites: str) -> None:
    """R-PROC-3"""
    file.write_bytes(b"one\n")
    encodings = [{"glob": "*.py", "encoding": "latin-1"}]
    async with daemon(sites) as client:
        await client.start_session(**chosen("snow", encodings=encodings))
        await client.call("read", file_path=str(file))
        refused = await client.call("edit", file_path=str(file), old_string="one", new_string="two")
        assert refused["error"]["code"] == "not_encodable"
        assert file.read_bytes() == b"one\n"


async def test_missing_processor_fails_the_start(sites: str) -> None:
    """R-PROC-1"""
    async with daemon(sites) as client:
        with pytest.raises(JsonRpcException) as refusal:
            await client.start_session(**chosen("tidy", "nothing"))
        assert "$.initializationOptions.processors[1]" in str(refusal.value.data)
        await client.start_session()


async def test_processor_named_on_the_command_line_is_announced(tmp_path: Path) -> None:
    """R-PLUGIN-2"""
    async with serving("--processor", "tidy=my_plugin:tidy", env={"PYTHONPATH": str(SOURCES)}) as client:
        answer = await client.start_session(**chosen("tidy"))
        block: Any = answer.capabilities.experimental
        assert block["fileops"]["processors"] == ["tidy"]
        await client.call("edit", file_path=str(tmp_path / "a"), old_string="", new_string="a ")
        assert (tmp_path / "a").read_bytes() == b"a\n"
