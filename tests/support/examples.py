"""The programs in `examples/`, as modules, and those that the tutorial prints."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

SDKS = "pydantic-ai-slim[anthropic,openai]==2.68.0"  # those of all agents in `examples/`
EXAMPLES = Path(__file__).parents[2] / "examples"
TUTORIAL = (EXAMPLES.parent / "docs" / "tutorial" / "first-agent.md").read_text(encoding="utf-8")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def guide_program() -> str:
    """The examples of the guide to the Python client, which continue each other, as one program."""
    page = (EXAMPLES.parent / "docs" / "guide" / "python-client.md").read_text(encoding="utf-8")
    lines = [line for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) for line in code.splitlines()]
    imports = [line for line in lines if line.startswith(("from ", "import "))]
    body = [f"    {line}" for line in lines if line not in imports]
    unused = "# pyright: reportUnusedVariable=false"  # they are for the reader
    return "\n".join([unused, *imports, "async def main() -> None:", *body, ""])


def readme_program() -> str:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    return code


def tutorial_programs() -> dict[str, str]:
    """The programs by the names that the page gives them."""
    return dict(re.findall(r"Save this as `(\w+\.py)`.*?```python\n(.*?)```", TUTORIAL, re.DOTALL))
