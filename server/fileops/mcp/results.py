"""A tool's result as MCP carries it: text items, an image, and a few facts in `_meta`.

Never `structuredContent`: two hosts then show the model that and drop the text.
"""

from collections.abc import Sequence

from msgspec import UnsetType

from fileops.core.presentation.diffs import cut_diff, hunks_of
from fileops.mcp.protocol import JsonObject
from fileops.rpc import json
from fileops.wire.types import ToolResult

MAX_META_BYTES = 4000
MAX_SHOWN_LINES = 10  # of the diff of an applied edit, the line that counts the rest included
MAX_SHOWN_CHARS = 2000
_META_KEY = "fileops/result"


def tool_result(result: ToolResult, file_path: str | None, more: Sequence[str]) -> JsonObject:
    """Make the result of `tools/call`. file_path: as the caller gave it. more: texts after the output and the image."""
    attachments = [] if isinstance(result.attachments, UnsetType) else result.attachments
    images = [{"type": "image", "data": image.data, "mimeType": image.mime_type} for image in attachments]
    return {
        "content": [_text_item(result.output), *images, *map(_text_item, more)],
        "isError": result.status == "error",
        "_meta": {_META_KEY: _facts(result, file_path)},
    }


def failed_result(text: str, code: str, more: Sequence[str] = ()) -> JsonObject:
    """A call that never reached the service."""
    return {
        "content": [_text_item(text), *map(_text_item, more)],
        "isError": True,
        "_meta": {_META_KEY: {"code": code}},
    }


def has_unseen_diff(result: ToolResult) -> bool:
    """Whether it is the result of an edit that has changed something, and its text does not show what."""
    if result.status != "success" or result.ui_extra is None:
        return False
    return bool(result.ui_extra.diff) and result.ui_extra.diff.rstrip("\n") not in result.output


def shown_diff(result: ToolResult) -> str:
    """The first lines of an edit's diff, as hosts show them to people: MAX_SHOWN_LINES at most, without file names."""
    diff = "" if result.ui_extra is None else hunks_of(result.ui_extra.diff)
    is_long = diff.count("\n") > MAX_SHOWN_LINES
    return cut_diff(
        diff, max_lines=MAX_SHOWN_LINES - is_long, max_chars=MAX_SHOWN_CHARS, cut_line=lambda n: f"… {n} more"
    )


def _facts(result: ToolResult, file_path: str | None) -> JsonObject:
    details = result.details
    facts: JsonObject = {"code": None if result.error is None else result.error.code, "file_path": file_path}
    for key in ("edit_id", "replacements", "applied_to", "modified_by_user"):
        if key in details:
            facts[key] = details[key]
    if result.ui_extra is not None:
        facts["stats"] = {"added": result.ui_extra.stats.added, "removed": result.ui_extra.stats.removed}
    if len(json.dumps(facts)) > MAX_META_BYTES:
        del facts["file_path"]  # the only one that a caller can make long
    return facts


def _text_item(text: str) -> JsonObject:
    return {"type": "text", "text": text}
