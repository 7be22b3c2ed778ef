"""Names of the installed strategies, processors and validators, which front ends announce and check.

This is a separate module because announcing the names must not load what runs plugins.
"""

from fileops.core.matching.exact import EXACT, STRATEGIES
from fileops.core.processing import PROCESSORS
from fileops.core.validation import VALIDATORS


def strategy_names() -> list[str]:
    """Return the possible values of an edit's `strategy`: "exact" first, then the others as registered."""
    return [EXACT, *STRATEGIES]


def processor_names() -> list[str]:
    return sorted(PROCESSORS)


def validator_names() -> list[str]:
    return sorted(VALIDATORS)
