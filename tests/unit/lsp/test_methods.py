"""Our names and numbers of LSP are lsprotocol's."""

from lsprotocol import types

from fileops.lsp import methods
from fileops.lsp.client import position_encoding


def test_method_names_match_lsp() -> None:
    names = {
        name: value
        for name, value in vars(methods).items()
        if isinstance(value, str) and name.isupper() and not value.startswith("fileops/")
    }
    assert names == {name: getattr(types, name) for name in names}


def test_numbers_match_lsp() -> None:
    kinds = types.MessageType
    assert [kinds.Error, kinds.Warning, kinds.Info] == [methods.ERROR, methods.WARNING, methods.INFO]
    assert types.TextDocumentSyncKind.Incremental.value == methods.INCREMENTAL


def test_position_encodings_match_lsp() -> None:
    for encoding in types.PositionEncodingKind:
        assert position_encoding({"general": {"positionEncodings": [encoding.value]}}) == encoding.value
