"""Results as Markdown, JSON and a plot."""

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Result


def markdown(results: Sequence[Result]) -> str:
    lines = [machine(), ""]
    for result in results:
        lines += [f"### {result.scenario}: {result.title}", ""]
        lines += ["| contender | median | p99 | ratio | runs | notes |", "|---|---|---|---|---|---|"]
        for row in sorted(result.rows, key=lambda row: row.median):
            ratio = result.ratio(row)
            shown = "" if ratio is None else f"{ratio:.2f} ×"
            notes = ", ".join(f"{key} {value}" for key, value in row.notes.items())
            lines.append(
                f"| {row.contender} | {_figure(row.median, result.unit)} | {_figure(row.p99, result.unit)} "
                f"| {shown} | {len(row.times_s)} | {notes} |"
            )
        if result.target is not None:
            ours = next(row for row in result.rows if row.contender.startswith("fileops-server"))
            reached = result.ratio(ours)
            verdict = "" if reached is None else f", reached {reached:.2f} ×"
            lines += ["", f"Aim: {result.target:g} × {result.baseline}{verdict}."]
        lines.append("")
    return "\n".join(lines)


def _figure(value: float, unit: str) -> str:
    return f"{value * 1e3:.3g} ms" if unit == "ms" else f"{value:.4g} {unit}"


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}; "
        "medians of interleaved runs; only ratios within one run compare."
    )


def write_json(results: Sequence[Result], path: Path) -> None:
    path.write_text(
        json.dumps(
            {
                "machine": machine(),
                "results": [
                    {
                        "scenario": result.scenario,
                        "title": result.title,
                        "unit": "s" if result.unit == "ms" else result.unit,
                        "baseline": result.baseline,
                        "target": result.target,
                        "rows": [
                            {
                                "contender": row.contender,
                                "median": row.median,
                                "p99": row.p99,
                                "ratio": result.ratio(row),
                                "times": row.times_s,
                                "notes": row.notes,
                            }
                            for row in result.rows
                        ],
                    }
                    for result in results
                ],
            },
            indent=1,
        ),
        encoding="utf-8",
    )
