"""The smallest server of this kind, in plain pygls: it refuses to write over what its client has not seen.

    python smallest_server.py    # speaks on stdin and stdout, like `fileops-server`

docs/internals/FROM_PYGLS.md says what fileops-server has in place of each of these lines, and why.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pygls.lsp.server import LanguageServer

server = LanguageServer("smallest-server", "1")
read_as: dict[str, bytes] = {}  # what the client has seen, by path


def answer(status: Literal["success", "error"], output: str, code: str | None = None) -> Mapping[str, object]:
    error = None if code is None else {"code": code, "message": output}
    return {"status": status, "output": output, "error": error, "ui_extra": None, "details": {}}


@server.feature("fileops/read")
def read(params: Any) -> Mapping[str, object]:
    data = read_as[params.file_path] = Path(params.file_path).read_bytes()
    lines = data.decode().split("\n")
    return answer("success", "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1)))


@server.feature("fileops/edit")
def edit(params: Any) -> Mapping[str, object]:
    path, old, new = Path(params.file_path), params.old_string.encode(), params.new_string.encode()
    if params.file_path not in read_as:
        return answer("error", "File has not been read yet. Read it first before writing to it.", "not_read")
    if (data := path.read_bytes()) != read_as[params.file_path]:
        return answer("error", "File has changed since it was read. Read it again.", "modified_externally")
    if (n_places := data.count(old)) != 1:
        code = "multiple_matches" if n_places else "no_match"
        return answer("error", f"The text is there {n_places} times. It must be there once.", code)
    path.write_bytes(data.replace(old, new))
    read_as[params.file_path] = path.read_bytes()
    return answer("success", "Edited.")


if __name__ == "__main__":
    server.start_io()
