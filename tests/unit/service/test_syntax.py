"""The process that parses texts is there for the first edit, because the read before it has started it."""

from support.in_process import Workbench
from support.patience import PATIENCE_S


async def test_first_edit_that_breaks_the_syntax_is_reported() -> None:
    bench = Workbench()
    try:
        bench.disk.put("/w/a.py", b"x = 1\n")
        await bench.read("/w/a.py")
        assert bench.workspace.syntax.is_begun
        bench.workspace.syntax.wait_until_started(PATIENCE_S)
        result = await bench.edit("/w/a.py", "1", "(1")
        assert result.syntax is not None
        assert [fault.line for fault in result.syntax.errors] == [1]
    finally:
        bench.close()


async def test_read_of_a_file_that_is_not_parsed_starts_nothing() -> None:
    bench = Workbench()
    try:
        bench.disk.put("/w/a.txt", b"x = 1\n")
        await bench.read("/w/a.txt")
        assert not bench.workspace.syntax.is_begun
    finally:
        bench.close()
