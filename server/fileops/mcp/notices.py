"""Notices of changes that others made to files a session has read: once per content, within bounds."""

from collections.abc import Sequence

from fileops.mcp.diffs import cut_diff, hunks_of
from fileops.model.results import ForeignChange

MAX_DIFF_LINES = 40
MAX_DIFF_CHARS = 3000
MAX_FILES = 5  # in one result
MAX_CHARS = 6000  # in one result

_MEANT = "That is usually meant: take the file as it is now, and do not revert it unless you are asked to."


class Notices:
    """Remembers per session which contents were reported. Belongs to the event loop."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, bytes | None]] = {}  # session -> canonical path -> digest of the content

    def next(
        self, session_id: str, changes: Sequence[ForeignChange], refused: ForeignChange | None = None
    ) -> list[str]:
        """Return the texts for the session's next result. What does not fit waits for another one.

        Args: changes: all that there are at the moment. refused: of an edit that failed for this change, which is
        described again even if it was before.
        """
        before = self._told.get(session_id, {})
        told = {change.path: before[change.path] for change in changes if change.path in before}
        texts: list[str] = []
        n_chars = 0
        if refused is not None:
            texts.append(notice_text(refused))
            n_chars = len(texts[0])
            told |= {change.path: change.digest for change in changes if change.file_path == refused.file_path}
        for change in changes:
            if change.path in told and told[change.path] == change.digest:
                continue
            text = notice_text(change)
            n_chars += len(text)
            if len(texts) == MAX_FILES or (texts and n_chars > MAX_CHARS):
                break
            texts.append(text)
            told[change.path] = change.digest
        self._told[session_id] = told
        return texts


def notice_text(change: ForeignChange) -> str:
    path = change.file_path
    if change.digest is None:
        return f"{path} is gone since you last read it."
    match change.changed_by:
        case "external":
            what = f"{path} changed on disk since you last read it (by another program)."
        case "buffer":
            what = f"{path} has unsaved changes in the editor since you last read it."
        case session_id:
            what = f"{path} was edited by another agent ({session_id}) since you last read it."
    if not change.diff:
        return f"{what} {_MEANT} Read the file."
    diff = cut_diff(
        hunks_of(change.diff), max_lines=MAX_DIFF_LINES, max_chars=MAX_DIFF_CHARS,
        cut_line=lambda n: f"… and {n} more {'line' if n == 1 else 'lines'}; Read the file.",
    )  # fmt: skip
    return f"{what} {_MEANT} What changed:\n{diff}"
