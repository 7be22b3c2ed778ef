"""JSON-RPC errors, for requests that could not be handled; a tool's failure is a result, not an error."""

import logging
import uuid

from msgspec import Struct

from fileops.rpc.decode import InvalidParams

log = logging.getLogger(__name__)

MessageId = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803  # LSP's: the request is valid, but cannot be done


class RpcError(Struct, frozen=True):
    code: int
    message: str
    data: object = None  # any JSON value; None is omitted

    def to_json(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


class RequestRefused(Exception):
    """Raised by a handler that answers with this error."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


def parse_error(reason: str) -> RpcError:
    return RpcError(PARSE_ERROR, f"Parse error: {reason}")


def invalid_request(reason: str) -> RpcError:
    return RpcError(INVALID_REQUEST, f"Invalid request: {reason}")


def method_not_found(method: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method[:200]}")


def invalid_params(fault: InvalidParams) -> RpcError:
    data = {"path": fault.path, "reason": fault.reason}
    return RpcError(INVALID_PARAMS, f"Invalid params: {fault.path} {fault.reason}", data)


def not_initialized() -> RpcError:
    return RpcError(SERVER_NOT_INITIALIZED, "Server not initialized")


def cancelled() -> RpcError:
    return RpcError(REQUEST_CANCELLED, "Request cancelled")


def internal_error(fault: BaseException) -> RpcError:
    """Report a defect of the server: the log has the traceback under an id, the client gets only the id."""
    incident_id = uuid.uuid4().hex[:12]
    log.error("incident %s", incident_id, exc_info=fault)
    return RpcError(INTERNAL_ERROR, f"Internal error (incident {incident_id})", {"incident_id": incident_id})
