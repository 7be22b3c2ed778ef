"""Packages for editors: the extension of VS Code, and the plugin of Neovim with its rockspec."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

from releasing.archives import files_below, write_zip
from releasing.source import Source, Unfit

PARTS_OF_NEOVIM = ("doc", "lsp", "lua", "plugin")
ROCKSPEC = """\
rockspec_format = "3.0"
package = "fileops.nvim"
version = "{version}-1"
source = {{ url = "{url}", dir = "fileops.nvim" }}
description = {{
  summary = "See, decide and undo what AI agents edit",
  license = "MIT",{homepage}
}}
dependencies = {{ "lua >= 5.1" }}
build = {{ type = "builtin", copy_directories = {{ "doc", "lsp", "plugin" }} }}
"""


def build_neovim(source: Source, dist: Path) -> None:
    """Build the archive of the plugin, which has its help tags, and the rockspec that names the archive."""
    plugin = source.tree / "clients" / "neovim"
    name = f"fileops.nvim-{source.version}.zip"
    files = {
        f"fileops.nvim/{path}": content
        for part in PARTS_OF_NEOVIM
        for path, content in files_below(plugin / part, f"{part}/").items()
    }
    files["fileops.nvim/README.md"] = _page(source, "clients/neovim").encode()
    files["fileops.nvim/LICENSE"] = (source.tree / "LICENSE").read_bytes()
    write_zip(dist / name, files, source.epoch)
    # Without a home the archive is found where `luarocks install` is run: beside the rockspec.
    homepage = f'\n  homepage = "{source.url}",' if source.url else ""
    rockspec = ROCKSPEC.format(version=source.version, url=source.download(name) or name, homepage=homepage)
    (dist / f"fileops.nvim-{source.version}-1.rockspec").write_text(rockspec, "utf-8")


def build_vscode(source: Source, dist: Path, root: Path) -> None:
    """Build the extension without wheels, with the programs in `node_modules` of `root`. Raises: Unfit."""
    extension = source.tree / "clients" / "vscode"
    programs = root / "clients" / "vscode" / "node_modules"
    node = shutil.which("node")
    if node is None or not programs.is_dir():
        raise Unfit("The extension needs Node 20 and its programs: run `npm ci --prefix clients/vscode`.")
    (extension / "node_modules").symlink_to(programs.resolve(), target_is_directory=True)
    (extension / "README.md").write_text(_page(source, "clients/vscode"), "utf-8")
    done = subprocess.run(
        [node, "scripts/package.mjs", "--slim"],
        cwd=extension,
        env=source.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unfit(f"The extension could not be packed: {done.stdout}{done.stderr}")
    shutil.copy(extension / "fileops-slim.vsix", dist / f"fileops-vscode-{source.version}.vsix")


def _page(source: Source, folder: str) -> str:
    """Return README.md of a client, without links that lead nowhere outside the repository."""
    spec = importlib.util.spec_from_file_location("package_page", source.tree / "server" / "package_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page_of = cast("Callable[[str, str | None, str, str], str]", module.page_of)
    text = (source.tree / folder / "README.md").read_text("utf-8")
    return page_of(text, source.url, f"v{source.version}", folder)
