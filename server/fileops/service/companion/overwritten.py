"""Fresh lines of an agent over which another program has written an older text."""

from fileops.core import splices as splicing
from fileops.core.merge import relevance
from fileops.model.commits import Commit
from fileops.model.edits import Relevance
from fileops.model.files import Base


def merge_over(commit: Commit, written: bytes) -> bytes | None:
    """Return what was written with the edit made on it; None if they conflict."""
    known = Base(content=commit.before.data, shown=commit.before.data)
    carried = relevance.carry(known, written, commit.plan.splices, margin_lines=0)
    return None if isinstance(carried, Relevance) else splicing.apply(written, carried.splices)
