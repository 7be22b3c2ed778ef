"""Tool results in MCP's form: text items, an image, and a few facts in `_meta`.

Never `structuredContent`: two hosts then show the model only that, and drop the text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import UnsetType

from fileops.core.presentation.diffs import cut_diff, format_changed_lines
from fileops.core.presentation.titles import shorten_path
from fileops.mcp.protocol import JsonObject
from fileops.model.diagnostics import DiagnosticsReport
from fileops.rpc import json
from fileops.wire.types import ToolResult, UiExtra

MAX_META_BYTES = 4000
MAX_SHOWN_LINES = 10  # changed lines of an edit, including the line that counts the rest
MAX_SHOWN_FILES = 3  # files that are named
MAX_SHOWN_CHARS = 2000
_META_KEY = "fileops/result"
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a pair: JSON can escape it, but no decoder of Rust accepts that


def tool_result(
    result: ToolResult, report: DiagnosticsReport | None, file_path: str | None, more: Sequence[str]
) -> JsonObject:
    """Return the result of `tools/call`.

    file_path: as the caller gave it. more: texts after the output and the image.
    """
    attachments = [] if isinstance(result.attachments, UnsetType) else result.attachments
    images = [{"type": "image", "data": image.data, "mimeType": image.mime_type} for image in attachments]
    return {
        "content": [_text_item(result.output), *images, *map(_text_item, more)],
        "isError": result.status == "error",
        "_meta": {_META_KEY: _facts(result, report, file_path)},
    }


def failed_result(text: str, code: str, more: Sequence[str] = ()) -> JsonObject:
    """Return the result of a call that never reached the service."""
    return {
        "content": [_text_item(text), *map(_text_item, more)],
        "isError": True,
        "_meta": {_META_KEY: {"code": code}},
    }


def has_unseen_diff(result: ToolResult) -> bool:
    """Return whether an edit changed something that the result's text does not show."""
    if result.status != "success" or result.ui_extra is None:
        return False
    if not isinstance(cells := result.ui_extra.cells, UnsetType):
        return any(cell.diff and _hunks_of(cell.diff) not in result.output for cell in cells)
    return bool(result.ui_extra.diff) and result.ui_extra.diff.rstrip("\n") not in result.output


def format_change(result: ToolResult, folders: Sequence[str]) -> str:
    """Return what an edit changed, for people: the first changed lines, then each file.

    Each file has its path relative to the folders and the numbers of added and removed lines. The files come last
    because Codex shows only the last three lines of a result; Gemini CLI and Claude Code's transcript show all of them.
    """
    changes = _changes_of(result)
    lines = "\n".join(filter(None, map(_lines_of, changes)))
    is_long = lines.count("\n") >= MAX_SHOWN_LINES
    shown = cut_diff(
        lines, max_lines=MAX_SHOWN_LINES - is_long, max_chars=MAX_SHOWN_CHARS, cut_line=lambda n: f"… {n} more"
    )
    files = [
        f"{shorten_path(change.file_path, folders)} +{change.stats.added} −{change.stats.removed}"
        for change in changes[:MAX_SHOWN_FILES]
    ]
    if len(changes) > MAX_SHOWN_FILES:
        n_added, n_removed = (
            sum(change.stats.added for change in changes),
            sum(change.stats.removed for change in changes),
        )
        files = [f"{len(changes)} files +{n_added} −{n_removed}"]
    return "\n".join(filter(None, (shown, *files)))


def _lines_of(change: UiExtra) -> str:
    """Return the changed lines of a file; of a notebook, those of each cell below its name."""
    if isinstance(change.cells, UnsetType):
        return format_changed_lines(change.hunks)
    return "\n".join(f"cell {cell.cell_id}\n{format_changed_lines(cell.hunks)}" for cell in change.cells if cell.hunks)


def _changes_of(result: ToolResult) -> Sequence[UiExtra]:
    """Return the changes of the result's files, or its only one."""
    files = cast("Sequence[Mapping[str, UiExtra]]", result.details.get("files", ()))
    if files:
        return [file["ui_extra"] for file in files]
    return () if result.ui_extra is None else (result.ui_extra,)


def _facts(result: ToolResult, report: DiagnosticsReport | None, file_path: str | None) -> JsonObject:
    details = result.details
    facts: JsonObject = {"code": None if result.error is None else result.error.code, "file_path": file_path}
    for key in ("edit_id", "replacements", "applied_to", "modified_by_user"):
        if key in details:
            facts[key] = details[key]
    if report is not None:
        facts["diagnostics"] = {"state": report.state}
        if report.state == "settled":
            facts["diagnostics"] |= {"n_introduced": report.n_introduced, "n_resolved": report.n_resolved}
    if result.ui_extra is not None:
        facts["stats"] = {"added": result.ui_extra.stats.added, "removed": result.ui_extra.stats.removed}
    if len(json.dumps(facts)) > MAX_META_BYTES:
        del facts["file_path"]  # the only fact that a caller can make long
    return facts


def _hunks_of(diff: str) -> str:
    return "\n".join(diff.removesuffix("\n").split("\n")[2:])


def _text_item(text: str) -> JsonObject:
    return {"type": "text", "text": _SURROGATE.sub("\ufffd", text)}
