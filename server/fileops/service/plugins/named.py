"""Plugins that the daemon's command line names as functions: `NAME=MODULE:FUNCTION`.

No message from a client names code. Only the person or program that starts a daemon decides what it runs.
"""

import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from importlib.util import find_spec

from fileops.core.matching.exact import BUILT_IN
from fileops.service.plugins.registry import PROCESSOR_GROUP, STRATEGY_GROUP, VALIDATOR_GROUP, add_named


def name_plugins(strategies: Iterable[str], processors: Iterable[str], validators: Iterable[str]) -> None:
    """Register functions by name, before the first service is built. Raises: ValueError, with a message."""
    named = [
        *(_entry(text, "--strategy", STRATEGY_GROUP) for text in strategies),
        *(_entry(text, "--processor", PROCESSOR_GROUP) for text in processors),
        *(_entry(text, "--validator", VALIDATOR_GROUP) for text in validators),
    ]
    for n, entry in enumerate(named):
        is_taken = entry.group == STRATEGY_GROUP and entry.name in BUILT_IN
        if is_taken or any((entry.name, entry.group) == (other.name, other.group) for other in named[:n]):
            raise ValueError(f"the name {entry.name} is taken. Give the function another one.")
    add_named(named)


def _entry(text: str, option: str, group: str) -> EntryPoint:
    if not re.fullmatch(r"[\w.-]+=[\w.]+:[\w.]+", text):  # else the error would depend on the Python version
        raise ValueError(f"{option} {text} is not NAME=MODULE:FUNCTION, such as heading=my_plugin:replace_section.")
    name, _, value = text.partition("=")
    entry = EntryPoint(name, value, group)
    package = entry.module.partition(".")[0]
    if find_spec(package) is None:
        raise ValueError(f"{option} {text}: there is no module {package}. Install it into the daemon's environment.")
    return entry
