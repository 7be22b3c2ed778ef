"""Plugins that the command line of the daemon names, `NAME=MODULE:FUNCTION`: R-PLUGIN-2 of docs/PROTOCOL.md."""

import sys
from pathlib import Path

import pytest

from support.daemon_process import Place, attached
from support.rawclient import edit_of, raw_client
from support.sample_package import SOURCES

pytestmark = pytest.mark.xdist_group("plugins")  # one process has the servers that their daemons are forked from

ENV = {"PYTHONPATH": str(SOURCES)}
OPTIONS = ("--strategy", "heading=my_plugin:replace_section", "--validator", "json-syntax=my_plugin:json_syntax")


def test_functions_named_on_the_command_line_are_strategies_and_validators(tmp_path: Path) -> None:
    """R-PLUGIN-2"""
    notes, data = tmp_path / "notes.md", tmp_path / "data.json"
    notes.write_text("# One\nfirst\n# Two\nsecond\n")
    data.write_text("[1]\n")
    with raw_client((sys.executable, "-m", "fileops", *OPTIONS), env=ENV) as client:
        answer = client.initialize(initializationOptions={"validators": ["json-syntax"]})
        block = answer["result"]["capabilities"]["experimental"]["fileops"]
        assert "heading" in block["strategies"]
        assert block["validators"] == ["json-syntax"]
        client.read(notes)
        edit = edit_of(notes, "One", "1st\n", strategy="heading")
        assert client.result("fileops/edit", edit)["details"]["match"] == "heading"
        assert notes.read_text() == "# One\n1st\n# Two\nsecond\n"
        client.read(data)
        assert client.result("fileops/edit", edit_of(data, "]", ""))["error"]["code"] == "validation_failed"
        assert data.read_text() == "[1]\n"
        assert client.shut_down() == 0


def test_client_cannot_name_a_function(tmp_path: Path) -> None:
    """R-PLUGIN-2"""
    with raw_client(env=ENV) as client:
        options = {"strategies": ["heading=my_plugin:replace_section"]}
        client.initialize(initializationOptions=options)
        assert (
            "unknown initializationOptions key ignored: strategies"
            in client.notification("window/showMessage")["message"]
        )
        for name in ("heading", "my_plugin:replace_section", "heading=my_plugin:replace_section"):
            refused = client.error("fileops/edit", edit_of(tmp_path / "f", strategy=name))
            assert (refused["code"], refused["data"]["path"]) == (-32602, "$.strategy")
        assert client.shut_down() == 0


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--strategy=heading", "is not NAME=MODULE:FUNCTION"),
        ("--strategy==my_plugin:f", "is not NAME=MODULE:FUNCTION"),
        ("--strategy=heading=my_plugin", "is not NAME=MODULE:FUNCTION"),
        ("--validator=one=my plugin:f", "is not NAME=MODULE:FUNCTION"),
        ("--validator=one=no_such_module:f", "there is no module no_such_module"),
        ("--strategy=regex=my_plugin:f", "the name regex is taken"),
    ],
)
def test_unusable_function_fails_the_start_with_a_reason(here: Place, option: str, reason: str) -> None:
    for command in ((), ("daemon", "--detach")):
        done = here.run(*command, option, env=ENV)
        assert done.returncode == 2
        assert reason in done.stderr.decode()
    assert here.daemons() == []


@pytest.mark.parametrize("command", [("--shared",), ("attach",), ("mcp",), ("status",)])
def test_command_that_does_not_serve_takes_no_functions(here: Place, command: tuple[str, ...]) -> None:
    """R-PLUGIN-2"""
    done = here.run(*OPTIONS, *command, env=ENV)
    assert done.returncode == 2
    assert b"Give them to `fileops-server daemon`" in done.stderr
    assert here.daemons() == []


def test_shared_daemon_has_the_functions_of_its_start(here: Place) -> None:
    """R-PLUGIN-2"""
    here.start("--strategy", "dumps=json:dumps")
    with attached(here) as client:
        block = client.initialize()["result"]["capabilities"]["experimental"]["fileops"]
        assert "dumps" in block["strategies"]
    again = here.run("daemon", "--detach", "--strategy", "loads=json:loads")
    assert again.returncode == 1
    assert b"A shared daemon runs already" in again.stderr
    assert here.run("daemon", "--detach").returncode == 0
