"""Signatures of functions whose parameters are known only at run time: from a TypedDict, and from a JSON Schema."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_TYPES: dict[str, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list[dict[str, Any]],
    "object": dict[str, Any],
}  # fmt: skip


def spell_out(collected: type, defaults: type) -> Callable[[F], F]:
    """Return a decorator that shows the keys of a TypedDict instead of the function's `**` parameter.

    The docstring of the TypedDict, which explains the keys, is appended to the function's. Args: defaults: a class with
    the default of each key as an attribute.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        kept = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        keys = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=getattr(defaults, name), annotation=annotation
            )
            for name, annotation in inspect.get_annotations(collected).items()
        ]
        function.__signature__ = signature.replace(parameters=[*kept, *keys])  # pyrefly: ignore[missing-attribute] - PEP 362
        own, explained = inspect.getdoc(function) or "", inspect.getdoc(collected) or ""
        function.__doc__ = f"{own}\n\n{explained}"
        return function

    return decorate


def signature_of(schema: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature of a function that takes a tool schema's properties as keywords and returns a text."""
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in required else definition.get("default"),
            annotation=_annotation(definition, is_required=name in required),
        )
        for name, definition in properties.items()
    ]
    return inspect.Signature(parameters, return_annotation=str)


def _annotation(definition: Mapping[str, Any], *, is_required: bool) -> Any:
    kind = _TYPES.get(definition.get("type", ""), Any)
    return kind if is_required or "default" in definition else kind | None
