"""Decodes `initializationOptions` into Settings. Strict about values; unknown keys are ignored with a warning."""

import posixpath
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from fileops.core.globs import Glob, fault_of_glob
from fileops.core.legacy_text import fault_of_encoding
from fileops.model.settings import EncodingRule, Limits, Settings, Texts
from fileops.rpc.decode import InvalidParams, decode
from fileops.wire.language_servers import checked_language_servers
from fileops.wire.types import EncodingOptions, FilesystemOptions, LimitOptions, Options, TextOptions


class DecodedOptions(Struct, frozen=True, kw_only=True):
    settings: Settings
    options: Options
    ignored: tuple[str, ...]  # a sentence about each unknown key, in the client's order


def decode_options(raw: object) -> DecodedOptions:
    """Decode the options. Null, and an empty array, as Lua encodes an empty table, are an empty object.

    Raises: InvalidParams, with a path from `$.initializationOptions`.
    """
    try:
        known, unknown = _split({} if raw is None or raw == [] else raw, Options, "")
        for name, kind in (("limits", LimitOptions), ("texts", TextOptions)):
            if known.get(name) is not None:
                known[name], unknown_below = _split(known[name], kind, f"{name}.")
                unknown += unknown_below
        options = decode(known, Options)
        return DecodedOptions(settings=_settings(options), options=options, ignored=tuple(unknown))
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


def _settings(options: Options) -> Settings:
    for index, root in enumerate(options.roots or ()):
        if not root.startswith("/") or "\0" in root:
            raise InvalidParams("must be an absolute path", f".roots[{index}]")
    _check_filesystems(options.filesystems or ())
    values = _present(options)
    values.pop("limits", None)
    values.pop("texts", None)
    values["shows_lines"] = options.hints in {"details", "output"}
    if options.roots is not None:
        values["roots"] = tuple(options.roots)
    if options.processors is not None:
        values["processors"] = tuple(options.processors)
    for index, glob in enumerate(options.unreadable or ()):
        if (fault := fault_of_glob(glob)) is not None:
            raise InvalidParams(fault, f".unreadable[{index}]")
    if options.unreadable is not None:
        values["unreadable"] = tuple(options.unreadable)
    if options.validators is not None:
        values["validators"] = tuple(options.validators)
    if options.language_servers is not None:
        try:
            values["language_servers"] = checked_language_servers(options.language_servers)
        except InvalidParams as fault:
            raise fault.below(".language_servers") from None
    if options.encodings is not None:
        values["encodings"] = tuple(_encoding_rule(entry, index) for index, entry in enumerate(options.encodings))
    limits = Limits(**_present(options.limits)) if options.limits else Limits()
    texts = Texts(**_present(options.texts)) if options.texts else Texts()
    fields = Settings.__struct_fields__
    return Settings(limits=limits, texts=texts, **{key: value for key, value in values.items() if key in fields})


def _encoding_rule(entry: EncodingOptions, index: int) -> EncodingRule:

    try:
        Glob(entry.glob)
    except ValueError as error:
        raise InvalidParams(str(error), f".encodings[{index}].glob") from None
    if (fault := fault_of_encoding(entry.encoding)) is not None:
        raise InvalidParams(fault, f".encodings[{index}].encoding")
    return EncodingRule(glob=entry.glob, encoding=entry.encoding)


def _check_filesystems(filesystems: Sequence[FilesystemOptions]) -> None:
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


def _present(struct: msgspec.Struct) -> dict[str, Any]:
    return {field: value for field in struct.__struct_fields__ if (value := getattr(struct, field)) is not None}
