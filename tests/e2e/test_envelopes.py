"""Each request gets exactly one answer, malformed ones too. R-RPC-*, R-LIFE-* of docs/PROTOCOL.md."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.rawclient import SEAM_DAEMON, RawClient, frame, raw_client


@pytest.fixture
def fresh() -> Iterator[RawClient]:
    """Not initialized."""
    with raw_client(SEAM_DAEMON) as client:
        yield client


@pytest.fixture(scope="module")
def shared() -> Iterator[RawClient]:
    with raw_client(SEAM_DAEMON) as client:
        client.initialize()
        yield client


@pytest.fixture
def client(shared: RawClient) -> Iterator[RawClient]:
    """Initialized; after the test nothing may be left over, and it must still serve."""
    shared.received.clear()
    yield shared
    assert shared.result("test/echo", {"value": "alive"}) == "alive"
    assert shared.received == []


def no_id(message: dict[str, Any]) -> bool:
    return message.get("id", 0) is None


# --- before, between, after ------------------------------------------------------------------------------------------


# R-LIFE-1
def test_request_before_initialize_is_refused(fresh: RawClient) -> None:
    for method in ("fileops/read", "shutdown", "nobody/knows"):
        assert fresh.error(method, {})["code"] == -32002
    assert "capabilities" in fresh.initialize()["result"]


# R-LIFE-1
def test_notification_before_initialize_is_dropped(fresh: RawClient) -> None:
    fresh.notify("textDocument/didSave", {"textDocument": {"uri": "file:///a"}})
    fresh.initialize()
    assert fresh.result("test/state")["n_saved"] == 0


# R-LIFE-1
def test_second_initialize_is_refused(client: RawClient) -> None:
    assert client.error("initialize", {"capabilities": {}})["code"] == -32600


# R-LIFE-1, R-INIT-1
@pytest.mark.parametrize(
    ("params", "path"),
    [
        (..., "$.capabilities"),
        ({"capabilities": []}, "$.capabilities"),
        ({"capabilities": {}, "processId": "1"}, "$.processId"),
        ({"capabilities": {}, "processId": -1}, "$.processId"),
        ({"capabilities": {}, "rootUri": 5}, "$.rootUri"),
        ({"capabilities": {}, "workspaceFolders": [{"name": "x"}]}, "$.workspaceFolders[0].uri"),
        ({"capabilities": {}, "initializationOptions": {"freshness": 1}}, "$.initializationOptions.freshness"),
    ],
)
def test_initialize_with_bad_params_fails_and_can_be_repeated(fresh: RawClient, params: object, path: str) -> None:
    error = fresh.error("initialize", params)
    assert error["code"] == -32602
    assert error["data"]["path"] == path
    assert fresh.error("test/echo")["code"] == -32002
    assert "result" in fresh.initialize()


# R-INIT-2
def test_unknown_option_is_named_in_a_warning(fresh: RawClient) -> None:
    assert "result" in fresh.initialize(initializationOptions={"colour": "red"})
    shown = fresh.notification("window/showMessage")
    assert shown["type"] == 2
    assert "colour" in shown["message"]


# R-LIFE-3
def test_capabilities_list_what_is_served(fresh: RawClient) -> None:
    result = fresh.initialize()["result"]
    block = result["capabilities"]["experimental"]["fileops"]
    assert block["protocol_version"] == 1
    assert {"fileops/read", "fileops/edit", "fileops/multiEdit", "fileops/tools"} <= set(block["requests"])
    assert "fileops/didBecomeStale" in block["notifications"]
    assert "exact" in block["strategies"]
    assert result["serverInfo"]["name"] == "fileops-server"
    assert result["serverInfo"]["version"]


# R-LIFE-3
@pytest.mark.parametrize(
    ("offered", "chosen"), [(None, "utf-16"), (["utf-8", "utf-16"], "utf-8"), (["utf-32"], "utf-32"), (["x"], "utf-16")]
)
def test_position_encoding_is_negotiated(fresh: RawClient, offered: list[str] | None, chosen: str) -> None:
    result = fresh.initialize({"general": {"positionEncodings": offered}})["result"]
    assert result["capabilities"]["positionEncoding"] == chosen


# R-LIFE-2
def test_requests_after_shutdown_are_refused(fresh: RawClient) -> None:
    fresh.initialize()
    assert fresh.result("shutdown") is None
    assert fresh.error("test/echo")["code"] == -32600
    assert fresh.error("shutdown")["code"] == -32600
    fresh.notify("exit")
    assert fresh.wait() == 0


# R-LIFE-2
def test_shutdown_answers_requests_in_flight_first(fresh: RawClient) -> None:
    fresh.initialize()
    slow = fresh.request("test/sleep", {"seconds": 600})
    committing = fresh.request("test/stubborn", {"seconds": 0.2})
    down = fresh.request("shutdown")
    fresh.answer(down)
    assert fresh.answer(slow)["error"]["code"] == -32800
    assert fresh.answer(committing)["result"] == "done"


# --- envelopes -------------------------------------------------------------------------------------------------------

MALFORMED: list[tuple[str, bytes, int]] = [
    ("no JSON", b"{", -32700),
    ("nothing", b"", -32700),
    ("not UTF-8", b'"\xff"', -32700),
    ("NaN", b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"value":NaN}}', -32700),
    ("deep nesting", b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":' + b"[" * 200_000, -32700),
    ("a scalar", b"5", -32600),
    ("a scalar out of range", b"1e400", -32600),
    ("id out of range", b'{"jsonrpc":"2.0","id":1e400,"method":"test/echo"}', -32600),
    ("a notification out of range", b'{"jsonrpc":"2.0","method":"initialized","params":{"a":1e400}}', -32700),
    ("null", b"null", -32600),
    ("an empty object", b"{}", -32600),
    ("a batch", b'[{"jsonrpc":"2.0","id":1,"method":"test/echo"}]', -32600),
    ("id null", b'{"jsonrpc":"2.0","id":null,"method":"test/echo"}', -32600),
    ("id of a fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"test/echo"}', -32600),
    ("id true", b'{"jsonrpc":"2.0","id":true,"method":"test/echo"}', -32600),
    ("id of an object", b'{"jsonrpc":"2.0","id":{},"method":"test/echo"}', -32600),
]


# R-RPC-1, R-RPC-2
@pytest.mark.parametrize(("body", "code"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED])
def test_malformed_request_is_answered_without_id(client: RawClient, body: bytes, code: int) -> None:
    client.send_bytes(frame(body))
    assert client.claim(no_id)["error"]["code"] == code


# R-RPC-1, R-RPC-2, R-PARAMS-3
@pytest.mark.parametrize("number", [b"1e400", b"-1E+999", b"1" * 5_000, b"-" + b"9" * 100_000], ids=len)
@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("test/echo", b'{"value":%b}', "$.value"),
        ("test/echo", b'{"value":{"a":[0,{"b c":%b}]}}', "$.value.a[1]['b c']"),
        ("fileops/read", b'{"file_path":"/a","limit":%b}', "$.limit"),
        ("textDocument/codeAction", b'{"range":{"start":{"line":%b}}}', "$.range.start.line"),
    ],
)
def test_number_out_of_range_is_answered_under_its_id(
    client: RawClient, number: bytes, method: str, params: bytes, path: str
) -> None:
    body = b'{"jsonrpc":"2.0","id":"huge","method":"%b","params":%b}' % (method.encode(), params % number)
    client.send_bytes(frame(body))
    error = client.answer("huge")["error"]
    assert (error["code"], error["data"]) == (-32602, {"path": path, "reason": "is a number out of range"})


# R-RPC-2
def test_number_out_of_range_outside_the_params_is_ignored(client: RawClient) -> None:
    client.send_bytes(frame(b'{"jsonrpc":"2.0","id":"huge","method":"test/echo","params":{"value":1},"more":1e400}'))
    assert client.answer("huge")["result"] == 1


# R-RPC-2
@pytest.mark.parametrize(
    "members", [{"jsonrpc": "1.0"}, {"jsonrpc": None}, {"method": 5}, {"method": None}, {"method": ["test/echo"]}]
)
def test_bad_envelope_with_an_id_is_answered_under_it(client: RawClient, members: dict[str, Any]) -> None:
    client.send({"jsonrpc": "2.0", "id": "odd", "method": "test/echo", **members})
    assert client.answer("odd")["error"]["code"] == -32600


def test_envelope_without_jsonrpc_is_refused(client: RawClient) -> None:
    client.send({"id": "bare", "method": "test/echo"})
    assert client.answer("bare")["error"]["code"] == -32600


# R-RPC-3
@pytest.mark.parametrize("method", ["nobody/knows", "$/unknown", "textDocument/hover", "", "x" * 100_000, "\udce9"])
def test_unknown_method_is_reported(client: RawClient, method: str) -> None:
    assert client.error(method, {"a": 1})["code"] == -32601


# R-RPC-3
@pytest.mark.parametrize("method", ["textDocument/didSave", "initialized", "$/cancelRequest", "exit", "$/setTrace"])
def test_notification_sent_as_request_is_an_unknown_method(client: RawClient, method: str) -> None:
    assert client.error(method, {})["code"] == -32601


# R-RPC-3
@pytest.mark.parametrize("method", ["test/fail", "shutdown", "initialize", "nobody/knows", "$/unknown", ""])
def test_request_sent_as_notification_is_ignored(client: RawClient, method: str) -> None:
    client.notify(method, {"value": 1})


def test_further_members_of_an_envelope_are_ignored(client: RawClient) -> None:
    client.send({"jsonrpc": "2.0", "id": "more", "method": "test/echo", "params": {"value": 1}, "extra": {"a": 1}})
    assert client.answer("more")["result"] == 1


# R-PARAMS-4
@pytest.mark.parametrize("params", [..., None, {}])
def test_absent_params_are_empty_ones(client: RawClient, params: object) -> None:
    assert client.result("test/echo", params) is None


@pytest.mark.parametrize("params", [[], [1], "x", 5, True])
def test_params_other_than_an_object_are_refused(client: RawClient, params: object) -> None:
    error = client.error("test/echo", params)
    assert (error["code"], error["data"]["path"]) == (-32602, "$")


@pytest.mark.parametrize(
    "value",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "exit"},
        {"class": 1, "a-b": 2, "_x": 3, "type_name": "x"},
        [[[{"jsonrpc": "2.0"}]]],
        "\udce9 lone",
        "e\u0301 \U0001f600 \u2028 \x00",
        1e300,
        -0.5,
        2**60,
        None,
    ],
    ids=repr,
)
def test_any_value_is_returned_unchanged(client: RawClient, value: object) -> None:
    assert client.result("test/echo", {"value": value}) == value


def test_ids_of_any_valid_kind_are_returned(client: RawClient) -> None:
    for msg_id in (0, -1, 2**53, "", "x" * 10_000, "\udce9", "fileops-1"):
        client.request("test/echo", {"value": 1}, msg_id=msg_id)
        assert client.answer(msg_id)["result"] == 1


# R-RPC-4
def test_two_requests_under_one_id_are_answered_once_each(client: RawClient) -> None:
    client.request("test/stubborn", {"seconds": 0.2}, msg_id="twice")
    client.request("test/echo", {"value": 1}, msg_id="twice")
    assert client.answer("twice")["error"]["code"] == -32600
    assert client.answer("twice")["result"] == "done"


def test_duplicate_keys_count_once(client: RawClient) -> None:
    client.send_bytes(frame(b'{"jsonrpc":"2.0","id":"dup","method":"nobody","method":"test/echo","params":{}}'))
    assert client.answer("dup")["result"] is None


# R-RPC-5
def test_internal_error_is_an_incident_without_internals(client: RawClient) -> None:
    error = client.error("test/fail", {"value": "password"})
    assert error["code"] == -32603
    assert set(error["data"]) == {"incident_id"}
    assert not any(word in str(error) for word in ("password", "Traceback", ".py", "RuntimeError", "secret"))
    assert client.error("test/fail", {"value": ""})["data"] != error["data"]


# R-RPC-5
def test_result_that_cannot_be_encoded_is_an_incident(client: RawClient) -> None:
    assert client.error("test/unserialisable")["code"] == -32603


# --- cancelling ------------------------------------------------------------------------------------------------------


# R-CANCEL-1
def test_cancelled_request_is_answered_as_cancelled(client: RawClient) -> None:
    slow = client.request("test/sleep", {"seconds": 600})
    client.notify("$/cancelRequest", {"id": slow})
    assert client.answer(slow)["error"]["code"] == -32800


# R-CANCEL-1
def test_late_cancel_returns_the_true_result(client: RawClient) -> None:
    committing = client.request("test/stubborn", {"seconds": 0.2})
    client.notify("$/cancelRequest", {"id": committing})
    client.notify("$/cancelRequest", {"id": committing})
    assert client.answer(committing)["result"] == "done"


# R-CANCEL-2
@pytest.mark.parametrize("params", [..., None, {}, {"id": None}, {"id": []}, {"id": "nobody"}, {"id": 12.5}, [], "x"])
def test_cancel_of_an_unknown_request_is_ignored(client: RawClient, params: object) -> None:
    client.notify("$/cancelRequest", params)


def test_progress_cancel_of_the_token_cancels_the_request(client: RawClient) -> None:
    slow = client.request("test/sleep", {"seconds": 600, "workDoneToken": "t"})
    assert client.notification("$/progress")["value"]["kind"] == "begin"
    client.notify("window/workDoneProgress/cancel", {"token": "t"})
    assert client.answer(slow)["error"]["code"] == -32800
    assert client.notification("$/progress") == {"token": "t", "value": {"kind": "end"}}


# R-CANCEL-2
def test_quick_work_reports_no_progress(client: RawClient) -> None:
    assert client.result("test/echo", {"value": 1, "workDoneToken": "t"}) == 1


# --- notifications ---------------------------------------------------------------------------------------------------


# R-RPC-6
@pytest.mark.parametrize(
    "params", [..., None, {}, [], {"textDocument": None}, {"textDocument": {"uri": None}}, {"textDocument": {"uri": 5}}]
)
def test_malformed_notification_is_ignored(client: RawClient, params: object) -> None:
    before = client.result("test/state")["n_saved"]
    client.notify("textDocument/didSave", params)
    assert client.result("test/state")["n_saved"] == before


def test_notification_is_applied_before_the_next_request(client: RawClient) -> None:
    before = client.result("test/state")["n_saved"]
    for _ in range(50):
        client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///a"}})
    assert client.result("test/state")["n_saved"] == before + 50


def test_answered_requests_leave_no_state(client: RawClient) -> None:
    for _ in range(300):
        client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///a"}})
        client.notify("$/setTrace", {"value": "off"})
    state = client.result("test/state")
    assert (state["n_in_flight"], state["n_questions"]) == (1, 0)


# R-EVENT-1
def test_events_are_sent_in_order(client: RawClient) -> None:
    assert client.result("test/chatter") is None
    assert [client.notification("fileops/watcherHealth")["reason"] for _ in range(100)] == [str(n) for n in range(100)]


# R-INIT-3
def test_workspace_folders_follow_the_client(fresh: RawClient) -> None:
    folder = {"uri": "file:///tmp/a%20b", "name": "a"}
    fresh.initialize(workspaceFolders=[folder, {"uri": "vscode-remote://x", "name": "far"}], rootUri="file:///ignored")
    assert fresh.result("test/state")["folders"] == ["/tmp/a b"]
    other = {"uri": "file:///c", "name": "c"}
    fresh.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [other], "removed": [folder]}})
    assert fresh.result("test/state")["folders"] == ["/c"]


# R-INIT-3
@pytest.mark.parametrize("root", [{"rootUri": "file:///c"}, {"rootPath": "/c"}])
def test_older_root_keys_are_used_if_there_are_no_folders(fresh: RawClient, root: dict[str, str]) -> None:
    fresh.initialize(**root)
    assert fresh.result("test/state")["folders"] == ["/c"]


# R-INIT-3
@pytest.mark.parametrize(
    ("root", "place"),
    [
        ({"workspaceFolders": [{"uri": "/c", "name": "c"}]}, "$.workspaceFolders[0].uri"),
        ({"workspaceFolders": [{"uri": "file://c/d", "name": "d"}]}, "$.workspaceFolders[0].uri"),
        ({"rootUri": "/c"}, "$.rootUri"),
        ({"rootPath": "c"}, "$.rootPath"),
    ],
    ids=str,
)
def test_workspace_folder_with_a_malformed_uri_is_refused(
    fresh: RawClient, root: dict[str, object], place: str
) -> None:
    """It would be passed over, and without any folder nothing is confined."""
    refused = fresh.call("initialize", {"processId": None, "capabilities": {}, **root})
    assert (refused["error"]["code"], refused["error"]["data"]["path"]) == (-32602, place)
    fresh.initialize(rootUri="file:///c")
    assert fresh.result("test/state")["folders"] == ["/c"]


# --- questions to the client -----------------------------------------------------------------------------------------


# R-ASK-1
def test_question_is_answered(client: RawClient) -> None:
    asking = client.request("test/ask", {"method": "client/confirm"})
    question = client.question("client/confirm")
    assert question["params"] == {"question": 1}
    client.reply(question["id"], {"jsonrpc": "x", "yes": True})
    assert client.answer(asking)["result"] == {"reply": {"jsonrpc": "x", "yes": True}}


def test_refused_question_raises_the_clients_code(client: RawClient) -> None:
    asking = client.request("test/ask", {"method": "client/confirm"})
    question = client.question("client/confirm")
    client.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}})
    assert client.answer(asking)["result"] == {"raised": "ClientRefused", "code": -32601}


# R-ASK-1
@pytest.mark.parametrize("members", [{}, {"error": "no"}, {"error": {}}, {"error": {"code": "x", "message": 5}}])
def test_malformed_reply_counts_as_refusal(client: RawClient, members: dict[str, Any]) -> None:
    asking = client.request("test/ask", {"method": "client/confirm"})
    client.send({"jsonrpc": "2.0", "id": client.question("client/confirm")["id"], **members})
    assert client.answer(asking)["result"]["raised"] == "ClientRefused"


# R-ASK-1
def test_question_without_a_reply_in_time_is_withdrawn(client: RawClient) -> None:
    asking = client.request("test/ask", {"method": "client/confirm", "timeout_s": 0.05})
    question = client.question("client/confirm")
    assert client.notification("$/cancelRequest") == {"id": question["id"]}
    assert client.answer(asking)["result"]["raised"] == "TimeoutError"
    client.reply(question["id"], "late")
    client.reply(question["id"], "later")


def test_cancelled_request_withdraws_its_question(client: RawClient) -> None:
    asking = client.request("test/ask", {"method": "client/confirm"})
    question = client.question("client/confirm")
    client.notify("$/cancelRequest", {"id": asking})
    assert client.notification("$/cancelRequest") == {"id": question["id"]}
    assert client.answer(asking)


# R-ASK-1
def test_reply_given_twice_counts_once(client: RawClient) -> None:
    asking = client.request("test/ask", {"method": "client/confirm"})
    question = client.question("client/confirm")
    client.reply(question["id"], "first")
    client.reply(question["id"], "second")
    assert client.answer(asking)["result"] == {"reply": "first"}


# R-ASK-1
@pytest.mark.parametrize("msg_id", ["fileops-999999", 5, None, [], {}, 1.5, True])
def test_reply_to_an_unknown_question_is_ignored(client: RawClient, msg_id: object) -> None:
    client.send({"jsonrpc": "2.0", "id": msg_id, "result": 1})
    client.send({"jsonrpc": "2.0", "id": msg_id, "error": {"code": 1, "message": "x"}})


def test_reply_with_the_id_of_a_running_request_is_ignored(client: RawClient) -> None:
    running = client.request("test/stubborn", {"seconds": 0.2})
    client.reply(running, "stolen")
    assert client.answer(running)["result"] == "done"


@pytest.mark.parametrize("delay_s", [0, 0.5])
def test_many_open_questions_do_not_block_the_replies(client: RawClient, delay_s: float) -> None:
    """Far more than are worked on at once: what waits for the client must not keep the client's replies out."""
    asking = [client.request("test/ask", {"method": "client/confirm", "delay_s": delay_s}) for _ in range(1200)]
    questions = [client.question("client/confirm")["id"] for _ in range(600)]
    for msg_id in reversed(questions):
        client.reply(msg_id, "yes")
    for _ in range(600):
        client.reply(client.question("client/confirm")["id"], "yes")
    assert all(client.answer(one)["result"] == {"reply": "yes"} for one in asking)
