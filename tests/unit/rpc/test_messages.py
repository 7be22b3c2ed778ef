"""Any bytes become a request, a notification, a reply, or what to answer instead."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fileops.rpc.messages import Malformed, Notification, Reply, RpcRequest, parse

Values = st.SearchStrategy[object]
scalars: Values = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
composite: Values = st.builds(dict[str, object]) | st.builds(list[object])
members: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | scalars,
        "id": st.integers() | st.text() | scalars | composite,
        "method": st.just("m") | scalars,
        "params": scalars | composite,
        "result": scalars,
        "error": scalars,
    },
)


@given(st.binary())
def test_any_bytes_are_classified(body: bytes) -> None:
    assert isinstance(parse(body), RpcRequest | Notification | Reply | Malformed)


# R-RPC-1, R-RPC-2
@given(members)
def test_any_object_is_classified_by_its_members(message: dict[str, object]) -> None:
    parsed = parse(json.dumps(message).encode())
    msg_id = message.get("id")
    good_id = isinstance(msg_id, str | int) and not isinstance(msg_id, bool)
    match parsed:
        case RpcRequest():
            assert good_id
            assert (parsed.msg_id, parsed.method) == (msg_id, message["method"])
        case Notification():
            assert "id" not in message
        case Reply():
            assert "method" not in message
        case Malformed():
            assert parsed.msg_id == (msg_id if good_id and "method" in message else None)
