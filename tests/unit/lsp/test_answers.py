"""What a client's answer to a question means: JSON that is no clear decision counts as none."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.lsp.client import Client
from fileops.lsp.corrector import correction_of
from fileops.lsp.prompts import LspCommandApprover, UserPrompt, edit_decision_of
from fileops.lsp.protocol import withdrawal
from fileops.model.approval import Always, Modify, Once, Reject, Undecided
from fileops.model.requests import CommandRequest
from fileops.rpc.outgoing import ClientRefused, OutgoingRequests
from fileops.service.hub.names import SessionNames
from unit.core.review.plans import question_of

QUESTION = question_of(b"".join(b"%d\n" % n for n in range(30)), b"x\n" + b"".join(b"%d\n" % n for n in range(29)))
ODD: list[Any] = [0, 1.5, True, [], [[]], {}, {"a": []}, ["proceed_once"], {"title": "Apply"}]  # null means absent
YES = ["proceed_once", "proceed_always", "modify"]

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@pytest.mark.parametrize("answer", [None, "proceed_once", *ODD], ids=json.dumps)
def test_answer_other_than_an_object_is_no_decision(answer: Any) -> None:
    assert edit_decision_of(answer, QUESTION) is None
    assert correction_of(answer) is None


@pytest.mark.parametrize("odd", [None, "proceed", *ODD], ids=json.dumps)
@pytest.mark.parametrize("rest", [{}, {"text": "x"}], ids=json.dumps)
def test_unknown_outcome_is_no_decision(odd: Any, rest: dict[str, Any]) -> None:
    assert edit_decision_of({"outcome": odd, **rest}, QUESTION) is None


@pytest.mark.parametrize("outcome", YES)
@pytest.mark.parametrize("odd", ODD, ids=json.dumps)
def test_malformed_text_is_no_decision(outcome: str, odd: Any) -> None:
    assert edit_decision_of({"outcome": outcome, "text": odd}, QUESTION) is None


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"outcome": "proceed_once"}, Once()),
        ({"outcome": "proceed_once", "text": None}, Once()),
        ({"outcome": "proceed_always"}, Always()),
        ({"outcome": "proceed_once", "change_ids": ["c1"]}, None),  # it may approve a part only
        ({"outcome": "proceed_always", "remark": []}, None),
        ({"outcome": "modify", "text": "x", "remark": []}, None),
        ({"outcome": "cancel", "remark": []}, Reject()),
        ({"outcome": "modify", "text": ""}, Modify("")),
        ({"outcome": "modify"}, None),
        ({"outcome": "cancel", "text": "x"}, Reject()),
    ],
    ids=str,
)
def test_valid_answer_is_its_decision(answer: Any, decision: Any) -> None:
    assert edit_decision_of(answer, QUESTION) == decision


@given(st.fixed_dictionaries({}, optional={"outcome": anything | st.sampled_from(YES), "text": anything}))
def test_answer_decides_only_with_a_known_outcome(answer: dict[str, Any]) -> None:
    if edit_decision_of(answer, QUESTION) is not None:
        assert answer["outcome"] in (*YES, "cancel")


@pytest.mark.parametrize("odd", [None, *ODD], ids=json.dumps)
@pytest.mark.parametrize("key", ["old_string", "new_string"])
def test_malformed_correction_is_none(key: str, odd: Any) -> None:
    assert correction_of({"old_string": "a", "new_string": "b", key: odd}) is None


class Answering(Client):
    """A client that gives one answer to everything, and knows all our requests or none."""

    def __init__(self, answer: object, *, confirms: bool) -> None:
        self._answer = answer
        self._confirms = confirms

    def capability(self, dotted: str) -> object:
        return self._confirms

    async def ask(
        self, method: str, params: Any, *, timeout_s: float | None, withdrawal: "asyncio.Future[None] | None" = None
    ) -> object:
        return self._answer


@pytest.mark.parametrize(
    "answer", [None, "Run", *ODD, *({"outcome": odd, "title": odd} for odd in ODD)], ids=json.dumps
)
@pytest.mark.parametrize("confirms", [True, False])
async def test_malformed_answer_about_a_command_decides_nothing(answer: Any, *, confirms: bool) -> None:
    approver = LspCommandApprover(
        Answering(answer, confirms=confirms), SessionNames(), timeout_s=10, use_message_fallback=True
    )
    assert await approver.decide(CommandRequest(command="true", timeout_s=5), "/w") == Undecided()


@pytest.mark.parametrize("answer", [None, *ODD[:-1], *({"title": odd} for odd in ODD)], ids=json.dumps)
async def test_malformed_answer_to_a_message_is_no_decision(answer: Any) -> None:
    prompt = UserPrompt(Answering(answer, confirms=False), "confirm_edit", use_message_fallback=True)
    assert await prompt.ask_by_message("Apply?", "Apply", None) is None


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):  # pyrefly: ignore[non-convergent-recursion]
        value = [value]
    return value


@pytest.mark.parametrize(
    "error", [*ODD, "no", {"message": nested(900), "code": nested(900)}, {"code": True}], ids=lambda _: ""
)
async def test_malformed_error_is_a_refusal(error: Any) -> None:
    sent: list[dict[str, object]] = []
    questions = OutgoingRequests(
        sent.append, lambda: questions.handle_reply(sent[0]["id"], {"error": error}), withdrawal
    )
    with pytest.raises(ClientRefused) as refusal:
        await questions.ask("fileops/confirmEdit", {}, timeout_s=10)
    assert refusal.value.code is None
