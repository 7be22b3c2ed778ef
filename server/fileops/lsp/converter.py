"""lsprotocol's converter, without one costly part that is not needed, and with errors that name the place."""

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
    """Structure a member ("params", "result") of an envelope as lsprotocol's type. Raises: InvalidParams."""
    try:
        return getattr(converter.structure(envelope, envelope_type), member, None)
    except (ClassValidationError, RecursionError, TypeError, ValueError, KeyError) as fault:
        raise InvalidParams(f"does not fit {envelope.get('method', 'the method')}", _place_of(fault)) from fault


def _place_of(fault: BaseException) -> str:
    """Return the place, below `$`, where cattrs failed."""
    if not isinstance(fault, ClassValidationError):
        return ""
    noted_faults, _ = fault.group_exceptions()
    if not noted_faults:
        return ""
    inner, note = noted_faults[0]
    segment = "" if note.name in {"params", "result"} else f".{note.name}"
    return segment + _place_of(inner)


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
