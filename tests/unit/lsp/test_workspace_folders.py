"""Workspace folders are those of this machine; one without a usable path is refused by its place."""

import pytest

from fileops.lsp.params import InitializeParams, standard_params
from fileops.lsp.workspace_folders import ClientFolders
from fileops.rpc.decode import InvalidParams, decode


def began(**params: object) -> tuple[str, ...]:
    folders = ClientFolders()
    folders.begin(decode({"capabilities": {}, "processId": None, **params}, InitializeParams).standard())
    return folders.paths


def named(*uris: str) -> list[dict[str, str]]:
    return [{"uri": uri, "name": uri} for uri in uris]


@pytest.mark.parametrize(
    ("params", "paths"),
    [
        ({"workspaceFolders": named("file:///a", "file:///b%20c"), "rootUri": "file:///r"}, ("/a", "/b c")),
        ({"workspaceFolders": named("file:///a", "untitled:one")}, ("/a",)),
        ({"workspaceFolders": [], "rootUri": "file:///r"}, ()),
        ({"rootUri": "file:///r", "rootPath": "/p"}, ("/r",)),
        ({"rootPath": "/p"}, ("/p",)),
        ({}, ()),
    ],
)
def test_folders_come_from_the_newest_key_that_the_client_sends(
    params: dict[str, object], paths: tuple[str, ...]
) -> None:
    assert began(**params) == paths


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"rootPath": "relative"}, ".rootPath"),
        ({"rootUri": "/no/uri"}, ".rootUri"),
        ({"workspaceFolders": named("file:///a", "file://elsewhere/b")}, ".workspaceFolders[1].uri"),
    ],
)
def test_folder_without_a_usable_path_is_refused_naming_its_key(params: dict[str, object], place: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        began(**params)
    assert refused.value.path == f"${place}"


def test_change_of_folders_reports_the_ones_not_added() -> None:
    folders = ClientFolders()
    folders.begin(
        decode({"capabilities": {}, "workspaceFolders": named("file:///a", "file:///b")}, InitializeParams).standard()
    )
    change = {"event": {"removed": named("file:///a"), "added": named("/no/uri", "untitled:one", "file:///c")}}
    (refusal,) = folders.change(standard_params("workspace/didChangeWorkspaceFolders", change))
    assert refusal.startswith("$.event.added[0].uri")
    assert folders.paths == ("/b", "/c")
