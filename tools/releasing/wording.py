"""The wording of install commands in the two states of the project.

The tracked files are in the state *unpublished*: every command names the folder of the sources. `put` rewrites a copy
of them for a published release, in which every command names a distribution on the package index.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

State = Literal["unpublished", "published"]
UNPUBLISHED: State = "unpublished"
PUBLISHED: State = "published"

SERVER = {UNPUBLISHED: "/path/to/fileops-server", PUBLISHED: "fileops-server"}
CLIENT = {UNPUBLISHED: "/path/to/fileops-server/clients/python", PUBLISHED: "fileops-client"}
PLACES = ("README.md", "docs", "clients", "examples", "server")
KINDS = {".md", ".txt", ".lua", ".ts", ".py", ".json"}
# Tests, history, and what is not written by people:
LEFT_OUT = re.compile(r"/(tests?|node_modules|adr|dist|bundled|out)/|CHANGELOG|package-lock")

COMMAND = re.compile(r"(pipx? install (?:-\S+ )*)(['\"]?)([^\s`'\"”]+)")  # and its first requirement

# What is said around the commands: unpublished, published.
SENTENCES = (
    ("`pipx install '.[review]'` in this folder", "`pipx install 'fileops-server[review]'`"),
    (
        "The packages are not on a package index yet, so each command names the folder of these sources.",
        "Each command installs from the package index; in its place, the folder of these sources can be named.",
    ),
    ('"fileops-server @ file:///path/to/fileops-server"', '"fileops-server"'),
    (
        "The packages are not on a package index yet | Install from the folder",
        "The index that pip is configured for has no copy | Install from the folder",
    ),
    ("Install the daemon from a clone of this repository: ", "Install the daemon: "),
    ("From the clone of the repository that this plugin is part of: >sh", "From the package index: >sh"),
    ("then clone = '/path/to/fileops-server' end", "then clone = 'fileops-server' end"),
    ("In the folder of fileops-server, run:", "Run:"),
    ("-m pip install '.[review]'", "-m pip install 'fileops-server[review]'"),
    ("Install it from a copy of its sources: ", "Install it: "),
    (
        "The extension is not in a marketplace yet. Build it in this folder (`clients/vscode`), "
        "with Node 20 or newer and Python 3.11 or newer:\n\n```console\nnpm ci && npm run package\n"
        "code --install-extension fileops-slim.vsix\n```",
        "Download `fileops-vscode-VERSION.vsix` of a release and install it:\n\n```console\n"
        "code --install-extension fileops-vscode-VERSION.vsix\n```\n\n"
        "In its sources (`clients/vscode`), `npm ci && npm run package` builds two packages:",
    ),
    (
        "`pipx install '.[review]'` in the project's root, then `pipx ensurepath`",
        "`pipx install 'fileops-server[review]'`, then `pipx ensurepath`",
    ),
)


def texts_in(tree: Path) -> Iterator[Path]:
    """Yield the files that people or models read, documents and sources of messages."""
    for place in PLACES:
        for path in [tree / place] if (tree / place).is_file() else sorted((tree / place).rglob("*")):
            name = "/" + path.relative_to(tree).as_posix()
            if path.suffix in KINDS and path.is_file() and not LEFT_OUT.search(name):
                yield path


def put(tree: Path, state: State) -> None:
    """Rewrite the texts of a copy of the sources, which is in the state *unpublished*."""
    for path in texts_in(tree):
        text = path.read_text("utf-8")
        if (said := in_state(text, state)) != text:
            path.write_text(said, "utf-8")


def in_state(text: str, state: State) -> str:
    """Return an unpublished text as it is in `state`."""
    if state == UNPUBLISHED:
        return text
    for unpublished, published in SENTENCES:
        text = text.replace(unpublished, published)

    def named(found: re.Match[str]) -> str:
        requirement = found[3]
        for names in (CLIENT, SERVER):  # the first is a folder in the second
            requirement = requirement.replace(names[UNPUBLISHED], names[PUBLISHED])
        return found[1] + found[2] + requirement

    return COMMAND.sub(named, text)


def how_to_install(state: State) -> str:
    """Return the command that installs the program `fileops-server`, for the pages of packages that need it."""
    return f"pipx install '{SERVER[state]}[review]'"
