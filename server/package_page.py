"""Build hook: the README as a package index shows it, where links to files of the repository lead nowhere.

A link becomes an address of `[project.urls] Source` if pyproject.toml names one. Until then it becomes its text, and
pictures and the tables that only hold pictures are left out.
"""

import pathlib
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


class PackagePage(MetadataHookInterface):
    """Sets `readme` in the metadata of the distribution."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Replace the README in `metadata`."""
        text = (pathlib.Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": page_of(text, source)}


def page_of(text: str, source: str | None) -> str:
    """Return the text with no link to a file. Args: source: the address of the repository's newest sources."""
    lines = (_line(line, source) for line in text.split("\n"))
    return "\n".join(line for line in lines if line is not None)


def _line(line: str, source: str | None) -> str | None:
    if source is not None:
        return LINK.sub(rf"\1[\2]({source.rstrip('/')}/\3)", line)
    if re.search(r"!\[[^\]]*\]\((?!\w+:)", line):
        return None
    return LINK.sub(
        lambda found: found[2] if found[2].strip("`").endswith(found[3]) else f"{found[2]} ({found[3]})", line
    )
