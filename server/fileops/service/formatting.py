"""Formats changed lines with the language servers that the user named, as a step of an edit's plan."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from fileops.concurrency import shares
from fileops.core.diagnostics.places import places_of
from fileops.core.formatting import LineRange, apply_changes, find_changed_lines
from fileops.model.diagnostics import Formatted, LanguageServerSetting
from fileops.model.errors import ProcessingFailed
from fileops.service.diagnosis import Diagnosis

WAIT_S = 1.0
GIVE_UP_S = 2.0  # for a thread of the language servers that is ending, or too busy to see that time is up
MAX_RANGES = 50  # line ranges per edit; each is one question


class Formatter:
    """For one client. folders: returns the workspace folders as they are now."""

    def __init__(
        self,
        diagnosis: Diagnosis,
        folders: Callable[[], Sequence[str]],
        settings: Sequence[LanguageServerSetting],
    ) -> None:
        self._diagnosis = diagnosis
        self._folders = folders
        self._settings = settings

    def of(self, path: str) -> "Formatting | None":
        """Return the step for a plan of this file; None if no language server is named for it."""
        places = places_of(path, self._folders(), self._settings)
        if not places:
            return None
        return Formatting(lambda text, ranges: self._diagnosis.format(places, path, text, ranges, WAIT_S))


class Formatting:
    """One step of a plan, see core/processing.py. It never fails the edit: what cannot be formatted stays as it is."""

    def __init__(self, ask: Callable[[str, Sequence[LineRange]], "Future[Formatted]"]) -> None:
        self._ask = ask
        self._server = ""
        self.not_formatted: str | None = None

    @property
    def name(self) -> str:
        """The language server's name, shown as a processor's."""
        return f"{self._server} format"

    def process(self, _file_path: str, before: str | None, after: str) -> str:
        """Return the text with its changed lines formatted."""
        ranges = find_changed_lines(before, after)
        if not ranges:
            return after
        if "\r" in after:  # LSP counts a carriage return as a line end
            self.not_formatted = "a line has a carriage return in it"
            return after
        if len(ranges) > MAX_RANGES:
            self.not_formatted = f"more than {MAX_RANGES} places are changed"
            return after
        try:
            shares.require(shares.PLUGIN, _too_many)
        except ProcessingFailed as failure:
            self.not_formatted = failure.reason
            return after
        try:
            answer = self._ask(after, ranges).result(GIVE_UP_S)
        except TimeoutError:
            self.not_formatted = "the language servers did not answer"
            return after
        self._server, self.not_formatted = answer.server, answer.not_formatted
        if answer.made is None:
            return after
        try:
            return apply_changes(after, ranges, answer.made)
        except ValueError:
            self.not_formatted = f"{answer.server} sent edits that overlap"
            return after


def _too_many() -> ProcessingFailed:
    return ProcessingFailed(processor="format", reason="too many edits wait for plugins and formatters already")
