"""Translation of edits of cells: steps of a request to edits, and changes of cells to what clients show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never, cast

from fileops.core.presentation.notebook_texts import change_of_source
from fileops.model.notebooks import (
    Beside,
    CellChange,
    CellEdit,
    CellEditKind,
    ClearOutputs,
    DeleteCell,
    EditInCell,
    InsertCell,
    MoveCell,
    SetSource,
    SetType,
)
from fileops.model.requests import EditRequest
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams
from fileops.wire import types as wire

if TYPE_CHECKING:
    from fileops.wire.details import ChangedCell

_KEYS: dict[CellEditKind, tuple[tuple[str, ...], tuple[str, ...]]] = {  # those that a kind needs, and may have
    "edit": (("cell_id", "old_string", "new_string"), ("replace_all", "expected_replacements")),
    "source": (("cell_id", "source"), ("cell_type",)),
    "insert": (("cell_type", "source"), ("after", "before")),
    "delete": (("cell_id",), ()),
    "move": (("cell_id",), ("after", "before")),
    "type": (("cell_id", "cell_type"), ()),
    "clear_outputs": ((), ("cell_id",)),
}


def edit_notebook_request(params: wire.EditNotebookParams, session: SessionName) -> EditRequest:
    """Raises: InvalidParams."""
    return EditRequest(
        file_path=params.file_path,
        cells=cell_edits(params.cells, ".cells"),
        tool="edit_notebook",
        dry_run=params.dry_run or False,
        include_texts=params.include_texts or False,
        session_id=session,
    )


def cell_edits(steps: Sequence[wire.CellStep], place: str) -> tuple[CellEdit, ...]:
    """Raises: InvalidParams, for keys that are missing or do not belong together."""
    return tuple(_cell_edit(step, f"{place}[{index}]") for index, step in enumerate(steps))


def _cell_edit(step: wire.CellStep, place: str) -> CellEdit:
    _require_keys(step, place)
    cell_id, source = step.cell_id or "", step.source or ""
    match step.kind:
        case "edit":
            return EditInCell(
                cell_id=cell_id,
                old_string=step.old_string or "",
                new_string=step.new_string or "",
                replace_all=step.replace_all or False,
                expected_replacements=step.expected_replacements,
            )
        case "source":
            return SetSource(cell_id=cell_id, source=source, cell_type=step.cell_type)
        case "insert":
            return InsertCell(cell_type=step.cell_type or "code", source=source, place=_beside(step))
        case "delete":
            return DeleteCell(cell_id=cell_id)
        case "move":
            return MoveCell(cell_id=cell_id, place=cast("Beside", _beside(step)))
        case "type":
            return SetType(cell_id=cell_id, cell_type=step.cell_type or "code")
        case "clear_outputs":
            return ClearOutputs(cell_id=step.cell_id)
        case _:
            assert_never(step.kind)


def _beside(step: wire.CellStep) -> Beside | None:
    if step.after is not None:
        return Beside(cell_id=step.after, is_after=True)
    return None if step.before is None else Beside(cell_id=step.before, is_after=False)


def _require_keys(step: wire.CellStep, place: str) -> None:
    """Raises: InvalidParams."""
    needed, possible = _KEYS[step.kind]
    for key in step.__struct_fields__:
        is_given = getattr(step, key) is not None
        if key in needed and not is_given:
            raise InvalidParams(f'is missing: "{step.kind}" needs it', f"{place}.{key}")
        if is_given and key not in {"kind", *needed, *possible}:
            raise InvalidParams(f'does not belong to "{step.kind}"', f"{place}.{key}")
    if step.after is not None and step.before is not None:
        raise InvalidParams("must not be given together with `after`", f"{place}.before")
    if step.kind == "move" and step.after is None and step.before is None:
        raise InvalidParams('is missing: "move" needs it, or `before`', f"{place}.after")
    if step.old_string == "":
        raise InvalidParams("must not be empty", f"{place}.old_string")


def changed_cells(changes: Sequence[CellChange]) -> "list[ChangedCell]":
    """Return what an edit did, without texts."""
    return [
        {"kind": change.kind, "cell_id": change.cell_id, "index": change.index, "cell_type": change.cell_type}
        for change in changes
    ]


def cell_ui_extras(changes: Sequence[CellChange], file_path: str) -> list[wire.CellUiExtra]:
    return [_cell_ui_extra(change, file_path) for change in changes]


def _cell_ui_extra(cell: CellChange, file_path: str) -> wire.CellUiExtra:
    change = change_of_source(cell, file_path)
    return wire.CellUiExtra(
        kind=cell.kind,
        cell_id=cell.cell_id,
        index=cell.index,
        old_index=cell.old_index,
        cell_type=cell.cell_type,
        diff=change.unified if change.hunks else "",
        hunks=change.hunks,
        stats=wire.Stats(added=change.n_added, removed=change.n_removed),
        outputs_removed=cell.outputs_removed,
        has_old_outputs=cell.has_old_outputs,
    )
