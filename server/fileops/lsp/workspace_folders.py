"""Workspace folders as a client names them: URIs, and the paths to which they lead."""

from lsprotocol import types

from fileops.core.uris import path_of, scheme_of
from fileops.rpc.decode import InvalidParams


class ClientFolders:
    """The folders of one client."""

    def __init__(self) -> None:
        self._by_uri: dict[str, str] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """Absolute paths."""
        return tuple(self._by_uri.values())

    def begin(self, params: types.InitializeParams) -> None:
        """Raises: InvalidParams; then the folders are as before."""
        self._by_uri = _folders_of(params)

    def change(self, params: types.DidChangeWorkspaceFoldersParams) -> list[str]:
        """Remove and add folders. Return why some were not added."""
        refusals: list[str] = []
        for folder in params.event.removed:
            self._by_uri.pop(folder.uri, None)
        for n, folder in enumerate(params.event.added):
            try:
                path = _folder_at(folder.uri, f".event.added[{n}].uri")
            except InvalidParams as fault:
                refusals.append(f"{fault.path} {fault.reason}")
                continue
            if path is not None:
                self._by_uri[folder.uri] = path
        return refusals


def _folders_of(params: types.InitializeParams) -> dict[str, str]:
    """Map the URIs of local folders to paths. LSP's older root keys count if there is no folder list.

    Raises: InvalidParams, for a local folder without a usable path: without any folder nothing would be confined.
    """
    if params.workspace_folders is not None:
        uris = [(folder.uri, f".workspaceFolders[{n}].uri") for n, folder in enumerate(params.workspace_folders)]
    elif params.root_uri is not None:
        uris = [(params.root_uri, ".rootUri")]
    elif params.root_path:
        if not params.root_path.startswith("/"):
            raise InvalidParams("must be an absolute path", ".rootPath")
        return {params.root_path: params.root_path}
    else:
        uris = []
    return {uri: path for uri, place in uris if (path := _folder_at(uri, place)) is not None}


def _folder_at(uri: str, place: str) -> str | None:
    path = path_of(uri)
    if path is None and uri and scheme_of(uri) in {None, "file"}:
        raise InvalidParams("must be a URI of this machine, as file:///home/you/project", place)
    return path
