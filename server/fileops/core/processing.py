"""Processors: functions of plugins that may transform the whole text after an edit, such as formatters.

The client chooses which installed processors run, and in which order. A processor takes texts and returns a text, or
None to change nothing. Its result becomes part of the edit's plan as splices over the edited bytes, line by line: lines
that it does not change keep the bytes that the edit made. Anything else, such as an exception, fails the edit.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.diff.unified import change_of
from fileops.core.legacy_text import require_encodable
from fileops.core.pausing import Check, check_nothing
from fileops.core.text import decode, detect_format
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Plan, Splice
from fileops.model.errors import FileOpsError, NoChange, ProcessingFailed
from fileops.model.files import Text, TextFormat
from fileops.model.internal_errors import PluginFailed
from fileops.model.settings import Limits

MAX_REASON_CHARS = 2000


class ProcessorPlugin(Protocol):
    """A function that a package registers in the entry point group `fileops.processors`."""

    def __call__(self, file_path: str, before: str | None, after: str, /) -> str | None:
        """Return the text to write instead of `after`, or None for `after` itself.

        Line ends are LF; `before` is None for a new file.
        """
        ...


class TextStep(Protocol):
    """A step from the text after an edit to the text that is written: a processor, or a formatter."""

    @property
    def name(self) -> str:
        """Return its name in results. Asked after the step."""
        ...

    def process(self, file_path: str, before: str | None, after: str, /) -> str:
        """Return the text to write instead of `after`. Raises: ProcessingFailed."""
        ...


class Processor(Struct, frozen=True):
    """A processor by name. `load` is called at the first use."""

    name: str
    load: Callable[[], ProcessorPlugin]

    def process(self, file_path: str, before: str | None, after: str) -> str:
        """Run the processor. Raises: ProcessingFailed."""
        try:
            made = cast("object", self.load()(file_path, before, after))
        except PluginFailed as failure:
            raise self._make_failure(failure.reason) from failure
        except FileOpsError:
            raise
        except (Exception, SystemExit) as error:  # foreign code of a plugin
            raise self._make_failure(f"{type(error).__name__}: {error}") from error
        if made is None:
            return after
        if not isinstance(made, str):
            raise self._make_failure(f"it returned {type(made).__name__} instead of a text")
        return made

    def _make_failure(self, reason: str) -> ProcessingFailed:
        return ProcessingFailed(processor=self.name, reason=reason[:MAX_REASON_CHARS])


PROCESSORS: dict[str, Processor] = {}  # those installed, by name


def process(
    steps: Sequence[TextStep],
    plan: Plan,
    *,
    file_path: str,
    limits: Limits,
    is_multi: bool,
    check: Check = check_nothing,
) -> Plan:
    """Return the plan with what the steps make of its text, in order. A plan without effect stays as it is.

    file_path: as the caller gave it, for the diff. is_multi: see core.plan.plan. Raises: ProcessingFailed,
    NotEncodable, NoChange (a processor reverts a single edit), the errors of `check`.
    """
    if not steps or not (plan.splices or plan.creates):
        return plan
    snapshot = plan.snapshot
    before = _decode(snapshot.data, plan.format) if snapshot.exists else None
    splices, processed_by = plan.splices, list[str]()
    for step in steps:
        check()
        edited = splicing.apply(snapshot.data, splices)
        text = Text(data=edited, format=plan.format if snapshot.exists else detect_format(edited))
        made = step.process(snapshot.path, before, _decode(edited, text.format))
        made_splices = _splices_to(text, made)
        require_encodable(text, made_splices, snapshot.encoding)
        if made_splices:
            processed_by.append(step.name)
            splices = splicing.compose(splices, made_splices)
    if not processed_by:
        return plan
    splices = splicing.effective(snapshot.data, splices)
    if not splices and not plan.creates and not is_multi:
        raise NoChange(same_strings=False)
    change = change_of(
        snapshot.data,
        plan.format,
        splices,
        file_path=file_path,
        limits=limits,
        operation="create" if plan.creates else "modify",
        with_snippet=bool(plan.change.snippet),
        check=check,
    )
    return replace(plan, splices=splices, change=change, processed_by=tuple(processed_by))


def _splices_to(text: Text, made: str) -> tuple[Splice, ...]:
    """Return the splices over the edited bytes that produce a step's text."""
    return splicing.effective(text.data, splices_to_text(text, made))


def _decode(data: bytes, fmt: TextFormat) -> str:
    return decode(data, fmt).replace("\r\n", "\n")
