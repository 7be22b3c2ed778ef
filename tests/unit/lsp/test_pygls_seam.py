"""The private parts of pygls that lsp/protocol.py uses. If one of these fails, read that module's head again."""

import inspect

import pytest
from lsprotocol import types
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol

from fileops.lsp.protocol import Protocol
from fileops.lsp.server import LspServer


@pytest.fixture
def protocol() -> Protocol:
    return LspServer(lambda _context: pytest.fail("not initialized")).protocol


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("_execute_handler", ["self", "msg_id", "handler", "callback", "args", "kwargs"]),
        ("_handle_request", ["self", "msg_id", "method_name", "params"]),
        ("_handle_notification", ["self", "method_name", "params"]),
        ("_send_handler_result", ["self", "future", "msg_id"]),
        ("_get_handler", ["self", "feature_name"]),
        ("notify", ["self", "method", "params"]),
        ("send_request", ["self", "method", "params", "callback", "msg_id"]),
    ],
)
def test_method_that_we_call_or_replace_is_unchanged(method: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(JsonRPCProtocol, method)).parameters) == parameters


def test_state_that_we_use_exists(protocol: Protocol) -> None:
    for name in ("_request_futures", "fm"):
        assert hasattr(protocol, name)


def test_initialize_is_a_generator_that_we_can_delegate_to() -> None:
    assert inspect.isgeneratorfunction(LanguageServerProtocol.lsp_initialize)


def test_document_mirror_of_pygls_is_disabled(protocol: Protocol) -> None:
    for method in (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE):
        assert method not in protocol.fm.builtin_features


def test_request_that_could_block_a_thread_is_not_available(protocol: Protocol) -> None:
    with pytest.raises(NotImplementedError):
        protocol.send_request("client/confirm")


def test_no_future_of_a_notification_is_kept(protocol: Protocol) -> None:
    protocol.lifecycle.advance(types.INITIALIZE)
    for _ in range(3):
        protocol.handle_notification(types.SET_TRACE, {"value": "off"})
    assert protocol._request_futures == {}
