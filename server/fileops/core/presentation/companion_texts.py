"""Sentences about what a host's own tools read and write: for the model, as reasons of refusals and as context."""

import difflib
from collections.abc import Sequence

from fileops.core.matching.correction import SENTENCES
from fileops.core.presentation.diffs import cut_diff
from fileops.core.text import to_lf

MAX_SHOWN_CHARS = 6000  # of a file's text in one answer, and of everything that is added to one
MAX_DIFF_LINES = 60
MAX_DIFF_CHARS = 4000
MAX_LOST_LINES = 40

ACCEPTED = "A person accepted this change."
READ_AGAIN = "Read it again before you change it."
UNRECORDED = (
    "Note: fileops-server does not record this folder, or not yet: what you change in it by your own tools and by"
    " commands may not be recorded as yours, and then cannot be undone."
)
_NOT_WRITTEN = "Nothing was written."


def changed_text(path: str, by: str, diff: str | None) -> str:
    """Return the sentence about lines that others changed and on which the edit relies. Args: by: as in errors."""
    text = f"{path} changed since you read it, where your change relies on it (by {_name_author(by)}). {_NOT_WRITTEN}"
    return text if not diff else f"{text} What changed:\n{_cut(diff)}"


def not_read_text(path: str) -> str:
    return f"This session has not read all of {path}, which exists. {_NOT_WRITTEN}"


def deletion_text(path: str, by: str) -> str:
    return f"{path} changed since you read it (by {_name_author(by)}). It was not deleted. {READ_AGAIN}"


def whole_text(numbered_lines: str) -> str:
    return "This is in the file now, and counts as read. The same call, sent again, is accepted:\n" + numbered_lines


def number_lines(content: str, first_line: int = 1) -> str:
    return "\n".join(f"{n:>6}→{line}" for n, line in enumerate(content.split("\n"), first_line))


def number_whole(content: str) -> str | None:
    """Return the numbered lines; None if they are too long for an answer."""
    return None if len(content) > MAX_SHOWN_CHARS else number_lines(content)


def unsaved_text(path: str, editor: str, saved: str, unsaved: str, tool_prefix: str | None) -> str:
    """Return what the model is told of unsaved text. Args: tool_prefix: of our tools, if it has them."""
    how = (
        f"To change lines that are not saved yet, use {tool_prefix}Edit."
        if tool_prefix
        else "An edit of a line that is not saved yet fails until the user saves it."
    )
    names = "saved", f"unsaved in {editor}"
    rows = difflib.unified_diff(to_lf(saved).split("\n"), to_lf(unsaved).split("\n"), *names, lineterm="", n=2)
    return (
        f"{editor} has unsaved text of {path}. That text is what counts: work with it, not with the file on disk. "
        f"{how} Saved against unsaved:\n{_cut(chr(10).join(rows))}"
    )


def corrected_text(matches: Sequence[str]) -> str:
    """Return what the model is told after an edit whose text was corrected. Args: matches: see Plan."""
    return " ".join(f"Note: {SENTENCES[match]}" for match in matches if match in SENTENCES)


def formatted_text(names: Sequence[str], unified_diff: str) -> str:
    """Return what the model is told after its tool has written a formatted text. Args: unified_diff: what it wrote."""
    what = f"Note: {' and '.join(names)} changed the lines of your edit before they were written."
    if len(unified_diff) > MAX_DIFF_CHARS:
        return f"{what} {READ_AGAIN}"
    return f"{what} The whole change:\n{unified_diff}"


def unsaved_refusal(path: str, editor: str, shown: str, tool_prefix: str | None) -> str:
    how = f"Use {tool_prefix}Edit, which edits that text" if tool_prefix else f"Ask the user to save it in {editor}"
    return (
        f"{editor} has unsaved text of {path}, which this tool would not see. {_NOT_WRITTEN} {how}."
        f" The unsaved text there is now:\n{shown}"
    )


def unseen_text(path: str, editor: str, tool_prefix: str | None) -> str:
    """Return the sentence for an edit that the host refused, because it did not see the unsaved text."""
    how = f"Use {tool_prefix}Edit, which edits that text." if tool_prefix else f"Ask the user to save it in {editor}."
    return f"{editor} has unsaved text of {path}, which your host's tool does not see. {how}"


def made_in_editor_text(path: str, editor: str, output: str) -> str:
    return (
        f"Done, although your host shows a refusal: {editor} has unsaved text of {path}, so fileops-server made your"
        f" edit there. The file on disk is unchanged until it is saved. Do not repeat the edit.\n{output}"
    )


def made_in_editor_for_person(path: str, editor: str) -> str:
    return f"The agent's edit of {path} was made in {editor}, which has unsaved text of it."


def decided_text(output: str, others: Sequence[str] = ()) -> str:
    """Return the sentence after a person changed the edit. Args: others: files of the same patch, not written."""
    text = (
        "Done, although your host shows a refusal: the user changed your edit, and fileops-server wrote what they"
        f" decided. Do not repeat it.\n{output}"
    )
    if others:
        text += f"\nThe rest of your patch was not written. Send it again without this file: {', '.join(others)}."
    return text


def rejected_text(reason: str) -> str:
    return f"A person rejected this change. {_NOT_WRITTEN} " + (
        f"The user's reason: {reason}" if reason else "Do not retry."
    )


def undecided_text(path: str) -> str:
    return f"{path} is a file that a person decides about."


def loss_text(path: str, lines: Sequence[str], loss_id: str, tool_prefix: str | None, *, can_be_restored: bool) -> str:
    shown = "\n".join(lines[:MAX_LOST_LINES])
    text = (
        f"Your change of {path} was made on an older text, and removed {_n_lines(len(lines))} that another program or"
        f" person had just written. The lines:\n{shown}\n"
    )
    if not can_be_restored:
        return text + "They conflict with your change: put them back where they belong, or ask the user."
    by_tool = f"{tool_prefix}Undo with edit_id, or " if tool_prefix else ""
    return text + f"To bring them back beside your change, undo {loss_id}: {by_tool}`fileops-server undo {loss_id}`."


def loss_for_person(path: str, n_lines: int, agent: str, loss_id: str, *, can_be_restored: bool) -> str:
    text = f"{agent} removed {n_lines} fresh {'line' if n_lines == 1 else 'lines'} of {path}"
    return f"{text}; `fileops-server undo {loss_id}` brings them back." if can_be_restored else f"{text}."


def overwritten_text(path: str, lines: Sequence[str], loss_id: str) -> str:
    shown = "\n".join(lines[:MAX_LOST_LINES])
    return (
        f"Another program wrote an older text over {_n_lines(len(lines))} of your edit of {path}. The lines:\n{shown}\n"
        f"To bring them back beside what it wrote: `fileops-server undo {loss_id}`, or Undo with this edit_id."
    )


def overwritten_for_person(path: str, n_lines: int, agent: str, loss_id: str) -> str:
    return (
        f"Another program wrote an older text of {path} over {_n_lines(n_lines)} of {agent}. "
        f"`fileops-server undo {loss_id}` brings them back."
    )


def _n_lines(n: int) -> str:
    return "1 line" if n == 1 else f"{n} lines"


def _name_author(by: str) -> str:
    return {"external": "another program", "buffer": "the user, in an editor"}.get(by, by.removeprefix("session:"))


def _cut(diff: str) -> str:
    return cut_diff(diff, max_lines=MAX_DIFF_LINES, max_chars=MAX_DIFF_CHARS)
