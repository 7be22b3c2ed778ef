"""Notebooks as texts of their cells, which people see and edit instead of JSON: contents, and reviews."""

from functools import lru_cache

from fileops.core.notebook.cell_changes import changes_between
from fileops.core.notebook.cell_texts import text_like, texts_of, view_of, with_text
from fileops.core.notebook.cells import Notebook, parse
from fileops.core.notebook.editor_cells import WITHOUT_CELLS
from fileops.model.approval import ApprovalRequest
from fileops.model.errors import NotebookInvalid
from fileops.model.notebooks import CellChange
from fileops.model.review import CellsView, ReviewPart

_N_VIEWS = 16  # the same reviews are listed again and again


def compare_texts(before: str, after: str) -> tuple[str, str, tuple[CellChange, ...]]:
    """Return the texts of two contents, and the cells that differ. An empty content is a notebook that is not there.

    Raises: NotebookInvalid.
    """
    old, new = (_parse(content or WITHOUT_CELLS.decode()) for content in (before, after))
    return *texts_of(old, new), changes_between(old, new)


def view_by_cells(asked: ApprovalRequest) -> CellsView | None:
    """Return the texts of the cells, None if it is no edit of cells or its texts are too long."""
    if not asked.change.cells or asked.original_text is None or asked.proposed_text is None:
        return None
    return _view(asked.original_text, asked.proposed_text, asked.changes)


@lru_cache(_N_VIEWS)
def _view(original: str, proposed: str, changes: tuple[ReviewPart, ...]) -> CellsView | None:
    return view_of(_parse(original), _parse(proposed), changes)


def previous_text_by_cells(asked: ApprovalRequest) -> str | None:
    """Return what a person had written before the file changed, as a text of cells."""
    if asked.previous is None or asked.previous.text is None:
        return None
    try:
        return text_like(_parse(asked.previous.text), _parse_both(asked))
    except NotebookInvalid:
        return None


def text_of_notebook(asked: ApprovalRequest, text: str) -> str:
    """Return a person's text as JSON, if it is a text of the cells. Raises: NotTheCells."""
    if view_by_cells(asked) is None or text.lstrip("\ufeff \t\r\n").startswith("{"):
        return text
    shown = _parse_both(asked)
    return with_text(shown, shown[1], text).decode("utf-8", "surrogatepass")


def _parse_both(asked: ApprovalRequest) -> tuple[Notebook, Notebook]:
    return _parse(asked.original_text or ""), _parse(asked.proposed_text or "")


def _parse(text: str) -> Notebook:
    """Raises: NotebookInvalid."""
    return parse(text.encode("utf-8", "surrogatepass"))
