"""Validators: functions of other packages that may refuse what an edit would make of a file.

Which of those installed are asked is the client's choice. They see texts and answer with a reason or nothing; whatever
else one does is a refusal, and nothing is written.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from msgspec import Struct

from fileops.core import splices, text
from fileops.model.edits import Plan
from fileops.model.errors import FileOpsError, PluginFailed, ValidationFailed
from fileops.model.files import TextFormat

MAX_REASON_CHARS = 2000


class ValidatorPlugin(Protocol):
    """What a package offers under the entry point group `fileops.validators`."""

    def __call__(self, file_path: str, before: str | None, after: str, /) -> str | None:
        """Why this must not be written, None where it may. Line ends are LF; before: None for a file to be created."""
        ...


class Validator(Struct, frozen=True):
    """load: called at the first use."""

    name: str
    load: Callable[[], ValidatorPlugin]

    def require_valid(self, file_path: str, before: str | None, after: str) -> None:
        """Raises: ValidationFailed."""
        try:
            reason = cast("object", self.load()(file_path, before, after))
        except PluginFailed as failure:
            raise ValidationFailed(validator=self.name, reason=failure.reason[:MAX_REASON_CHARS]) from failure
        except FileOpsError:
            raise
        except (Exception, SystemExit) as error:  # foreign code: whatever it raises is one failure
            told = f"it failed itself ({type(error).__name__}: {error})"
            raise ValidationFailed(validator=self.name, reason=told[:MAX_REASON_CHARS]) from error
        if reason is not None:
            told = reason if isinstance(reason, str) else f"it gave no reason but {type(reason).__name__}"
            raise ValidationFailed(validator=self.name, reason=told[:MAX_REASON_CHARS])


VALIDATORS: dict[str, Validator] = {}  # those installed, by name


def require_valid(names: Sequence[str], plan: Plan) -> None:
    """By each of the named, in order, unless the plan changes nothing. Raises: ValidationFailed."""
    if not names or not (plan.splices or plan.creates):
        return
    snapshot = plan.snapshot
    before = _shown(snapshot.data, plan.format) if snapshot.exists else None
    after = _shown(splices.apply(snapshot.data, plan.splices), plan.format)
    for name in names:
        VALIDATORS[name].require_valid(snapshot.path, before, after)


def _shown(data: bytes, fmt: TextFormat) -> str:
    return text.decode(data, fmt).replace("\r\n", "\n")
