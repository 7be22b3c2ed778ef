"""Plugins: strategies, processors and validators of other packages, by name.

They are entry points of installed packages, or functions that the command line names (named.py), and are loaded when
first used.

Their code runs in separate processes (process.py). One that blocks, loops or uses too much memory is killed; the edit
fails, and its error names the plugin.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from fileops.concurrency import shares
from fileops.core.matching import strategies
from fileops.core.matching.exact import BUILT_IN, STRATEGIES
from fileops.core.matching.strategies import MAX_PLACES, StrategyPlugin
from fileops.core.processing import PROCESSORS, Processor, ProcessorPlugin
from fileops.core.validation import VALIDATORS, Validator, ValidatorPlugin
from fileops.model.errors import FileOpsError, ProcessingFailed, StrategyFailed, ValidationFailed
from fileops.model.internal_errors import PluginFailed
from fileops.service.plugins import installed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from fileops.service.plugins.process import PluginProcesses

log = logging.getLogger(__name__)

STRATEGY_GROUP, PROCESSOR_GROUP, VALIDATOR_GROUP = "fileops.strategies", "fileops.processors", "fileops.validators"
GROUPS = (STRATEGY_GROUP, PROCESSOR_GROUP, VALIDATOR_GROUP)
_TOO_MANY = "too many edits wait for plugins already"


class Plugins:
    """Where plugins run. Nothing is started or even imported before a plugin is used."""

    def __init__(self) -> None:
        self._processes: PluginProcesses | None = None
        self._is_closed = False

    def call(self, refusal: Callable[[], FileOpsError], request: dict[str, object]) -> dict[str, object]:
        """Raises: PluginFailed, `refusal()`, NeedsShare."""
        shares.require(shares.PLUGIN, refusal)
        if self._is_closed:
            raise PluginFailed(reason="the daemon is about to end")
        return self._start().call(request)

    def close(self) -> None:
        """End what is running. Calls that wait for it fail."""
        self._is_closed = True
        if self._processes is not None:
            self._processes.close()

    def _start(self) -> "PluginProcesses":
        if self._processes is None:
            from fileops.service.plugins.process import PluginProcesses

            try:
                processes = PluginProcesses.from_environment(os.environ)
            except ValueError as error:
                log.warning("%s; the default counts", error)
                processes = PluginProcesses()
            self._processes = self._processes or processes
        return self._processes


_of_command_line: "list[EntryPoint]" = []  # see add_named
_running = [Plugins()]  # the registered names outlive a connection, the processes do not


def add_named(entries: "Iterable[EntryPoint]") -> None:
    """Register these before the installed ones. Must be called before the first service is built."""
    _of_command_line.extend(entries)


def register_plugins() -> Plugins:
    """Register what is installed, by name. The caller must close the result when the service ends."""
    register_installed()
    _running[0] = Plugins()
    return _running[0]


@cache  # once per process: what is installed does not change meanwhile
def register_installed() -> None:
    """Register the names of what is installed, and of what the command line names."""
    found = list(_of_command_line)
    if installed.is_any_installed(GROUPS):
        from importlib.metadata import entry_points

        found += (entry for group in GROUPS for entry in entry_points(group=group))
    new_strategies = (entry for entry in found if entry.group == STRATEGY_GROUP)
    for entry in _unique(new_strategies, "strategy", {*BUILT_IN, *STRATEGIES}):
        strategies.register(strategies.plugin_strategy(entry.name, lambda entry=entry: _strategy(entry)))
    new_processors = (entry for entry in found if entry.group == PROCESSOR_GROUP)
    for entry in _unique(new_processors, "processor", set()):
        PROCESSORS[entry.name] = Processor(entry.name, lambda entry=entry: _processor(entry))
    new_validators = (entry for entry in found if entry.group == VALIDATOR_GROUP)
    for entry in _unique(new_validators, "validator", set()):
        VALIDATORS[entry.name] = Validator(entry.name, lambda entry=entry: _validator(entry))


def _strategy(entry: "EntryPoint") -> StrategyPlugin:
    def find(text: str, old_string: str, new_string: str) -> Iterable[tuple[int, int, str]]:
        request: dict[str, object] = {
            "value": entry.value,
            "arguments": [text, old_string, new_string],
            "max_places": MAX_PLACES,
        }
        answer = _running[0].call(lambda: StrategyFailed(strategy=entry.name, reason=_TOO_MANY), request)
        if (failed := answer.get("failed")) is not None:
            raise PluginFailed(reason=str(failed))
        return answer["places"]  # pyrefly: ignore[bad-return] - made so by host.py, and checked by the caller

    return find


def _processor(entry: "EntryPoint") -> ProcessorPlugin:
    def transform(file_path: str, before: str | None, after: str) -> str | None:
        request: dict[str, object] = {"value": entry.value, "arguments": [file_path, before, after]}
        answer = _running[0].call(lambda: ProcessingFailed(processor=entry.name, reason=_TOO_MANY), request)
        if (failed := answer.get("failed")) is not None:
            raise PluginFailed(reason=str(failed))
        if (odd := answer.get("odd")) is not None:
            raise PluginFailed(reason=f"it returned {odd} instead of a text")
        made = answer["text"]
        return None if made is None else str(made)

    return transform


def _validator(entry: "EntryPoint") -> ValidatorPlugin:
    def check(file_path: str, before: str | None, after: str) -> str | None:
        request: dict[str, object] = {"value": entry.value, "arguments": [file_path, before, after]}
        answer = _running[0].call(lambda: ValidationFailed(validator=entry.name, reason=_TOO_MANY), request)
        if (failed := answer.get("failed")) is not None:
            raise PluginFailed(reason=f"it failed itself ({failed})")
        if (odd := answer.get("odd")) is not None:
            raise PluginFailed(reason=f"it gave no reason but {odd}")
        reason = answer["text"]
        return None if reason is None else str(reason)

    return check


def _unique(entries: "Iterable[EntryPoint]", kind: str, taken: set[str]) -> "Iterator[EntryPoint]":
    """Yield the entries whose name is free. A name that is taken stays with its first owner."""
    for entry in entries:
        if entry.name in taken:
            log.warning("%s %s of %s ignored: the name is taken", kind, entry.name, entry.value)
            continue
        taken.add(entry.name)
        yield entry
