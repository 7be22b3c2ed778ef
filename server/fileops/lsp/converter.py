"""lsprotocol's converter, relieved of the one costly thing that we do not need."""

from typing import Any, cast

from cattrs import Converter
from lsprotocol import types
from pygls.protocol import default_converter


def converter_factory() -> Converter:
    converter = default_converter()
    converter.register_structure_hook(types.ClientCapabilities, _client_capabilities)
    return converter


def _client_capabilities(given: Any, _type: Any) -> types.ClientCapabilities:
    """Only what pygls looks at: generating hooks for all of it costs 45 ms of every start.

    The whole is at hand as JSON in Client.capability.
    """
    general = _object(_object(given).get("general"))
    encodings = general.get("positionEncodings")
    known = [str(one) for one in cast("list[object]", encodings)] if isinstance(encodings, list) else None
    return types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=known))


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
