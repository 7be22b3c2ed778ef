"""Parts of an embedding program that replace the server's.

A separate module, because `embedded.py` makes these parts and `state.py` uses them, which it may not import.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.matching.strategies import StrategyPlugin
from fileops.core.processing import ProcessorPlugin
from fileops.core.validation import ValidatorPlugin
from fileops.model.settings import Settings
from fileops.ports import Approver, Executor, FileSystem, ImageDetector


class OwnParts(Struct, frozen=True, kw_only=True):
    """Objects of the embedding program. Called in worker threads, except `approver`, which is called on the event loop.

    strategies, processors, validators: by name. They are installed for the whole process while a client uses them; a
    name must be free, or belong to the same function. All processors (in their order) and validators run. executor:
    runs the commands of `fileops/bash`. image_detector: says which binary files are images.
    """

    filesystem: FileSystem | None = None
    strategies: Mapping[str, StrategyPlugin] = {}
    processors: Mapping[str, ProcessorPlugin] = {}
    validators: Mapping[str, ValidatorPlugin] = {}
    executor: Executor | None = None
    image_detector: ImageDetector | None = None
    approver: Approver | None = None

    def add_to(self, settings: Settings) -> Settings:
        """Return the settings with the program's processors and validators after those that the client names."""
        return replace(
            settings,
            processors=tuple(dict.fromkeys([*settings.processors, *self.processors])),
            validators=tuple(dict.fromkeys([*settings.validators, *self.validators])),
        )
