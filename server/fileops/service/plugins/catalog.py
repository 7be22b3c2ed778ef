"""Names of the strategies, processors and validators that are installed, for front ends to announce and to check.

A separate module, because announcing the names must not load what runs plugins.
"""

from fileops.core.matching.exact import EXACT, STRATEGIES
from fileops.core.processing import PROCESSORS
from fileops.core.validation import VALIDATORS


def strategy_names() -> list[str]:
    """Return what `strategy` of an edit may be: "exact" first, then the others in the order of their registration."""
    return [EXACT, *STRATEGIES]


def processor_names() -> list[str]:
    return sorted(PROCESSORS)


def validator_names() -> list[str]:
    return sorted(VALIDATORS)
