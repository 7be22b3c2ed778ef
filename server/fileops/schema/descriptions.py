"""The schema's descriptions of types and keys: the docstrings in the source, below each declaration.

For Python a string below an annotated name is not a docstring, and is dropped; so a running server does not contain it.
The types are declared in the wire's modules, and in the core's where a value is sent as it is.
"""

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from msgspec.structs import fields


def description_of(shape: type) -> str:
    """Return the docstring of a type in one line; "" if it has none."""
    return _in_one_line(ast.get_docstring(_declaration(shape)) or "")


def descriptions_of_keys(shape: type) -> Mapping[str, str]:
    """Return the docstring of each key of a type, by its name on the wire, including inherited ones."""
    declaration = _declaration(shape)
    texts: dict[str, str] = {}
    for base in declaration.bases:
        if isinstance(base, ast.Name) and _is_declared(parent := getattr(_module(shape), base.id)):
            texts |= descriptions_of_keys(parent)
    names = {field.name: field.encode_name for field in fields(shape)} if hasattr(shape, "__struct_fields__") else {}
    for entry, after in zip(declaration.body, declaration.body[1:], strict=False):
        if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name) and (text := _text_of(after)):
            name = entry.target.id
            texts[names.get(name, name)] = _in_one_line(text)
    return texts


def _text_of(entry: ast.stmt) -> str:
    value = entry.value if isinstance(entry, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _is_declared(shape: Any) -> bool:
    """Return whether a base class is ours."""
    return getattr(shape, "__module__", "").startswith("fileops.")


def _module(shape: type) -> Any:
    return sys.modules[shape.__module__]


def _declaration(shape: type) -> ast.ClassDef:
    return _declarations(shape.__module__)[shape.__name__]


@cache
def _declarations(module: str) -> Mapping[str, ast.ClassDef]:
    """Return the classes at a module's top level."""
    tree = ast.parse(inspect.getsource(cast("Any", sys.modules[module])))
    return {entry.name: entry for entry in tree.body if isinstance(entry, ast.ClassDef)}
