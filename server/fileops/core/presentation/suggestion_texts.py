"""Sentences about a failed edit that help the next one succeed: for the model, beside the specified texts."""

import re
from collections.abc import Sequence
from difflib import unified_diff

from msgspec import Struct

from fileops.core.presentation.diffs import cut_diff
from fileops.model.changes import ChangeSetResult
from fileops.model.edits import DiffersIn, LineRange
from fileops.model.errors import TooLarge
from fileops.model.results import EditResult, ReadResult
from fileops.model.suggestions import FailedStep, ShownLines, Suggestion, Suggestions, SyntaxFault, SyntaxReport

MAX_CHARS = 6000  # of everything that is added to one answer, notices included
_SEPARATOR = 2  # characters between two texts
MAX_DIFF_LINES = 40
MAX_DIFF_CHARS = 2000

_DIFFERENCES: dict[DiffersIn, str] = {
    "tabs": "tabs and spaces",
    "indentation": "indentation",
    "trailing_blanks": "blanks at line ends",
    "quotes": "kind of quotation marks",
    "invisible": "invisible characters",
    "case": "upper and lower case",
    "escapes": "escaped characters",
    "words": "words",
    "invalid_bytes": "bytes that are not text",
    "line_ends": "line ends",
    "line_numbers": "line numbers that were copied with the text",
}
_FENCE = re.compile("`{3,}")


# --- notes of single suggestions ----------------------------------------------------------------------------------


def similar_note(
    first: int, last: int, differs_in: Sequence[DiffersIn], *, is_elided: bool, cell_id: str | None = None
) -> str:
    """Return the sentences about the place that a text most likely meant.

    cell_id: in which cell of a notebook the lines are, as in all notes.
    """
    named = ", ".join(_DIFFERENCES[kind] for kind in differs_in)
    verb, they = ("is", "it differs") if first == last else ("are", "they differ")
    note = f"{_capitalize(_lines(first, last, cell_id))} {verb} closest; {they} in {named}."
    if is_elided:
        note += " Write out in new_string, too, what you left out in the middle."
    return note


def alike_note(first: int, last: int, cell_id: str | None) -> str:
    """Return the sentence about another place that differs from the closest one in blanks only."""
    verb = "differs" if first == last else "differ"
    return f"Or {_lines(first, last, cell_id)}, which {verb} from it in blanks only."


def already_there_note(first: int, last: int, own: tuple[str, str] | None, cell_id: str | None) -> str:
    """Return the sentence about a new text that is already there.

    own: the id and the time of the session's own edit that wrote it.
    """
    verb = "has" if first == last else "have"
    by = f", by your edit {own[0][:8]} of {own[1]}" if own is not None else ""
    return f"{_capitalize(_lines(first, last, cell_id))} already {verb} the new text{by}."


def unique_note(line: int, cell_id: str | None) -> str:
    return f"For the place at {_lines(line, line, cell_id)}. Repeat in new_string the lines that are added here."


def _lines(first: int, last: int, cell_id: str | None) -> str:
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return lines if cell_id is None else f"{lines} in cell {cell_id}"


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]


def line_diff(old: str, there: str, first_line: int) -> str:
    """Return the diff from the caller's text to the file's, with the file's line numbers in its headers."""
    rows = list(unified_diff(old.split("\n"), there.split("\n"), n=1, lineterm=""))[2:]
    diff = "\n".join(_HUNK.sub(lambda found: _header(found, first_line), row) for row in rows)
    return cut_diff(diff, max_lines=MAX_DIFF_LINES, max_chars=MAX_DIFF_CHARS)


_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def _header(found: "re.Match[str]", first_line: int) -> str:
    shift = first_line - 1
    return f"@@ -{int(found[1]) + shift}{found[2] or ''} +{int(found[3]) + shift}{found[4] or ''} @@"


# --- the texts of one answer --------------------------------------------------------------------------------------


class SuggestionTexts(Struct, frozen=True):
    """The texts that are added to the result of an edit, most important first."""

    all_texts: tuple[str, ...] = ()

    @property
    def n_chars(self) -> int:
        return sum(len(text) + _SEPARATOR for text in self.texts())

    def texts(self, others: Sequence[str] = ()) -> list[str]:
        """Return as many of the texts as MAX_CHARS allows beside the other texts that are added to the result."""
        if not self.all_texts:
            return []
        room = MAX_CHARS - sum(len(text) + _SEPARATOR for text in others)
        kept: list[str] = []
        for text in self.all_texts:
            room -= len(text) + _SEPARATOR
            if room < 0:
                break
            kept.append(text)
        return kept


