"""Answers that cost a model little: what a tool's result says over MCP, unless the specified texts are asked for.

A landed edit is told in one line. Its lines are shown only if they may differ from what the model expects: because
others changed the file, or because its text was corrected. A refusal shows the lines once.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fileops.core.matching.correction import SENTENCES
from fileops.core.presentation import outputs
from fileops.core.presentation.notices import A_PROGRAM
from fileops.core.presentation.phrases import format_count
from fileops.model.edits import Hunk, HunkLine, LineRange
from fileops.model.errors import FileOpsError, MultipleMatches, NoMatch
from fileops.model.results import ChangeNotice, EditResult

MAX_LINE_CHARS = 200
MAX_PLACES = 5  # lines of places that are named
MAX_SNIPPET_LINES = 60
_CUT = "…"
_HALF = 60  # characters beside a change in a long line


def edited_text(result: EditResult, file_path: str, *, tells_others: bool) -> str | None:
    """Return what is said of an applied edit; None if the specified text is needed.

    file_path: as the caller gave it. tells_others: whether it says which lines others have changed.
    """
    is_plain = not (result.created or result.modified_by_user or result.processed_by or result.dry_run)
    rebased, change = result.rebased, result.change
    if result.error is not None or change is None or not result.edits or not is_plain:
        return None
    if rebased is not None and rebased.is_reviewed:
        return None
    places = list(_find_changed_places(change.hunks))
    done = f"Applied {format_count(len(result.edits), 'edit')}" if result.is_multi else "The file has been updated"
    if sum(result.n_replaced) > 1 and not result.is_multi:
        done += f" at {sum(result.n_replaced)} places"
    text = f"{done}: {_name_lines(places)}." if places else f"{done}."
    is_corrected = any(match in SENTENCES for match in result.matches)
    if rebased is not None and tells_others:
        text += f" Others have changed {_name_lines(rebased.ranges)} since you read it; that is kept."
    text = outputs.with_corrections(text, result.matches)
    if rebased is not None or is_corrected:
        text = "\n".join(filter(None, (text, _snippet(change.hunks))))
    return outputs.with_unsaved(text, [file_path]) if result.applied_to == "buffer" else text


def failed_text(output: str, error: FileOpsError) -> str:
    """Return the specified text of a failure without the caller's own text at its end."""
    if isinstance(error, NoMatch | MultipleMatches):
        return output.replace(f"\nString: {error.old_string}", "")
    return output


def changed_text(notice: ChangeNotice, shown: Sequence[LineRange]) -> str:
    """Return what others changed in the file of a refused edit, without the lines that the answer shows anyway.

    shown: of the present file.
    """
    who = {"modified": A_PROGRAM, "unsaved": "the editor"}.get(notice.kind, notice.changed_by)
    rest = _rest_of(notice.diff or "", shown)
    more = f"\n… and {format_count(notice.n_more, 'more line')}; Read the file." if notice.n_more else ""
    elsewhere = f" Elsewhere in it:\n{rest}" if rest else ""
    return f"Changed by {who}.{elsewhere}{more}"


def _name_lines(places: Sequence[LineRange]) -> str:
    """Return "line 3" or "lines 3-5, 9 and 20"."""
    lines = [
        str(each.start_line) if each.start_line == each.end_line else f"{each.start_line}-{each.end_line}"
        for each in places
    ]
    if len(lines) == 1:
        return f"line{'s' if '-' in lines[0] else ''} {lines[0]}"
    if len(lines) > MAX_PLACES:
        return f"lines {', '.join(lines[:MAX_PLACES])} and {format_count(len(lines) - MAX_PLACES, 'more place')}"
    return f"lines {', '.join(lines[:-1])} and {lines[-1]}"


def _find_changed_places(hunks: Iterable[Hunk]) -> Iterator[LineRange]:
    """Yield the new lines of each run of changed lines; for a deletion, the line that is there now."""
    for hunk in hunks:
        number = hunk.new_start + (hunk.new_lines == 0)  # a side without lines starts at the line before it
        for is_context, run in groupby(hunk.lines, key=lambda line: line.kind == " "):
            n_new = sum(line.kind != "-" for line in run)
            if not is_context:
                yield LineRange(start_line=number, end_line=max(number, number + n_new - 1))
            number += n_new


# --- lines --------------------------------------------------------------------------------------------------------


def _snippet(hunks: Iterable[Hunk]) -> str:
    """Return the new lines of the hunks with their numbers, long ones cut around what changed in them."""
    shown: list[str] = []
    for hunk in hunks:
        number = hunk.new_start
        for is_context, run in groupby(hunk.lines, key=lambda line: line.kind == " "):
            lines = list(run)
            removed = [line.text for line in lines if line.kind == "-"]
            new = [line for line in lines if line.kind != "-"]
            for index, line in enumerate(new):
                before = removed[index] if not is_context and len(removed) == len(new) else None
                shown.append(f"{number:>6}→{_cut(line, before)}")
                number += 1
    return "\n".join(shown) if len(shown) <= MAX_SNIPPET_LINES else ""


def _cut(line: HunkLine, before: str | None) -> str:
    text = line.text.removesuffix("\r")
    if len(text) <= MAX_LINE_CHARS:
        return text
    start, stop = 0, MAX_LINE_CHARS
    if before is not None:
        limit = min(len(text), len(before))
        head = next((n for n in range(limit) if text[n] != before[n]), limit)
        tail = next((n for n in range(limit - head) if text[-1 - n] != before[-1 - n]), limit - head)
        start = max(0, head - _HALF)
        stop = min(len(text), max(start, min(len(text) - tail + _HALF, start + MAX_LINE_CHARS)))
    return f"{_CUT if start else ''}{text[start:stop]}{_CUT if stop < len(text) else ''}"


def _rest_of(diff: str, shown: Sequence[LineRange]) -> str:
    """Return the changed lines of hunks, without context and without those that are among the shown lines."""
    kept: list[str] = []
    number = 0
    run: list[str] = []
    first = 0

    def end_run() -> None:
        last = max(first, number - 1)
        if run and not any(each.start_line <= first and last <= each.end_line for each in shown):
            kept.extend((f"@@ line {first}", *run))
        run.clear()

    for line in diff.split("\n"):
        if line.startswith("@@ "):
            end_run()
            new = line.partition("+")[2].partition(" ")[0]
            start, _, n_lines = new.partition(",")
            number = int(start) + (n_lines == "0")
        elif line[:1] in {"-", "+"}:
            first = first if run else number
            run.append(line)
            number += line[0] == "+"
        else:
            end_run()
            number += line[:1] == " "
    end_run()
    return "\n".join(kept)
