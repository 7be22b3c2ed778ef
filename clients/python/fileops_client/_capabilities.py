"""Client capabilities for `initialize`."""

from collections.abc import Mapping
from typing import Any, cast


def build_capabilities(
    handlers: Mapping[str, object], over: Mapping[str, Any], *, shows_reviews: bool
) -> dict[str, Any]:
    """Return the capabilities for these handled methods, merged with `over`, which has precedence."""
    capabilities: dict[str, Any] = {
        "general": {"positionEncodings": ["utf-32", "utf-16"]},  # Python counts code points
        "workspace": {"workspaceFolders": True},
    }
    if "workspace/applyEdit" in handlers:
        capabilities["workspace"] |= {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
    if "window/showMessageRequest" in handlers:
        capabilities["window"] = {"showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}}}
    if "window/workDoneProgress/create" in handlers:
        capabilities.setdefault("window", {})["workDoneProgress"] = True
    asked = {
        "fileops/confirmEdit": "confirm_edit",
        "fileops/correctEdit": "correct_edit",
        "fileops/confirmCommand": "confirm_command",
    }
    known = {capability: True for method, capability in asked.items() if method in handlers}
    if shows_reviews:
        known["reviews"] = True
    if known:
        capabilities["experimental"] = {"fileops": known}
    return cast("dict[str, Any]", _merge(capabilities, over))


def _merge(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, Mapping)):
        return over
    below, above = cast("dict[str, Any]", base), cast("Mapping[str, Any]", over)
    return below | {key: _merge(below.get(key), value) for key, value in above.items()}
