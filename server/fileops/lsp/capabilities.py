"""The server's capabilities as `initialize` returns them: those that pygls computes, without loading pygls.

tests/unit/lsp/test_capabilities.py checks that both are equal.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from fileops.lsp import methods
from fileops.lsp.client import position_encoding

SERVER_NAME = "fileops-server"

_PROVIDERS = {
    methods.TEXT_DOCUMENT_CODE_ACTION: "codeActionProvider",
    methods.TEXT_DOCUMENT_CODE_LENS: "codeLensProvider",
    methods.WORKSPACE_EXECUTE_COMMAND: "executeCommandProvider",
}


class Feature(Struct, frozen=True):
    """A standard message that is served, with its registration options as LSP writes them."""

    handle: Callable[[Any], Any]
    options: dict[str, object] | None = None


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
