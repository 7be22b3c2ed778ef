"""Settings of language servers: what is refused, by its place; and that a project cannot bring its own."""

import json
import pathlib

import pytest

from fileops.rpc.decode import InvalidParams
from fileops.wire.language_servers import decode_language_servers, read_language_servers

RUFF: dict[str, object] = {"name": "ruff", "command": ["ruff", "server"], "globs": ["*.py"]}


def test_settings_have_defaults() -> None:
    (setting,) = decode_language_servers([RUFF])
    assert (setting.name, setting.command, setting.globs) == ("ruff", ("ruff", "server"), ("*.py",))
    assert (setting.language_id, setting.settings, setting.settle_s) == ("", None, 0.3)


BAD: list[tuple[object, str]] = [
    ({}, "$"),
    ([{**RUFF, "name": ""}], "$[0].name"),
    ([{**RUFF, "name": "x" * 101}], "$[0].name"),
    ([{**RUFF, "command": []}], "$[0].command"),
    ([{**RUFF, "command": ["bin/ruff"]}], "$[0].command[0]"),
    ([{**RUFF, "command": ["./ruff"]}], "$[0].command[0]"),
    ([{**RUFF, "command": [""]}], "$[0].command[0]"),
    ([{**RUFF, "command": "ruff server"}], "$[0].command"),
    ([{**RUFF, "globs": []}], "$[0].globs"),
    ([{**RUFF, "globs": [""]}], "$[0].globs[0]"),
    ([{**RUFF, "settle_s": 11}], "$[0].settle_s"),
    ([{**RUFF, "colour": "blue"}], "$[0].colour"),
    ([RUFF, RUFF], "$[1].name"),
    ([{**RUFF, "name": str(n)} for n in range(9)], "$"),
]


@pytest.mark.parametrize(("raw", "place"), BAD, ids=str)
def test_bad_setting_is_refused_by_its_place(raw: object, place: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        decode_language_servers(raw)
    assert refused.value.path == place


def test_file_of_the_user_is_read(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "config" / "language-servers.json"
    file.parent.mkdir()
    file.write_text(json.dumps([RUFF]), encoding="utf-8")
    assert read_language_servers(str(file), [str(tmp_path / "project")]) == [RUFF]


def test_file_in_a_root_is_refused_also_through_a_link(tmp_path: pathlib.Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "language-servers.json").write_text(json.dumps([RUFF]), encoding="utf-8")
    (tmp_path / "link.json").symlink_to(project / "language-servers.json")
    for file in (project / "language-servers.json", tmp_path / "link.json"):
        with pytest.raises(ValueError, match="is in the root"):
            read_language_servers(str(file), [str(project)])


@pytest.mark.parametrize(
    ("content", "said"),
    [("[", "could not be read"), ('[{"name": "x"}]', r"\$\[0\]\.command"), ("{}", r"\$ must be")],
)
def test_bad_file_is_named(tmp_path: pathlib.Path, content: str, said: str) -> None:
    file = tmp_path / "language-servers.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=said) as refused:
        read_language_servers(str(file), [])
    assert str(file) in str(refused.value)


def test_missing_file_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_language_servers(str(tmp_path / "none.json"), [])
