"""Two pictures: cost of an edit against file size, and of a read and an edit against the number of tracked files."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.measure import Result


def write(by_size: Sequence[Result], by_tracked: Sequence[Result], path: Path) -> None:
    """As SVG or PNG, by the path's suffix. Needs matplotlib (the extra `bench`)."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for axes, results, x_label in ((left, by_size, "file size (bytes)"), (right, by_tracked, "tracked files")):
        for name in dict.fromkeys(row.contender for result in results for row in result.rows):
            points = [
                (int(result.scenario), row.median * 1e3)
                for result in results
                for row in result.rows
                if row.contender == name
            ]
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(x_label)
        axes.set_ylabel("median (ms)")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend()
    left.set_title("One edit, by file size")
    right.set_title("One file, beside others that are tracked")
    figure.savefig(str(path), dpi=130)
