"""Compares the problems before and after a commit, as language servers find them.

Each language server is given the texts before the commit, then those after it. So others' changes in between, and what
the session had read, do not matter. Belongs to the event loop of `languages/service.py`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from lsprotocol.types import FileChangeType

from fileops.core.diagnostics.places import ServerPlace, checks, places_of
from fileops.core.diagnostics.report import (
    Compared,
    Edits,
    compare_change,
    compare_text,
    report_settled,
    report_unsettled,
    text_of,
)
from fileops.languages.connection import ServerEnded
from fileops.languages.language_server import LanguageServer
from fileops.languages.pool import LanguageServerPool
from fileops.model.diagnostics import CommittedFile, DiagnosticsReport, LanguageServerSetting, Problem

GIVE_UP_S = 30.0  # for the problems of one text
OTHER_FILES_S = 2.0  # for files that were not edited, after those that were
MAX_FILE_BYTES = 1 << 20


class Comparison(Edits, frozen=True, kw_only=True):
    """Edits whose problems are compared.

    folders: workspace folders of the client. may_know: whether the session has read this file, and may read it.
    """

    folders: tuple[str, ...]
    settings: tuple[LanguageServerSetting, ...]
    may_know: Callable[[str], bool]

    def places(self) -> list[ServerPlace]:
        """Return the language servers that check one of the edited files."""
        found = {
            (place.setting.name, place.root): place
            for change in self.changes
            for place in places_of(change.path_after, self.folders, self.settings)
        }
        return list(found.values())

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of these language servers."""
        return tuple(dict.fromkeys(place.setting.name for place in self.places()))


class _FoundProblems(Compared, frozen=True, kw_only=True):
    source: str


async def compare(pool: LanguageServerPool, comparison: Comparison) -> DiagnosticsReport:
    """Ask all language servers that check the files. If some fail, the others make the report."""
    sizes = [len(data) for change in comparison.changes for data in (change.before, change.after) if data is not None]
    if max(sizes, default=0) > MAX_FILE_BYTES:
        return report_unsettled(comparison, "unavailable", comparison.sources, "a file has more than 1 MB")
    answers = await asyncio.gather(*(_ask(pool, place, comparison) for place in comparison.places()))
    found = [answer for answer in answers if isinstance(answer, _FoundProblems)]
    if not found:
        reason = "; ".join(answer for answer in answers if isinstance(answer, str))
        return report_unsettled(comparison, "unavailable", comparison.sources, reason)
    return report_settled(comparison, tuple(answer.source for answer in found), sum(found, Compared()))


async def _ask(pool: LanguageServerPool, place: ServerPlace, comparison: Comparison) -> _FoundProblems | str:
    """Return what one server found, or a clause that says why it found nothing."""
    name = place.setting.name
    try:
        async with pool.server(place) as server:
            found = await _find(server, comparison)
    except ServerEnded as fault:
        return f"{name}: {fault}"
    except TimeoutError:
        return f"{name} did not answer within {GIVE_UP_S:g} s"
    return _FoundProblems(found.introduced, found.resolved, source=name)


async def _find(server: LanguageServer, comparison: Comparison) -> Compared:
    """Raises: ServerEnded, TimeoutError."""
    changes = [change for change in comparison.changes if checks(server.setting, change.path_after)]
    edited = {path for change in changes for path in (change.path, change.path_after)}
    # Files that others have written since; the record already knows most of them.
    overwritten = [path for path in server.open_paths() if path not in edited and server.is_overwritten(path)]
    if overwritten:
        await server.note_files_changed([(path, FileChangeType.Changed) for path in overwritten])
    # First all texts before, then all texts after: a problem in one file may depend on another file of the set.
    for change in changes:
        if change.before is not None:
            await server.send_text(change.path, text_of(change.before))
    before: dict[str, tuple[Problem, ...]] = {}
    for change in changes:
        if change.before is not None:
            before[change.path] = await server.problems(change.path, text_of(change.before), GIVE_UP_S)
    others = [path for path in server.open_paths() if path not in edited and comparison.may_know(path)]
    known = await _problems_of_others(server, others)
    await _send_after(server, changes)
    found = Compared()
    for change in changes:
        if change.after is not None:
            after = await server.problems(change.path_after, text_of(change.after), GIVE_UP_S)
            server.note_saved(change.path_after)
            found += compare_change(change, before.get(change.path, ()), after)
    for path, now in (await _problems_of_others(server, known)).items():
        found += compare_text(path, server.text_of(path) or "", known[path], now)
    return found


async def _problems_of_others(server: LanguageServer, paths: Iterable[str]) -> dict[str, tuple[Problem, ...]]:
    """Return the current problems of files that are not edited, as far as the server reports them in time."""
    found: dict[str, tuple[Problem, ...]] = {}
    with suppress(TimeoutError):  # later reports are not promised
        async with asyncio.timeout(OTHER_FILES_S):
            for path in paths:
                if (problems := await server.refresh_problems(path, OTHER_FILES_S)) is not None:
                    found[path] = problems
    return found


async def _send_after(server: LanguageServer, changes: Sequence[CommittedFile]) -> None:
    events: list[tuple[str, FileChangeType]] = []
    for change in changes:
        if change.after is None or change.new_path is not None:
            events.append((change.path, FileChangeType.Deleted))
        if change.after is not None and (change.before is None or change.new_path is not None):
            events.append((change.path_after, FileChangeType.Created))
    if events:
        await server.note_files_changed(events)
    for change in changes:
        if change.after is not None:
            await server.send_text(change.path_after, text_of(change.after))
