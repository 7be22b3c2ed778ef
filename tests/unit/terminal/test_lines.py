"""Reviews of notebooks as lines: those of each cell below its name."""

from fileops.terminal.lines import diff_lines
from fileops_client.values import CellUiExtra, Hunk, HunkLine, ReviewChange, ReviewFile, Stats


def cell(kind: str, cell_id: str, index: int, *lines: str, outputs_removed: int = 0) -> CellUiExtra:
    shown = tuple(HunkLine(kind=line[0], text=line[1:]) for line in lines)  # pyrefly: ignore[bad-argument-type]
    hunks = (Hunk(id="1", old_start=1, old_lines=2, new_start=1, new_lines=2, lines=shown),) if lines else ()
    return CellUiExtra(
        kind=kind,  # pyrefly: ignore[bad-argument-type]
        cell_id=cell_id,
        index=index,
        cell_type="code",
        diff="",
        hunks=hunks,
        stats=Stats(added=1, removed=1),
        outputs_removed=outputs_removed,
        has_old_outputs=False,
    )


# R-NB-32
def test_lines_of_a_notebook_name_the_cell_and_its_change() -> None:
    changes = tuple(
        ReviewChange(id=name, old_start=9, old_lines=1, new_start=9, new_lines=1, diff="", cell_id=name)
        for name in ("c1", "c2")
    )
    cells = (
        cell("source", "c1", 1, " import os", "-print(x)", "+print(\x1b[31m)"),
        cell("type", "c2", 2, outputs_removed=2),
    )
    file = ReviewFile(
        file_path="/p/a.ipynb", operation="modify", is_protected=False, diff="of the JSON", changes=changes, cells=cells
    )
    assert [(line.kind, line.text, line.change_id, line.number) for line in diff_lines(file)] == [
        ("@", "cell c1 · code · index 1", "c1", None),
        (" ", "import os", None, 1),
        ("-", "print(x)", "c1", 2),
        ("+", "print(<1b>[31m)", "c1", 2),
        ("@", "cell c2 · code · index 2 · another type · 2 outputs removed", "c2", None),
    ]
