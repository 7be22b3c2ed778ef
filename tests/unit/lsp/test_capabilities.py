"""What is announced before pygls is loaded is what pygls announces of the same features."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pygls.protocol import default_converter

from fileops.lsp.capabilities import Feature, server_capabilities
from fileops.lsp.dialect import LspDialect
from fileops.lsp.pygls_server import Protocol, load

VS_CODE = json.loads((Path(__file__).parents[2] / "bench" / "vscode_capabilities.json").read_text(encoding="utf-8"))
SYNC: dict[str, dict[str, object] | None] = {
    "textDocument/didOpen": None, "textDocument/didChange": None, "textDocument/didClose": None,
    "textDocument/didSave": {"includeText": False},
}  # fmt: skip
UNDO: dict[str, dict[str, object] | None] = {
    "workspace/executeCommand": {"commands": ["a.b", "c.d"]},
    "textDocument/codeAction": {"codeActionKinds": ["refactor"]},
}
WITHOUT_LITERALS: dict[str, dict[str, object] | None] = {**UNDO, "textDocument/codeAction": None}
LENSES: dict[str, dict[str, object] | None] = {"textDocument/codeLens": {"resolveProvider": False}}


class _Begun:
    def begin(self, params: object) -> dict[str, object]:
        return {}

    async def load_standard(self) -> Protocol:
        raise AssertionError("loaded by the test")


def _offering(*encodings: str) -> dict[str, object]:
    return {"general": {"positionEncodings": list(encodings)}}


@pytest.mark.parametrize(
    "options", [{}, SYNC, {**SYNC, **UNDO}, {**SYNC, **UNDO, **LENSES}, {**SYNC, **WITHOUT_LITERALS}]
)
@pytest.mark.parametrize(
    "client",
    [{}, VS_CODE, _offering("utf-8", "utf-16"), _offering("x", "utf-32"), _offering(), {"general": None}],
    ids=["none", "vscode", "utf-8", "utf-32", "no encoding", "null"],
)
def test_capabilities_equal_those_of_pygls(
    client: dict[str, object], options: dict[str, dict[str, object] | None]
) -> None:
    nothing: Callable[[Any], Any] = lambda _params: None  # noqa: E731
    features = {method: Feature(nothing, given) for method, given in options.items()}
    theirs = load(LspDialect(_Begun()).connection, features, client).server_capabilities
    experimental: dict[str, object] = {"fileops": {}}
    theirs.experimental = experimental
    assert server_capabilities(client, features, experimental) == default_converter().unstructure(theirs)
