"""A notebook as a model reads it: cells with numbered source, and what their outputs are, in a few lines each.

Lines of sources have a number, all other lines have none, and lines of outputs begin with a bar. So no text in a
notebook can look like the beginning of a cell.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import cast

from msgspec import UNSET, Struct

from fileops.core.notebook.cells import Cell, Notebook
from fileops.core.text import number_line
from fileops.model.notebooks import CellsPage, CellView, OutputsMode, OutputView
from fileops.model.settings import Limits

MAX_OUTPUTS = 6  # of a cell
MAX_LINES = 5  # of an output
MAX_LINE_CHARS = 160
MAX_OUTPUT_CHARS = 900  # of the lines that sum up an output
MAX_IMAGES = 8  # of a cell that is read with whole outputs

_MEANT_FOR_TERMINALS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]"
)
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SHORT_TEXTS = ("text/plain", "text/markdown")
_WHOLE_TEXTS = (*_SHORT_TEXTS, "text/latex", "application/json", "image/svg+xml", "text/html")  # the first one counts


class _CellLines(Struct, frozen=True):
    """The lines of a cell, and their numbers among those of all sources: `end` < `start` if there are none."""

    cell: Cell
    texts: list[str]
    start: int
    end: int


def page_of(
    notebook: Notebook,
    offset: int | None,
    limit: int | None,
    limits: Limits,
    *,
    cell: Cell | None = None,
    outputs: OutputsMode = "summary",
    is_unsaved: bool = False,
) -> CellsPage:
    """Return the cells whose lines are asked for; only `cell`, unless that is None.

    is_unsaved: the sources are those of an editor, and the outputs those of the file.
    """
    all_lines = _number_lines(notebook)
    total = all_lines[-1].end if all_lines else 0
    asked = all_lines if cell is None else [all_lines[cell.index]]
    first = max(1, offset or 1, asked[0].start if cell is not None else 1)
    reached = first + min(limit or limits.max_lines, limits.max_lines) - 1
    last = min(total if cell is None else asked[0].end, reached)
    shown = [
        lines for lines in asked if cell is not None or _is_on_page(lines, first, last, reaches_end=reached >= total)
    ]
    texts, whole, n_chars = [_head(notebook, is_unsaved=is_unsaved)], set[str](), 0
    for lines in shown:
        texts.append(_format_opening_tag(lines.cell))
        is_whole = first <= lines.start and lines.end <= last
        for number in range(max(first, lines.start), min(last, lines.end) + 1):
            line = lines.texts[number - lines.start]
            is_whole = is_whole and len(line) <= limits.max_line_chars
            n_chars += min(len(line), limits.max_line_chars) + 1
            texts.append(number_line(number, line, limits.max_line_chars))
        if lines.end > max(last, lines.start - 1) and lines.texts:
            texts.append(f"... {lines.end - last} more lines of this cell")
        if is_whole:
            whole.add(lines.cell.name)
        texts += _output_lines(lines.cell, outputs, limits)
    end = total if cell is None else asked[0].end
    next_offset = last + 1 if last < end else None
    if next_offset is not None:
        texts.append(f"... [{end - last} more lines of source, from line {next_offset}]")
    return CellsPage(
        text="\n".join(texts),
        cells=tuple(_cell_view(lines) for lines in shown),
        start_line=first,
        end_line=last,
        total_lines=total,
        next_offset=next_offset,
        n_chars=n_chars,
        is_whole=len(whole) == len(notebook.cells),
        shown=frozenset(whole),
    )


def lines_of_cell(notebook: Notebook, name: str) -> tuple[int, int]:
    """Return the first and the last number of the cell's lines; the last is less if it has none."""
    lines = next(lines for lines in _number_lines(notebook) if lines.cell.name == name)
    return lines.start, lines.end


def lines_with_names(notebook: Notebook) -> dict[str, str]:
    """Return the lines of sources and outputs that a read shows and that are not blank, each with its cell's name."""
    shown = dict[str, str]()
    for cell in notebook.cells:
        outputs = [line.strip() for line in _output_lines(cell, "summary", Limits())]
        shown |= {line: f"cell {cell.name}: {line}" for line in (*_source_lines(cell), *outputs) if line.strip()}
    return shown


