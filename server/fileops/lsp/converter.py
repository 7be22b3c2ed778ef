"""lsprotocol's converter, without one costly part that is not needed.

A separate module, because it reaches into lsprotocol, whose next version may change that.
"""

from typing import Any, cast

from cattrs import Converter
from lsprotocol import types
from pygls.protocol import default_converter


def converter_factory() -> Converter:
    converter = default_converter()
    converter.register_structure_hook(types.ClientCapabilities, _client_capabilities)
    return converter


def _client_capabilities(value: Any, _type: Any) -> types.ClientCapabilities:
    """Structure only what pygls reads: generating hooks for all capabilities takes 45 ms of every start.

    Client.capability returns any of them, as JSON.
    """
    general = _object(_object(value).get("general"))
    encodings = general.get("positionEncodings")
    names = [str(name) for name in cast("list[object]", encodings)] if isinstance(encodings, list) else None
    return types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=names))


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
