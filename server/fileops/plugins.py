"""What other packages bring, by entry point: strategies and validators. Found by name; loaded at their first use."""

import logging
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from fileops.core import strategies
from fileops.core.matching import EXACT, STRATEGIES
from fileops.core.validation import VALIDATORS, Validator

log = logging.getLogger(__name__)

STRATEGY_GROUP, VALIDATOR_GROUP = "fileops.strategies", "fileops.validators"


@cache  # once in a process: what is installed does not change under it
def register_plugins() -> None:
    installed = entry_points()
    for entry in _unique(installed.select(group=STRATEGY_GROUP), "strategy", {EXACT, *STRATEGIES}):
        strategies.register(strategies.plugin_strategy(entry.name, entry.load))
    for entry in _unique(installed.select(group=VALIDATOR_GROUP), "validator", set()):
        VALIDATORS[entry.name] = Validator(entry.name, entry.load)


def _unique(entries: Iterable[EntryPoint], kind: str, taken: set[str]) -> Iterator[EntryPoint]:
    """A name that is taken stays with its first owner."""
    for entry in entries:
        if entry.name in taken:
            log.warning("%s %s of %s ignored: the name is taken", kind, entry.name, entry.value)
            continue
        taken.add(entry.name)
        yield entry
