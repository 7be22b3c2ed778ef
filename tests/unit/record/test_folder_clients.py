"""Which folders are recorded because clients use them."""

import pytest

from fileops.record import folder_clients
from fileops.record.folder_clients import MAX_NESTED, FolderClients
from support.clock import Clock

KEPT_S = 60.0


@pytest.fixture
def clients(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> FolderClients:
    """Those of two folders at most."""
    monkeypatch.setattr(folder_clients.time, "monotonic", clock)
    return FolderClients(2, KEPT_S)


def test_folder_is_new_to_its_first_client_alone(clients: FolderClients) -> None:
    assert [clients.join("/p", client) for client in ("a", "b", "a")] == ["new", "known", "known"]
    assert clients.roots == {"/p"}


def test_folder_stays_for_a_while_after_its_last_client(clients: FolderClients, clock: Clock) -> None:
    clients.join("/p", "a")
    clients.join("/p", "b")
    clients.leave("a")
    clock.now += KEPT_S
    assert clients.end_left() == ([], ())  # it has one
    clients.leave("b")
    clock.now += KEPT_S - 1
    assert clients.end_left() == ([], ())
    clock.now += 1
    assert clients.end_left() == (["/p"], ())
    assert clients.roots == set()
    assert clients.join("/p", "a") == "new"


def test_client_that_comes_back_keeps_the_folder(clients: FolderClients, clock: Clock) -> None:
    clients.join("/p", "a")
    clients.leave("a")
    assert clients.join("/p", "a") == "known"
    clock.now += KEPT_S
    assert clients.end_left() == ([], ())


def test_folder_beyond_the_limit_is_admitted_when_another_ends(clients: FolderClients, clock: Clock) -> None:
    for root in ("/p", "/q"):
        clients.join(root, "a")
    assert [clients.join("/r", client) for client in ("b", "c")] == ["refused", "refused_again"]
    assert (clients.refused, clients.roots) == (("/r",), {"/p", "/q"})
    assert clients.join("/q", "b") == "known"
    clients.leave("a")
    clock.now += KEPT_S
    assert clients.end_left() == (["/p"], ("/r",))  # "/q" has another client
    assert (clients.refused, clients.roots) == ((), {"/q", "/r"})
    clients.leave("b")
    clock.now += KEPT_S
    assert clients.end_left() == (["/q"], ())  # "c" still has "/r"


def test_refused_folder_is_forgotten_with_its_last_client(clients: FolderClients) -> None:
    for root in ("/p", "/q", "/r"):
        clients.join(root, "a")
    clients.join("/r", "b")
    clients.leave("a")
    assert clients.refused == ("/r",)
    clients.leave("b")
    assert clients.refused == ()


def test_repository_in_a_folder_has_the_clients_of_the_folder(clients: FolderClients, clock: Clock) -> None:
    clients.join("/p", "a")
    assert [clients.join_nested("/p", "/p/in") for _ in range(2)] == ["new", "known"]
    clients.leave("a")
    clients.join("/p", "b")
    clock.now += KEPT_S
    assert clients.end_left() == ([], ())
    clients.leave("b")
    clock.now += KEPT_S
    ended, _ = clients.end_left()
    assert sorted(ended) == ["/p", "/p/in"]
    clients.join("/p", "a")
    assert clients.join_nested("/p", "/p/in") == "new"


def test_repository_that_is_a_folder_of_its_own_gets_both_clients(clients: FolderClients, clock: Clock) -> None:
    clients.join("/p/in", "a")
    clients.join("/p", "b")
    assert clients.join_nested("/p", "/p/in") == "known"
    clients.leave("a")
    clock.now += KEPT_S
    assert clients.end_left() == ([], ())


def test_repositories_count_for_the_limit_of_folders(clients: FolderClients) -> None:
    clients.join("/p", "a")
    assert [clients.join_nested("/p", f"/p/{n}") for n in range(2)] == ["new", "refused"]
    assert clients.refused == ()


def test_repositories_of_one_folder_are_limited() -> None:
    clients = FolderClients(MAX_NESTED * 2, KEPT_S)
    clients.join("/p", "a")
    assert {clients.join_nested("/p", f"/p/{n}") for n in range(MAX_NESTED)} == {"new"}
    assert clients.join_nested("/p", "/p/last") == "refused"
    assert clients.join("/q", "a") == "new"
