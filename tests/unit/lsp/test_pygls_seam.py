"""The private parts of pygls that lsp/pygls_server.py uses. If one of these fails, read that module's head again."""

import inspect

import pygls.protocol
import pytest
from lsprotocol import types
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol

from fileops.lsp.dialect import LspDialect
from fileops.lsp.pygls_server import Protocol, load


class _NoLifecycle:
    def begin(self, params: object) -> dict[str, object]:
        raise AssertionError("not initialized")

    async def load_standard(self) -> Protocol:
        raise AssertionError("not initialized")


@pytest.fixture
def protocol() -> Protocol:
    return load(LspDialect(_NoLifecycle()).connection, {}, {})


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("_execute_handler", ["self", "msg_id", "handler", "callback", "args", "kwargs"]),
        ("_handle_request", ["self", "msg_id", "method_name", "params"]),
        ("_send_handler_result", ["self", "future", "msg_id"]),
        ("_send_response", ["self", "msg_id", "result", "error"]),
        ("_send_data", ["self", "data"]),
        ("notify", ["self", "method", "params"]),
        ("send_request", ["self", "method", "params", "callback", "msg_id"]),
    ],
)
def test_method_that_we_call_or_replace_is_unchanged(method: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(JsonRPCProtocol, method)).parameters) == parameters


def test_state_that_we_use_exists(protocol: Protocol) -> None:
    for name in ("_request_futures", "_converter", "fm", "server_capabilities"):
        assert hasattr(protocol, name)


def test_initialize_is_a_generator_that_we_can_delegate_to() -> None:
    assert inspect.isgeneratorfunction(LanguageServerProtocol.lsp_initialize)
    assert hasattr(pygls.protocol, "default_converter")


def test_document_mirror_of_pygls_is_disabled(protocol: Protocol) -> None:
    for method in (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE):
        assert method not in protocol.fm.builtin_features  # pyright: ignore[reportUnknownMemberType]


def test_request_that_could_block_a_thread_is_not_available(protocol: Protocol) -> None:
    with pytest.raises(NotImplementedError):
        protocol.send_request("client/confirm")


@pytest.mark.parametrize("method", ["$/setTrace", "workspace/didChangeConfiguration", "textDocument/didSave"])
def test_no_notification_loads_it(method: str) -> None:
    dialect = LspDialect(_NoLifecycle())
    dialect.lifecycle.advance(types.INITIALIZE)
    pause: object = dialect.handle_notification(method, {})
    assert pause is None
