"""Plans of edits: `valid` and `execute` for one edit, the sequence of a multi edit, and a whole new text.

Knows nothing of files, sessions or freshness: it takes bytes and returns which bytes to replace.
"""

from collections.abc import Sequence

from fileops.core import splices as splicing
from fileops.core.diff.unified import change_of
from fileops.core.legacy_text import require_encodable
from fileops.core.matching.correction import BY_CLIENT, correct
from fileops.core.matching.exact import EXACT, STRATEGIES, Step, find, lines_of
from fileops.core.matching.replacement import require_bounded_growth, splices_for
from fileops.core.pausing import Check, check_nothing
from fileops.core.text import detect_format, encode
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Edit, Plan, Splice
from fileops.model.errors import (
    AlreadyExists,
    CountMismatch,
    FileMissing,
    FileOpsError,
    InvalidPattern,
    MultipleMatches,
    NoChange,
    NoMatch,
    NotEncodable,
    StrategyFailed,
)
from fileops.model.files import Snapshot, Text, TextFormat
from fileops.model.settings import Limits

MAX_REPLACEMENTS = 5_000_000  # by all edits of a request; each costs about 1 µs
MAX_MATCH_LINES = 100_000  # line numbers that a result may contain


def valid(content: Text, old_string: str, new_string: str, replace_all: bool) -> FileOpsError | None:
    """Return why this edit cannot be made, or None."""
    try:
        execute(content, old_string, new_string, replace_all)
    except FileOpsError as failure:
        return failure
    return None


def execute(content: Text, old_string: str, new_string: str, replace_all: bool) -> Text:
    """Return the new content. Raises: the failure that `valid` returns."""
    step = resolve(content, Edit(old_string=old_string, new_string=new_string, replace_all=replace_all))
    if not splicing.effective(content.data, step.splices):
        raise NoChange(same_strings=False)
    return _after(content, step.splices)


def resolve(text: Text, edit: Edit, *, correction: bool = False, check: Check = check_nothing) -> Step:
    """Return the splices of one edit. They may leave the bytes unchanged.

    correction: whether a text that is not found as given may be corrected (core/matching/correction.py).
    Raises: AlreadyExists (empty old_string), NoChange (equal strings), NoMatch, MultipleMatches, CountMismatch,
    NotEncodable.
    """
    if not edit.old_string:
        raise AlreadyExists
    if edit.strategy != EXACT:
        step = STRATEGIES[edit.strategy].resolve(text, edit, check)
        splicing.validate(step.splices, len(text.data))
        return step
    if edit.old_string == edit.new_string:
        raise NoChange(same_strings=True)
    matches = find(text, edit.old_string, check)
    if not matches:
        corrected = correct(text, edit) if correction and not edit.is_proposed else None
        if corrected is not None:
            return corrected
        raise NoMatch(old_string=edit.old_string)
    takes_all = edit.replace_all or edit.expected_replacements is not None
    if matches.n_positions > 1 and not takes_all:
        raise MultipleMatches(
            old_string=edit.old_string,
            n_matches=matches.n_positions,
            lines=lines_of(text, matches.candidates[:MAX_MATCH_LINES]),
        )
    lines = lines_of(text, matches.starts[:MAX_MATCH_LINES])
    if edit.expected_replacements is not None and edit.expected_replacements != len(matches):
        raise CountMismatch(n_expected=edit.expected_replacements, n_found=len(matches), lines=lines)
    return Step(
        splices=splices_for(text, matches, edit.new_string, check),
        n_replacements=len(matches),
        match=BY_CLIENT if edit.is_proposed else matches.match,
        match_lines=lines,
    )


