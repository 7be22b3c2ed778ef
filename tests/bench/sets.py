"""What a change set costs beside single edits: python tests/bench/sets.py [N_ROUNDS [SIZE…]].

Prints one line for each size.

In each round a set of n edits and n single edits, one after the other, change the same n files in turn, in one private
daemon; so both meet the same disk and the same load. The ratio is that of the medians; the goal is at most 1.3.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fileops_client import FileOpsClient, edit_file

SIZES = (1, 2, 4, 8, 16, 64)
GOAL = 1.3
TEXT = "".join(f"line {number}\n" for number in range(200))


async def main() -> None:
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    sizes = tuple(map(int, sys.argv[2:])) or SIZES
    with tempfile.TemporaryDirectory(prefix="fileops-bench-") as name:
        folder = Path(name).resolve()
        async with FileOpsClient.start(root=folder, initialization_options={"approval_mode": "yolo"}) as client:
            for n_files in sizes:
                paths = [folder / f"{n_files}-{number}.txt" for number in range(n_files)]
                for path in paths:
                    path.write_text(TEXT)
                    await client.read(path)
                sets, singles = list[float](), list[float]()
                for number in range(n_rounds + 1):
                    first = await _set_ms(client, paths, f"line {number}", f"LINE {number}")
                    second = await _single_ms(client, paths, f"LINE {number}", f"Line {number}")
                    if number:  # the first one loads modules
                        sets.append(first)
                        singles.append(second)
                set_ms, single_ms = statistics.median(sets), statistics.median(singles)
                sys.stdout.write(
                    f"{n_files:3} files: a set {set_ms:7.1f} ms, single edits {single_ms:7.1f} ms, "
                    f"ratio {set_ms / single_ms:.2f} (goal {GOAL})\n"
                )
                sys.stdout.flush()


async def _set_ms(client: FileOpsClient, paths: list[Path], old: str, new: str) -> float:
    start = time.perf_counter()
    result = await client.apply_changes([edit_file(path, (f"{old}\n", f"{new}\n")) for path in paths])
    took_ms = (time.perf_counter() - start) * 1000
    assert result.ok, result.output
    return took_ms


async def _single_ms(client: FileOpsClient, paths: list[Path], old: str, new: str) -> float:
    start = time.perf_counter()
    for path in paths:
        result = await client.edit(path, f"{old}\n", f"{new}\n")
        assert result.ok, result.output
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    asyncio.run(main())
