"""Sentences that a model reads beside the specified outputs of the tools."""

from collections.abc import Sequence

INSTRUCTIONS = (
    "Read, Edit and MultiEdit for the files of this workspace: use them instead of other tools and shell commands to "
    "read and change text files. They see unsaved text in the person's editor, never overwrite what another "
    "program or person has changed since, and each edit can be reviewed and undone.\n"
    "Paths are absolute. Read a file before you edit it; copy old_string exactly as shown after the line number and "
    "its arrow (→). An edit that fails has changed nothing: do what the error says.\n"
    "When a result says that a file changed since you read it, take the change as meant, work with it, and do not put "
    "the old text back unless you are asked to. Changing files by shell commands works, but is only seen afterwards, "
    "and cannot be undone from here."
)
_DIFFERENCES = {
    "tabs": "tabs and spaces",
    "indentation": "indentation",
    "trailing_blanks": "blanks at line ends",
    "quotes": "kind of quotation marks",
    "invisible": "invisible characters",
    "case": "upper and lower case",
    "escapes": "escaped characters",
    "words": "words",
    "invalid_bytes": "bytes that are no text",
    "line_ends": "line ends",
    "line_numbers": "line numbers that were copied with the text",
}


def applied_after_cancel(file_path: str) -> str:
    return f"An edit of {file_path} that was cancelled had been applied already."


def outside_roots(roots: Sequence[str]) -> str:
    """How a person lets the agent in. roots: the folders that are open now."""
    if not roots:
        now = "No folder is open for edits: `/` and the home folder are no roots."
    else:
        now = f"Open for edits: {', '.join(roots)}."
    return f"{now} To open another folder, the user starts the server with `--root DIR`."


def nearest_place(start_line: int, end_line: int, differs_in: Sequence[str], diff: str) -> str:
    """Where the text was most likely meant, and how it differs. diff: as it is to be shown."""
    place = f"line {start_line}" if start_line == end_line else f"lines {start_line}-{end_line}"
    named = ", ".join(_DIFFERENCES.get(kind, kind) for kind in differs_in)
    differs = f" It differs in: {named}." if named else ""
    return f"The most similar text is at {place}.{differs} From your text (-) to the file's (+):\n{diff}"