NO_SUGGESTIONS = SuggestionTexts()


def texts_of_edit(result: EditResult, file_path: str) -> SuggestionTexts:
    """Return what is added to the result of an edit. file_path: as the caller gave it."""
    texts: list[str] = []
    if (suggestions := result.suggestions) is not None:
        if suggestions.shown is not None:
            texts.append(shown_text(suggestions.shown))
        if suggestions.to_read is not None:
            texts.append(to_read_text(suggestions.to_read))
        texts += _step_texts(suggestions)
    if result.syntax is not None:
        texts.append(syntax_text(file_path.rpartition("/")[2], result.syntax))
    return SuggestionTexts(tuple(filter(None, texts)))


def texts_of_read(result: ReadResult) -> SuggestionTexts:
    """Return what is added to a read that was refused because the file is too large."""
    error = result.error
    if isinstance(error, TooLarge) and error.to_read:
        return SuggestionTexts((to_read_text(error.to_read),))
    return NO_SUGGESTIONS


def texts_of_set(result: ChangeSetResult) -> SuggestionTexts:
    """Return what is added to the result of a change set; if several changes fail, each text names its change."""
    texts: list[str] = []
    for problem in result.problems:
        found = [] if problem.suggestions is None else _step_texts(problem.suggestions)
        named = f"Change {problem.change_index + 1}: " if len(result.problems) > 1 else ""
        texts += [f"{named}{text}" for text in found if text]
    return SuggestionTexts(tuple(texts))


def _step_texts(suggestions: Suggestions) -> list[str]:
    """Return a text for each failing step."""
    return [
        _step_text(
            failure,
            [each for each in suggestions.offered if each.edit_index == failure.edit_index],
            suggestions.n_steps,
            suggestions.places.get(failure.edit_index, ""),
        )
        for failure in suggestions.failures
    ]


def _step_text(failure: FailedStep, suggestions: Sequence[Suggestion], n_steps: int, places: str) -> str:
    """Return the text about one failing step; "" if the output already says everything.

    places: numbered lines that tell many places apart. They replace the suggestions, which are for three places.
    """
    parts: list[str] = []
    if n_steps > 1:
        parts.append(f"Edit {failure.edit_index + 1} of {n_steps} fails: {failure.message}")
        if failure.after is not None:
            parts[-1] += f" It fails only because edit {failure.after + 1} does; send it again unchanged."
    if failure.match_lines:
        parts.append(_places_text(failure))
    if places:
        parts.append(f"Send the lines of the place that is meant, and repeat in new_string those that stay:\n{places}")
    else:
        parts += [_suggestion_text(each) for each in suggestions]
    if n_steps > 1 and parts:
        parts.append("Nothing was written.")
    return "\n".join(parts)


def _places_text(failure: FailedStep) -> str:
    lines, more = failure.match_lines, f" and {failure.n_more} more" if failure.n_more else ""
    return f"It is at {'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}{more}."


def _suggestion_text(suggestion: Suggestion) -> str:
    if (old := suggestion.old_string) is not None:
        body = old.removesuffix("\n")  # a fence cannot show whether its last line has a line end
        end = "" if body == old else ", with a newline at its end"
        return f"{suggestion.note} Send this as old_string{end}:\n{fence(body)}"
    if suggestion.diff:
        return f"{suggestion.note} From your text (-) to the file's (+):\n{suggestion.diff}"
    return suggestion.note


def shown_text(shown: ShownLines) -> str:
    return (
        "These lines are in the file now. They count as read, so you can send the same call again if it is still "
        f"right:\n{shown.text}"
    )


def to_read_text(lines: LineRange) -> str:
    """Return the text about lines to read of a file that is too large to be read as a whole."""
    n_lines = lines.end_line - lines.start_line + 1
    return (
        f"The file is too large to read whole. Use Read with offset {lines.start_line} and limit {n_lines}: "
        "the place of the edit is there."
    )


def fence(text: str) -> str:
    """Return the text in a fence that is longer than any inside."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    mark = "`" * max(3, longest + 1)
    return f"{mark}\n{text}\n{mark}"


def syntax_text(name: str, report: SyntaxReport) -> str:
    """Return the text about a file that an edit made unparsable. name: the file's."""
    faults = "; ".join(f"{_place(fault)}: {fault.message}" for fault in report.errors)
    return f"{name} no longer parses: {faults}"


def _place(fault: SyntaxFault) -> str:
    return _lines(fault.line, fault.line, fault.cell_id or None)
