"""The instructions over MCP against what the tools show."""

from pathlib import Path

from fileops.mcp.texts import instructions
from fileops_client import FileOpsClient


async def test_instructions_name_the_mark_that_a_read_shows_after_the_line_number(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\tbread\n")
    async with FileOpsClient.in_process(root=tmp_path) as client:
        shown = (await client.read(tmp_path / "a.txt")).output
    mark = shown[len("     1")]
    assert shown.startswith(f"     1{mark}\tbread\n")
    assert f"after the line number and its arrow ({mark})" in instructions(has_undo=False)
    assert " tab" not in instructions(has_undo=False)
