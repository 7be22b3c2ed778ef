"""Which message an LSP connection takes in which state. Source: LSP 3.17, "Server lifecycle". Requirement: R-LIFE-1."""

import pytest
from lsprotocol import types

from fileops.lsp.lifecycle import TRANSITIONS, Kind, Lifecycle, State
from fileops.rpc.errors import INVALID_REQUEST, SERVER_NOT_INITIALIZED

METHODS = {
    Kind.INITIALIZE: types.INITIALIZE,
    Kind.SHUTDOWN: types.SHUTDOWN,
    Kind.REQUEST: types.TEXT_DOCUMENT_CODE_ACTION,
}
# The state that a request leads to, or the code of the error that refuses it.
REQUESTS = [
    (State.UNINITIALIZED, Kind.INITIALIZE, State.RUNNING),
    (State.UNINITIALIZED, Kind.SHUTDOWN, SERVER_NOT_INITIALIZED),
    (State.UNINITIALIZED, Kind.REQUEST, SERVER_NOT_INITIALIZED),
    (State.RUNNING, Kind.INITIALIZE, INVALID_REQUEST),
    (State.RUNNING, Kind.SHUTDOWN, State.SHUT_DOWN),
    (State.RUNNING, Kind.REQUEST, State.RUNNING),
    (State.SHUT_DOWN, Kind.INITIALIZE, INVALID_REQUEST),
    (State.SHUT_DOWN, Kind.SHUTDOWN, INVALID_REQUEST),
    (State.SHUT_DOWN, Kind.REQUEST, INVALID_REQUEST),
]
PATHS = {
    State.UNINITIALIZED: [],
    State.RUNNING: [types.INITIALIZE],
    State.SHUT_DOWN: [types.INITIALIZE, types.SHUTDOWN],
}


def lifecycle_in(state: State) -> Lifecycle:
    """Return a lifecycle that reached this state by messages."""
    lifecycle = Lifecycle()
    for method in PATHS[state]:
        assert lifecycle.refusal(method) is None
        lifecycle.advance(method)
    assert lifecycle.state is state
    return lifecycle


def test_table_has_every_state_and_kind() -> None:
    assert set(TRANSITIONS) == {(state, kind) for state in State for kind in Kind}
    assert {(state, kind) for state, kind, _ in REQUESTS} == {(state, kind) for state in State for kind in METHODS}


@pytest.mark.parametrize(("state", "kind", "outcome"), REQUESTS)
def test_request_changes_the_state_or_is_refused_with_its_code(state: State, kind: Kind, outcome: State | int) -> None:
    lifecycle = lifecycle_in(state)
    refusal = lifecycle.refusal(METHODS[kind])
    lifecycle.advance(METHODS[kind])
    if isinstance(outcome, State):
        assert (refusal, lifecycle.state) == (None, outcome)
    else:
        assert refusal is not None
        assert (refusal.code, lifecycle.state) == (outcome, state)


@pytest.mark.parametrize("state", State)
def test_notifications_are_accepted_while_running_only(state: State) -> None:
    assert lifecycle_in(state).allows_notifications() == (state is State.RUNNING)


@pytest.mark.parametrize("state", State)
def test_exit_status_is_zero_after_shutdown_only(state: State) -> None:
    assert lifecycle_in(state).exit_status == (0 if state is State.SHUT_DOWN else 1)


def test_failed_initialize_can_be_repeated() -> None:
    lifecycle = Lifecycle()
    assert lifecycle.refusal(types.INITIALIZE) is None
    assert lifecycle.refusal(types.INITIALIZE) is None  # the first one failed, so it did not advance
    assert lifecycle.state is State.UNINITIALIZED
