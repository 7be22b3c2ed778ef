"""Decodes which language servers the user lets the daemon start: from options, or from a file of the user's."""

import os
from collections.abc import Iterable, Sequence

import msgspec

from fileops.core.globs import fault_of_glob
from fileops.core.roots import is_inside
from fileops.model.diagnostics import MAX_LANGUAGE_SERVERS, LanguageServerSetting
from fileops.rpc.decode import InvalidParams, decode

MAX_FILE_BYTES = 1 << 20


def decode_language_servers(raw: object) -> tuple[LanguageServerSetting, ...]:
    """Decode a list of settings. Raises: InvalidParams, with the place from the list."""
    settings = decode(raw, tuple[LanguageServerSetting, ...])
    check_language_servers(settings)
    return settings


def check_language_servers(settings: Sequence[LanguageServerSetting]) -> None:
    """Check what the types do not express. Raises: InvalidParams, with the place from the list."""
    if len(settings) > MAX_LANGUAGE_SERVERS:
        raise InvalidParams(f"has more than {MAX_LANGUAGE_SERVERS} language servers")
    names = set[str]()
    for index, setting in enumerate(settings):
        if setting.name in names:
            raise InvalidParams("is the name of two language servers", f"[{index}].name")
        names.add(setting.name)
        program = setting.command[0]
        if not program or ("/" in program and not program.startswith("/")):
            raise InvalidParams("must be an absolute path, or a name without a slash", f"[{index}].command[0]")
        for number, glob in enumerate(setting.globs):
            if (fault := fault_of_glob(glob)) is not None:
                raise InvalidParams(fault, f"[{index}].globs[{number}]")


def file_of_the_user() -> str:
    """Return where the user's own list is, in their configuration."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config, "fileops", "language-servers.json")


def read_language_servers(path: str, roots: Iterable[str]) -> Sequence[object]:
    """Return the checked list in a file of the user's. Raises: ValueError, with a message that names the file.

    A file in a root is not the user's: the project's authors may have written it.
    """
    real = os.path.realpath(path)
    for root in roots:
        if is_inside(os.path.realpath(root), real):
            raise ValueError(
                f"The language servers in {path} are not used: the file is in the root {root}. "
                "Put it where no project can write it."
            )
    try:
        with open(real, "rb") as file:
            raw = msgspec.json.decode(file.read(MAX_FILE_BYTES + 1))
        decode_language_servers(raw)
    except (OSError, msgspec.DecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else fault
        raise ValueError(f"The language servers in {path} could not be read: {reason}.") from None
    except InvalidParams as fault:
        raise ValueError(f"In {path}, {fault.path} {fault.reason}.") from None
    return raw
