"""Packages for agent hosts: plugins of Claude Code and Codex, an Agent Plugin, an extension of Gemini CLI, a bundle.

The servers, hooks and rules are those that `fileops-server mcp config` prints (`fileops.mcp.config.documents`), in its
default mode. Each
package starts the `fileops-server` of the PATH, but the bundle (MCPB), which contains the wheel and is run by uv.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fileops.mcp.config.documents import SERVE, TOOLS, JsonDocument, TomlDocument, documents_of, to_json
from releasing import wording
from releasing.archives import write_tar_gz, write_zip
from releasing.source import Source

DESCRIPTION = "Read and edit files beside people and other agents, without losing a byte of anyone's work"
AUTHOR = {"name": "The fileops-server developers"}
KEYWORDS = ["agent", "editing", "files", "mcp", "review"]
MODE = "companion"  # the default of `mcp config`
AGENT_PLUGINS = "https://agent-plugins.org/schemas/1.0.0/{}.schema.json"
REGISTRY = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

ENTRY = '''\
"""Serves MCP on stdin and stdout, with the options of this bundle and those that the host adds."""

import sys

from fileops.cli import main

sys.exit(main([*{options}, *sys.argv[1:]]))
'''
BUNDLE_PROJECT = """\
[project]
name = "fileops-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["fileops-server"]

[tool.uv]
package = false

