"""Parses the JSON-RPC envelope of one message. Pure: it knows nothing of the connection's state."""

from typing import cast

from msgspec import Struct

from fileops.rpc import errors, json
from fileops.rpc.decode import InvalidParams, require_in_range
from fileops.rpc.errors import MessageId, RpcError


class RpcRequest(Struct, frozen=True):
    msg_id: MessageId
    method: str
    params: object


class Notification(Struct, frozen=True):
    method: str
    params: object


class Reply(Struct, frozen=True):
    msg_id: object
    message: dict[str, object]  # has `result`, `error`, or neither


class Malformed(Struct, frozen=True):
    """Not a message, and the error to answer with."""

    msg_id: MessageId | None  # None if it could not be determined
    error: RpcError


def parse(body: bytes) -> RpcRequest | Notification | Reply | Malformed:
    """Parse a message; raises nothing. Absent params and null are both None."""
    try:
        message = json.loads(body)
    except json.NumberOutOfRange as fault:
        return _without_numbers_out_of_range(_classify(fault.value), str(fault))
    except json.NotJson as fault:
        return Malformed(None, errors.parse_error(str(fault)))
    return _classify(message)


def _without_numbers_out_of_range(
    parsed: RpcRequest | Notification | Reply | Malformed, reason: str
) -> RpcRequest | Notification | Reply | Malformed:
    """Replace a message that contains such a number, so that it is answered instead of handled."""
    match parsed:
        case RpcRequest(msg_id, _, params):
            try:
                require_in_range(params)
            except InvalidParams as fault:
                return Malformed(msg_id, errors.invalid_params(fault))
        case Reply(msg_id, _):
            return Reply(msg_id, {})
        case Notification(_, params):
            try:
                require_in_range(params)
            except InvalidParams:
                return Malformed(None, errors.parse_error(reason))
        case Malformed():
            pass
    return parsed


def _classify(message: object) -> RpcRequest | Notification | Reply | Malformed:
    if not isinstance(message, dict):
        what = "batches are not supported" if isinstance(message, list) else "a message is an object"
        return Malformed(None, errors.invalid_request(what))
    message = cast("dict[str, object]", message)
    if "method" in message:
        return _call(message)
    if "result" in message or "error" in message or "id" in message:
        return Reply(message.get("id"), message)
    return Malformed(None, errors.invalid_request("neither a method nor a result"))


def _call(message: dict[str, object]) -> RpcRequest | Notification | Malformed:
    method, raw_id = message["method"], message.get("id")
    msg_id = raw_id if isinstance(raw_id, str | int) and not isinstance(raw_id, bool) else None
    if message.get("jsonrpc") != "2.0":
        return Malformed(msg_id, errors.invalid_request('jsonrpc must be "2.0"'))
    if not isinstance(method, str):
        return Malformed(msg_id, errors.invalid_request("method must be a string"))
    if "id" not in message:
        return Notification(method, message.get("params"))
    if msg_id is None:
        return Malformed(None, errors.invalid_request("id must be a string or an integer"))
    return RpcRequest(msg_id, method, message.get("params"))
