"""Validators of an installed package, through the daemon. Requirements: R-VALID-* of docs/PROTOCOL.md."""

import pathlib
from typing import Any

import pytest

from fileops_client import Answer, FileOpsClient, Options, Question, ResponseError


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "a.json"
    path.write_bytes(b'{\r\n "a": 1\r\n}\r\n')
    return path


def daemon(file: pathlib.Path, sites: str, *names: str, **more: Any) -> Any:
    options: Options = {"validators": list(names)}
    return FileOpsClient.start(root=file.parent, env={"PYTHONPATH": sites}, initialization_options=options, **more)


async def test_installed_and_chosen_validator_refuses_invalid_content(file: pathlib.Path, sites: str) -> None:
    """R-VALID-1, R-VALID-2."""
    before = file.read_bytes()
    async with daemon(file, sites, "json-syntax") as client:
        assert {"exiting", "json-syntax"} <= set(client.capabilities["experimental"]["fileops"]["validators"])
        await client.read(file)
        for dry_run in (True, False):
            result = await client.edit(file, "1", "[", dry_run=dry_run)
            assert result.code == "validation_failed"
            assert result.details["validator"] == "json-syntax"
            assert result.output.startswith(
                "<tool_use_error>The validator json-syntax refuses the edit: it would not be JSON any more: "
            )
        assert (await client.multi_edit(file, [("1", "["), ("[", "[]x")])).code == "validation_failed"
        assert (await client.edit(file.parent / "new.json", "", "{")).code == "validation_failed"
        assert file.read_bytes() == before
        assert not (file.parent / "new.json").exists()
        assert (await client.multi_edit(file, [("1", "["), ("[", "[]")])).ok
        assert (await client.edit(file.parent / "new.txt", "", "{")).ok


async def test_validator_that_was_not_chosen_is_not_used(file: pathlib.Path, sites: str) -> None:
    async with daemon(file, sites) as client:
        await client.read(file)
        assert (await client.edit(file, "1", "[")).ok


async def test_missing_validator_fails_the_start(file: pathlib.Path, sites: str) -> None:
    with pytest.raises(ResponseError) as refusal:
        async with daemon(file, sites, "json-syntax", "nothing"):
            pass
    assert (refusal.value.code, refusal.value.data["path"]) == (-32602, "$.initializationOptions.validators[1]")


async def test_faulty_validator_refuses_and_the_daemon_survives(file: pathlib.Path, sites: str) -> None:
    before = file.read_bytes()
    async with daemon(file, sites, "exiting") as client:
        await client.read(file)
        result = await client.edit(file, "1", "2")
        assert (result.code, "SystemExit" in result.output) == ("validation_failed", True)
        assert file.read_bytes() == before
        assert (await client.read(file)).ok


async def test_text_modified_by_the_user_is_not_validated(file: pathlib.Path, sites: str) -> None:
    async def change(question: Question) -> Answer:
        return Answer(outcome="modify", text="{")

    async with daemon(file, sites, "json-syntax", confirm_edit=change) as client:
        await client.read(file)
        assert (await client.edit(file, "1", "2")).ok
        assert file.read_bytes() == b"{"
