"""What the server announces at `initialize`: what pygls would announce of the same features, without waiting for it.

tests/unit/lsp/test_capabilities.py holds it against what pygls makes of them.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from fileops.lsp import methods

if TYPE_CHECKING:
    from fileops.model.documents import PositionEncoding

SERVER_NAME = "fileops-server"

_ENCODINGS: "tuple[PositionEncoding, ...]" = ("utf-8", "utf-16", "utf-32")
_PROVIDERS = {
    methods.TEXT_DOCUMENT_CODE_ACTION: "codeActionProvider",
    methods.TEXT_DOCUMENT_CODE_LENS: "codeLensProvider",
    methods.WORKSPACE_EXECUTE_COMMAND: "executeCommandProvider",
}


class Feature(Struct, frozen=True):
    """A standard message that is served. options: its registration options as LSP writes them."""

    handle: Callable[[Any], Any]
    options: dict[str, object] | None = None


def value_at(capabilities: object, dotted: str) -> object:
    """What stands at "workspace.applyEdit" of a client's capabilities, None where absent."""
    for key in dotted.split("."):
        capabilities = cast("dict[str, object]", capabilities).get(key) if isinstance(capabilities, dict) else None
    return capabilities


def is_editor(client_capabilities: object) -> bool:
    """Whether documents are likely to be opened. Any client may open one, but an editor need not wait for it then."""
    keeps_documents = isinstance(value_at(client_capabilities, "textDocument"), dict)
    return keeps_documents or value_at(client_capabilities, "workspace.applyEdit") is True


def position_encoding(client_capabilities: object) -> "PositionEncoding":
    """The client's first choice among those that LSP knows; utf-16 where it says nothing of use."""
    offered = value_at(client_capabilities, "general.positionEncodings")
    for encoding in cast("list[object]", offered) if isinstance(offered, list) else ():
        if encoding in _ENCODINGS:
            return encoding
    return "utf-16"


def server_capabilities(
    client_capabilities: object, features: Mapping[str, Feature], experimental: dict[str, object]
) -> dict[str, object]:
    capabilities: dict[str, object] = {
        "positionEncoding": position_encoding(client_capabilities),
        "textDocumentSync": _document_sync(features),
        "executeCommandProvider": {"commands": []},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}, "fileOperations": {}},
        "experimental": experimental,
    }
    for method, provider in _PROVIDERS.items():
        if method in features:
            capabilities[provider] = features[method].options or True
    return capabilities


def _document_sync(features: Mapping[str, Feature]) -> dict[str, object]:
    saved = features.get(methods.TEXT_DOCUMENT_DID_SAVE)
    return {
        "openClose": methods.TEXT_DOCUMENT_DID_OPEN in features,
        "change": methods.INCREMENTAL,
        "save": saved is not None and (saved.options or True),
    }
