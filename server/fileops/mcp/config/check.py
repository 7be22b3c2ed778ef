"""`mcp config HOST --check`: which mode is configured here, and which sessions of the host are guarded now."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fileops.attach import control
from fileops.mcp.config import jsonc, places, settings_file, summary, toml
from fileops.mcp.config.changes import changes_to
from fileops.mcp.config.documents import Document, IgnoredFile, JsonDocument, Mode, Script
from fileops.mcp.config.settings_file import UnusableFile
from fileops.platform.page import print_text

CONFIGURED, NOT_CONFIGURED = 0, 1  # exit statuses
# The beginnings of the names that a host's sessions have.
_SESSIONS = {
    "claude": "claude-code:", "claude-plugin": "claude-code:", "codex": "codex", "copilot": "copilot-cli:",
    "cursor": "cursor:", "opencode": "opencode", "antigravity": "antigravity:", "gemini": "gemini",
}  # fmt: skip


def print_state(documents: Mapping[Mode, Sequence[Document]], host: str, folder: str) -> int:
    """Print the state, and return the exit status. Raises: UnusableFile."""
    name = summary.NAMES[host]
    modes = [mode for mode, wanted in documents.items() if all(_has(document, folder) for document in wanted)]
    if modes:
        state = (
            f"{name} is configured in the mode {' and '.join(modes)}."
            if host in summary.WITH_HOOKS
            else (f"{name} is configured.")
        )
    else:
        how = f"fileops-server mcp config {host} --write"
        state = f"{name} is not configured completely here; this says what is missing: {how}"
        for path in _of_other_versions([each for wanted in documents.values() for each in wanted], folder):
            state += f"\n{path} is of another version of fileops-server, and may lack what this one does."
    print_text("\n".join([state, *_sessions(host)]))
    return CONFIGURED if modes else NOT_CONFIGURED


def _has(document: Document, folder: str) -> bool:
    """Return whether the file has everything that the document has."""
    path = places.path_of(document, folder)
    if path is None or isinstance(document, IgnoredFile):
        return True
    file = settings_file.read(path)
    if isinstance(document, Script):
        return file.text == document.text
    try:
        present: object = jsonc.parse(file.text).value if isinstance(document, JsonDocument) else toml.parse(file.text)
    except ValueError as error:
        if not file.text.strip():
            return False
        raise UnusableFile(f"{path} cannot be parsed: {error}.") from None
    return isinstance(present, dict) and not list(changes_to(cast("dict[str, Any]", present), document.content))


def _of_other_versions(documents: Sequence[Document], folder: str) -> list[str]:
    """Return the paths of scripts that another version of this command has written."""
    scripts = {
        path: script
        for each in documents
        if isinstance(script := each, Script) and (path := places.path_of(each, folder))
    }
    own = {script.text for script in documents if isinstance(script, Script)}
    texts = {path: settings_file.read(path).text for path in scripts}
    return [path for path, text in texts.items() if text not in own and text.startswith(scripts[path].marks)]


def _sessions(host: str) -> list[str]:
    guarded = control.list_guarded_sessions()
    if guarded is None:
        return ["No shared daemon is running, so no session is guarded now."]
    own = [session for session in guarded if str(session["session_id"]).startswith(_SESSIONS.get(host, "\0"))]
    return control.format_guarded_sessions(own) or ["No session of it is guarded by hooks now."]
