"""The place that a text which was not found most likely meant, for `details.suggested_place`. Never applied."""

from fileops.core.pausing import Check, check_nothing
from fileops.core.presentation.suggestion_texts import line_diff
from fileops.core.suggestions.lines import LineTable
from fileops.core.suggestions.places import MAX_OLD_CHARS, Place, places, without_surrogates
from fileops.core.text import decode_part, to_lf
from fileops.model.edits import SuggestedPlace
from fileops.model.files import Text

MAX_SCANNED_BYTES = 4 << 20  # only this much of a larger file is searched


def suggest_place(
    text: Text, old: str, new: str = "", check: Check = check_nothing, *, first_line: int = 1
) -> SuggestedPlace | None:
    """Return the most similar place, or None if no place is similar enough. Raises: the errors of `check`.

    first_line: the number of the text's first line.
    """
    lines = lines_of_text(text)
    found = places(lines, old, new, check)
    return suggest_place_at(lines, old, found[0], first_line=first_line) if found else None


def suggest_place_at(lines: LineTable, old: str, place: Place, *, first_line: int = 1) -> SuggestedPlace:
    first, last = place.first_line + first_line - 1, place.last_line + first_line - 1
    shown = without_surrogates(to_lf(old[:MAX_OLD_CHARS]).removesuffix("\n"))
    there = lines.slice(place.first_line - 1, place.last_line - 1)
    return SuggestedPlace(
        start_line=first,
        end_line=last,
        similarity=place.similarity,
        diff=f"--- old_string\n+++ line {first}\n{line_diff(shown, there, first)}\n",
        differs_in=place.differs_in,
    )


def lines_of_text(text: Text) -> LineTable:
    """Return the lines of a file's text, with LF line ends and without its byte order mark."""
    n_bytes = min(len(text.data), MAX_SCANNED_BYTES)
    n_bytes -= n_bytes % text.format.unit_bytes
    decoded = to_lf(decode_part(memoryview(text.data)[:n_bytes], text.format))
    return LineTable(decoded.removeprefix("\ufeff") if text.format.bom else decoded)
