"""What the model of consent requires, in cases that were worked out by hand (R-ROUTE-1 to R-ROUTE-3, R-REV-5)."""

import pytest

from oracle.consent import (
    Approve,
    Consent,
    Due,
    EditorSeat,
    Mode,
    code_of_editors,
    codes_of_host,
    is_consent,
    stops_asking,
)

S, OTHER = "session", "another session"
FILE, ELSEWHERE = "/a/f", "/b/f"
FREE, REFUSED, HOST = Due(), Due(is_refused=True), Due(by_host=True)
ASKED = Due(editors=frozenset({"e"}))


def due_of(
    consent: Consent,
    path: str = FILE,
    *,
    approve: Approve = "person",
    host_asks: bool = True,
    is_protected: bool = False,
    session: str = S,
) -> list[Due]:
    return consent.due(session, path, approve=approve, host_asks=host_asks, is_protected=is_protected)


def editor(*folders: str, name: str = "e", stated: Mode | None = None, can_ask: bool = True) -> EditorSeat:
    return EditorSeat(name, folders or ("/a",), can_ask, stated)


def with_editors(*seats: EditorSeat) -> Consent:
    return Consent(editors={seat.name: seat for seat in seats})


@pytest.mark.parametrize(
    ("approve", "is_protected", "host_asks", "with_editor", "without"),
    [
        ("person", False, True, FREE, FREE),
        ("person", True, True, ASKED, HOST),
        ("person", True, False, ASKED, REFUSED),
        ("ask", False, True, ASKED, HOST),
        ("ask", False, False, ASKED, REFUSED),
        ("host", False, True, FREE, FREE),
        ("host", True, True, ASKED, HOST),
        ("never", True, False, FREE, FREE),
    ],
)
def test_table_of_routes_is_the_one_of_the_protocol(
    approve: Approve, is_protected: bool, host_asks: bool, with_editor: Due, without: Due
) -> None:
    def due(consent: Consent) -> list[Due]:
        return due_of(consent, approve=approve, is_protected=is_protected, host_asks=host_asks)

    assert due(with_editors(editor())) == [with_editor]
    assert due(Consent()) == due(with_editors(editor(can_ask=False))) == due(with_editors(editor("/b"))) == [without]


def test_editors_of_a_file_are_asked_together_as_often_as_one_of_them_wants() -> None:
    assert due_of(with_editors(editor(stated="yolo"))) == [FREE]
    both = with_editors(editor(stated="default"), editor(name="f", stated="yolo"))
    assert due_of(both) == [Due(editors=frozenset({"e", "f"}))]


def test_always_of_an_editor_holds_in_its_folders_for_that_session() -> None:
    consent = with_editors(editor(stated="default"), editor("/b", name="f", stated="default"))
    consent.granted[S] = [consent.editors["e"]]
    assert due_of(consent) == [FREE]
    assert due_of(consent, is_protected=True) == [ASKED]
    assert due_of(consent, ELSEWHERE) == [Due(editors=frozenset({"f"}))]
    assert due_of(consent, session=OTHER) == [ASKED]


def test_always_of_a_host_silences_no_editor() -> None:
    consent = with_editors(editor())
    consent.granted_by_host.add(S)
    assert due_of(consent, approve="ask") == [ASKED]
    assert due_of(consent, ELSEWHERE, approve="ask") == [FREE]


def test_demand_of_an_agent_adds_questions_and_takes_none_away() -> None:
    consent = with_editors(editor(stated="auto_edit"))
    consent.demanded[S] = "default"
    assert ASKED in due_of(consent)
    consent.demanded[S] = "yolo"
    assert due_of(consent, is_protected=True) == [ASKED]


@pytest.mark.parametrize(
    ("answer", "allows"),
    [
        ({"action": "accept", "content": {"decision": "apply"}}, True),
        ({"action": "accept", "content": {"decision": "apply and stop asking"}}, True),
        ({"action": "accept", "content": {"decision": "reject", "apply": True}}, False),
        ({"action": "accept", "content": {"decision": "apply", "apply": False}}, False),
        ({"action": "accept", "content": {"apply": 1}}, False),
        ({"action": "accept", "content": {"decision": ["apply"]}}, False),
        ({"action": "accept", "content": {}}, False),
        ({"action": "decline", "content": {"decision": "apply"}}, False),
        ({"content": {"decision": "apply"}}, False),
        ([], False),
        (None, False),
        ({"action": "accept", "content": {"apply": True}}, None),
    ],
)
def test_form_is_consent_if_each_of_its_fields_is(answer: object, allows: bool | None) -> None:
    assert is_consent(answer) is allows


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([{"outcome": "proceed_once"}], None),
        ([{"outcome": "proceed_always"}, {}], None),
        ([{"outcome": "cancel"}], "rejected"),
        ([None, {"outcome": "cancel", "text": "x"}], "rejected"),
        ([{"outcome": "proceed_once", "text": ["1"]}], "undecided"),
        ([None, "proceed_always"], "undecided"),
        ([], "undecided"),
    ],
)
def test_only_an_answer_that_decides_counts(answers: list[object], code: str | None) -> None:
    assert code_of_editors(answers) == code


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        ({"action": "accept", "content": {"decision": "apply"}}, {None}),
        ({"action": "accept", "content": {"decision": "reject"}}, {"rejected"}),
        ({"action": "decline"}, {"rejected"}),
        ({"action": "decline", "content": {"decision": "apply"}}, {"rejected"}),
        ({"action": "cancel"}, {"undecided"}),
        ({"action": "accept", "content": {"decision": "reject", "apply": True}}, {"undecided"}),
        ({"action": "accept", "content": {"decision": "apply", "apply": False}}, {"undecided"}),
        (None, {"undecided"}),
    ],
)
def test_answer_of_a_host_that_is_neither_yes_nor_no_decides_nothing(answer: object, codes: set[str | None]) -> None:
    assert codes_of_host(answer) == codes


def test_only_the_answer_with_that_choice_stops_the_questions() -> None:
    assert stops_asking({"action": "accept", "content": {"decision": "apply and stop asking"}})
    assert not stops_asking({"action": "decline", "content": {"decision": "apply and stop asking"}})
    assert not stops_asking({"action": "accept", "content": {"decision": "apply"}})
