"""Strategies that other packages bring, by entry point. Found by name; loaded at their first use."""

import logging
from functools import cache
from importlib.metadata import entry_points

from fileops.core import strategies
from fileops.core.matching import EXACT, STRATEGIES

log = logging.getLogger(__name__)

GROUP = "fileops.strategies"


@cache  # once in a process: what is installed does not change under it
def register_strategies() -> None:
    """A name that is taken stays with its first owner."""
    for entry in entry_points(group=GROUP):
        if entry.name == EXACT or entry.name in STRATEGIES:
            log.warning("strategy %s of %s ignored: the name is taken", entry.name, entry.value)
            continue
        strategies.register(strategies.plugin_strategy(entry.name, entry.load))
