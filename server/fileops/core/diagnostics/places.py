"""Which language servers concern a file, and the folder that each of them serves."""

from collections.abc import Iterable
from typing import NamedTuple

from fileops.core.globs import Glob
from fileops.core.roots import is_inside
from fileops.model.diagnostics import LanguageServerSetting


class ServerPlace(NamedTuple):
    """A language server to ask: its setting, and the workspace folder that it serves."""

    setting: LanguageServerSetting
    root: str


def places_of(path: str, folders: Iterable[str], settings: Iterable[LanguageServerSetting]) -> list[ServerPlace]:
    """Return the language servers that check a file, in the innermost of the folders that contain it."""
    root = max((folder for folder in folders if is_inside(folder, path)), key=len, default=None)
    if root is None:
        return []
    return [ServerPlace(setting, root) for setting in settings if checks(setting, path)]


def checks(setting: LanguageServerSetting, path: str) -> bool:
    """Return whether a language server checks this file."""
    return any(Glob(glob).fullmatch(path) for glob in setting.globs)
