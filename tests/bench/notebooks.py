"""What a read of a notebook costs a model, by cells and as its numbered JSON.

    python -m bench.notebooks FOLDER

FOLDER has real notebooks, such as the sources of nbformat, nbconvert and jupytext. Each is read as a whole, in as many
pages as that needs. Counts tokens with o200k if `bpe_openai` is installed, else characters / 4.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.reliability.tokens import UNIT, count
from fileops.core.notebook.cell_page import page_of
from fileops.core.notebook.cells import fault_of, parse
from fileops.core.text import number_line
from fileops.model.settings import Limits


class Cost(NamedTuple):
    """Of one notebook."""

    path: Path
    by_cells: int
    as_json: int

    @property
    def ratio(self) -> float:
        return self.by_cells / self.as_json


def cost_of(path: Path, count: Callable[[str], int] = count) -> Cost | None:
    """Return None for what is not shown by cells."""
    data = path.read_bytes()
    if fault_of(data) is not None:
        return None
    lines = data.decode("utf-8-sig").split("\n")
    as_json = "\n".join(number_line(number, line, Limits().max_line_chars) for number, line in enumerate(lines, 1))
    return Cost(path, sum(map(count, pages_of(data))), count(as_json))


def pages_of(data: bytes) -> Sequence[str]:
    """Return the texts of the reads that show all cells."""
    notebook, pages, offset = parse(data), list[str](), None
    while not pages or offset is not None:
        page = page_of(notebook, offset, None, Limits())
        pages.append(page.text)
        offset = page.next_offset
    return pages


def report(costs: Sequence[Cost]) -> str:
    ratios, worst = [cost.ratio for cost in costs], max(costs, key=lambda cost: cost.ratio)
    dearest = max(costs, key=lambda cost: cost.by_cells)
    total = sum(cost.by_cells for cost in costs) / sum(cost.as_json for cost in costs)
    lines = [
        f"{len(costs)} notebooks, {UNIT}",
        f"by cells: median {statistics.median(cost.by_cells for cost in costs):,.0f}, most {dearest.by_cells:,} "
        f"({dearest.path.name}, {dearest.as_json:,} as JSON)",
        f"as JSON: median {statistics.median(cost.as_json for cost in costs):,.0f}, "
        f"most {max(cost.as_json for cost in costs):,}",
        f"cells / JSON: median {statistics.median(ratios):.2f}, worst {worst.ratio:.2f} "
        f"({worst.path.name}, {worst.by_cells:,} of {worst.as_json:,}), all together {total:.3f}",
    ]
    return "\n".join(lines)


def main() -> None:
    costs = [cost for path in sorted(Path(sys.argv[1]).rglob("*.ipynb")) if (cost := cost_of(path)) is not None]
    sys.stdout.write(f"{report(costs)}\n")


if __name__ == "__main__":
    main()
