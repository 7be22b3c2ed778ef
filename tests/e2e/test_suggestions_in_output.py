"""What a failed edit says beside the specified text, at a client of the wire that asks for it in `output` (R-ANS)."""

from pathlib import Path
from typing import Literal

import pytest

from fileops_client import FileOpsClient

SUGGESTION = "Lines 1-2 are closest; they differ in indentation. Send this as old_string:\n```\nhello\n    world\n```"


@pytest.mark.parametrize("mode", ["output", "details", "off"])
async def test_suggestion_texts_are_where_the_client_asks_for_them(
    tmp_path: Path, mode: Literal["off", "details", "output"]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("hello\n    world\n")
    async with FileOpsClient.start(root=tmp_path, initialization_options={"suggestions": mode}) as client:
        await client.read(file)
        result = await client.edit(file, "hello\n  world", "moon")
    assert result.error is not None
    assert result.output.endswith(f"\n\n{SUGGESTION}") == (mode == "output")
    assert (result.details.get("suggestion_texts") == [SUGGESTION]) == (mode == "details")


TO_READ = "The file is too large to read whole. Use Read with offset 19997 and limit 7: the place of the edit is there."


@pytest.mark.parametrize("mode", ["output", "details", "off"])
async def test_read_names_the_lines_of_an_edit_that_the_session_was_refused(
    tmp_path: Path, mode: Literal["off", "details", "output"]
) -> None:
    """R-ANS-5."""
    file = tmp_path / "a.txt"
    file.write_text("".join(f"line {i} of many\n" for i in range(1, 30_000)))
    async with FileOpsClient.start(root=tmp_path, initialization_options={"suggestions": mode}) as client:
        plain = await client.read(file, session_id="a")
        await client.edit(file, "line 20000 of many", "new", session_id="a", dry_run=True)
        assert await client.read(file, session_id="a") == plain
        await client.edit(file, "line 20000 of many", "new", session_id="a")
        named = await client.read(file, session_id="a")
        assert await client.read(file, session_id="b") == plain
        await client.close_session("a")
        assert await client.read(file, session_id="a") == plain
        await client.edit(file, "line 20000 of many", "new", session_id="b")
        await client.reset_session(session_id="b")
        assert await client.read(file, session_id="b") == plain
    assert named.error is not None
    assert named.error.code == "too_large"
    assert named.output == (f"{plain.output}\n\n{TO_READ}" if mode == "output" else plain.output)
    assert named.details == ({"suggestion_texts": [TO_READ]} if mode == "details" else {})
