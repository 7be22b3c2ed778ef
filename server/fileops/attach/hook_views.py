"""What a hook reports about a shell command's output: the files that its line names, and the output itself.

The daemon decides what was shown of them; nothing is decided here. The output is packed into the line of a control
request, which limits its size: of a longer output only the beginning is sent.
"""

import os
import shlex
import zlib
from base64 import b64decode, b64encode
from itertools import pairwise
from typing import Any, cast

MAX_FILES = 8
MAX_OUTPUT_BYTES = 256_000
MAX_PACKED_BYTES = 40_000  # a line has 64 kB, and base64 adds a third
MAX_COMMAND_CHARS = 10_000
MAX_TOKENS = 200
_OUTPUT_KEYS = (
    "stdout", "output", "text", "content",
    "llmContent",  # of Gemini CLI
    "text_result_for_llm", "textResultForLlm",  # of Copilot CLI
)  # fmt: skip
_LABEL_OF_GEMINI = "Output: "


def views_of(event: dict[str, Any]) -> dict[str, object] | None:
    """Return what is sent to the daemon; None if the event is not about a command that names files."""
    arguments: object = event.get("tool_input")
    line = cast("dict[str, object]", arguments).get("command") if isinstance(arguments, dict) else None
    output = _output_of(event.get("tool_response"))
    cwd = event.get("cwd")
    if not isinstance(line, str) or not output.strip() or not isinstance(cwd, str) or not cwd.startswith("/"):
        return None
    files = _find_named_files(line[:MAX_COMMAND_CHARS], cwd)
    return {"files": files, "output": _pack(output)} if files else None


def unpack(packed: str) -> str:
    """Return the output that `views_of` has packed. Raises: ValueError."""
    try:
        data = zlib.decompressobj().decompress(b64decode(packed, validate=True), MAX_OUTPUT_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    return data.decode("utf-8", "replace")


def _output_of(response: object) -> str:
    """Return the texts of a tool's response: a text, a list of texts, or an object with one of _OUTPUT_KEYS."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(filter(None, map(_output_of, cast("list[object]", response))))
    if isinstance(response, dict):
        fields = cast("dict[str, object]", response)
        output = _output_of(next((fields[key] for key in _OUTPUT_KEYS if fields.get(key)), ""))
        return output.removeprefix(_LABEL_OF_GEMINI) if "llmContent" in fields else output
    return ""


def _pack(output: str) -> str:
    """Return the beginning of the output that fits."""
    data = output.encode("utf-8", "replace")[:MAX_OUTPUT_BYTES]
    while len(packed := zlib.compress(data)) > MAX_PACKED_BYTES:
        data = data[: len(data) * 3 // 4]
    return b64encode(packed).decode("ascii")


def _find_named_files(line: str, cwd: str) -> list[str]:
    """Return the files that the words of a command line name, as seen from the folders that it enters."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an unmatched quotation mark
        words = line.split()
    words = words[:MAX_TOKENS]
    folders = [cwd, *(os.path.join(cwd, after) for word, after in pairwise(words) if word == "cd")]
    found: dict[str, None] = {}
    for word in words:
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, os.path.expanduser(word)))
            if len(found) < MAX_FILES and len(path) <= 4096 and "\0" not in path and os.path.isfile(path):
                found[path] = None
    return list(found)