def lines_of_cells(notebook: Notebook) -> list[tuple[str, int, int]]:
    """Return of each cell its name, and the first and the last number of its lines."""
    return [(lines.cell.name, lines.start, lines.end) for lines in _number_lines(notebook)]


def _number_lines(notebook: Notebook) -> list[_CellLines]:
    texts = [_source_lines(cell) for cell in notebook.cells]
    ends = list(accumulate(map(len, texts)))
    return [
        _CellLines(cell, lines, end - len(lines) + 1, end)
        for cell, lines, end in zip(notebook.cells, texts, ends, strict=True)
    ]


def _source_lines(cell: Cell) -> list[str]:
    return [line.removesuffix("\r") for line in cell.source.split("\n")] if cell.source else []


def _is_on_page(lines: _CellLines, first: int, last: int, *, reaches_end: bool) -> bool:
    """Return whether a line of the cell is shown; of one without lines, whether its place is between such lines."""
    if lines.texts:
        return lines.end >= first and lines.start <= last
    return first <= lines.start <= last + 1 and (lines.start <= last or reaches_end)


def _head(notebook: Notebook, *, is_unsaved: bool) -> str:
    spec = notebook.metadata.get("kernelspec")
    name = cast("Mapping[str, object]", spec).get("display_name") if isinstance(spec, Mapping) else None
    kernel = f", kernel {_one_line(name)}" if isinstance(name, str) and name else ""
    major, minor = notebook.version
    n = len(notebook.cells)
    unsaved = ", unsaved in an editor; outputs as last saved" if is_unsaved else ""
    return f"Notebook, {n} cell{'' if n == 1 else 's'}, nbformat {major}.{minor}{kernel}{unsaved}"


def _format_opening_tag(cell: Cell) -> str:
    count = _execution_count(cell)
    run = "" if count is None else f' run="{count}"'
    note = ' note="its own id is not usable"' if cell.member("id") is not None and not cell.has_own_id else ""
    return f'<cell id="{cell.name}" index="{cell.index}" type="{cell.cell_type}"{run}{note}>'


def _execution_count(cell: Cell) -> int | None:
    count = cell.values.get("execution_count") if cell.cell_type == "code" else None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _cell_view(lines: _CellLines) -> CellView:
    return CellView(
        cell_id=lines.cell.name,
        index=lines.cell.index,
        cell_type=lines.cell.cell_type,
        start_line=lines.start,
        end_line=lines.end,
        execution_count=_execution_count(lines.cell),
        outputs=tuple(_view_of(output) for output in _outputs(lines.cell)),
    )


def images_of(cell: Cell) -> Iterator[bytes]:
    """Yield the images in the outputs of a code cell, or attached to a Markdown cell, of types that a model sees."""
    attachments = cell.values.get("attachments") if cell.cell_type == "markdown" else None
    attached = cast("Mapping[str, object]", attachments).values() if isinstance(attachments, Mapping) else ()
    for bundle in [*map(bundle_of, _outputs(cell)), *attached]:
        for mime, value in cast("Mapping[str, object]", bundle).items() if isinstance(bundle, Mapping) else ():
            if mime in _IMAGES:
                try:
                    yield base64.b64decode("".join(join_lines(value).split()), validate=True)
                except ValueError:
                    continue


# --- outputs ---------------------------------------------------------------------------------------------------------


def _outputs(cell: Cell) -> list[Mapping[str, object]]:
    outputs = cell.outputs if cell.cell_type == "code" else ()
    return [cast("Mapping[str, object]", output) if isinstance(output, Mapping) else {} for output in outputs]


def _output_type(output: Mapping[str, object]) -> str:
    return _one_line(output.get("output_type")) or "unknown"


def bundle_of(output: Mapping[str, object]) -> Mapping[str, object]:
    """Return the data of an output by MIME types; of a stream and an error nothing."""
    data = output.get("data")
    return cast("Mapping[str, object]", data) if isinstance(data, Mapping) else {}


