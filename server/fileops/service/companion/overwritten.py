"""Fresh lines of an agent over which another program has written an older text."""

from fileops.core import splices as splicing
from fileops.core.merge import relevance
from fileops.core.merge.rewind_cells import StepContents, is_notebook, rewind_cells
from fileops.model.commits import Commit
from fileops.model.edits import Relevance
from fileops.model.files import Base


def merge_over(commit: Commit, written: bytes) -> bytes | None:
    """Return what was written with the edit made on it; None if they conflict."""
    before, after = commit.before.data, commit.after.data
    known = Base(content=before, shown=before)
    carried = relevance.carry(known, written, commit.plan.splices, margin_lines=0)
    if not isinstance(carried, Relevance):
        return splicing.apply(written, carried.splices)
    if not is_notebook(written):
        return None
    # Jupyter may have written the file in another form. Undoing the edit's reverse makes the edit cell by cell.
    made = rewind_cells([StepContents(step_id=commit.edit_id, before=after, after=before)], written)
    return None if made is None or made.left else made.content
