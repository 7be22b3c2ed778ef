"""Validators: functions of plugins that may refuse the content that an edit would produce.

The client chooses which installed validators run. A validator takes texts and returns a reason or None. Anything else,
such as an exception, counts as a refusal, and nothing is written.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from msgspec import Struct

from fileops.core import splices, text
from fileops.model.edits import Plan
from fileops.model.errors import FileOpsError, ValidationFailed
from fileops.model.files import TextFormat
from fileops.model.internal_errors import PluginFailed

MAX_REASON_CHARS = 2000


class ValidatorPlugin(Protocol):
    """A function that a package registers in the entry point group `fileops.validators`."""

    def __call__(self, file_path: str, before: str | None, after: str, /) -> str | None:
        """Return why this must not be written, or None. Line ends are LF; `before` is None for a new file."""
        ...


class Validator(Struct, frozen=True):
    """A validator by name. `load` is called at the first use."""

    name: str
    load: Callable[[], ValidatorPlugin]

    def require_valid(self, file_path: str, before: str | None, after: str) -> None:
        """Run the validator. Raises: ValidationFailed."""
        try:
            reason = cast("object", self.load()(file_path, before, after))
        except PluginFailed as failure:
            raise ValidationFailed(validator=self.name, reason=failure.reason[:MAX_REASON_CHARS]) from failure
        except FileOpsError:
            raise
        except (Exception, SystemExit) as error:  # foreign code of a plugin
            shown = f"it raised an error itself ({type(error).__name__}: {error})"
            raise ValidationFailed(validator=self.name, reason=shown[:MAX_REASON_CHARS]) from error
        if reason is not None:
            shown = reason if isinstance(reason, str) else f"it returned {type(reason).__name__} instead of a reason"
            raise ValidationFailed(validator=self.name, reason=shown[:MAX_REASON_CHARS])


VALIDATORS: dict[str, Validator] = {}  # those installed, by name


def require_valid(names: Sequence[str], plan: Plan) -> None:
    """Run the named validators in order, unless the plan changes nothing. Raises: ValidationFailed."""
    if not names or not (plan.splices or plan.creates):
        return
    snapshot = plan.snapshot
    before = _decode(snapshot.data, plan.format) if snapshot.exists else None
    after = _decode(splices.apply(snapshot.data, plan.splices), plan.format)
    for name in names:
        VALIDATORS[name].require_valid(snapshot.path, before, after)


def _decode(data: bytes, fmt: TextFormat) -> str:
    return text.decode(data, fmt).replace("\r\n", "\n")
