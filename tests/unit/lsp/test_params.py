"""Standard params as LSP sends them: open to further keys, strict in what is looked at."""

import pytest

from fileops.lsp.params import InitializeParams, WorkspaceFolder
from fileops.rpc.decode import InvalidParams, decode


# R-PARAMS-2
def test_null_for_an_optional_key_is_its_default() -> None:
    assert decode({"uri": "file:///a", "name": None}, WorkspaceFolder).name == ""


def test_null_for_a_required_key_is_refused() -> None:
    with pytest.raises(InvalidParams) as refusal:
        decode({"capabilities": {}, "workspaceFolders": [{"uri": None, "name": "a"}]}, InitializeParams)
    assert refusal.value.path == "$.workspaceFolders[0].uri"


def test_unknown_keys_are_ignored() -> None:
    assert decode({"capabilities": {}, "locale": 5}, InitializeParams).capabilities == {}
