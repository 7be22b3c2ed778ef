"""Sentences for the model beside the tools' specified outputs."""

from collections.abc import Sequence

_INSTRUCTIONS = (
    "Read, Edit and MultiEdit for the files of this workspace: use them instead of other tools and shell commands to "
    "read and change text files. They see unsaved text in the person's editor, never overwrite what another "
    "program or person has changed since, and each edit can be reviewed and undone.\n"
    "Paths are absolute. Read a file before you edit it; copy old_string exactly as shown after the line number and "
    "its arrow (→). An edit that fails has changed nothing: do what the error says.\n"
    "When a result says that a file changed since you read it, take the change as meant, work with it, and do not put "
    "the old text back unless you are asked to. Changing files by shell commands works, but is only seen afterwards"
)
_WITHOUT_UNDO = ", and cannot be undone from here."
_WITH_UNDO = "; Undo with `turn` reverts it where changes are recorded."


def instructions(*, has_undo: bool) -> str:
    """Return what the server says about itself. has_undo: whether the tool Undo is offered."""
    return _INSTRUCTIONS + (_WITH_UNDO if has_undo else _WITHOUT_UNDO)


def applied_after_cancel(file_path: str) -> str:
    return f"An edit of {file_path} that was cancelled had been applied already."


NO_NOTEBOOK_TOOL = (
    "This host has no NotebookEdit. Change the notebook by a program, for example one that loads it with Python's json."
)


def outside_roots(roots: Sequence[str]) -> str:
    """Return how a person can let the agent in. roots: the folders that are open now."""
    if not roots:
        now = "No folder is open for edits: `/` and the home folder cannot be roots."
    else:
        now = f"Open for edits: {', '.join(roots)}."
    return f"{now} To open another folder, the user starts the server with `--root DIR`."
