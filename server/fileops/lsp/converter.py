"""lsprotocol's converter without a costly part that is not needed, and LSP's values as JSON.

A separate module, because it relies on internals of lsprotocol that its next version may change.
"""

from functools import cache
from typing import Any, cast

from cattrs import Converter
from lsprotocol import types
from pygls.protocol import default_converter


@cache
def converter() -> Converter:
    """Return one converter for all clients, which caches the code that it generates for each type."""
    made = default_converter()
    made.register_structure_hook(types.ClientCapabilities, _client_capabilities)
    return made


def to_json(value: Any) -> Any:
    """Convert lsprotocol's values to JSON types; return JSON types and our Structs unchanged."""
    if hasattr(value, "__attrs_attrs__") or isinstance(value, list):
        return converter().unstructure(value)
    return value


def _client_capabilities(value: Any, _type: Any) -> types.ClientCapabilities:
    """Structure only what pygls reads: generating hooks for all capabilities would take 45 ms of every start.

    Client.capability returns any of them as JSON.
    """
    general = _object(_object(value).get("general"))
    encodings = general.get("positionEncodings")
    names = [str(name) for name in cast("list[object]", encodings)] if isinstance(encodings, list) else None
    notebooks = _object(_object(value).get("notebookDocument")).get("synchronization")
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=names),
        notebook_document=None
        if notebooks is None
        else types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
    )


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
