"""uv where pip looks for packages: at a sixth of pip's processor time, most of which goes into names of files.

As a command, it runs the uv beside this interpreter: `python tests/support/uv_like_pip.py pip install -e '.[test]'`.
"""

import ast
import os
import subprocess
import sys

CONFIG_S = 300


def uv_environment() -> dict[str, str]:
    """Variables with which uv looks for packages and interpreters where pip does: it does not read pip's settings."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=CONFIG_S).stdout
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    found = {name.rpartition(".")[2]: ast.literal_eval(value).split() for name, value in settings.items()}
    names = {"UV_INDEX": ("extra-index-url", " "), "UV_FIND_LINKS": ("find-links", ",")}
    indexes = {name: between.join(found[key]) for name, (key, between) in names.items() if key in found}
    return {**os.environ, **indexes, "UV_INDEX_STRATEGY": "unsafe-best-match", "UV_PYTHON_DOWNLOADS": "never"}


if __name__ == "__main__":
    from uv import find_uv_bin

    os.environ["VIRTUAL_ENV"] = sys.prefix
    os.execve(find_uv_bin(), ["uv", *sys.argv[1:]], uv_environment())
