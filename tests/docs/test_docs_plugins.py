"""docs/guide/plugins.md shows the code of examples/plugin, which other tests install and run."""

import re
from pathlib import Path

from support.sample_package import SAMPLE, SOURCES

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "plugins.md").read_text(encoding="utf-8")
SOURCE = (SOURCES / "my_plugin.py").read_text(encoding="utf-8")
PROJECT = (SAMPLE / "pyproject.toml").read_text(encoding="utf-8")


def test_code_of_the_page_matches_the_example() -> None:
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown
    assert [code for code in shown if code not in SOURCE] == []


def test_entry_points_of_the_page_match_the_example() -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert [line for line in shown.splitlines() if line not in PROJECT.splitlines()] == []
    assert "my_plugin:replace_section" in shown
