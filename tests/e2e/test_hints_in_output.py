"""What a failed edit says beside the specified text, at a client of the wire that asks for it in `output` (R-ANS)."""

from pathlib import Path
from typing import Literal

import pytest

from fileops_client import FileOpsClient

ADVICE = "Lines 1-2 are closest; they differ in indentation. Send this as old_string:\n```\nhello\n    world\n```"


@pytest.mark.parametrize("mode", ["output", "details", "off"])
async def test_hints_are_where_the_client_asks_for_them(
    tmp_path: Path, mode: Literal["off", "details", "output"]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("hello\n    world\n")
    async with FileOpsClient.start(root=tmp_path, initialization_options={"hints": mode}) as client:
        await client.read(file)
        result = await client.edit(file, "hello\n  world", "moon")
    assert result.error is not None
    assert result.output.endswith(f"\n\n{ADVICE}") == (mode == "output")
    assert (result.details.get("hints") == [ADVICE]) == (mode == "details")
