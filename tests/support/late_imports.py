"""Imports that take long, made when they are needed."""

import importlib
import importlib.util
import sys
from types import ModuleType

IRIS = "rfc3987_syntax"


def defer_iris() -> None:
    """Let `jsonschema` compile the grammar of IRIs when it is first asked about one.

    It does so when it is imported, which takes over a second of processor time in each process of tests.
    """
    if IRIS in sys.modules or importlib.util.find_spec(IRIS) is None:
        return
    late = ModuleType(IRIS)

    def is_valid_syntax(rule: str, text: str) -> bool:
        if sys.modules.get(IRIS) is late:
            del sys.modules[IRIS]
        return importlib.import_module(IRIS).is_valid_syntax(rule, text)

    vars(late)["is_valid_syntax"] = is_valid_syntax
    sys.modules[IRIS] = late
