"""The programs in `examples/`, as modules, and those that the tutorial prints."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[2] / "examples"
TUTORIAL = (EXAMPLES.parent / "docs" / "tutorial" / "first-agent.md").read_text(encoding="utf-8")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tutorial_programs() -> dict[str, str]:
    """The programs by the names that the page gives them."""
    return dict(re.findall(r"Save this as `(\w+\.py)`.*?```python\n(.*?)```", TUTORIAL, re.DOTALL))
