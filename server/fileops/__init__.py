"""fileops-server: a daemon through which agents read and edit files beside a person.

As a library it exports `valid`, `execute` and `EditError`. They are loaded at their first use.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fileops.core.library import EditError, execute, valid

__version__ = "1.1.0"
__all__ = ["EditError", "__version__", "execute", "valid"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fileops.core import library

    return getattr(library, name)