def plan(
    snapshot: Snapshot,
    fmt: TextFormat,
    edits: Sequence[Edit],
    *,
    limits: Limits,
    file_path: str | None = None,
    is_multi: bool | None = None,
    fill_empty: bool = False,
    correction: bool = False,
    check: Check = check_nothing,
) -> Plan:
    """Resolve the edits in order, each on the result of the previous one, into splices over the snapshot.

    file_path: as the caller gave it, for the diff; by default the canonical path. is_multi: whether a change without
    net effect is a success, as for a multi edit (default: more than one edit). fill_empty: an empty old_string may fill
    a file of 0 bytes. check: called repeatedly; raises if the plan was cancelled. A failure contains the index of its
    edit. Raises: the errors of `resolve`; FileMissing, if there is no file and the first edit does not create one.
    """
    is_multi = len(edits) > 1 if is_multi is None else is_multi
    creates = not snapshot.exists
    fills = creates or (fill_empty and not snapshot.data)
    if creates and edits[0].old_string:
        raise FileMissing
    text = Text(data=snapshot.data, format=fmt)
    steps: list[Step] = []
    composed: tuple[Splice, ...] = ()
    n_grown = n_replaced = 0
    for index, edit in enumerate(edits):
        check()
        try:
            is_filling = fills and index == 0 and not edit.old_string
            step = _fill(edit) if is_filling else resolve(text, edit, correction=correction, check=check)
        except _OF_ONE_EDIT as failure:
            failure.edit_index = index
            raise
        try:
            require_encodable(text, step.splices, snapshot.encoding)
        except NotEncodable as failure:
            failure.edit_index = index
            raise
        steps.append(step)
        n_grown += splicing.growth(step.splices)
        n_replaced += step.n_replacements
        try:
            require_bounded_growth(edit.strategy, n_grown)
            if n_replaced > MAX_REPLACEMENTS:
                raise StrategyFailed(
                    strategy=edit.strategy, reason=f"over {MAX_REPLACEMENTS:,} places would be replaced"
                )
        except StrategyFailed as failure:
            failure.edit_index = index
            raise
        composed = splicing.compose(composed, step.splices)
        if index + 1 < len(edits) or fills:
            text = _after(text, step.splices)
        if fills and index == 0:
            fmt = detect_format(text.data)
            text = Text(data=text.data, format=fmt)
    composed = splicing.effective(snapshot.data, composed)
    if not composed and not creates and not is_multi:
        raise NoChange(same_strings=edits[0].old_string == edits[0].new_string)
    return Plan(
        snapshot=snapshot,
        format=fmt,
        splices=composed,
        edits=tuple(edits),
        n_replacements=tuple(step.n_replacements for step in steps),
        matches=tuple(step.match for step in steps),
        match_lines=tuple(step.match_lines for step in steps),
        creates=creates,
        change=change_of(
            snapshot.data,
            fmt,
            composed,
            file_path=snapshot.path if file_path is None else file_path,
            operation="create" if creates else "modify",
            limits=limits,
            first_line=_first_line(edits, steps, composed),
            with_snippet=not is_multi and not creates and not edits[0].replace_all,
            check=check,
        ),
    )


def plan_write(
    snapshot: Snapshot,
    fmt: TextFormat,
    content: str,
    *,
    limits: Limits,
    file_path: str | None = None,
    check: Check = check_nothing,
) -> Plan:
    """Resolve a whole new text into splices that produce it. BOM, encoding and line ends stay the file's.

    A missing file gets the text as given, in UTF-8. Args: as for `plan`. Raises: NotEncodable.
    """
    creates = not snapshot.exists
    if creates:
        splices = _fill(Edit(old_string="", new_string=content)).splices
        fmt = detect_format(splices[0].new if splices else b"")
    else:
        splices = splices_to_text(Text(data=snapshot.data, format=fmt), _as_shown(content, snapshot.data, fmt))
    require_encodable(Text(data=snapshot.data, format=fmt), splices, snapshot.encoding)
    check()
    return Plan(
        snapshot=snapshot,
        format=fmt,
        splices=splices,
        edits=(),
        n_replacements=(),
        matches=(),
        match_lines=(),
        creates=creates,
        change=change_of(
            snapshot.data,
            fmt,
            splices,
            file_path=snapshot.path if file_path is None else file_path,
            operation="create" if creates else "modify",
            limits=limits,
            with_snippet=False,
            check=check,
        ),
    )


def _as_shown(content: str, data: bytes, fmt: TextFormat) -> str:
    """Return the content as `splices_to_text` takes it: with a BOM if the file has one, else without."""
    begins_with_bom_character = data.startswith(_BOM_CHARACTER.encode(fmt.encoding), len(fmt.bom))
    text = content if begins_with_bom_character else content.removeprefix(_BOM_CHARACTER)
    return _BOM_CHARACTER + text if fmt.bom else text


_BOM_CHARACTER = "\ufeff"
_OF_ONE_EDIT = (
    AlreadyExists, CountMismatch, InvalidPattern, MultipleMatches, NoChange, NoMatch, NotEncodable, StrategyFailed,
)  # fmt: skip


def _fill(edit: Edit) -> Step:
    """Return the step that writes the content of a new file: the text as given, in UTF-8."""
    content = encode(edit.new_string, TextFormat())
    splices = (Splice(0, 0, content),) if content else ()
    return Step(splices=splices, n_replacements=0, match=EXACT, match_lines=())


def _first_line(edits: Sequence[Edit], steps: Sequence[Step], composed: Sequence[Splice]) -> int | None:
    """Return the line of the first splice if a single literal edit has counted it already, else None."""
    if len(edits) != 1 or edits[0].strategy != EXACT or not steps[0].match_lines or not composed:
        return None
    return steps[0].match_lines[0] if composed[0].start == steps[0].splices[0].start else None


def _after(text: Text, splices: Sequence[Splice]) -> Text:
    return Text(data=splicing.apply(text.data, splices), format=text.format)
