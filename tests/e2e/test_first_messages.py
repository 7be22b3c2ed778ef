"""What a client and a daemon of different versions do with each other. Requirements: R-COMPAT-* of docs/PROTOCOL.md."""

from pathlib import Path
from typing import Any

from support.rawclient import edit_of, raw_client

INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


def test_daemon_sends_only_messages_before_initialize_and_needs_no_initialized() -> None:
    """R-COMPAT-4"""
    with raw_client() as client:
        first = client.request("initialize", {**INITIALIZE, "initializationOptions": {"of_a_later_version": 1}})
        second = client.request("fileops/tracked", {})
        client.answer(second)
        before = [message for message in client.received if message.get("id") != first]
        assert [message["method"] for message in before] == ["window/showMessage"]
        assert "of_a_later_version" in before[0]["params"]["message"]
        assert client.shut_down() == 0


def test_unknown_capability_is_ignored() -> None:
    """R-COMPAT-3"""
    with raw_client() as client:
        client.initialize({"experimental": {"fileops": {"of_a_later_version": True}}, "ofALaterVersion": {}})
        assert client.result("fileops/tracked") == {"files": []}
        assert [message for message in client.received if "method" in message] == []
        assert client.shut_down() == 0


def test_request_is_served_exactly_if_the_capability_block_lists_it() -> None:
    """R-COMPAT-3"""
    for options in ({}, {"bash": True}):
        with raw_client() as client:
            answer = client.initialize(initializationOptions=options)
            listed = answer["result"]["capabilities"]["experimental"]["fileops"]["requests"]
            assert ("fileops/bash" in listed) == bool(options)
            unknown = -32601 if "fileops/bash" not in listed else -32602
            assert client.error("fileops/bash", {})["code"] == unknown
            assert client.shut_down() == 0


def test_client_receives_only_requests_that_it_has_announced(tmp_path: Path) -> None:
    """R-COMPAT-2"""
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    with raw_client() as client:
        client.initialize(initializationOptions={"correction": True, "code_lens": True})
        client.read(path)
        assert client.result("fileops/edit", edit_of(path, "three"))["error"]["code"] == "no_match"
        assert client.result("fileops/edit", edit_of(path))["status"] == "success"
        assert [message["method"] for message in client.received if "method" in message and "id" in message] == []
        assert client.shut_down() == 0