[tool.uv.sources]
fileops-server = {{ path = "{wheel}" }}
"""


def build(source: Source, dist: Path) -> None:
    """Build all packages for hosts. The wheel of the server is in `dist` already."""
    for name, files in {
        f"fileops-claude-{source.version}.zip": _claude(source),
        f"fileops-codex-{source.version}.zip": _codex(source),
        f"fileops-agent-plugin-{source.version}.zip": _agent_plugin(source),
        f"fileops-{source.version}.mcpb": _bundle(source, next(dist.glob("fileops_server-*.whl"))),
    }.items():
        write_zip(dist / name, files, source.epoch)
    # Gemini CLI takes the file of a release whose name begins with the platform.
    for platform in ("linux", "darwin"):
        name = f"{platform}.fileops-gemini-{source.version}.tar.gz"
        write_tar_gz(dist / name, _gemini(source), source.epoch)


def write_server_json(source: Source, dist: Path) -> None:
    """Describe the published server for the MCP registry. The bundle is in `dist` already."""
    assert source.home is not None
    bundle = dist / f"fileops-{source.version}.mcpb"
    options: list[dict[str, str]] = [{"type": "positional", "value": SERVE[0]}]
    for name, value in zip(SERVE[1::2], SERVE[2::2], strict=True):
        options.append({"type": "named", "name": name, "value": value})
    stdio = {"type": "stdio"}
    content = {
        "$schema": REGISTRY,
        "name": f"io.github.{source.home}",
        "title": "fileops",
        "description": DESCRIPTION,
        "version": source.version,
        "repository": {"url": source.url, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "fileops-server",
                "version": source.version,
                "runtimeHint": "uvx",
                "packageArguments": options,
                "transport": stdio,
            },
            {
                "registryType": "mcpb",
                "identifier": source.download(bundle.name),
                "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
                "transport": stdio,
            },
        ],
    }
    (dist / "server.json").write_bytes(_json(content))


def _claude(source: Source) -> dict[str, bytes]:
    documents = {document.file: _content(document) for document in documents_of("claude-plugin", mode=MODE)}
    documents[".claude-plugin/plugin.json"] = _identity(source)
    entry = {"name": "fileops", "source": "./fileops", "description": DESCRIPTION, "version": source.version}
    marketplace = {
        "name": "fileops",
        "owner": AUTHOR,
        "metadata": {"description": DESCRIPTION},
        "plugins": [entry],
    }
    steps = "claude plugin marketplace add ./fileops-claude\nclaude plugin install fileops@fileops"
    return {
        "fileops-claude/.claude-plugin/marketplace.json": _json(marketplace),
        **{f"fileops-claude/fileops/{name}": _json(content) for name, content in documents.items()},
        **_pages(source, "fileops-claude/fileops/", "Claude Code", steps),
    }


def _codex(source: Source) -> dict[str, bytes]:
    config, hooks = documents_of("codex", mode=MODE)
    server = cast("dict[str, Any]", cast("TomlDocument", config).content["mcp_servers"])
    interface = {"displayName": "fileops", "shortDescription": DESCRIPTION, "developerName": AUTHOR["name"]}
    plugin = _identity(source) | {
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/hooks.json",
        "interface": interface | {"category": "Coding"},
    }
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    place = {"source": "local", "path": "./fileops"}
    entry = {"name": "fileops", "source": place, "policy": policy, "category": "Coding"}
    marketplace = {"name": "fileops", "interface": {"displayName": "fileops"}, "plugins": [entry]}
    steps = "codex plugin marketplace add ./fileops-codex\ncodex plugin add fileops@fileops"
    return {
        "fileops-codex/.agents/plugins/marketplace.json": _json(marketplace),
        "fileops-codex/fileops/.codex-plugin/plugin.json": _json(plugin),
        "fileops-codex/fileops/.mcp.json": _json({"mcpServers": server}),
        "fileops-codex/fileops/hooks/hooks.json": _json(_content(cast("JsonDocument", hooks))),
        **_pages(source, "fileops-codex/fileops/", "Codex", steps),
    }


def _agent_plugin(source: Source) -> dict[str, bytes]:
    server = {"type": "stdio", "command": "fileops-server", "args": list(SERVE)}
    plugin = {"$schema": AGENT_PLUGINS.format("plugin"), **_identity(source)}
    servers = {"$schema": AGENT_PLUGINS.format("mcp"), "mcpServers": {"fileops": server}}
    steps = "# Name this folder where your host installs Agent Plugins."
    return {
        "fileops/plugin.json": _json(plugin),
        "fileops/mcp.json": _json(servers),
        **_pages(source, "fileops/", "hosts of Agent Plugins", steps),
    }


def _gemini(source: Source) -> dict[str, bytes]:
    """The files are at the root of the archive, where Gemini CLI looks for them."""
    content = _content(cast("JsonDocument", documents_of("gemini", mode=MODE)[0]))
    extension = {
        "name": "fileops",
        "version": source.version,
        "description": DESCRIPTION,
        "mcpServers": content["mcpServers"],
    }
    steps = "mkdir fileops && tar -xzf linux.fileops-gemini-*.tar.gz -C fileops\ngemini extensions install ./fileops"
    return {
        "gemini-extension.json": _json(extension),
        "hooks/hooks.json": _json({"hooks": content["hooks"]}),
        **_pages(source, "", "Gemini CLI", steps),
    }


def _bundle(source: Source, wheel: Path) -> dict[str, bytes]:
    folder = {
        "type": "directory",
        "title": "Folder",
        "description": "The folder in which the agent may edit files",
        "required": True,
    }
    command = {
        "command": "uv",
        "args": ["run", "--project", "${__dirname}", "${__dirname}/server.py", "--root", "${user_config.folder}"],
    }
    manifest: dict[str, object] = {
        "manifest_version": "0.4",
        "name": "fileops",
        "display_name": "fileops",
        "version": source.version,
        "description": DESCRIPTION,
        "author": AUTHOR,
        "license": "MIT",
        "keywords": KEYWORDS,
        "icon": "icon.png",
        "server": {"type": "uv", "entry_point": "server.py", "mcp_config": command},
        "tools": [{"name": name} for name in TOOLS],
        "compatibility": {"platforms": ["linux", "darwin"], "runtimes": {"python": ">=3.11"}},
        "user_config": {"folder": folder},
    }
    if source.url:
        manifest |= {"repository": {"type": "git", "url": f"{source.url}.git"}, "homepage": source.url}
    options = json.dumps(list(SERVE))
    return {
        "manifest.json": _json(manifest),
        "pyproject.toml": BUNDLE_PROJECT.format(version=source.version, wheel=wheel.name).encode(),
        "server.py": ENTRY.format(options=options).encode(),
        "icon.png": (source.tree / "clients/vscode/media/icon.png").read_bytes(),
        "LICENSE": (source.tree / "LICENSE").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }


def _identity(source: Source) -> dict[str, object]:
    home = {"homepage": source.url, "repository": source.url} if source.url else {}
    return {
        "name": "fileops",
        "version": source.version,
        "description": DESCRIPTION,
        "author": AUTHOR,
        **home,
        "license": "MIT",
        "keywords": KEYWORDS,
    }


def _pages(source: Source, folder: str, host: str, steps: str) -> dict[str, bytes]:
    state = wording.PUBLISHED if source.home else wording.UNPUBLISHED
    page = f"""\
# fileops for {host}

{DESCRIPTION}.

An edit needs a read before it, and is refused if the file has changed since; bytes outside an edit never change.
All agents and editors of a user share one daemon, so an agent reads text that you have not saved.
Its edits can wait for your review in VS Code, in Neovim or in a terminal.

This package starts the program `fileops-server`, which it does not contain.
Install that first, then the package, in the folder where you have unpacked it:

```sh
{wording.how_to_install(state)}
{steps}
```
"""
    return {f"{folder}README.md": page.encode(), f"{folder}LICENSE": (source.tree / "LICENSE").read_bytes()}


def _content(document: object) -> dict[str, Any]:
    assert isinstance(document, JsonDocument)
    return dict(document.content)


def _json(content: Mapping[str, object]) -> bytes:
    return (to_json(content) + "\n").encode()
