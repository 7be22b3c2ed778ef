"""Examines an edit that failed: which of its steps fail, why, and what to send instead of each.

The steps are tried in order on the text, as in a plan, but a failing step is skipped and the next one is tried on the
text without it. Whatever is offered for a step was planned on that text before, so it is certain to be accepted.
Nothing here is applied to a file.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.legacy_text import require_encodable
from fileops.core.matching.exact import EXACT, Step
from fileops.core.pausing import Check
from fileops.core.plan import resolve
from fileops.core.presentation import suggestion_texts as wording
from fileops.core.presentation.failures import failure_message
from fileops.core.suggestions.lines import LineTable
from fileops.core.suggestions.places import Place, places
from fileops.core.suggestions.suggested_place import lines_of_text
from fileops.core.suggestions.unique import extension
from fileops.core.text import count_newlines, to_lf
from fileops.model.edits import Edit, Splice
from fileops.model.errors import CountMismatch, FileOpsError, MultipleMatches, NoChange, NoMatch
from fileops.model.files import Text, TextFormat
from fileops.model.internal_errors import OutOfTime
from fileops.model.suggestions import FailedStep, Suggestion

MAX_SUGGESTIONS = 10
MAX_OF_A_STEP = 3
MAX_OLD_LINES = 40
MAX_OLD_CHARS = 3000
MAX_SHOWN_PLACES = 20
MAX_PLACES_CHARS = 2400  # of the lines that tell many places apart
MAX_LINES_OF_A_PLACE = 4
MIN_NEW_CHARS = 4  # of a new text that is recognised where it is already
_MAX_OCCURRENCES = 64
_DONE_MARGIN = 0.05  # of similarity


class OwnEdit(Struct, frozen=True, kw_only=True):
    """An edit in force by the same session. ranges: the lines that it wrote, 1-based, in the current file."""

    edit_id: str
    time: str
    ranges: tuple[tuple[int, int], ...]


class Excerpt(Struct, frozen=True, kw_only=True):
    """Which part of a file a text is: the number of its first line there, and its cell in a notebook."""

    first_line: int = 1
    cell_id: str | None = None


WHOLE_FILE = Excerpt()


class Examination(Struct, frozen=True, kw_only=True):
    """What was found.

    ranges: for each step the lines of the file that it means (1-based, inclusive); none if they are not known.
    is_complete: whether the time sufficed for all steps. places: for steps whose text is at many places, by index, the
    numbered lines that tell these apart.
    """

    suggestions: tuple[Suggestion, ...]
    failures: tuple[FailedStep, ...]
    places: dict[int, str]
    ranges: tuple[tuple[tuple[int, int], ...], ...]
    is_complete: bool


def examine(
    text: Text,
    edits: Sequence[Edit],
    *,
    encoding: str | None,
    own_edits: Callable[[], Sequence[OwnEdit]],
    check: Check,
    excerpt: Excerpt = WHOLE_FILE,
) -> Examination:
    """Examine the steps on the text. encoding: see Snapshot. check: raises OutOfTime when the time is over."""
    examined = _Examiner(text, encoding, own_edits, check, excerpt)
    is_complete = True
    try:
        for index, edit in enumerate(edits):
            examined.take(index, edit)
    except OutOfTime:
        is_complete = False
    missing = ((),) * (len(edits) - len(examined.ranges))
    return Examination(
        suggestions=tuple(examined.suggestions[:MAX_SUGGESTIONS]),
        failures=tuple(examined.failures),
        places=examined.places,
        ranges=(*examined.ranges, *missing),
        is_complete=is_complete,
    )


class _Examiner:
    """The state of one examination.

    _text: the file's text. _present: the text after the steps that succeed; _composed: the splices to it. _repaired:
    the text as it would be if the failed steps had been sent as suggested. A step that fails on `_present` and succeeds
    there fails only because of an earlier one. _sent: the steps that lead there, with whether they failed.
    """

    def __init__(
        self,
        text: Text,
        encoding: str | None,
        own_edits: Callable[[], Sequence[OwnEdit]],
        check: Check,
        excerpt: Excerpt,
    ) -> None:
        self._text, self._encoding, self._own_edits, self._check = text, encoding, own_edits, check
        self._excerpt = excerpt
        self._present = self._repaired = text
        self._composed: tuple[Splice, ...] = ()
        self._table: LineTable | None = None
        self._failed: list[tuple[int, Edit]] = []
        self._sent: list[tuple[int, Edit, bool]] = []
        self.suggestions: list[Suggestion] = []
        self.failures: list[FailedStep] = []
        self.places: dict[int, str] = {}
        self.ranges: list[tuple[tuple[int, int], ...]] = []

    def take(self, index: int, edit: Edit) -> None:
        """Raises: OutOfTime."""
        self._check()
        try:
            step = self._resolve(self._present, edit)
        except FileOpsError as failure:
            self._note_failure(index, edit, failure)
            return
        self.ranges.append(tuple(self._lines_of(step)))
        is_same = self._repaired is self._present
        self._sent.append((index, edit, False))
        present = _after(self._present, step)
        self._repaired = present if is_same else self._try(self._repaired, edit) or self._repaired
        self._composed = splicing.compose(self._composed, step.splices)
        self._present, self._table = present, None

    def _note_failure(self, index: int, edit: Edit, failure: FileOpsError) -> None:
        after = self._dependence(edit, failure)
        lines: tuple[int, ...] = ()
        if isinstance(failure, MultipleMatches | CountMismatch):
            lines = failure.lines
        self.failures.append(
            FailedStep(
                edit_index=index,
                code=failure.code,
                message=failure_message(failure),
                after=after,
                match_lines=tuple(map(self._line_in_file, lines[:MAX_SHOWN_PLACES])),
                n_more=max(0, _n_places(failure) - MAX_SHOWN_PLACES),
            )
        )
        self._failed.append((index, edit))
        found: list[Suggestion] = []
        try:
            if after is None and edit.strategy == EXACT:
                if isinstance(failure, NoMatch):
                    found = self._suggest_places(index, edit)
                elif isinstance(failure, MultipleMatches | CountMismatch):
                    found = self._ambiguous(index, edit)
        finally:
            self.suggestions += found[:MAX_OF_A_STEP]
            self.ranges.append(tuple((each.start_line, each.end_line) for each in found[:MAX_OF_A_STEP]))
        best = next((each for each in found if each.kind == "similar" and each.old_string is not None), None)
        if best is not None and best.old_string is not None:
            self._repair(index, replace(edit, old_string=best.old_string))
        elif after is not None:
            self._repair(index, edit)

    def _repair(self, index: int, edit: Edit) -> None:
        repaired = self._try(self._repaired, edit)
        if repaired is not None:
            self._repaired = repaired
            self._sent.append((index, edit, True))

    def _dependence(self, edit: Edit, failure: FileOpsError) -> int | None:
        """Return the failed step without whose failure this one would succeed. Raises: OutOfTime."""
        if not self._failed:
            return None
        if self._repaired is not self._present and self._try(self._repaired, edit) is not None:
            return self._first_needed(edit)
        wanted = to_lf(edit.old_string)
        if not wanted or not isinstance(failure, NoMatch):
            return None
        made = [(index, to_lf(failed.new_string).count(wanted)) for index, failed in self._failed]
        takes_all = edit.replace_all or edit.expected_replacements is not None
        return next((index for index, n_places in made if n_places == 1 or (takes_all and n_places)), None)

    def _first_needed(self, edit: Edit) -> int:
        """Return the first failed step with whose repair, and earlier ones, this one succeeds. Raises: OutOfTime."""
        repaired = [index for index, _, is_failed in self._sent if is_failed]
        for last in repaired[:-1]:
            text = self._text
            for index, sent, is_failed in self._sent:
                self._check()
                if not is_failed or index <= last:
                    text = self._try(text, sent) or text
            if self._try(text, edit) is not None:
                return last
        return repaired[-1]

    # --- a text that is not there ----------------------------------------------------------------------------------

    def _suggest_places(self, index: int, edit: Edit) -> list[Suggestion]:
        """Raises: OutOfTime."""
        table = self._lines
        new = to_lf(edit.new_string)
        there = _occurrences(table.text, new) if len(new) >= MIN_NEW_CHARS and new.strip() else []
        own = self._own_place(table, there, len(new)) if there else None
        if own is not None:
            return [self._already_there(index, table, *own, len(new))]
        found = places(table, edit.old_string, edit.new_string, self._check)
        offered = list[Suggestion]()
        for place in found:
            if (offer := self._similar(index, edit, table, place)) is None:
                break  # it occurs several times, so it cannot be sent; less similar places are not meant
            offered.append(offer)
        if len(offered) == 1 and found:
            offered += self._alike(index, edit, table, found[0])
        if not there:
            return offered
        # The new text is there. If the old one is about as similar to it as to the best place, that place is where the
        # edit was made. Else the old text is still there, in other words, and the new one is another place.
        done = places(LineTable(new), edit.old_string, new, self._check)
        similarity_to_new = done[0].similarity if done else 0.0
        best = found[0] if found else None
        at = next((at for at in there if best is not None and _overlap(best, at, len(new))), None)
        if best is None or best.similarity <= similarity_to_new + _DONE_MARGIN:
            at = there[0] if at is None and len(there) == 1 else at
            return offered if at is None else [self._already_there(index, table, at, None, len(new))]
        if at is None and len(there) == 1:
            offered.append(self._already_there(index, table, there[0], None, len(new)))
        return offered

    def _similar(self, index: int, edit: Edit, table: LineTable, place: Place) -> Suggestion | None:
        old = table.text[place.start : place.end]
        if not old or self._try(self._present, replace(edit, old_string=old)) is None:
            return None
        first, last = self._line_in_file(place.first_line), self._line_in_file(place.last_line)
        is_sent = place.is_sure and old.count("\n") < MAX_OLD_LINES and len(old) <= MAX_OLD_CHARS
        return Suggestion(
            edit_index=index,
            kind="similar",
            start_line=first,
            end_line=last,
            old_string=old if is_sent else None,
            note=wording.similar_note(
                first, last, place.differs_in, is_elided=place.is_elided, cell_id=self._excerpt.cell_id
            ),
            differs_in=place.differs_in,
            diff="" if is_sent else wording.line_diff(to_lf(edit.old_string), old, first),
        )

    def _alike(self, index: int, edit: Edit, table: LineTable, best: Place) -> list[Suggestion]:
        """Return the other places whose lines differ from those of the best one in blanks only."""
        first, n_lines = best.first_line - 1, best.last_line - best.first_line + 1
        bare = [line.strip() for line in table.bodies]
        wanted = bare[first : first + n_lines]
        end = "\n" if table.text[best.start : best.end].endswith("\n") else ""
        offered: list[Suggestion] = []
        for at in range(len(bare) - n_lines + 1):
            if at == first or bare[at] != wanted[0] or bare[at : at + n_lines] != wanted:
                continue
            self._check()
            old = "\n".join(table.bodies[at : at + n_lines]) + end
            if len(offered) < MAX_OF_A_STEP - 1 and self._try(self._present, replace(edit, old_string=old)) is not None:
                start, last = self._line_in_file(at + 1), self._line_in_file(at + n_lines)
                offered.append(
                    Suggestion(
                        edit_index=index,
                        kind="similar",
                        start_line=start,
                        end_line=last,
                        old_string=old,
                        note=wording.alike_note(start, last, self._excerpt.cell_id),
                        differs_in=best.differs_in,
                    )
                )
        return offered

    def _own_place(self, table: LineTable, there: Sequence[int], length: int) -> tuple[int, OwnEdit] | None:
        for own in self._own_edits():
            for at in there:
                first = self._line_in_file(table.line_at(at) + 1)
                last = self._line_in_file(table.line_at(at + length - 1) + 1)
                if any(first <= stop and start <= last for start, stop in own.ranges):
                    return at, own
        return None

    def _already_there(self, index: int, table: LineTable, at: int, own: OwnEdit | None, length: int) -> Suggestion:
        first = self._line_in_file(table.line_at(at) + 1)
        last = self._line_in_file(table.line_at(at + length - 1) + 1)
        by = None if own is None else (own.edit_id, own.time)
        note = wording.already_there_note(first, last, by, self._excerpt.cell_id)
        return Suggestion(
            edit_index=index, kind="already_there", start_line=first, end_line=last, old_string=None, note=note
        )

    # --- a text that is there several times --------------------------------------------------------------------------

    def _ambiguous(self, index: int, edit: Edit) -> list[Suggestion]:
        """Raises: OutOfTime."""
        table, part = self._lines, to_lf(edit.old_string)
        offered: list[Suggestion] = []
        places = _positions(table.text, part)
        if len(places) > MAX_OF_A_STEP:
            self._tell_apart(index, table, part, places)
        for at in places[:MAX_OF_A_STEP]:
            found = extension(table, at, at + len(part), self._check)
            if found is None:
                continue
            old = table.text[slice(*found)]
            new = old.replace(part, to_lf(edit.new_string))
            if old.count("\n") >= MAX_OLD_LINES or len(old) > MAX_OLD_CHARS:
                continue
            if self._try(self._present, replace(edit, old_string=old, new_string=new)) is None:
                continue
            first = self._line_in_file(table.line_at(found[0]) + 1)
            last = self._line_in_file(table.line_at(found[1] - 1) + 1)
            line = self._line_in_file(table.line_at(at) + 1)
            offered.append(
                Suggestion(
                    edit_index=index,
                    kind="unique",
                    start_line=first,
                    end_line=last,
                    old_string=old,
                    note=wording.unique_note(line, self._excerpt.cell_id),
                )
            )
        return offered

    def _tell_apart(self, index: int, table: LineTable, part: str, places: Sequence[int]) -> None:
        """Note the numbered lines that contain each place and occur once, if these are few. Raises: OutOfTime."""
        if self._present is not self._text:  # the lines are numbered as in the file
            return
        shown: dict[int, str] = {}
        for at in places[:MAX_SHOWN_PLACES]:
            found = extension(table, at, at + len(part), self._check)
            if found is None:
                continue
            first, last = table.line_at(found[0]), table.line_at(found[1] - 1)
            if last - first < MAX_LINES_OF_A_PLACE:
                shown |= {
                    line: f"{self._line_in_file(line + 1):>6}→{table.bodies[line]}" for line in range(first, last + 1)
                }
        lines = [f"...\n{shown[line]}" if line - 1 not in shown else shown[line] for line in sorted(shown)]
        text = "\n".join(lines).removeprefix("...\n")
        if lines and len(text) <= MAX_PLACES_CHARS:
            self.places[index] = text

    # --- texts and lines -------------------------------------------------------------------------------------------

    @property
    def _lines(self) -> LineTable:
        """Return the lines of the current text, with LF line ends and without its byte order mark."""
        if self._table is None:
            self._table = lines_of_text(self._present)
        return self._table

    def _resolve(self, text: Text, edit: Edit) -> Step:
        """Raises: FileOpsError, OutOfTime."""
        step = resolve(text, edit, check=self._check)
        if not splicing.effective(text.data, step.splices):
            raise NoChange(same_strings=False)
        require_encodable(text, step.splices, self._encoding)
        return step

    def _try(self, text: Text, edit: Edit) -> Text | None:
        """Return the text after the edit; None if that cannot be made. Raises: OutOfTime."""
        try:
            return _after(text, self._resolve(text, edit))
        except FileOpsError:
            return None

    def _lines_of(self, step: Step) -> list[tuple[int, int]]:
        """Return the lines of the file that a step replaces."""
        data, fmt, found = self._present.data, self._present.format, list[tuple[int, int]]()
        line, at = 1, 0
        for splice in step.splices[: MAX_SHOWN_PLACES + 1]:
            line += count_newlines(data, fmt, at, splice.start)
            at = splice.start
            last = line + count_newlines(data, fmt, splice.start, max(splice.start, splice.end - fmt.unit_bytes))
            found.append((self._line_in_file(line), self._line_in_file(last)))
        return found

    def _line_in_file(self, line: int) -> int:
        """Return the line of the file that is `line` (1-based) in the current text."""
        in_text = _line_before(self._text, self._composed, line) if self._composed else line
        return in_text + self._excerpt.first_line - 1


def _line_before(text: Text, composed: Sequence[Splice], line: int) -> int:
    """Return the old line that is `line` after the splices; for a new line, the one that it replaces."""
    data, fmt, shift, at, old_line = text.data, text.format, 0, 0, 1
    for splice in composed:
        old_line += count_newlines(data, fmt, at, splice.start)
        at = splice.start
        n_old = count_newlines(data, fmt, splice.start, splice.end)
        n_new = _n_newlines(splice.new, fmt)
        if line < old_line + shift:
            break
        if line <= old_line + shift + n_new:
            return old_line + min(line - old_line - shift, n_old)
        shift += n_new - n_old
    return line - shift


def _n_newlines(data: bytes, fmt: TextFormat) -> int:
    return count_newlines(data, fmt)


def _n_places(failure: FileOpsError) -> int:
    match failure:
        case MultipleMatches(n_matches=n) | CountMismatch(n_found=n):
            return n
        case _:
            return 0


def _occurrences(text: str, part: str) -> list[int]:
    """Return the places that do not overlap, at most _MAX_OCCURRENCES."""
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < _MAX_OCCURRENCES:
        found.append(at)
        at = text.find(part, at + len(part))
    return found


def _positions(text: str, part: str) -> list[int]:
    """Return all places, even overlapping ones, up to _MAX_OCCURRENCES."""
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < _MAX_OCCURRENCES:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def _overlap(place: Place, at: int, length: int) -> bool:
    return at < place.end and place.start < at + length


def _after(text: Text, step: Step) -> Text:
    return Text(data=splicing.apply(text.data, step.splices), format=text.format)
