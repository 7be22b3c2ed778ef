"""lsprotocol's converter, relieved of one costly thing that we do not need, and with faults that name the place."""

from typing import Any, cast

from cattrs import ClassValidationError, Converter
from lsprotocol import types
from pygls.protocol import default_converter

from fileops.rpc.decode import InvalidParams


def converter_factory() -> Converter:
    converter = default_converter()
    converter.register_structure_hook(types.ClientCapabilities, _client_capabilities)
    return converter


def structure(converter: Converter, envelope: dict[str, object], envelope_type: Any, member: str) -> Any:
    """A member ("params", "result") of an envelope as lsprotocol has it. Raises: InvalidParams."""
    try:
        return getattr(converter.structure(envelope, envelope_type), member, None)
    except (ClassValidationError, RecursionError, TypeError, ValueError, KeyError) as fault:
        raise InvalidParams(f"does not fit {envelope.get('method', 'the method')}", _place_of(fault)) from fault


def _place_of(fault: BaseException) -> str:
    """Where a structuring failed, below `$`, as cattrs noted it."""
    if not isinstance(fault, ClassValidationError):
        return ""
    noted, _ = fault.group_exceptions()
    if not noted:
        return ""
    inner, note = noted[0]
    own = "" if note.name in {"params", "result"} else f".{note.name}"
    return own + _place_of(inner)


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