def join_lines(value: object) -> str:
    """Return a text that the format also writes as a list of its lines; "" if it is no text."""
    if isinstance(value, list):
        return "".join(part for part in cast("list[object]", value) if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _view_of(output: Mapping[str, object]) -> OutputView:
    kind = _output_type(output)
    if kind == "error":
        name, value = _one_line(output.get("ename")), _one_line(output.get("evalue"))
        return OutputView(output_type=kind, name=name, value=value)
    bundle = bundle_of(output)
    text = join_lines(output.get("text")) if kind == "stream" else _first_text(bundle, _SHORT_TEXTS)
    lines = _plain_lines(text)
    return OutputView(
        output_type=kind,
        name=_one_line(output.get("name")) if kind == "stream" else UNSET,
        mime_types=UNSET
        if kind == "stream"
        else {_one_line(mime): _n_bytes(mime, data) for mime, data in bundle.items()},
        text=tuple(_short(line) for line in lines[:MAX_LINES]),
        n_lines=len(lines),
    )


def _output_lines(cell: Cell, mode: OutputsMode, limits: Limits) -> list[str]:
    outputs = _outputs(cell)
    if mode == "none":
        return []
    if mode == "full":
        return _whole_lines(outputs, limits.max_chars)
    lines = [
        line for number, output in enumerate(outputs[:MAX_OUTPUTS], 1) for line in _summary(number, _view_of(output))
    ]
    n_more = len(outputs) - MAX_OUTPUTS
    return [*lines, f"  {n_more} more outputs"] if n_more > 0 else lines


def _summary(number: int, view: OutputView) -> list[str]:
    head = _output_head(number, view)
    texts = list(view.text or ())
    while sum(len(text) + 5 for text in texts) + len(head) + 30 > MAX_OUTPUT_CHARS:
        texts.pop()
    n_hidden = (view.n_lines or 0) - len(texts)
    return [head, *(f"  | {text}" for text in texts), *([f"  | ... {n_hidden} more lines"] if n_hidden else [])]


def _output_head(number: int, view: OutputView) -> str:
    if view.output_type == "error":
        return f"  output {number}: error {view.name or ''}: {view.value or ''}"
    kinds = [f"{mime} {size_text(n_bytes)}" for mime, n_bytes in (view.mime_types or {}).items()]
    return _short(f"  output {number}: {', '.join([view.name or view.output_type, *kinds])}")


def _whole_lines(outputs: Sequence[Mapping[str, object]], max_chars: int) -> list[str]:
    """Return all text of the outputs, cut after `max_chars` characters, also inside a line."""
    lines = list[str]()
    for number, output in enumerate(outputs, 1):
        view = _view_of(output)
        text = join_lines(output.get("text")) or _first_text(bundle_of(output), _WHOLE_TEXTS)
        if view.output_type == "error":
            lines_of_error = output.get("traceback")
            text = "\n".join(map(str, cast("list[object]", lines_of_error))) if isinstance(lines_of_error, list) else ""
        lines += [_output_head(number, view), *(f"  | {line}" for line in _plain_lines(text))]
    n_chars = list(accumulate((len(line) + 1 for line in lines), initial=0))
    n_shown = sum(n <= max_chars for n in n_chars[1:])
    if n_shown == len(lines):
        return lines
    cut = f"{lines[n_shown][: max(0, max_chars - n_chars[n_shown] - 1)]}…"  # it may be all that there is
    n_more = len(lines) - n_shown - 1
    return [*lines[:n_shown], cut, *([f"  ... {n_more} more lines of outputs"] if n_more else [])]


def _first_text(bundle: Mapping[str, object], mimes: Sequence[str]) -> str:
    for mime in mimes:
        if mime == "application/json" and mime in bundle:
            return json.dumps(bundle[mime], ensure_ascii=False)
        if text := join_lines(bundle.get(mime)):
            return text
    return ""


def _plain_lines(text: str) -> list[str]:
    plain = _MEANT_FOR_TERMINALS.sub("", text.replace("\r\n", "\n")).rstrip("\n")
    return plain.split("\n") if plain else []


def _n_bytes(mime: str, value: object) -> int:
    text = join_lines(value)
    if mime.startswith("image/") and mime != "image/svg+xml":
        return len(text) * 3 // 4  # it is base64
    return len((text or json.dumps(value)).encode("utf-8", "replace"))


def size_text(n_bytes: int) -> str:
    if n_bytes < 1024:
        return f"{n_bytes} B"
    return f"{n_bytes / 1024:.1f} KB" if n_bytes < 1 << 20 else f"{n_bytes / (1 << 20):.1f} MB"


def _one_line(value: object) -> str:
    return _short(" ".join(_MEANT_FOR_TERMINALS.sub("", value).split())) if isinstance(value, str) else ""


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + "…"
