"""Strategies, plugins and corrections, through the daemon."""

import asyncio
import pathlib

import pytest

from fileops_client import FileOpsClient, ResponseError


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "notes.md"
    path.write_bytes(b"# One\r\nfirst\r\n\r\n# Two\r\nsecond 22\r\n")
    return path


async def test_regex_and_block_edits_are_applied(file: pathlib.Path) -> None:
    """R-STRAT-1, R-STRAT-2."""
    async with FileOpsClient.start(root=file.parent) as client:
        block = client.capabilities["experimental"]["fileops"]
        assert block["strategies"][:3] == ["exact", "regex", "block"]
        await client.read(file)
        result = await client.edit(file, r"second (\d)(\d)", r"third \2\1!", strategy="regex")
        assert result.ok
        assert result.details.get("match") == "regex"
        edits = [
            {"old_string": "# One\n...\n# Two", "new_string": "# Both", "strategy": "block"},
            {"old_string": "third", "new_string": "last"},
        ]
        result = await client.multi_edit(file, edits)
        assert result.ok
        assert [step.get("match") for step in result.details.get("edits", [])] == ["block", "exact"]
    assert file.read_bytes() == b"# Both\r\nlast 22!\r\n"


async def test_unknown_strategy_is_bad_params(file: pathlib.Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        with pytest.raises(ResponseError) as refused:
            await client.multi_edit(file, [{"old_string": "a", "new_string": "b", "strategy": "magic"}])
        assert (refused.value.code, refused.value.data["path"]) == (-32602, "$.edits[0].strategy")


async def test_invalid_pattern_is_reported_and_changes_nothing(file: pathlib.Path) -> None:
    before = file.read_bytes()
    async with FileOpsClient.start(root=file.parent) as client:
        await client.read(file)
        result = await client.edit(file, "(", "x", strategy="regex")
        assert result.error is not None
        assert result.error.code == "invalid_pattern"
        assert result.output.startswith("<tool_use_error>The pattern cannot be used: ")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "old"),
    [
        (b"x" + b" " * 120_000 + b"y\n", "\nfoo"),
        (b"\r\n" * 20_000, "\n" * 60 + "foo"),
        (b"it is\r\n" * 20_000, "it is\n" * 5_000 + "it's"),
    ],
    ids=["a run of blanks", "empty lines", "equal lines"],
)
async def test_slow_correction_delays_no_other_request(file: pathlib.Path, content: bytes, old: str) -> None:
    """R-TIER-1: beside the correction of one file another one is read."""
    hard = file.with_name("hard.txt")
    hard.write_bytes(content)
    async with FileOpsClient.start(root=file.parent, initialization_options={"correction": True}) as client:
        await client.read(hard, limit=1)
        edit = client.begin("fileops/edit", {"file_path": str(hard), "old_string": old, "new_string": "x"})
        assert (await asyncio.wait_for(client.read(file), 30)).ok
        assert (await asyncio.wait_for(edit, 30))["error"]["code"] == "no_match"


async def test_installed_package_provides_strategies(file: pathlib.Path, sites: str) -> None:
    """R-STRAT-3."""
    async with FileOpsClient.start(root=file.parent, env={"PYTHONPATH": sites}) as client:
        assert {"heading", "beyond"} <= set(client.capabilities["experimental"]["fileops"]["strategies"])
        await client.read(file)
        result = await client.edit(file, "One", "1st\n\n", strategy="heading")
        assert result.ok, result.output
        assert file.read_bytes() == b"# One\r\n1st\r\n\r\n# Two\r\nsecond 22\r\n"
        result = await client.edit(file, "One", "x", strategy="beyond")
        assert result.error is not None
        assert result.error.code == "strategy_failed"
    assert file.read_bytes() == b"# One\r\n1st\r\n\r\n# Two\r\nsecond 22\r\n"


async def test_correction_is_off_by_default(file: pathlib.Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        await client.read(file)
        result = await client.edit(file, "first \n", "1st\n")
        assert result.error is not None
        assert result.error.code == "no_match"


async def test_corrected_edit_is_reported_after_the_specified_text(file: pathlib.Path) -> None:
    """R-TIER-1."""
    async with FileOpsClient.start(root=file.parent, initialization_options={"correction": True}) as client:
        await client.read(file)
        result = await client.edit(file, "first \n", "1st\n")
        assert result.ok
        assert result.details.get("match") == "trailing_blanks"
        lines = result.output.splitlines()
        assert lines[0] == (
            f"The file {file} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
        )
        assert lines[-1] == "Note: old_string matched after ignoring blanks at the ends of lines."
    assert file.read_bytes() == b"# One\r\n1st\r\n\r\n# Two\r\nsecond 22\r\n"
