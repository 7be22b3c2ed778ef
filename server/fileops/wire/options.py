"""`initializationOptions` → Settings. Strict about values, forgiving about keys that it does not know."""

import posixpath
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from fileops.model.settings import Limits, Settings
from fileops.rpc.decode import InvalidParams, decode
from fileops.wire.types import FilesystemOptions, LimitOptions, Options


class DecodedOptions(Struct, frozen=True, kw_only=True):
    """ignored: a sentence on each unknown key, in the client's order."""

    settings: Settings
    options: Options
    ignored: tuple[str, ...]


def decode_options(given: object) -> DecodedOptions:
    """given: null and an empty array, as Lua writes an empty table, count as empty.

    Raises: InvalidParams, with a path from `$.initializationOptions`.
    """
    try:
        known, unknown = _split({} if given is None or given == [] else given, Options, "")
        if known.get("limits") is not None:
            known["limits"], unknown_limits = _split(known["limits"], LimitOptions, "limits.")
            unknown += unknown_limits
        options = decode(known, Options)
        return DecodedOptions(settings=_settings(options), options=options, ignored=tuple(unknown))
    except InvalidParams as fault:
        raise fault.below(".initializationOptions") from None


def _split(given: object, into: type[msgspec.Struct], prefix: str) -> tuple[dict[str, object], list[str]]:
    if not isinstance(given, dict):
        raise InvalidParams("must be an object", f".{prefix}"[:-1])
    keys = [field.encode_name for field in msgspec.structs.fields(into)]
    known = {key: value for key, value in cast("dict[str, object]", given).items() if key in keys}
    there_are = ", ".join(prefix + key for key in keys)
    return known, [
        f"unknown initializationOptions key ignored: {prefix}{key[:100]}; there are: {there_are}"
        for key in cast("dict[str, object]", given)
        if key not in keys
    ]


def _settings(options: Options) -> Settings:
    for index, root in enumerate(options.roots or ()):
        if not root.startswith("/") or "\0" in root:
            raise InvalidParams("must be an absolute path", f".roots[{index}]")
    _check_filesystems(options.filesystems or ())
    given = _given(options)
    given.pop("limits", None)
    if options.roots is not None:
        given["roots"] = tuple(options.roots)
    if options.validators is not None:
        given["validators"] = tuple(options.validators)
    limits = Limits(**_given(options.limits)) if options.limits else Limits()
    known = Settings.__struct_fields__
    return Settings(limits=limits, **{key: value for key, value in given.items() if key in known})


def _check_filesystems(filesystems: Sequence[FilesystemOptions]) -> None:
    prefixes = set[str]()
    for index, one in enumerate(filesystems):
        place = f".filesystems[{index}]"
        if posixpath.normpath(one.prefix) != one.prefix or not one.prefix.startswith("/") or one.prefix in {"/", "//"}:
            raise InvalidParams("must be an absolute path other than /, without a slash at its end", f"{place}.prefix")
        if one.prefix in prefixes:
            raise InvalidParams("is mapped twice", f"{place}.prefix")
        if not re.match(r"[a-z][a-z0-9+.-]*://", one.url):
            raise InvalidParams("must be a URL", f"{place}.url")
        prefixes.add(one.prefix)


def _given(struct: msgspec.Struct) -> dict[str, Any]:
    return {field: value for field in struct.__struct_fields__ if (value := getattr(struct, field)) is not None}
