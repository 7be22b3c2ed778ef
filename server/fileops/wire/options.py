"""Decodes `initializationOptions` into Settings. Strict about values; unknown keys are ignored with a warning."""

import posixpath
import re
from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import Struct

from fileops.core.globs import Glob, fault_of_glob
from fileops.core.legacy_text import fault_of_encoding
from fileops.model.settings import EncodingRule, Limits, MappedFolder, OutputTexts, Settings
from fileops.rpc.decode import InvalidParams, decode
from fileops.wire.language_servers import check_language_servers


class DecodedOptions(Struct, frozen=True, kw_only=True):
    settings: Settings
    ignored: tuple[str, ...]  # a message about each unknown key, in the client's order


def decode_options(raw: object) -> DecodedOptions:
    """Decode the options. Null, and an empty array, which Lua sends for an empty table, are an empty object.

    Raises: InvalidParams, with a path from `$.initializationOptions`.
    """
    try:
        known, unknown = _split({} if raw is None or raw == [] else raw, Settings, "")
        for name, kind in (("limits", Limits), ("texts", OutputTexts)):
            if known.get(name) is not None:
                known[name], unknown_below = _split(known[name], kind, f"{name}.")
                unknown += unknown_below
        settings = decode(known, Settings)
        _check(settings)
        return DecodedOptions(settings=settings, ignored=tuple(unknown))
    except InvalidParams as fault:
        raise fault.below(".initializationOptions") from None


def _split(raw: object, into: type[msgspec.Struct], prefix: str) -> tuple[dict[str, object], list[str]]:
    if not isinstance(raw, dict):
        raise InvalidParams("must be an object", f".{prefix}"[:-1])
    keys = [field.encode_name for field in msgspec.structs.fields(into)]
    known = {key: value for key, value in cast("dict[str, object]", raw).items() if key in keys}
    all_keys = ", ".join(prefix + key for key in keys)
    return known, [
        f"unknown initializationOptions key ignored: {prefix}{key[:100]}; there are: {all_keys}"
        for key in cast("dict[str, object]", raw)
        if key not in keys
    ]


def _check(settings: Settings) -> None:
    """Check what the types do not express. Raises: InvalidParams, with the place from the options."""
    for index, root in enumerate(settings.roots):
        if not root.startswith("/") or "\0" in root:
            raise InvalidParams("must be an absolute path", f".roots[{index}]")
    _check_filesystems(settings.filesystems or ())
    for index, glob in enumerate(settings.unreadable):
        if (fault := fault_of_glob(glob)) is not None:
            raise InvalidParams(fault, f".unreadable[{index}]")
    try:
        check_language_servers(settings.language_servers)
    except InvalidParams as fault:
        raise fault.below(".language_servers") from None
    for index, rule in enumerate(settings.encodings or ()):
        _check_encoding(rule, f".encodings[{index}]")


def _check_encoding(rule: EncodingRule, place: str) -> None:
    try:
        Glob(rule.glob)
    except ValueError as error:
        raise InvalidParams(str(error), f"{place}.glob") from None
    if (fault := fault_of_encoding(rule.encoding)) is not None:
        raise InvalidParams(fault, f"{place}.encoding")


def _check_filesystems(filesystems: Sequence[MappedFolder]) -> None:
    prefixes = set[str]()
    for index, entry in enumerate(filesystems):
        place, prefix = f".filesystems[{index}]", entry.prefix
        if posixpath.normpath(prefix) != prefix or not prefix.startswith("/") or prefix in {"/", "//"}:
            raise InvalidParams("must be an absolute path other than /, without a slash at its end", f"{place}.prefix")
        if prefix in prefixes:
            raise InvalidParams("is mapped twice", f"{place}.prefix")
        if not re.match(r"[a-z][a-z0-9+.-]*://", entry.url):
            raise InvalidParams("must be a URL", f"{place}.url")
        prefixes.add(prefix)
