"""What pygls announces of the features that a server has, for several clients."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types

from fileops.lsp.server import ClientContext, LspServer

VS_CODE = json.loads((Path(__file__).parents[2] / "bench" / "vscode_capabilities.json").read_text(encoding="utf-8"))


class Service:
    """What `initialize` asks of a service without anything to serve."""

    bash: None = None
    reviews: None = None


def announced(client: dict[str, object], *, has_documents: bool) -> dict[str, Any]:
    """The server's capabilities for a client."""
    sent: list[dict[str, Any]] = []

    class Sink:
        n_pending_bytes = 0

        def write(self, body: bytes) -> bool:
            sent.append(json.loads(body))
            return True

        def batch(self) -> Any: ...

    def build(context: ClientContext) -> Service:
        if has_documents:

            @context.server.feature(types.TEXT_DOCUMENT_DID_OPEN)
            def did_open(_params: types.DidOpenTextDocumentParams) -> None: ...

            @context.server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
            def did_save(_params: types.DidSaveTextDocumentParams) -> None: ...

            @context.server.command("a.b")
            async def command(_argument: Any) -> None: ...

        return Service()

    async def initialize() -> None:
        server = LspServer(cast("Any", build))
        server.connection.sink = Sink()
        params = {"capabilities": client}
        server.connection.receive(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
        )

    asyncio.run(initialize())
    return sent[0]["result"]["capabilities"]


def offering(*encodings: str) -> dict[str, object]:
    return {"general": {"positionEncodings": list(encodings)}}


@pytest.mark.parametrize(
    ("client", "encoding"),
    [
        ({}, "utf-16"),
        (VS_CODE, "utf-16"),
        (offering("utf-8", "utf-16"), "utf-8"),
        (offering("x", "utf-32"), "utf-32"),
        (offering(), "utf-16"),
        ({"general": None}, "utf-16"),
    ],
    ids=["none", "vscode", "utf-8", "utf-32", "no encoding", "null"],
)
def test_position_encoding_is_the_clients_first_that_lsp_knows(client: dict[str, object], encoding: str) -> None:
    assert announced(client, has_documents=False)["positionEncoding"] == encoding


def test_capabilities_of_a_server_with_documents_name_them_and_its_commands() -> None:
    capabilities = announced(VS_CODE, has_documents=True)
    assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": False}}
    assert capabilities["executeCommandProvider"] == {"commands": ["a.b"]}
    assert capabilities["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}
    assert "fileops/read" in capabilities["experimental"]["fileops"]["requests"]


def test_server_without_documents_announces_none() -> None:
    sync = announced(VS_CODE, has_documents=False)["textDocumentSync"]
    assert sync == {"openClose": False, "change": 2, "save": False}
