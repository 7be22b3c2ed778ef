"""Build hook: the README as a package index shows it, where links to files of the repository lead nowhere.

A link becomes an address of `[project.urls] Source` if pyproject.toml names one, as in a release that is published
(tools/release.py). Until then it becomes its text, and pictures and the tables that only hold pictures are left out.
"""

import pathlib
import posixpath
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
GITHUB = "https://github.com/"


class PackagePage(MetadataHookInterface):
    """Sets `readme` in the metadata of the distribution."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Replace the README in `metadata`."""
        text = (pathlib.Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        page = page_of(text, source, f"v{metadata['version']}")
        if source is not None:
            # The MCP registry knows by this line that the page and server.json belong together.
            page += f"\n<!-- mcp-name: io.github.{source.removeprefix(GITHUB)} -->\n"
        metadata["readme"] = {"content-type": "text/markdown", "text": page}


def page_of(text: str, source: str | None, tag: str, folder: str = "") -> str:
    """Return a page with no link to a file.

    Args:
        text: Markdown.
        source: the address of the repository, if it has one.
        tag: of the released commit.
        folder: of the page in the repository.

    """
    lines = (_line(line, source, tag, folder) for line in text.split("\n"))
    return "\n".join(line for line in lines if line is not None)


def _line(line: str, source: str | None, tag: str, folder: str) -> str | None:
    if source is not None:

        def address(found: re.Match[str]) -> str:
            path, hash_sign, anchor = found[3].partition("#")
            kind = "raw" if found[1] else "blob"
            place = posixpath.normpath(posixpath.join(folder, path))
            return f"{found[1]}[{found[2]}]({source}/{kind}/{tag}/{place}{hash_sign}{anchor})"

        return LINK.sub(address, line)
    if re.search(r"!\[[^\]]*\]\((?!\w+:)", line):
        return None
    return LINK.sub(
        lambda found: found[2] if str(found[2]).strip("`").endswith(found[3]) else f"{found[2]} ({found[3]})", line
    )
