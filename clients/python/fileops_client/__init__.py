"""Typed asyncio client of fileops-server, for agents and tests. `fileops_client.sync` is the same without asyncio.

Its names are loaded at their first use, so that a program that imports one of its modules loads no more than that.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fileops_client._public import *  # noqa: F403

    __all__: list[str]

__version__ = "1.1.0"


def __getattr__(name: str) -> object:
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module("fileops_client._public")
    if name == "__all__":
        return [*public.__all__, "__version__"]
    if name in public.__all__:
        return getattr(public, name)
    if name in globals():  # a module of the package, which is loaded by now
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *import_module("fileops_client._public").__all__]
